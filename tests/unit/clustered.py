"""What the hosts of a ring and of a switch show, joined as they should be and with one fault each."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from itertools import permutations

from sparkrig.fabric.cabling import Topology
from sparkrig.fabric.neighbours import Heard
from sparkrig.fabric.topology import Seen, build
from sparkrig.fleet import Fleet
from tests.unit import topologies as made
from tests.unit.topologies import FRAMES, LAST, TWINS, A, B, C, End

NAMES = tuple(LAST)
RING = (((A, "p0"), (B, "p1")), ((B, "p0"), (C, "p1")), ((C, "p0"), (A, "p1")))
Hosts = dict[str, Seen]


def fleet(count: int, topology: str) -> Fleet:
    data = {"cluster": "lab", "topology": topology, "fabric_network": "10.20.0.0/16"}
    return Fleet.parse(dict.fromkeys(NAMES[:count], data))


def shown(count: int, topology: str, hosts: Mapping[str, Seen | None]) -> Topology:
    return build(fleet(count, topology), NAMES[:count], hosts)


# --- a ring


def ring(*cables: tuple[End, End]) -> Hosts:
    """Three hosts with those cables."""
    hosts = made.bare(A, B, C)
    for one, other in cables or RING:
        hosts = made.cable(hosts, one, other)
    return hosts


# --- a switch


def switch(
    count: int = 3,
    *,
    cage: str = "p0",
    apart: Collection[str] = (),
    short: Collection[str] = (),
    dark: Collection[str] = (),
) -> Hosts:
    """Hosts on a switch, each port of which passes frames to all.

    apart: hosts whose ports are in a bridge of their own; short: hosts to whose ports no large frame comes
    through; dark: hosts without a carrier.
    """
    hosts = made.bare(*NAMES[:count])
    for name in hosts.keys() - {*dark}:
        hosts[name] = large(made.lit(hosts[name], *TWINS[cage]), cage)
    for listener, sender in permutations(hosts, 2):
        if {listener, sender} & {*dark} or (listener in apart) != (sender in apart):
            continue
        for netdev in TWINS[cage]:
            macs = [made.mac(sender, twin) for twin in TWINS[cage]]
            hosts[listener] = made.hears(hosts[listener], netdev, *macs)
            if listener not in short:
                hosts[listener] = hears_large(hosts[listener], netdev, *macs)
    return hosts


def large(seen: Seen, cage: str, size: int = 9000) -> Seen:
    """A host that sends large frames, too."""
    assert seen.neighbours is not None
    return replace(seen, neighbours=replace(seen.neighbours, long=dict.fromkeys(TWINS[cage], size)))


def hears_large(seen: Seen, netdev: str, *macs: str) -> Seen:
    assert seen.neighbours is not None
    more = tuple(Heard(netdev, each, FRAMES) for each in macs)
    return replace(seen, neighbours=replace(seen.neighbours, heard_long=(*seen.neighbours.heard_long, *more)))


def out() -> Hosts:
    return ring(*RING[:2])


def half() -> Hosts:
    """The plug in p1 of spark-a is not seated."""
    hosts = out()
    return {**hosts, C: made.lit(hosts[C], *TWINS["p0"])}


Cables = tuple[tuple[End, End], ...]
# cables, and what is said of those that lie elsewhere
ELSEWHERE: dict[str, tuple[Cables, list[str]]] = {
    "each p0 to the p1 before": (
        (((A, "p1"), (B, "p0")), ((B, "p1"), (C, "p0")), ((C, "p1"), (A, "p0"))),
        [
            "p0 of spark-a reaches p1 of spark-c, and wanted is p1 of spark-b",
            "p1 of spark-a reaches p0 of spark-b, and wanted is p0 of spark-c",
            "p1 of spark-b reaches p0 of spark-c, and wanted is p0 of spark-a",
        ],
    ),
    "two plugs of one host": (
        (((A, "p0"), (B, "p0")), ((B, "p1"), (C, "p1")), ((C, "p0"), (A, "p1"))),
        [
            "p0 of spark-a reaches p0 of spark-b, and wanted is p1 of spark-b",
            "p1 of spark-b reaches p1 of spark-c, and wanted is p0 of spark-a",
        ],
    ),
    "two plugs of two hosts": (
        (((A, "p0"), (C, "p1")), ((B, "p0"), (B, "p1")), ((C, "p0"), (A, "p1"))),
        ["p0 of spark-a reaches p1 of spark-c, and wanted is p1 of spark-b"],
    ),
    "a cable out and one in its place": (
        (((A, "p0"), (C, "p1")), ((C, "p0"), (A, "p1"))),
        ["p0 of spark-a reaches p1 of spark-c, and wanted is p1 of spark-b"],
    ),
    "two cables between two hosts": (
        (((B, "p0"), (A, "p1")), ((A, "p0"), (B, "p1"))),
        ["p1 of spark-a reaches p0 of spark-b, and wanted is p0 of spark-c"],
    ),
}
