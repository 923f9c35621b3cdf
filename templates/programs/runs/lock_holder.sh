#!/bin/sh
# holder: whose the lock is, and whether that run is alive, dead or unknown; a lock without `run` is of a version
# that kept no file locked


# shellcheck disable=SC2034 # state is for the caller
holder() {
  whose
  state=unknown
  if held "${lock:?}/holder"; then state=alive; elif [ -e "$lock/holder" ] && [ -e "$lock/run" ]; then state=dead; fi
}
