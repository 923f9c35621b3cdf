#!/bin/sh
# alone: no other process changes the lock until this one ends. release RUN: the lock, if it is that run's.


. ./lock_read.sh
alone() {
  umask 077
  mkdir -p /run/sparkrig
  exec 9</run/sparkrig
  flock -w 20 9 || { echo "/run/sparkrig is held by another process" >&2; exit 75; }
}
release() {
  alone
  whose
  rm -f "/run/sparkrig/holder.$1"
  if [ "$owner_run" = "$1" ]; then rm -rf "${lock:?}"; fi
}
