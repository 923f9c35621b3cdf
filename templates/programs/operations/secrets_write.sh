#!/bin/sh
# $1 the file; on stdin: salt TEXT, then set NAME BASE64 or keep NAME a line, then end

. ../runs/journal_intends.sh

set -e
umask 022
folder=${1%/*}; new=; trap 'rm -f "$new"' EXIT
mkdir -p "$folder"
new=$(mktemp "$folder/.secrets.XXXXXX") # 0600 from the start
whole=
while read -r word name content; do
  case $word in
  salt) printf '# Written by sparkrig: docs/security.md\n# salt %s\n' "$name" ;;
  set) printf '%s=' "$name"; printf %s "$content" | base64 -d; echo ;;
  keep) grep -m 1 "^$name=" "$1" ;;
  end) whole=yes; break ;;
  esac
done >"$new"
if [ -z "$whole" ]; then echo "the connection broke off; $1 is as it was" >&2; exit 1; fi
chmod 0600 "$new"; chown root:root "$new"; sync "$new"
intends "$1" "$new"
mv -fT "$new" "$1"; sync "$folder"
