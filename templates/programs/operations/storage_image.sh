#!/bin/sh
# $1 the folder of the run, $2 the ID of the image, $3 its size, as docker reports it. docker refuses, without
# --force, what a container uses or another image needs: then it is printed as `refused WHY`, and nothing is gone.

if ! why=$(docker image rm "$2" 2>&1 >/dev/null); then
  if docker image inspect "$2" >/dev/null 2>&1; then
    printf 'refused %s\n' "$(printf '%s\n' "$why" | head -n 1 | head -c 400)"
    exit 0
  fi
fi
set -e
printf 'image %s %s bytes\n' "$2" "$3" >>"$1/before/state"
printf 'image %s absent\n' "$2" >>"$1/wrote/state"
sync "$1/before/state" "$1/wrote/state"
echo removed
