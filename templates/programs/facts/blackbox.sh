#!/bin/sh
# The clock, and the boot with its uptime, which no setting of the clock moves; whether the black box runs, what it
# kept before the last end that was not asked for, a row each (two hours are half a megabyte), and what its guard did.
# `zone SECONDS OFFSET`: what the clock was ahead of UTC at that moment, for summer time may have begun since then.

zones() { grep -x '[0-9]\{1,\}' | sed 's/^/@/' | date -f - '+zone %s %z' 2>/dev/null; }
printf 'now %s\n' "$(date '+%s %z')"
if read -r up _ </proc/uptime && read -r boot </proc/sys/kernel/random/boot_id; then
  printf 'up %s %.8s\n' "$up" "$boot"
fi
if [ -e /run/sparkrig-blackbox/started ]; then echo runs; fi
if cd /var/lib/sparkrig/blackbox 2>/dev/null; then
  if [ -f guard ]; then
    tail -c 4096 guard | tail -n 8 | while read -r at _; do echo "$at"; done | zones
    tail -c 4096 guard | sed 's/^/act /'
  fi
  if [ -f reset ]; then
    tail -c 8192 reset | tail -n 2 | while read -r word second _ at _; do
      if [ "$word" = booted ]; then echo "$second"; else echo "$at"; fi
    done | zones
    tail -c 1500000 reset | sed 's/^/row /'
  fi
fi
