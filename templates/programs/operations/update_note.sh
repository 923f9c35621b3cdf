#!/bin/sh
# note STEP: a row in the steps of the update, with the time and the boot; it is on the disk when this returns. rows
# WORD: what the plan has of a kind. leads_back: whether the update is on its way back; a torn row is none. installed
# NAME...: those of them that are.


here=/var/lib/sparkrig/update
note() {
  if [ -n "$(tail -c 1 $here/steps)" ]; then printf '\n' >>$here/steps || return 1; fi
  printf '%s %s %s\n' "$1" "$(date +%s)" "$(cat /proc/sys/kernel/random/boot_id)" >>$here/steps && sync -f $here/steps
}
rows() { sed -n "s/^$1 //p" $here/plan; }
leads_back() { grep -q '^back [0-9]\{1,12\} [0-9a-f-]\{36\}$' $here/steps; }
installed() {
  if [ $# = 0 ]; then return 0; fi # dpkg-query would list each package
  dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null | sed -n 's/^installed //p'
}
