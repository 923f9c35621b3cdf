"""The firewall under its guard (templates/guard.py), with real nftables and a stand-in for systemd."""

from __future__ import annotations

import json
import subprocess
import sys

from sparkrig import programs
from sparkrig.network.guard import Guarded, Order
from sparkrig.resources.firewall import FIREWALL, RULES, UNIT_FILE
from tests.tables import each_row
from tests.unit.shells import well

FOLDER = "/var/lib/sparkrig/runs/1/guard-firewall"
OURS = "table inet sparkrig { chain input { tcp dport %d accept; }; }"
WHOLE = f"table inet sparkrig\ndelete table inet sparkrig\n{OURS}\n"
# Its folders hide those of this machine. systemd-run runs what applies, and lets the dead-man's timer be.
MADE = r"""
set -e
guard=$1 order=$2 python=$3 before=$4 then=$5
for place in /etc /run /var/lib; do mount -t tmpfs tmpfs $place; done
mkdir -p /etc/sparkrig /etc/systemd/system/multi-user.target.wants /run/bin "${6%/*}"
cat >/run/bin/systemctl <<'EOF'
#!/bin/sh
case "$*" in
  reload-or-restart*) nft -f /etc/sparkrig/firewall.nft ;;
  'stop sparkrig-firewall'*) nft delete table inet sparkrig 2>/dev/null || : ;;
esac
EOF
cat >/run/bin/systemd-run <<'EOF'
#!/bin/sh
case "$*" in *--on-active*) exit 0 ;; esac
while case $1 in -*) true ;; *) false ;; esac; do shift; done
exec "$@"
EOF
chmod 755 /run/bin/*
PATH=/run/bin:$PATH
if [ -n "$before" ]; then printf %s "$before" >/etc/sparkrig/firewall.nft; nft -f /etc/sparkrig/firewall.nft; fi
mkdir "$6"
printf %s "$guard" >"$6/guard.py"
printf %s "$order" >"$6/order.json"
folder=$6
verb() { "$python" -I -S "$folder/guard.py" "$@"; }
verb start
eval "$then"
nft list table inet sparkrig 2>/dev/null | sed -n 's/.*tcp dport \([0-9]*\) accept.*/\1/p'
ls /etc/sparkrig
"""


def guarded(rules: str, before: str = "", verb: str = "commit") -> tuple[str, str, list[str]]:
    """State and detail after a verb, and the ports that the rules let in, with the files that are there."""
    files = [Guarded(RULES, rules), Guarded(UNIT_FILE, "[Service]\n")]
    how = FIREWALL.guard
    order = Order(
        "Firewall", 60, 20, part="firewall", files=files, test=how.test, live=how.live, verify=how.verify
    )
    words = [programs.file("guard.py"), order.dump(), sys.executable, before, f"verb {verb}", FOLDER]
    done = well(
        subprocess.run(
            ["unshare", "--map-root-user", "--net", "--mount", "sh", "-c", MADE, "sh", *words],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    )
    _, last, *rows = done.stdout.splitlines()
    told = json.loads(last)
    return told["state"], told["detail"], rows


# the rules ordered, those of before, the verb; what comes of it
RUNS = {
    "confirmed": (WHOLE % 1, "", "commit", ("committed", "", ["1", "firewall.nft"])),
    "over others": (WHOLE % 1, WHOLE % 2, "commit", ("committed", "", ["1", "firewall.nft"])),
    "not confirmed": (WHOLE % 1, "", "rollback why", ("rolled-back", "why", [])),
    "not confirmed, over others": (
        WHOLE % 1,
        WHOLE % 2,
        "rollback why",
        ("rolled-back", "why", ["2", "firewall.nft"]),
    ),
    "broken by hand meanwhile": (
        WHOLE % 1,
        "",
        "wait >/dev/null; nft flush ruleset; verb commit",
        ("rolled-back", "the new files have no effect", []),
    ),
    "a rule that is none": (
        "nonsense\n",
        WHOLE % 2,
        "wait",
        ("rolled-back", "are refused", ["2", "firewall.nft"]),
    ),
}


def test_it_is_confirmed_or_all_is_as_before() -> None:
    def holds(rules: str, before: str, verb: str, expected: tuple[str, str, list[str]]) -> None:
        state, detail, rows = guarded(rules, before, verb)
        assert (state, rows) == (expected[0], expected[2]), detail
        assert expected[1] in detail and "not as before" not in detail

    each_row(RUNS, holds)
