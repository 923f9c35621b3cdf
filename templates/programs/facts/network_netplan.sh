#!/bin/sh
# $1...: folders, the first that has a name wins. Wi-Fi, 802.1X and WireGuard secrets stand in the same files
# (netplan(5)): those values stay on the host. At the start of a line one goes on to its end, within braces to the
# next comma or brace. In UTF-8 `.` stops at a byte that is none of it, and would leave the rest of a secret.

. ./path_word.sh
hushed='(password|psk|private|shared|secret|pin|key)[0-9]*[\x22\x27]?:[ \t]*'
for folder; do for f in "$folder"/*.yaml; do
  if [ -f "$f" ] && [ -r "$f" ]; then
    printf 'netplan '; path_word "$f"; printf ' '
    LC_ALL=C sed -E 's/^([ \t-]*[A-Za-z0-9_.\x22\x27-]*'"$hushed"')[^ \t].*/\1x/; s/([{,][ \t]*[A-Za-z0-9_.\x22\x27-]*'"$hushed"')(\x22[^\x22]*\x22|\x27[^\x27]*\x27|[^,}]*)/\1x/g' "$f" | base64 -w0
    printf '\n'
  fi
done; done
