#!/bin/sh
# indexed_of FOLDER: sets state to loose where all is there that the index of a checkpoint lists, else to partial


# shellcheck disable=SC2034 # state is for the caller
indexed_of() {
  state=partial index=$1/model.safetensors.index.json
  [ -f "$1/config.json" ] || return 0
  if [ -f "$index" ]; then
    state=loose
    for f in $(grep -o '"[^"/]*\.safetensors"' "$index" | tr -d '"' | sort -u); do
      [ -s "$1/$f" ] || state=partial
    done
  elif [ -s "$1/model.safetensors" ]; then state=loose
  fi
}
