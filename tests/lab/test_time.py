"""T3: timesyncd really asks the servers of the setting ntp, and its own again once that is undone."""

from __future__ import annotations

from pathlib import Path

from tests.lab.commands import assert_state, deploy, planned, run
from tests.lab.guests import Guest, Pair
from tests.lab.inventories import inventory_with

MANAGER = "org.freedesktop.timesync1 /org/freedesktop/timesync1 org.freedesktop.timesync1.Manager"


def asked(guest: Guest) -> str:
    return guest.output(f"sudo busctl get-property {MANAGER} SystemNTPServers").strip()


def test_timesyncd_asks_what_is_declared_until_that_is_undone(deployed: Pair, tmp_path: Path) -> None:
    """That systemd reads a file of this name, of this form, and leaves it again, no stand-in can prove."""
    inventory = inventory_with(tmp_path, "'ntp': ['192.0.2.10', 'time.example.org']")
    done = deploy(inventory=inventory, file="deploys/time.py")
    assert done.code == 0, done.stderr[-3000:]
    assert [asked(guest) for guest in deployed] == ['as 2 "192.0.2.10" "time.example.org"'] * 2
    assert planned(inventory) == {}, "what timesyncd says is understood"
    assert_state(inventory, "tests/state/test_time.py")
    done = run("sparkrig", "undo", inventory, "--yes")
    assert done.code == 0, done.stdout + done.stderr
    assert [asked(guest) for guest in deployed] == ["as 0"] * 2
