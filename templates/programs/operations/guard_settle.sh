#!/bin/sh
# $1 seconds, $2 why, or nothing where nothing may be changed. What a dead controller left armed goes back now, for that
# reason; this waits until all else that is armed was confirmed or went back, or the time is over.

. ../runs/lock_read.sh
. ../runs/armed.sh
. ./guard_take_back.sh

if [ -n "$2" ]; then armed | while read -r _ run _ holder; do [ "$holder" != dead ] || take_back "$run" "$2"; done; fi
end=$(($(uptime) + $1))
while [ -n "$(armed)" ] && [ "$(uptime)" -lt $end ]; do sleep 1; done
