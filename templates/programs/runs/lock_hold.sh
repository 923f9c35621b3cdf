#!/bin/sh
# $1 run. Keeps the file of its run locked until its output is closed, or the file is removed. An empty row now and
# then goes to the other side: nothing else makes the kernel notice a link that was cut, since this side is silent.

set -e
. ./lock_functions.sh

alone
mine=/run/sparkrig/holder.$1
exec 8>"$mine"
flock -w 20 8 || { echo "$mine is held by another process" >&2; exit 75; }
exec 9<&-
while [ "$(stat -L -c %h /proc/self/fd/8)" -gt 0 ] && echo; do sleep 2 8>&-; done
