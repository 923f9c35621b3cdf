#!/bin/sh
# $1... files. Prints `barred KIND WHERE PATH` for each that cannot be put in its place (sparkrig.host.targets).
# A link to a device may be a mask that its owner wants, and counts as a device. Nothing is tried out: a folder's
# time would change, and its watchers would wake up. faccessat(2), which is behind -w, knows of immutable files
# and mounts for root, too, but not of append-only ones. Of a file system without flags lsattr prints nothing.

barred() { printf 'barred %s %s %s\n' "$1" "$2" "$path"; }
flagged() { case $flags in *"$line$1 $2$line"*) return 0 ;; *) return 1 ;; esac; }
line='
'
points=$line
while read -r _ _ _ _ at _; do points=$points$at$line; done </proc/self/mountinfo
count=$#
for path; do
  at=${path%/*}
  until [ -e "$at" ] || [ -L "$at" ] || [ -z "$at" ]; do at=${at%/*}; done
  set -- "$@" "$path" "${at:-/}"
done
shift "$count"
flags=$line
set -f
ifs=$IFS IFS=$line
for row in $(lsattr -d "$@" 2>/dev/null); do
  case ${row%% *} in
  *[!a-zA-Z-]*) ;;
  *i*) flags=${flags}immutable\ ${row#* }$line ;;
  *a*) flags=${flags}append-only\ ${row#* }$line ;;
  esac
done
IFS=$ifs
set +f
while [ $# -gt 0 ]; do
  path=$1 at=$2; shift 2
  if [ ! -d "$at" ]; then barred no-folder "$at"
  elif flagged immutable "$at"; then barred immutable "$at"
  elif flagged append-only "$at"; then barred append-only "$at"
  elif [ ! -w "$at" ]; then barred read-only "$at"
  elif [ -d "$path" ]; then barred folder "$path"
  elif [ -p "$path" ]; then barred fifo "$path"
  elif [ -S "$path" ]; then barred socket "$path"
  elif [ -b "$path" ] || [ -c "$path" ]; then barred device "$path"
  elif flagged immutable "$path"; then barred immutable "$path"
  elif flagged append-only "$path"; then barred append-only "$path"
  else
    case $points in *"$line$path$line"*) barred mount "$path" ;; esac
  fi
done
