#!/bin/sh
# $@ the files that sparkrig owns. Content, mode and owner of each that exists, and of those of named services.

. ./serving_paths.sh
for f; do
  shift
  if [ -f "$f" ]; then set -- "$@" "$f"; fi
done
if [ $# -gt 0 ]; then
  stat -c '%n %a %U:%G' "$@" | while read -r f row; do
    printf '%s %s ' "$f" "$row"; base64 -w0 "$f"; printf '\n'
  done
fi
