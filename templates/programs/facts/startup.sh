#!/bin/sh
# $1 the unit, $2 the container, $3 the unit that watches it, $4... what is looked for in their logs: a line is
# kept where it has any of these words. --all: journalctl shows a line with a colour in it as `[99B blob data]`
# otherwise.

. ../host/images_content_of.sh
. ./serving_events_of.sh
unit=$1 container=$2 guard=$3
shift 3
printf 'now %s\n' "$(date +%s)"
show() { timeout -k 2 10 systemctl show "$unit" --timestamp=unix "$@"; }
show -p LoadState -p ActiveState -p Result -p ExecMainStatus -p NRestarts | sed 's/^/unit /'
sed -n 's/^\(MemTotal\|MemAvailable\): *\([0-9]*\) kB.*/\1 \2/p' /proc/meminfo
image=$(timeout -k 2 20 docker container inspect --format '{{.Image}}' "$container" 2>/dev/null)
if [ -n "$image" ]; then
  printf 'image %s\n' "$image"
  content_of "$image"
fi
# of a progress bar, which redraws its line, the last state; it has characters that a cut would leave halves of
plain() { LC_ALL=C tr -cd '\11\12\15\33\40-\176' | sed 's/\r*$//; s/\]: .*\r/]: /' | cut -c "1-$1"; }
events_of /var/lib/sparkrig/serve/events
start=$(show -p ExecMainStartTimestamp --value)
start=${start#@}
if [ "${start:-0}" -gt 0 ]; then
  log() { timeout -k 2 30 journalctl -u "$unit" "$@" --all --quiet --no-pager --output short-unix 2>/dev/null; }
  for words; do
    shift
    set -- "$@" -e "$words"
  done
  log -u "$guard" --since "@$((start - 3600))" --until "@$((start + 7200))" | LC_ALL=C grep -aF "$@" |
    plain 600 | tail -n 1500 | sed 's/^/log /'
  log --since "@$start" -n 1 | plain 300 | sed 's/^/last /'
fi
