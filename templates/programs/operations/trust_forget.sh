#!/bin/sh
# $1 the key file, $2 the mark at the end of our lines

. ./trust_home.sh

rm -f "$1" "$1.pub"
file=$(readlink -f .ssh/authorized_keys) || exit 0
if [ -f "$file" ] && tr -d '\r' <"$file" | grep -q " $2\$"; then
  new=$(mktemp "$file.XXXXXX"); trap 'rm -f "$new"' EXIT
  sed "/ $2\r*\$/d" "$file" >"$new"
  chmod --reference="$file" "$new"
  sync "$new"; mv -fT "$new" "$file"; sync "${file%/*}"
fi
