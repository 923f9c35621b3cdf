"""T3: three virtual Sparks in a ring and on a switch, as docs/lab.md describes them.

No test on `@fake` or in a namespace shows these claims: that qemu's sockets carry frames over the right cables
alone, that a real Linux bridge cuts frames, delays them and keeps them apart, and that each guest keeps its own
lease and its own way in on a management network that all of them have in common.
"""

from __future__ import annotations

import base64
import shlex
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

import pytest

from lab import CABLED, pair, ports
from lab.layout import Layout, cluster
from lab.nodes import CAGES, FABRIC, mac
from lab.switch import Switch
from lab.wiring import cages, far_end, parse
from tests.lab.commands import ROOT, lab
from tests.lab.guests import Guest
from tests.lab.links import wait_for_carrier

pytestmark = pytest.mark.exhaustive

NODES_3 = CABLED[:3]
RING, SWITCH = cluster("ring", 3), cluster("switch", 3)
A, B, C = (Guest(node) for node in NODES_3)
GUESTS = (A, B, C)
FIRST, SECOND = CAGES["p0"]
PROBE = base64.b64encode((ROOT / "templates/probe_neighbours.py").read_bytes()).decode()
STATE = "tests-cluster"
SECONDS = 60  # in which a cluster must be back, on a machine that may be busy; docs/lab.md has what it takes
# Listens for one connection, and reads it to its end.
SINK = """
import socket
with socket.create_server(("", 7777)) as server:
    came, _ = server.accept()
    while came.recv(65536):
        pass
"""
SOURCE = """
import socket, sys, time
began = time.monotonic()
with socket.create_connection((sys.argv[1], 7777)) as to:
    to.sendall(bytes(1_000_000)); to.shutdown(socket.SHUT_WR); to.recv(1)
print(time.monotonic() - began)
"""


@pytest.fixture
def addressed(switch: None) -> None:
    """The three on the switch, each with an address on its first netdev, and MTU 9000."""
    for last, guest in enumerate(GUESTS, 11):
        guest.output(
            f"sudo nmcli device set {FIRST} managed no && sudo ip link set {FIRST} up mtu 9000"
            f" && sudo ip addr add 192.168.100.{last}/24 dev {FIRST}"
        )


def at_once(act: Callable[[Guest], str]) -> dict[str, str]:
    """What each guest printed, all at the same time."""
    with ThreadPoolExecutor(len(GUESTS)) as pool:
        return dict(zip(NODES_3, pool.map(act, GUESTS), strict=True))


def heard() -> dict[tuple[str, str], set[tuple[str, str]]]:
    """Whose frames each fabric netdev hears, by node and netdev, as the product's own probe sees it."""
    names = {mac(node, netdev): (node, netdev) for node in NODES_3 for netdev in FABRIC}
    up = " && ".join(f"sudo ip link set {netdev} up" for netdev in FABRIC)
    line = f"{up} && echo {PROBE} | base64 -d | sudo python3 - 8 30"
    found: dict[tuple[str, str], set[tuple[str, str]]] = {(n, each): set() for n in NODES_3 for each in FABRIC}
    for node, text in at_once(lambda guest: guest.output(line)).items():
        assert text.endswith("end"), text
        for row in text.splitlines():
            if row.startswith("heard "):
                _, netdev, sender, _ = row.split()
                found[node, netdev].add(names[sender])
    return found


def over_cables(layout: Layout) -> dict[tuple[str, str], set[tuple[str, str]]]:
    """Whose frames each fabric netdev must hear in a ring: those of the twin at the other end of its cable."""
    found: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for node in layout.nodes:
        for cage, twins in CAGES.items():
            far = far_end((node, cage), layout.cabling)
            theirs = cages(far[0])[far[1]] if far else (None, None)
            for twin, their in zip(twins, theirs, strict=True):
                found[node, twin] = {(far[0], their)} if far and their else set()
    return found


def reaches(guest: Guest, last: int, size: int = 8972) -> bool:
    """Whether a whole frame of that size gets there and back on the fabric; a first one may go to ARP."""
    return guest.run(f"ping -c 4 -i 0.3 -W 2 -M do -s {size} 192.168.100.{last}").rc == 0


def seconds_to(guest: Guest, last: int, at: Guest) -> float:
    """How long a megabyte takes to another guest."""
    at.output(f"sudo systemd-run --quiet --collect --unit=sink python3 -c {shlex.quote(SINK)}")
    at.output("timeout 60 sh -c 'until ss -ltn | grep -q :7777; do sleep 0.2; done'")
    return float(guest.output(f"python3 -c {shlex.quote(SOURCE)} 192.168.100.{last}"))


def within(what: str, begun: float) -> None:
    took = time.monotonic() - begun
    print(f"{what}: {took:.1f} s")
    assert took < SECONDS, what


def test_frames_of_a_ring_go_over_its_cables_alone(ring: None) -> None:
    assert heard() == over_cables(RING)


def test_a_ring_cabled_the_other_way_round_is_heard_so(ring_once: None) -> None:
    words = ("spark-a:p0=spark-c:p1", "spark-c:p0=spark-b:p1", "spark-b:p0=spark-a:p1")
    done = lab("rewire", *words)
    assert done.returncode == 0, done.stderr
    assert heard() == over_cables(RING.laid(parse(words)))
    assert lab("reset").returncode == 0
    for guest in GUESTS:
        wait_for_carrier(guest, "p0", "1")


