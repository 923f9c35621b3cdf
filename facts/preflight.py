"""Whether a host is fit to be changed at all."""

from __future__ import annotations

import time
from collections.abc import Iterable

from facts.apt import HOLDERS
from facts.noun import Noun
from sparkrig import preflight


def _parse(lines: Iterable[str]) -> preflight.Preflight:
    return preflight.parse(lines, time.time())


class Preflight(Noun[preflight.Preflight]):
    """Room, mounts, dpkg, clock, a shutdown to come, who uses apt, and NetworkManager's unit.

    Last of a look, and its clock last of all: what comes in between counts as skew. It writes nothing, for it has
    to answer on a full or read-only disk.
    """

    parse = staticmethod(_parse)
    # busctl would start a NetworkManager that is stopped, and timedatectl a service that writes below /var/tmp.
    script = (
        HOLDERS
        + r"""
set -- / /var /etc
if mountpoint -q /boot; then set -- "$@" /boot; fi
df -B1M --output=avail,file "$@" | while read -r room; do
  case $room in [0-9]*) printf 'room %s\n' "$room" ;; esac
done
for p; do [ -w "$p" ] || printf 'read-only %s\n' "$p"; done
dpkg-query -W -f='package ${db:Status-Status} ${db:Status-Eflag} ${binary:Package}\n' |
  grep -Ev '^package (installed|config-files|not-installed) ok ' || :
for f in /var/lib/dpkg/updates/[0-9]*; do [ ! -e "$f" ] || printf 'journal %s\n' "$f"; done
holders
if [ -e /run/systemd/shutdown/scheduled ]; then
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
"""
    )
