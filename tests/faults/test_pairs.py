"""Two faults in a row: what a killed run left armed, then one thing more, and the next deploy is done for good.

Ten histories of tests/unit/runs/test_two_faults_model.py, on guests: that systemd's timers, NetworkManager's
checkpoint and the boot really do what its stand-ins do. Each begins on the deployed pair, where somebody set one
link to MTU 1500, so that a deploy has to change the network; none of them is left armed at its end.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from lab import pair
from lab.waiting import wait_until
from tests.faults import endstate
from tests.faults.deploying import deploying
from tests.faults.endstate import State
from tests.faults.record import Seen
from tests.lab.commands import LAB, deploy, planned, run
from tests.lab.guests import Guest, Pair

WINDOW_S = 120  # room for the looks at what is armed, on emulated hosts
BACK_S = 60  # after the window: the dead-man, and all that it puts back
WINDOW = ("--data", f"rollback_seconds={WINDOW_S}")
PROVEN = "applied; a new ssh connection gets in"
BROKE_OFF = "broke off in the middle of its network change"
OWN = "uuid=$(nmcli -g GENERAL.CON-UUID device show enp1s0f0np0)"
EDIT = f"{OWN} && sudo nmcli connection modify $uuid 802-3-ethernet.mtu 1500 && sudo nmcli connection up $uuid"
MTU = "cat /sys/class/net/enp1s0f0np0/mtu"
ARMED = "sudo sh -c 'grep -lsE \"^(armed|applied)\" /var/lib/sparkrig/runs/*/guard/state' || :"
SOURCE = "/sparkrig-nvidia-container-toolkit."  # an undo takes it, and leaves the package; no deploy needs it
TIMERS = "systemctl list-timers --all --no-legend 'sparkrig-deadman-*'"


def killed(guests: Pair) -> None:
    """A deploy is, once it has applied its network change; every look sees what it left."""
    with deploying(*WINDOW) as running:
        running.until(PROVEN)
        running.kill()
    assert guests.a.output(ARMED), "nothing was armed when it died"
    assert guests.a.output(MTU) == "9000"


def looked(guests: Pair) -> None:
    told = run("sparkrig", "status", LAB)
    assert (told.code, BROKE_OFF in " ".join(told.stdout.split())) == (2, True), told.stdout[-2000:]


def drifted(guests: Pair) -> None:
    told = run("sparkrig", "drift", LAB)
    assert (told.code, BROKE_OFF in " ".join(told.stdout.split())) == (2, True), told.stdout[-2000:]


def done(guests: Pair) -> None:
    told = deploy()
    assert told.code == 0, told.stderr[-3000:]


def undone(guests: Pair) -> None:
    told = run("sparkrig", "undo", LAB, "--yes")
    assert told.code in (0, 2), told.stderr[-3000:]  # 2: the link that was set to 1500 stays as it was set


def planned_only(guests: Pair) -> None:
    """A plan changes nothing, so it waits, and has what the host is afterwards."""
    told = run("sparkrig", "plan", LAB)
    assert told.code == 2, told.stderr[-3000:]
    assert guests.a.output(MTU) == "1500", "it went back before it was judged"


def power_cut(guests: Pair) -> None:
    pair.cut_power("spark-a")


def clock(guests: Pair) -> None:
    guests.a.output("sudo date --set '-240 seconds'")


def edited(guests: Pair) -> None:
    guests.a.output("echo '# mine' | sudo tee -a /etc/nccl.conf")


def restarted(guests: Pair) -> None:
    """NetworkManager forgets its checkpoint; the dead-man has to do it alone."""
    guests.a.output("sudo systemctl restart NetworkManager")


def run_out(guests: Pair) -> None:
    wait_until(
        lambda: not any(armed(guest) for guest in guests),
        WINDOW_S + BACK_S,
        happened="something is still armed",
        attempt="sparkrig status inventories/lab.py",
    )


def armed(guest: Guest) -> str:
    return guest.output(ARMED) + guest.output(TIMERS)


Event = Callable[[Pair], None]
HISTORIES: dict[str, tuple[Event, ...]] = {
    "settled-deploy": (killed, looked, done),
    "drift": (killed, drifted, done),
    "plan": (killed, planned_only, done),
    "killed-again": (killed, killed, done),
    "undo": (killed, undone, done),
    "power-cut": (killed, power_cut, done),
    "clock": (killed, clock, looked, done),
    "edit": (killed, edited, done),
    "restart": (killed, restarted, done),
    "run-out": (killed, run_out, done),
}


@pytest.mark.fault(48)
@pytest.mark.promise(2, 4)
@pytest.mark.parametrize("history", [pytest.param(events, id=name) for name, events in HISTORIES.items()])
def test_what_is_called_done_after_two_faults_stays(
    undisturbed: State, deployed: Pair, seen: Seen, history: tuple[Event, ...]
) -> None:
    deployed.a.output(EDIT)
    started = time.monotonic()
    for event in history:
        event(deployed)
    took = time.monotonic() - started
    run_out(deployed)
    assert deployed.a.output(MTU) == "9000", "what was called done was taken back"
    differences = endstate.differences(undisturbed, endstate.of(deployed))
    assert [each for each in differences if undone not in history or SOURCE not in each] == []
    assert planned() == {}
    names = ", ".join(event.__name__.replace("_", " ") for event in history)
    seen(f"{names}: done for good after {took:.0f} s, and nothing is armed")
