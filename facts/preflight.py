"""Whether a host is fit to be changed at all."""

from __future__ import annotations

import time
from collections.abc import Iterable

from sparkrig.facts.apt import HOLDERS
from sparkrig.facts.first_upgrade import LOOK
from sparkrig.facts.noun import Noun
from sparkrig.host import preflight
from sparkrig.runs.lock import RUNS
from sparkrig.runs.managed_files import WRITTEN

# $1... files. Prints `barred KIND WHERE PATH` for each that cannot be put in its place (sparkrig.host.targets).
# A link to a device may be a mask that its owner wants, and counts as a device. Nothing is tried out: a folder's
# clock would move, and who watches it would be woken. faccessat(2), which is behind -w, knows of immutable files
# and of mounts for root, too, and nothing of append-only ones. lsattr says nothing of a file system without flags.
BARS = r"""
barred() { printf 'barred %s %s %s\n' "$1" "$2" "$path"; }
flagged() { case $flags in *"$line$1 $2$line"*) return 0 ;; *) return 1 ;; esac; }
line='
'
points=$line
while read -r _ _ _ _ at _; do points=$points$at$line; done </proc/self/mountinfo
count=$#
for path; do
  at=${path%/*}
  until [ -e "$at" ] || [ -L "$at" ] || [ -z "$at" ]; do at=${at%/*}; done
  set -- "$@" "$path" "${at:-/}"
done
shift "$count"
flags=$line$(lsattr -d "$@" 2>/dev/null |
  sed -n 's/^[a-zA-Z-]*i[a-zA-Z-]* /immutable /p; t; s/^[a-zA-Z-]*a[a-zA-Z-]* /append-only /p')$line
while [ $# -gt 0 ]; do
  path=$1 at=$2; shift 2
  if [ ! -d "$at" ]; then barred no-folder "$at"
  elif flagged immutable "$at"; then barred immutable "$at"
  elif flagged append-only "$at"; then barred append-only "$at"
  elif [ ! -w "$at" ]; then barred read-only "$at"
  elif [ -d "$path" ]; then barred folder "$path"
  elif [ -p "$path" ]; then barred fifo "$path"
  elif [ -S "$path" ]; then barred socket "$path"
  elif [ -b "$path" ] || [ -c "$path" ]; then barred device "$path"
  elif flagged immutable "$path"; then barred immutable "$path"
  elif flagged append-only "$path"; then barred append-only "$path"
  else
    case $points in *"$line$path$line"*) barred mount "$path" ;; esac
  fi
done
""".strip("\n")
BARRED = f"set -- {' '.join(WRITTEN)}\n{BARS}"

# Prints `open` where the newest run of the journal has no end; by the shell alone, for a process costs more
OPEN_RUN = rf"""
newest=0 open=
for at in {RUNS}/[0-9]*/number; do
  [ -f "$at" ] && read -r number <"$at" || continue
  case $number in '' | 0* | *[!0-9]* | ??????????*) continue ;; esac
  if [ "$number" -gt "$newest" ]; then
    newest=$number open=yes
    [ ! -e "${{at%number}}after" ] || open=
  fi
done
[ -z "$open" ] || echo open
""".strip("\n")


def _parse(lines: Iterable[str]) -> preflight.Preflight:
    return preflight.parse(lines, time.time())


class Preflight(Noun[preflight.Preflight]):
    """Room, mounts, dpkg, clock, a shutdown to come, who uses apt, NVIDIA's upgrade, NetworkManager's unit,
    files of ours that cannot be written, and a run that never ended.

    Last of a look, and its clock last of all: what comes in between counts as skew. It writes nothing, for it has
    to answer on a full or read-only disk.
    """

    parse = staticmethod(_parse)
    # busctl would start a NetworkManager that is stopped, and timedatectl a service that writes below /var/tmp.
    script = (
        HOLDERS
        + "\n"
        + LOOK
        + r"""
set -- / /var /etc
if mountpoint -q /boot; then set -- "$@" /boot; fi
df -B1M --output=avail,file "$@" | while read -r room; do
  case $room in [0-9]*) printf 'room %s\n' "$room" ;; esac
done
for p; do [ -w "$p" ] || printf 'read-only %s\n' "$p"; done
dpkg-query -W -f='package ${db:Status-Status} ${db:Status-Eflag} ${binary:Package}\n' |
  grep -aEv '^package (installed|config-files|not-installed) ok ' || :
"""
        + BARRED
        + "\n"
        + OPEN_RUN
        + r"""
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
"""
    )
