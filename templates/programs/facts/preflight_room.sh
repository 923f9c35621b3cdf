#!/bin/sh
# What facts/preflight.py reads: room, mounts and dpkg, before what bars a file of ours

. ./packages.sh
. ./apt_holders.sh
. ./first_upgrade_look.sh
set -- / /var /etc
while read -r _ _ _ _ at _; do case $at in /boot | /usr | /var/cache | /var/cache/apt | /var/cache/apt/archives) set -- "$@" "$at" ;; esac; done </proc/self/mountinfo
while read -r room; do
  case $room in [0-9]*) printf 'room %s\n' "$room" ;; esac
done <<EOF
$(df -B1M --output=avail,file "$@")
EOF
for p; do [ -w "$p" ] || printf 'read-only %s\n' "$p"; done
not_whole() {
  case "$1 $2" in 'installed ok' | 'config-files ok' | 'not-installed ok') ;; *) printf 'package %s %s %s\n' "$1" "$2" "$5" ;; esac
}
each_package not_whole
