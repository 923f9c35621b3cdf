#!/bin/sh
# $1 the mark at the end of our lines, $2 how many there are to add, on stdin. What others wrote stays, byte for byte

. ./trust_home.sh

lines='' count=0
while IFS= read -r line; do
  lines="$lines$line
"
  count=$((count + 1))
done
[ -z "$line" ] # else the link broke off in the middle
[ "$count" -eq "$2" ]
mkdir -p .ssh
file=$(readlink -f .ssh/authorized_keys)
if [ -e "$file" ] && [ ! -f "$file" ]; then echo "$file is a $(stat -Lc %F "$file"), not a file" >&2; exit 1; fi
new=$(mktemp "$file.XXXXXX"); trap 'rm -f "$new"' EXIT
if [ -e "$file" ]; then
  sed "/ $1\r*\$/d" "$file" | sed "\$a\\" >"$new" # the last line may lack its end
  chmod --reference="$file" "$new"
fi
printf '%s' "$lines" >>"$new"
sync "$new"; mv -fT "$new" "$file"; sync "${file%/*}"
