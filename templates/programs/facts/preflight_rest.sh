#!/bin/sh
# What facts/preflight.py reads: the rest, its clock last.

. ./units.sh
. ./network_manager.sh
if [ -z "${managed+set}" ]; then ask_manager; fi
. ./preflight_open_run.sh
. ./open_update.sh
. ../runs/lock_read.sh
. ../runs/armed.sh
armed
for f in /var/lib/dpkg/updates/[0-9]*; do [ ! -e "$f" ] || echo journal; done
holders
if [ -f /run/systemd/shutdown/scheduled ]; then
  sed -n 's/^USEC=\|^MODE=/shutdown &/p' /run/systemd/shutdown/scheduled
fi
if [ -n "$manager_load" ]; then printf 'unit LoadState=%s\nunit ActiveState=%s\n' "$manager_load" "$manager_active"; fi
of_manager() {
  if value_of Version "$2"; then printf 'nm s "%s"\n' "$value"; fi
  if value_of Checkpoints "$2"; then printf 'nm ao %s\n' "$value"; fi
}
each_object '	' of_manager
printf 'clock %s\n' "$(date +%s.%N)"
