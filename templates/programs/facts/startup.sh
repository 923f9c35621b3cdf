#!/bin/sh
# $1 the unit, $2 the unit that watches it, $3... what is looked for in their logs: a line is kept where it has any of
# these words. Then the same of each named service, after a row `service NAME`. --all: journalctl shows a line with a
# colour in it as `[99B blob data]` otherwise.

. ../host/images_content_of.sh
. ./serving_events_of.sh
. ./serving_names.sh
# of a progress bar, which redraws its line, the last state; it has characters that a cut would leave halves of
plain() { LC_ALL=C tr -cd '\11\12\15\33\40-\176' | sed 's/\r*$//; s/\]: .*\r/]: /' | cut -c "1-$1"; }
show() { timeout -k 2 10 systemctl show "$unit.service" --timestamp=unix "$@"; }
log() { timeout -k 2 30 journalctl -u "$unit.service" "$@" --all --quiet --no-pager --output short-unix 2>/dev/null; }

# look_at UNIT WATCH EVENTS WORD...
look_at() {
  unit=$1 guard=$2 events=$3
  shift 3
  show -p LoadState -p ActiveState -p Result -p ExecMainStatus -p NRestarts | sed 's/^/unit /'
  image=$(timeout -k 2 20 docker container inspect --format '{{.Image}}' "$unit" 2>/dev/null)
  if [ -n "$image" ]; then
    printf 'image %s\n' "$image"
    content_of "$image"
  fi
  events_of "$events"
  start=$(show -p ExecMainStartTimestamp --value)
  start=${start#@}
  if [ "${start:-0}" -gt 0 ]; then
    for words; do
      shift
      set -- "$@" -e "$words"
    done
    log -u "$guard" --since "@$((start - 3600))" --until "@$((start + 7200))" | LC_ALL=C grep -aF "$@" |
      plain 600 | tail -n 1500 | sed 's/^/log /'
    log --since "@$start" -n 1 | plain 300 | sed 's/^/last /'
  fi
}

printf 'now %s\n' "$(date +%s)"
sed -n 's/^\(MemTotal\|MemAvailable\): *\([0-9]*\) kB.*/\1 \2/p' /proc/meminfo
first=$1 watch=$2
shift 2
look_at "$first" "$watch" /var/lib/sparkrig/serve/events "$@"
service_names
for name in $services; do
  printf 'service %s\n' "$name"
  look_at "$first-$name" "$first-$name-watch" "/var/lib/sparkrig/serve-$name/events" "$@"
done
