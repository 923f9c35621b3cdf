#!/bin/sh
# $1...: folders, the first that has a name wins. In UTF-8 `.` stops at a byte that is none of it, and would
# leave the rest of a secret.

path_word() {
  case $1 in *[!A-Za-z0-9/._@:+~-]*) printf %s "$1" | base64 -w0 ;; *) printf %s "$1" ;; esac
}
for folder; do for f in "$folder"/*.yaml; do
  if [ -f "$f" ] && [ -r "$f" ]; then
    printf 'netplan %s %s\n' "$(path_word "$f")" "$(LC_ALL=C sed -E 's/^([ \t-]*[A-Za-z0-9_.\x22\x27-]*(password|psk|private|shared|secret|pin|key)[0-9]*[\x22\x27]?:[ \t]*)[^ \t].*/\1x/; s/([{,][ \t]*[A-Za-z0-9_.\x22\x27-]*(password|psk|private|shared|secret|pin|key)[0-9]*[\x22\x27]?:[ \t]*)(\x22[^\x22]*\x22|\x27[^\x27]*\x27|[^,}]*)/\1x/g' "$f" | base64 -w0)"
  fi
done; done
