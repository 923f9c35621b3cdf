#!/bin/sh
# $@ the files that sparkrig owns. Content, mode and owner of each that exists, and of those of named services: of all
# files in one archive, by two processes, of each link to a file in a row of its own.

. ./serving_paths.sh
for f; do
  shift
  if [ ! -f "$f" ]; then continue; fi
  if [ -L "$f" ]; then printf '%s ' "$(stat -c '%n %a %U:%G' "$f")"; base64 -w0 "$f"; printf '\n'
  else set -- "$@" "$f"; fi
done
if [ $# -gt 0 ]; then
  printf 'tar '
  tar -c -P -b 1 --format=gnu --no-recursion --hard-dereference -f - -- "$@" | base64 -w0
  printf '\n'
fi
