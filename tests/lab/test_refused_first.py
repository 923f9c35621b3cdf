"""T3: what a look can know is refused before the first change, shown before it goes, and never called a success.

That the real kernel, chattr, mount and NetworkManager show what tests/plan/test_cabling.py, test_targets.py and
test_overwritten.py feed in.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lab import NODES
from tests.faults import endstate
from tests.faults.record import Seen
from tests.lab.commands import LAB, ROOT, Done, deploy, drift, run, wrong
from tests.lab.guests import Guest, Pair

pytestmark = pytest.mark.exhaustive  # several deploys under emulation

ONE, TWIN = "enp1s0f0np0", "enP2p1s0f0np0"
SWAP = (
    f"for n in {ONE} {TWIN}; do sudo ip link set $n down; done;"
    f" sudo ip link set {ONE} name swap0 && sudo ip link set {TWIN} name {ONE}"
    f" && sudo ip link set swap0 name {TWIN};"
    f" for n in {ONE} {TWIN}; do sudo ip link set $n up; done; sleep 5"
)
RECORD = "sudo cat /var/lib/sparkrig/bandwidth.json"
RUNS = "sudo ls /var/lib/sparkrig/runs"
HALVES = pytest.mark.parametrize("half", [0, 1], ids=["spark-a", "spark-b"])


def refused(done: Done, why: str) -> str:
    """The one refusal of a run, which says so, and which began nothing."""
    assert done.code == 1, done.stderr
    (said,) = [line for line in done.stderr.splitlines() if "Refused: " in line]
    assert why in said and "Try: " in said and "Starting operation" not in done.stderr, said
    return said


@HALVES
def test_netdevs_that_changed_places_are_refused(deployed: Pair, half: int, seen: Seen) -> None:
    before = [(guest.output(RECORD), guest.output(RUNS)) for guest in deployed]
    (*deployed,)[half].output(SWAP)
    said = refused(deploy(), "have changed places on one of the two Sparks")
    assert [(guest.output(RECORD), guest.output(RUNS)) for guest in deployed] == before
    topology = run("sparkrig", "topology", LAB, "--json")
    assert topology.code == 2 and "netdevs-swapped" in topology.stdout, "one judgement"
    seen(said)


def test_a_half_that_was_rolled_back_is_no_success_and_the_record_survives(deployed: Pair, seen: Seen) -> None:
    """The halves do not reach each other with large packets, which no look below IP shows."""
    records = [guest.output(RECORD) for guest in deployed]
    for netdev in (ONE, TWIN):
        deployed.b.output(
            f"sudo iptables -t raw -A PREROUTING -i {netdev} -m length --length 1501:65535 -j DROP"
            f" && sudo ip link set {netdev} mtu 1500"
        )
    done = run("pyinfra", "-y", LAB, "deploys/network.py")
    assert done.code == 1 and "no answer on rail" in done.stderr, done.stderr
    assert not [line for line in done.stderr.splitlines() if "Success" in line], done.stderr
    assert [guest.output(RECORD) for guest in deployed] == records
    status = run("sparkrig", "status", LAB)
    assert status.code == 4, status.stdout
    advice = f"sparkrig topology {LAB}"
    for guest in deployed:
        mine = [line for line in status.stdout.splitlines() if line.startswith(f"{guest.node}: ")]
        assert [line for line in mine if "rolled back" in line] and [line for line in mine if advice in line], mine
    seen(status.stdout.splitlines()[0])


# what bars a file that is due, what takes it back, and what is said; as root
BARS = {
    "immutable": ("chattr +i /etc/nccl.conf", "chattr -i /etc/nccl.conf", "/etc/nccl.conf is immutable"),
    "append-only": ("chattr +a /etc/nccl.conf", "chattr -a /etc/nccl.conf", "/etc/nccl.conf is append-only"),
    "an immutable folder": ("chattr +i /etc/sparkrig", "chattr -i /etc/sparkrig", "/etc/sparkrig is immutable"),
    "read-only": (
        "mount --bind /etc/sparkrig /etc/sparkrig && mount -o remount,bind,ro /etc/sparkrig",
        "umount /etc/sparkrig",
        "/etc/sparkrig cannot be written: its file system is read-only",
    ),
    "a directory": (
        "rm /etc/nccl.conf && mkdir /etc/nccl.conf",
        "rmdir /etc/nccl.conf",
        "/etc/nccl.conf is a directory",
    ),
    "a mount point": (
        "cp /etc/nccl.conf /root/nccl.conf && mount --bind /root/nccl.conf /etc/nccl.conf",
        "umount /etc/nccl.conf",
        "/etc/nccl.conf is a mount point",
    ),
}


@contextmanager
def barred(guest: Guest, line: str, back: str) -> Iterator[None]:
    guest.output(f"sudo sh -c '{line}'")
    try:
        yield
    finally:
        guest.output(f"sudo sh -c '{back}'")


@HALVES
@pytest.mark.parametrize(("line", "back", "why"), BARS.values(), ids=BARS)
def test_a_file_that_cannot_be_written_is_refused(
    deployed: Pair, half: int, line: str, back: str, why: str, seen: Seen
) -> None:
    guest = (*deployed,)[half]
    # both files are due, and docker's configuration, which was reconfigured before the file was found to be barred
    guest.output("echo X=1 | sudo tee -a /etc/nccl.conf /etc/sparkrig/container.env")
    guest.output("sudo sh -c 'echo {} >/etc/docker/daemon.json'")
    with barred(guest, line, back):
        before, runs = endstate.of(deployed), [each.output(RUNS) for each in deployed]
        said = refused(deploy(), why)
        assert guest.node in said
        assert endstate.differences(before, endstate.of(deployed)) == []
        assert [each.output(RUNS) for each in deployed] == runs
    done = deploy("--data", "restart_docker=True")
    assert done.code == 0, done.stderr
    seen(said)


@pytest.mark.parametrize("half", [0], ids=["spark-a"])
def test_a_settled_file_that_is_locked_is_left_in_peace(deployed: Pair, half: int, seen: Seen) -> None:
    with barred((*deployed,)[half], "chattr +i /etc/nccl.conf", "chattr -i /etc/nccl.conf"):
        done = deploy()
        assert done.code == 0, done.stderr
        assert drift().code == 0
    seen("zero changes, no drift")


@HALVES
def test_a_users_line_is_shown_and_kept_by_its_setting(
    deployed: Pair, half: int, tmp_path: Path, seen: Seen
) -> None:
    guest = (*deployed,)[half]
    guest.output("echo NCCL_DEBUG=INFO | sudo tee -a /etc/nccl.conf")
    found = drift()
    assert wrong(found).keys() == {(guest.node, "environment.nccl.conf")}
    assert "NCCL_DEBUG=INFO" in found.stdout and "the setting nccl_conf keeps NCCL_DEBUG" in found.stdout

    dry = run("pyinfra", "--dry", LAB, "deploys/cluster.py")
    assert "file /etc/nccl.conf: " in dry.stderr and "(the setting nccl_conf keeps NCCL_DEBUG)" in dry.stderr
    assert "    -NCCL_DEBUG=INFO" in dry.stderr and guest.output("grep -c DEBUG /etc/nccl.conf") == "1"

    shutil.copytree(ROOT / "inventories", tmp_path / "inventories")
    with (tmp_path / "inventories/group_data/all.py").open("a") as defaults:
        defaults.write('\nnccl_conf = {"NCCL_DEBUG": "INFO"}\n')
    inventory = str(tmp_path / "inventories/lab.py")
    # on the user's own half the line stays, and moves to its place among the others
    written = {key: {*NODES} for key in ("Environment | NCCL, vLLM and Ray files", "close the run")}
    for changed in (written, {}):
        done = deploy("--json", inventory=inventory)
        assert done.code == 0, done.stderr
        assert done.changed == changed
        assert all(each.output("grep -c ^NCCL_DEBUG=INFO /etc/nccl.conf") == "1" for each in deployed)

    done = deploy()
    assert done.code == 0 and "    -NCCL_DEBUG=INFO" in done.stderr, done.stderr
    seen("shown in --dry, drift and the run; kept by nccl_conf")
