#!/bin/sh
# armed: a row for each guarded change that goes back unless it is confirmed: its run, the seconds until then by this
# host's own clock, whether that run is alive, dead or unknown, and what changes where that is not the network. By the shell alone, for a process costs more; a
# deadline of another boot, or of a version that kept the time of day, is over. Only the run that has the lock can
# confirm a change.

. ./lock_holder.sh

uptime() { read -r up _ </proc/uptime && echo "${up%.*}"; }
seconds_left() { # FILE
  end='' boot='' here=''
  if [ -f "$1" ]; then read -r end boot <"$1" || :; fi
  read -r here </proc/sys/kernel/random/boot_id || :
  end=${end%%.*}
  case $end in '' | *[!0-9]* | ??????????*) end=0 ;; esac
  if [ "$boot" != "$here" ]; then end=0; fi
  left=$((end - $(uptime)))
  if [ $left -gt 0 ]; then echo $left; else echo 0; fi
}
armed() {
  for file in /var/lib/sparkrig/runs/*/guard*/state; do
    word=
    if [ -f "$file" ]; then read -r word <"$file" || :; fi
    case $word in armed | applied) ;; *) continue ;; esac
    run=${file#/var/lib/sparkrig/runs/} part=${run%/state} part=${part##*/guard} run=${run%%/*}
    case $run in [!A-Za-z0-9]* | *[!A-Za-z0-9.-]*) continue ;; esac # no name of ours
    holder
    if ! [ -e "${lock:?}" ] || { [ -n "$owner_run" ] && [ "$owner_run" != "$run" ]; }; then state=dead; fi
    printf 'armed %s %s %s%s\n' "$run" "$(seconds_left "${file%state}deadline")" "${state:?}" "${part:+ ${part#-}}"
  done
}
