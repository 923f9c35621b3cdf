#!/bin/sh
# $1 whether running containers may be stopped (yes or no), $2 the folder of what stood there; on stdin the row of
# RESTORE for daemon.json. A file docker cannot start with is left alone, or put back, and a row has the reason:
# with docker down it could only fail the same way each time.


set -e
running=$(docker ps -q 2>/dev/null | wc -l)
if [ "$running" -gt 0 ] && [ "$1" != yes ]; then
  echo "$running container(s) run, and docker must restart; try: the same with --restart-docker" >&2; exit 1
fi
. ./undo_unfit.sh
restore() (
. ./undo_restore.sh
)

read -r verb path sum content
now=$(mktemp -d); trap 'rm -rf "$now"' EXIT
why=
case $verb in
put) why=$(unfit "$2$path") ;;
merge)
  printf %s "$content" | base64 -d >"$now/merged"
  why=$(unfit "$now/merged")
  ;;
esac
if [ -n "$why" ]; then printf '%s\n' "$why"; exit 0; fi
mkdir -p "$now${path%/*}"
if [ -f "$path" ] || [ -L "$path" ]; then cp -a "$path" "$now$path"; fi
changed=$(printf '%s %s %s %s\n' "$verb" "$path" "$sum" "$content" | restore "$2")
if [ -n "$changed" ]; then printf '%s\n' "$changed"; exit 0; fi
if ! why=$(systemctl restart docker 2>&1); then
  verb=remove
  if [ -e "$now$path" ] || [ -L "$now$path" ]; then verb=put; fi
  printf '%s %s\n' "$verb" "$path" | restore "$now"
  systemctl reset-failed docker 2>/dev/null || : # else it may have started too often
  systemctl restart docker >&2 || :
  printf 'failed %s\n' "$(printf '%s\n' "$why" | head -n 1 | head -c 400)"
fi
