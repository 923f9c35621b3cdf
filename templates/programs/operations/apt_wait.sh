#!/bin/sh
# $1 how long to wait for the locks, in seconds; prints who still holds one

. ../facts/apt_holders.sh
now() { cut -d . -f 1 /proc/uptime; }
end=$(($(now) + $1))
while held=$(holders) && [ -n "$held" ] && [ "$(now)" -lt "$end" ]; do sleep 0.5; done
printf '%s\n' "$held"
