#!/bin/sh
# $1... files; a row for each that is there, no link and not too long: file PATH BASE64. A link may lead to what is
# not ours to show.


for file; do
  if [ -f "$file" ] && [ ! -L "$file" ] && [ "$(stat -c %s "$file")" -le 65536 ]; then
    printf 'file %s %s\n' "$file" "$(base64 -w 0 <"$file")"
  fi
done
