#!/bin/sh
# What facts/preflight.py reads: the rest, its clock last. busctl would start a NetworkManager that is stopped, and
# timedatectl a service that writes below /var/tmp.

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
if [ -e /run/systemd/timesync/synchronized ]; then echo synchronised yes
elif command -v chronyc >/dev/null; then
  if timeout -k 2 10 chronyc -n tracking | grep -q '^Leap status *: Normal'; then echo synchronised yes
  else echo synchronised no
  fi
elif [ -d /run/systemd/timesync ]; then echo synchronised no
fi
printf 'clock %s\n' "$(date +%s.%N)"
