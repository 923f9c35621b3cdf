#!/bin/sh
# What facts/preflight.py reads: room, mounts and dpkg, before what bars a file of ours

. ./apt_holders.sh
. ./first_upgrade_look.sh
set -- / /var /etc
if mountpoint -q /boot; then set -- "$@" /boot; fi
df -B1M --output=avail,file "$@" | while read -r room; do
  case $room in [0-9]*) printf 'room %s\n' "$room" ;; esac
done
for p; do [ -w "$p" ] || printf 'read-only %s\n' "$p"; done
dpkg-query -W -f='package ${db:Status-Status} ${db:Status-Eflag} ${binary:Package}\n' |
  grep -aEv '^package (installed|config-files|not-installed) ok ' || :
