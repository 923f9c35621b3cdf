#!/bin/sh
# $1 our public key without its comment, $2 the whole line. Lines of others stay, byte for byte


set -e; umask 077; cd
mkdir -p .ssh
file=$(readlink -f .ssh/authorized_keys)
if [ -e "$file" ] && [ ! -f "$file" ]; then echo "$file is a $(stat -Lc %F "$file"), not a file" >&2; exit 1; fi
if [ -e "$file" ]; then chmod go-w .ssh "$file"; fi # sshd ignores what others may write
if [ -e "$file" ] && grep -q "^$1\( \|\$\)" "$file"; then exit 0; fi
new=$(mktemp "$file.XXXXXX"); trap 'rm -f "$new"' EXIT
if [ -e "$file" ]; then
  cat "$file" >"$new"
  if [ -n "$(tail -c 1 "$file")" ]; then echo >>"$new"; fi # the last line may lack its end
  chmod --reference="$file" "$new"
fi
printf '%s\n' "$2" >>"$new"
sync "$new"; mv -fT "$new" "$file"; sync "${file%/*}"
