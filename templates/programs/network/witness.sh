#!/bin/sh
# $1 address, $2 port, $3 seconds, $4 kind of key. Over which netdev this host reaches that address, and the host keys
# that an ssh server shows there. A connection that only asks for them needs no login.


route=$(LC_ALL=C ip -o route get "$1" 2>/dev/null)
case $route in
*" dev "*)
  over=${route##* dev }
  printf 'over %s\n' "${over%% *}"
  ;;
esac
if command -v ssh-keyscan >/dev/null; then
  ssh-keyscan -T "$3" -p "$2" -t "$4" "$1" 2>/dev/null | while read -r _ kind key; do
    printf 'key %s %s\n' "$kind" "$key"
  done
else
  echo absent
fi