def test_a_cable_of_a_ring_has_two_ends(ring: None) -> None:
    assert lab("cable", "spark-c", "p1", "unplug").returncode == 0
    for guest, cage, wanted in ((C, "p1", "0"), (B, "p0", "0"), (C, "p0", "1"), (B, "p1", "1"), (A, "p0", "1")):
        wait_for_carrier(guest, cage, wanted)
    assert lab("cable", "spark-b", "p0", "plug").returncode == 0
    wait_for_carrier(C, "p1", "1")


def test_the_management_network_reaches_all_and_outlives_one(ring: None) -> None:
    """Each has its own lease and way in; the others are there by ping and by the greeting of their sshd."""
    for last, guest in enumerate(GUESTS, 11):
        assert f"10.0.2.{last}/24" in guest.output("ip -br -4 addr show enP7s7")
        for other in {11, 12, 13} - {last}:
            guest.output(f"ping -c 2 -W 5 10.0.2.{other}")
            greeting = f"exec 3<>/dev/tcp/10.0.2.{other}/22 && timeout 20 head -c 8 <&3"
            assert guest.output(f"bash -c {shlex.quote(greeting)}") == "SSH-2.0-"
        assert guest.run("timeout 5 bash -c '</dev/tcp/10.0.2.2/22'").rc != 0, "this machine stays out of reach"
    assert lab("power", "spark-b", "off").returncode == 0
    A.output("ping -c 2 -W 5 10.0.2.13")
    assert A.run("ping -c 2 -W 2 10.0.2.12").rc != 0
    begun = time.monotonic()
    assert lab("reset").returncode == 0
    within("reset of a ring of three, one of them off", begun)
    A.output("ping -c 2 -W 5 10.0.2.12")


def test_all_on_a_switch_hear_one_another_and_nothing_comes_back(switch: None) -> None:
    found = heard()
    for node in NODES_3:
        others = {(each, twin) for each in NODES_3 if each != node for twin in CAGES["p0"]}
        assert [found[node, netdev] for netdev in FABRIC] == [others, others, set(), set()]


def test_each_port_is_set_by_itself(addressed: None) -> None:
    """MTU, bridge, VLAN and rate count, for that port alone; a power cut of the switch forgets none of them."""

    def able() -> dict[str, bool]:
        return {"a-b": reaches(A, 12), "a-c": reaches(A, 13), "b-c": reaches(B, 13)}

    all_of_them: Mapping[str, bool] = dict.fromkeys(("a-b", "a-c", "b-c"), True)
    only_a_c = {"a-b": False, "a-c": True, "b-c": False}
    assert able() == all_of_them
    assert lab("port", "spark-b", "--mtu", "1500").returncode == 0
    assert able() == only_a_c
    assert reaches(A, 12, 1472), "what is small enough passes"
    assert lab("power", "switch", "cut").returncode == 0
    assert able() == only_a_c
    assert lab("port", "spark-b", "--mtu", "9216", "--vlan", "20").returncode == 0
    assert able() == only_a_c
    assert not reaches(A, 12, 56)
    assert lab("port", "spark-b", "--vlan", "1", "--bridge", "2").returncode == 0
    assert able() == only_a_c
    assert lab("port", "spark-b", "--bridge", "1").returncode == 0
    assert able() == all_of_them

    fast = seconds_to(A, 12, B)
    assert lab("port", "spark-b", "--rate", "2").returncode == 0
    slow, other = seconds_to(A, 12, B), seconds_to(A, 13, C)
    print(f"a megabyte: {fast:.1f} s, to the slow port {slow:.1f} s, to another {other:.1f} s")
    assert slow > 3 > fast and other < slow

    assert lab("port", "spark-b", "--speed", "100").returncode == 0
    speeds = [guest.output(f"cat /sys/class/net/{twin}/speed") for guest in (A, B) for twin in CAGES["p0"]]
    assert speeds == ["200000", "200000", "100000", "100000"]


def test_a_cable_to_the_switch_has_two_ends(switch: None) -> None:
    assert lab("cable", "spark-b", "p0", "unplug").returncode == 0
    wait_for_carrier(B, "p0", "0")
    wait_for_carrier(A, "p0", "1")
    assert lab("cable", "spark-b", "p0", "plug").returncode == 0
    wait_for_carrier(B, "p0", "1")
    refused = lab("cable", "spark-b", "p1", "plug")
    assert (refused.returncode, "spark-b has no cable in p1" in refused.stderr) == (1, True)


def test_a_saved_cluster_is_back_in_seconds_with_its_switch(switch: None) -> None:
    for guest in GUESTS:
        guest.output("sudo touch /etc/changed && sync")
    ports.set_port("spark-c", mtu=1500)
    assert lab("save", STATE).returncode == 0
    begun = time.monotonic()
    assert lab("reset").returncode == 0
    within("reset of three on a switch", begun)
    assert Switch().ports()["spark-c"].mtu == 9216
    assert [guest.run("test -e /etc/changed").rc for guest in GUESTS] == [1, 1, 1]
    assert lab("down").returncode == 0
    begun = time.monotonic()
    assert lab("reset", "--to", STATE).returncode == 0
    within("a saved state of three on a switch, all of them stopped", begun)
    assert Switch().ports()["spark-c"].mtu == 1500
    assert [guest.run("test -e /etc/changed").rc for guest in GUESTS] == [0, 0, 0]
    pair.restore(RING)
    refused = lab("reset", "--to", STATE)
    assert (refused.returncode, "is a state of 3 Sparks with the topology switch" in refused.stderr) == (1, True)
    begun = time.monotonic()
    assert lab("up", "--nodes", "3", "--topology", "switch").returncode == 0
    within("from a ring to a switch", begun)
