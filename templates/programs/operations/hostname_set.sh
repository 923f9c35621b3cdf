#!/bin/sh
# $1 the name that the host takes, now and at its next start

. ../runs/journal_intends.sh

set -e
new=$(mktemp /etc/.hostname.XXXXXX); trap 'rm -f "$new"' EXIT
printf '%s\n' "$1" >"$new"
chmod 0644 "$new"
intends /etc/hostname "$new"
timeout -k 2 60 hostnamectl --static --transient set-hostname "$1"
