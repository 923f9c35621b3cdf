"""T3: whatever befalls a network change, both hosts are reachable and as before, or both are changed.

Each test starts from factory-fresh hosts. "As before" is the whole end state of tests/faults/endstate.py, and the
fabric's links.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from lab import pair
from lab.waiting import wait_until
from tests.faults import endstate
from tests.faults.deploying import deploying
from tests.faults.endstate import State
from tests.faults.record import Seen
from tests.lab.commands import LAB, ROOT, Done, run
from tests.lab.guests import Guest, Pair

FILE = "deploys/network.py"
WINDOW_S = 40
DEADMAN_S = 15  # after the window, by which promise P2 has everything back
SLOW_S = 45  # what emulated hosts may take on top: ssh, NetworkManager's restart, an activation
WINDOW = ("--data", f"rollback_seconds={WINDOW_S}")
ROOMY = ("--data", "rollback_seconds=180")  # where the controller lives, no emulated host may be too slow
PROVEN = "applied; a new ssh connection gets in"
BUS = "org.freedesktop.NetworkManager /org/freedesktop/NetworkManager org.freedesktop.NetworkManager"
FACTORY_MTU = "for n in enp1s0f0np0 enP2p1s0f0np0; do sudo ip link set $n mtu 1500; done"
LINKS = "for n in enp1s0f0np0 enP2p1s0f0np0; do cat /sys/class/net/$n/mtu; ip -4 -br addr show dev $n; done"


@dataclass(frozen=True)
class Before:
    """Both hosts as they were before the change."""

    pair: Pair
    state: State
    links: list[str]

    def differs(self) -> list[str]:
        now = [guest.output(LINKS) for guest in self.pair]
        links = [f"{then!r} -> {here!r}" for then, here in zip(self.links, now, strict=True) if then != here]
        found = endstate.differences(self.state, endstate.of(self.pair))
        return links or [line for line in found if "/run/sparkrig/" not in line]  # a dead controller's lock

    def returns(self, within: float) -> float:
        """Waits until both hosts answer by ssh and are as they were; the seconds that took."""
        started = time.monotonic()
        left: list[str] = []

        def back() -> bool:
            if any(guest.run("nmcli general", 20).rc for guest in self.pair):
                return False
            left[:] = self.differs()
            return not left

        try:
            wait_until(back, within, happened="not as before", attempt="sparkrig lab ssh spark-a")
        except Exception as error:
            raise AssertionError(f"{error}: {left}") from error
        return time.monotonic() - started


@pytest.fixture
def before(pristine: Pair) -> Before:
    links = [guest.output(LINKS) for guest in pristine]
    assert all("1500" in text for text in links)
    return Before(pristine, endstate.of(pristine), links)


@contextmanager
def abandoned(window: tuple[str, str] = WINDOW) -> Iterator[None]:
    """A change that was applied on both hosts, and whose controller is dead."""
    with deploying(*window, file=FILE) as running:
        running.until(PROVEN)
        running.kill()
    yield


def deploy(*flags: str, inventory: str | Path = LAB) -> Done:
    return run("pyinfra", "-y", *ROOMY, *flags, str(inventory), FILE)


def guard_of(guest: Guest) -> str:
    return guest.output("sudo sh -c 'cat /var/lib/sparkrig/runs/*/guard/state'")


@pytest.mark.exhaustive
@pytest.mark.promise(2)
def test_the_change_goes_back_by_itself_once_its_controller_is_dead(before: Before, seen: Seen) -> None:
    with abandoned():
        took = before.returns(WINDOW_S + DEADMAN_S + SLOW_S)
    seen(f"both hosts as before {took:.0f} s after the kill, window {WINDOW_S} s")


@pytest.mark.main
@pytest.mark.fault(4)
@pytest.mark.promise(2)
def test_a_broken_management_link_comes_back_without_a_controller(before: Before, seen: Seen) -> None:
    with abandoned():
        broken = (
            "nmcli connection modify --temporary management ipv4.addresses 10.99.0.5/24;"
            " nmcli connection up management; ip -4 -br addr show dev enP7s7 >/run/broken"
        )
        before.pair.a.output(f"sudo systemd-run --quiet --collect sh -c {broken!r}")
        took = before.returns(WINDOW_S + DEADMAN_S + SLOW_S)
    assert "10.99.0.5/24" in before.pair.a.output("cat /run/broken"), "it was never broken"
    seen(f"ssh back and both hosts as before {took:.0f} s after it was lost, window {WINDOW_S} s")


@pytest.mark.exhaustive
@pytest.mark.fault(10)
@pytest.mark.promise(2)
def test_a_restart_of_networkmanager_leaves_the_dead_man(before: Before, seen: Seen) -> None:
    with abandoned():
        before.pair.a.output("sudo systemctl restart NetworkManager")
        assert before.pair.a.output(f"busctl get-property {BUS} Checkpoints") == "ao 0", "dropped, as known"
        took = before.returns(WINDOW_S + DEADMAN_S + SLOW_S)
    assert "not confirmed" in guard_of(before.pair.a)
    seen(f"checkpoint dropped by the restart; the dead-man had both as before after {took:.0f} s")


@pytest.mark.exhaustive
@pytest.mark.fault(9)
@pytest.mark.promise(2)
def test_a_stopped_networkmanager_is_started_by_the_dead_man(before: Before, seen: Seen) -> None:
    with abandoned():
        before.pair.b.output("sudo systemctl stop NetworkManager")
        took = before.returns(WINDOW_S + DEADMAN_S + SLOW_S)
    seen(f"the dead-man started it and had both as before after {took:.0f} s")


@pytest.mark.exhaustive
@pytest.mark.fault(6)
@pytest.mark.promise(2, 6)
def test_a_power_cut_inside_the_window_forgets_the_change(before: Before, seen: Seen) -> None:
    with abandoned():
        pair.cut_power("spark-a")
        # a guest boots with its cable's MTU; the lab set 1500 once, before its snapshot (docs/lab.md)
        before.pair.a.output(FACTORY_MTU)
        before.returns(WINDOW_S + DEADMAN_S + SLOW_S)
    assert "rebooted before the change was confirmed" in guard_of(before.pair.a)
    seen("after the boot all is as before, and the journal says why")


@pytest.mark.exhaustive
@pytest.mark.fault(10)
def test_a_restart_of_networkmanager_under_a_living_controller_is_never_called_done(
    before: Before, seen: Seen
) -> None:
    once_applied = "until grep -q ^applied /var/lib/sparkrig/runs/*/guard/state; do sleep 0.1; done"
    restart = f"{once_applied}; systemctl restart NetworkManager"
    before.pair.b.output(f"sudo systemd-run --quiet --collect sh -c {restart!r}")
    done = deploy()
    assert done.code == 1
    assert "NetworkManager no longer had the checkpoint" in done.stderr
    assert "the network of spark-a and spark-b is as it was before" in done.stderr
    assert "confirmed on" not in done.stderr
    assert before.differs() == []
    seen("reported as rolled back on both, never as done")


@pytest.mark.exhaustive
@pytest.mark.promise(2)
def test_a_link_that_does_not_carry_is_taken_back_on_both(before: Before, seen: Seen) -> None:
    before.pair.b.output("sudo sysctl -q -w net.ipv4.icmp_echo_ignore_all=1")
    done = deploy()
    assert done.code == 1
    assert "no answer on rail 0 from 192.168.100.12 over enp1s0f0np0 to 9000 bytes" in done.stderr
    assert "the network of spark-a and spark-b is as it was before" in done.stderr
    assert "Traceback" not in done.stderr
    assert before.differs() == []
    seen("no answer on a rail: both halves put back at once, exit 1")


@pytest.mark.exhaustive
@pytest.mark.fault(11)
def test_a_checkpoint_of_somebody_else_is_left_alone(before: Before, seen: Seen) -> None:
    theirs = before.pair.b.output(f"sudo busctl call {BUS} CheckpointCreate aouu 0 300 6")
    done = deploy()
    assert done.code == 1
    assert "spark-b: another tool holds a NetworkManager checkpoint" in done.stderr
    assert before.pair.b.output(f"busctl get-property {BUS} Checkpoints").endswith(theirs.split()[1])
    before.pair.b.output(f"sudo busctl call {BUS} CheckpointDestroy o {theirs.split()[1]}")
    assert before.differs() == []
    seen("refused with its path; it still stands, and nothing was changed on either half")


@pytest.mark.exhaustive
@pytest.mark.fault(11)
@pytest.mark.promise(4)
def test_the_next_run_takes_over_what_a_dead_controller_left_armed(before: Before, seen: Seen) -> None:
    with abandoned(ROOMY):
        done = deploy()
    assert done.code == 0, done.stderr[-3000:]
    assert "confirmed on spark-a and spark-b" in done.stderr
    assert "superseded" in guard_of(before.pair.a)
    again = run("pyinfra", "--json", "--dry", LAB, FILE)
    assert '"hosts_with_change": []' in again.stdout
    seen("the earlier change is rolled back first, then the new one is made and confirmed")


@pytest.mark.exhaustive
@pytest.mark.fault(17)
@pytest.mark.promise(2)
def test_an_address_that_somebody_has_is_no_success(before: Before, tmp_path: Path, seen: Seen) -> None:
    their = "sudo nmcli device set enp1s0f0np0 managed {}; sudo ip addr {} 192.168.100.11/24 dev enp1s0f0np0"
    before.pair.b.output(their.format("no", "add"))
    shutil.copytree(ROOT / "inventories", tmp_path / "inventories")
    alone = tmp_path / "inventories" / "alone.py"
    text = (ROOT / LAB).read_text().replace('"pair": "lab", ', "")
    alone.write_text(text.replace(", _spark(_NODES[1], 12)", ""))
    done = deploy(inventory=alone)
    before.pair.b.output(their.format("yes", "del"))
    assert done.code == 1
    assert "the network of spark-a is as it was before" in done.stderr
    assert [line for line in before.differs() if "spark-b" not in line] == []
    seen("activation fails for want of its address, and the host is put back at once")
