#!/bin/sh
# $1 the file, $2 its line for our user. sudo reads no file with a dot in its name (sudoers(5))


set -e; umask 077
if [ -e "$1" ] && [ ! -f "$1" ]; then echo "$1 is a $(stat -Lc %F "$1"), not a file" >&2; exit 1; fi
if [ -e "$1" ] && grep -qxF "$2" "$1"; then exit 0; fi
new=$(mktemp "${1%/*}/.sparkrig.XXXXXX"); trap 'rm -f "$new"' EXIT
if [ -e "$1" ]; then cat "$1" >"$new"; else echo '# Written by sparkrig onboard' >"$new"; fi
printf '%s\n' "$2" >>"$new"
chmod 0440 "$new"
visudo -cf "$new" >/dev/null
sync "$new"; mv -fT "$new" "$1"; sync "${1%/*}"
