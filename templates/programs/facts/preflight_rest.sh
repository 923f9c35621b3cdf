#!/bin/sh
# What facts/preflight.py reads: the rest, its clock last. busctl would start a NetworkManager that is stopped.

. ./preflight_open_run.sh
for f in /var/lib/dpkg/updates/[0-9]*; do [ ! -e "$f" ] || echo journal; done
holders
if [ -f /run/systemd/shutdown/scheduled ]; then
  sed -n 's/^USEC=\|^MODE=/shutdown &/p' /run/systemd/shutdown/scheduled
fi
systemctl show -p LoadState,ActiveState NetworkManager | while read -r row; do printf 'unit %s\n' "$row"; done
nm=org.freedesktop.NetworkManager
busctl --auto-start=no --timeout=10 get-property $nm /org/freedesktop/NetworkManager $nm Version Checkpoints |
  while IFS= read -r row; do printf 'nm %s\n' "$row"; done
printf 'clock %s\n' "$(date +%s.%N)"
