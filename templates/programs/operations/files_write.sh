#!/bin/sh
# $1 a command that checks each new file, or nothing; on stdin, a line a file: FOLDER NAME MODE|keep BASE64

. ../runs/journal_intends.sh

set -e
umask 022
new=; trap 'rm -f "$new"' EXIT
while read -r folder name mode content; do
  mkdir -p "$folder"; cd "$folder"
  if [ -d "$name" ]; then
    echo "$folder/$name is a directory, a file is expected; try: sudo rmdir $folder/$name" >&2; exit 1
  elif [ -e "$name" ] && [ ! -f "$name" ]; then # a FIFO has no end, and a device is not ours to replace
    echo "$folder/$name is a $(stat -Lc %F "$name"), not a file; try: sudo mv $folder/$name $folder/$name.old" >&2
    exit 1
  fi
  new=$(mktemp "$folder/.$name.XXXXXX")
  printf %s "$content" | base64 -d >"$new"
  if [ "$mode" = keep ]; then mode=$(stat -c %a "$name" 2>/dev/null) || mode=0644; fi
  chmod "$mode" "$new"; chown root:root "$new"; sync "$new"
  # shellcheck disable=SC2086 # the check is a command with arguments
  if [ -n "$1" ]; then $1 "$new" >&2 </dev/null; fi
  case $folder/$name in
  *sparkrig*) ;; # ours by its name
  *)
    if [ -e "$name" ] && [ ! -e "$name.before-sparkrig" ] && ! grep -qi sparkrig "$name"; then
      intends "$folder/$name.before-sparkrig" "$name"
      cp -p "$name" "$name.before-sparkrig"
    fi
    ;;
  esac
  intends "$folder/$name" "$new"
  mv -fT "$new" "$name"; sync .
done
