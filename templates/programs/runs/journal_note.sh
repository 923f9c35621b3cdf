#!/bin/sh
# What is noted in the file $steps before and after each command that changes something: that it begins, how it
# ended, and which files and holds are other ones since. A file is looked at by its place and time alone, a hundred
# times as fast as by its content; dpkg keeps holds in its status.

. ./journal_row.sh
. ./journal_keeps.sh

seen() {
  xargs -d '\n' stat -c '%n %d:%i %s %z' <"$run/paths" 2>/dev/null
  stat -c '%n %d:%i %s %z' /var/lib/dpkg/status 2>/dev/null
}
held() { apt-mark showhold | LC_ALL=C sort; }
begins() {
  seen >"$run/seen.new"
  if ! [ -e "$run/held" ] || [ "$(tail -n 1 "$run/seen.new")" != "$(cat "$run/status" 2>/dev/null)" ]; then
    held >"$run/held"
  fi
  mv "$run/seen.new" "$run/seen"
}
wrote() {
  [ -e "$run/seen" ] || return 0
  seen >"$run/seen.new"
  LC_ALL=C sort "$run/seen" "$run/seen.new" | uniq -u | cut -d ' ' -f 1 | uniq | while read -r path; do
    if [ "$path" != /var/lib/dpkg/status ]; then keeps "$run" "$path" "$path"; continue; fi
    held >"$run/held.new"
    {
      LC_ALL=C comm -23 "$run/held" "$run/held.new" | sed 's/^/hold /; s/$/ absent/'
      LC_ALL=C comm -13 "$run/held" "$run/held.new" | sed 's/^/hold /; s/$/ held/'
    } >>"$run/wrote/state"
    sync "$run/wrote/state"
    mv "$run/held.new" "$run/held"
  done
  tail -n 1 "$run/seen.new" >"$run/status"
  rm -f "$run/seen" "$run/seen.new"
}
goes_on() { # whether this run has its lock still: on a host whose controller is gone, nothing more is begun
  if [ "$(cat /run/sparkrig/lock/run 2>/dev/null)" = "${run##*/}" ] && [ -f /run/sparkrig/lock/holder ]; then
    flock -n -s -E 75 /run/sparkrig/lock/holder true 2>/dev/null
    [ $? != 75 ] || return 0
  fi
  echo "this run does not have the lock of the host any more, so the rest of this step was not begun" >&2
  return 75
}
note() {
  run=${steps:?} run=${run%/*}
  case $1 in ended*) wrote ;; esac
  printf '%s %s %s\n' "$(date +%s)" "$1" "$2" >>"$steps" && sync "$steps" || return
  case $1 in begun) begins ;; esac
}
