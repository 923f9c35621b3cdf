#!/bin/sh
# $1 the folder of what stood there; on stdin a row a file: put PATH FOUND, remove PATH FOUND, merge PATH SUM
# BASE64, or restart PATH, which leaves the file as it is. FOUND is what the plan saw there, as `row` of the
# journal has it, with | for each blank; SUM that of the file that was merged. The user was asked in between: a
# file that has changed since then stays, and a row `changed PATH` reports it.

. ./journal_intends.sh

set -e
stands_there() {
  stood=$(row "$1" "$1") || stood="file $1 absent"
  printf %s "${stood#"file $1 "}" | tr ' ' '|'
}

new=; trap 'rm -f "$new"' EXIT
while read -r verb path sum content; do
  folder=${path%/*}
  case $verb in
  put | remove)
    if [ "$verb" = remove ] && [ ! -e "$path" ] && [ ! -L "$path" ]; then continue; fi
    if [ -n "$sum" ] && [ "$(stands_there "$path")" != "$sum" ]; then echo "changed $path"; continue; fi
    ;;
  merge)
    found=
    if [ -f "$path" ] && [ ! -L "$path" ]; then found=$(sha256sum <"$path"); fi
    if [ "${found%% *}" != "$sum" ]; then echo "changed $path"; continue; fi
    ;;
  esac
  case $verb in
  put | merge)
    mkdir -p "$folder"
    new=$(mktemp "$folder/.${path##*/}.XXXXXX")
    if [ "$verb" = put ]; then
      cp -a --remove-destination "$1$path" "$new"
    else
      cp -a "$path" "$new"
      printf %s "$content" | base64 -d >"$new"
    fi
    if [ ! -L "$new" ]; then sync "$new"; fi # of a link there is its folder alone
    intends "$path" "$new"
    mv -fT "$new" "$path"
    sync "$folder"
    ;;
  remove)
    if [ -d "$folder" ]; then
      intends "$path"
      rm -f "$path"
      sync "$folder"
      case $path in */sparkrig/gid.py) rm -rf "$folder/__pycache__" ;; esac # which Python keeps
      case $folder in */sparkrig | */sparkrig/serve | */sparkrig/serve/*) rmdir --ignore-fail-on-non-empty "$folder" ;; esac
    fi
    ;;
  esac
done
