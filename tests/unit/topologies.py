"""What two Sparks show, cabled in every way that a person can cable them; for the tests and for the eye."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from ipaddress import IPv4Interface, IPv6Address
from typing import Any

from sparkrig.fabric.cabling import Topology
from sparkrig.fabric.neighbours import Heard, Neighbours
from sparkrig.fabric.topology import Seen, build
from sparkrig.fleet import Fleet
from sparkrig.network.gid import ROCE_V2, Gid
from sparkrig.network.links import Link
from sparkrig.network.rdma import Device, Rdma
from sparkrig.network.seen import Network

TWINS = {"p0": ("enp1s0f0np0", "enP2p1s0f0np0"), "p1": ("enp1s0f1np1", "enP2p1s0f1np1")}
NETDEVS = tuple(netdev for twins in TWINS.values() for netdev in twins)
LAST = {f"spark-{letter}": 11 + place for place, letter in enumerate("abcdefgh")}
A, B, C, *_ = LAST
FRAMES = 31

End = tuple[str, str]
ONE_CABLE = ((A, "p0"), (B, "p0"))
OTHER_CABLE = ((A, "p1"), (B, "p1"))


def mac(host: str, netdev: str) -> str:
    return f"52:54:00:1b:{LAST[host] - 11:02x}:{NETDEVS.index(netdev) + 1:02x}"


def cage(netdev: str) -> str:
    return netdev[-2:]


def fleet(**rails: int) -> Fleet:
    """A host by name (spark_a) with so many rails; the first two of several make a pair."""
    hosts: dict[str, dict[str, Any]] = {}
    for name, count in rails.items():
        host = name.replace("_", "-")
        hosts[host] = {"fabric": dict(addresses(host, count))}
        if count:
            hosts[host]["pair"] = "sparks"
    return Fleet.parse(hosts)


def addresses(host: str, count: int = 4) -> list[tuple[str, str]]:
    return [(netdev, f"192.168.{100 + n}.{LAST[host]}/24") for n, netdev in enumerate(NETDEVS[:count])]


def host(name: str, present: tuple[str, ...] = NETDEVS) -> Seen:
    """A host with those netdevs, no carrier, and nobody heard."""
    links = {
        netdev: Link(netdev, mac(name, netdev), 9000, False, (IPv4Interface(address),), cage(netdev))
        for netdev, address in addresses(name)
        if netdev in present
    }
    gids = tuple(
        Gid(device(netdev), 1, 3, IPv6Address(f"::ffff:{address.split('/')[0]}"), ROCE_V2, netdev)
        for netdev, address in addresses(name)
        if netdev in present
    )
    return Seen(
        Network(True, "enP7s7", links, (), {}, {}, {}),
        Rdma(tuple(Device(device(netdev), netdev, "ACTIVE", 4096) for netdev in present), gids),
        Neighbours(dict.fromkeys(present, 40)),
        dict.fromkeys(present, 200_000),
    )


def device(netdev: str) -> str:
    return "ro" + netdev.replace("enp", "cep").replace("enP", "ceP")[:-3]


def lit(seen: Seen, *netdevs: str, carrier: bool = True) -> Seen:
    links = dict(seen.network.links)
    for netdev in netdevs:
        links[netdev] = replace(links[netdev], carrier=carrier)
    return replace(seen, network=replace(seen.network, links=links))


def hears(seen: Seen, netdev: str, *macs: str) -> Seen:
    assert seen.neighbours is not None
    more = tuple(Heard(netdev, each, FRAMES) for each in macs)
    return replace(seen, neighbours=replace(seen.neighbours, heard=(*seen.neighbours.heard, *more)))


def deaf(seen: Seen, *netdevs: str) -> Seen:
    assert seen.neighbours is not None
    left = tuple(row for row in seen.neighbours.heard if row.netdev not in netdevs)
    return replace(seen, neighbours=replace(seen.neighbours, heard=left))


def deaf_to(seen: Seen, sender: str, twin: str) -> Seen:
    """The host without what it heard of one netdev of another."""
    assert seen.neighbours is not None
    left = tuple(row for row in seen.neighbours.heard if row.mac != mac(sender, twin))
    return replace(seen, neighbours=replace(seen.neighbours, heard=left))


def mute(hosts: Mapping[str, Seen], name: str, netdev: str) -> dict[str, Seen]:
    """The hosts where a netdev of one hears nothing, and is heard by none."""
    return {
        each: deaf(seen, netdev) if each == name else deaf_to(seen, name, netdev) for each, seen in hosts.items()
    }


def cable(hosts: Mapping[str, Seen], one: End, other: End, serial: str = "") -> dict[str, Seen]:
    """The hosts with a cable put in: as on a real Spark, a twin hears both at the far end, and its own."""
    found = dict(hosts)
    for (here, its_cage), (there, far_cage) in ((one, other), (other, one)):
        twins = [netdev for netdev in TWINS[its_cage] if netdev in found[here].network.links]
        far = [mac(there, netdev) for netdev in TWINS[far_cage] if netdev in found[there].network.links]
        seen = lit(found[here], *twins)
        for netdev in twins:
            own = [mac(here, twin) for twin in twins if twin != netdev]
            seen = hears(seen, netdev, *far, *own)
        found[here] = replace(seen, cables={**seen.cables, **dict.fromkeys(twins, serial)})
    return found


def bare(*names: str) -> dict[str, Seen]:
    return {name: host(name) for name in names or (A, B)}


def changed(hosts: Mapping[str, Seen], name: str, **fields: Any) -> dict[str, Seen]:
    return {**hosts, name: replace(hosts[name], **fields)}


def states() -> dict[str, Topology]:
    """Every state by name."""
    one, two = fleet(spark_a=2, spark_b=2), fleet(spark_a=4, spark_b=4)
    straight = cable(bare(), *ONE_CABLE, serial="c0ffee")
    both = cable(cable(bare(), *ONE_CABLE), *OTHER_CABLE)
    crossed = cable(bare(), (A, "p0"), (B, "p1"))
    swapped = cable(cable(bare(), (A, "p0"), (B, "p1")), (A, "p1"), (B, "p0"))
    p0, p1 = TWINS["p0"], TWINS["p1"]
    half = {**straight, B: deaf(lit(straight[B], *p0, carrier=False), *p0), A: deaf(straight[A], *p0)}
    one_twin = {**straight, A: deaf(lit(straight[A], p0[1], carrier=False), p0[1])}
    unheard = {A: lit(host(A), *p0), B: lit(host(B), *p0)}
    one_missing = cable({A: host(A), B: host(B, (p0[0], *p1))}, *ONE_CABLE)
    trio = cable(bare(A, B, C), (A, "p0"), (C, "p0"))
    down = Neighbours({p0[0]: 40}, down=(p0[1],))
    pair: dict[str, tuple[Fleet, Mapping[str, Seen | None]]] = {
        "straight": (one, straight),
        "both cables": (two, both),
        "crossed": (one, crossed),
        "crossed at the first host": (one, cable(bare(), (A, "p1"), (B, "p0"))),
        "in the other cage of both": (one, cable(bare(), *OTHER_CABLE)),
        "swapped": (two, swapped),
        "one of two, crossed": (two, crossed),
        "swapped, one declared": (one, swapped),
        "cable out": (one, bare()),
        "second cable out": (two, straight),
        "cable out, no netdevs": (one, {A: host(A, ()), B: host(B, ())}),
        "netdevs of one host missing": (one, {A: lit(host(A), *p0), B: host(B, ())}),
        "one rail missing": (one, one_missing),
        "half plugged": (one, half),
        "one twin plugged": (one, one_twin),
        "netdev down": (one, {**straight, B: replace(lit(straight[B], p0[1], carrier=False), neighbours=down)}),
        "one way": (one, {**straight, A: deaf(straight[A], *p0)}),
        "no answer": (one, unheard),
        "no answer, same cable": (
            one,
            {name: replace(seen, cables={p0[0]: "c0ffee"}) for name, seen in unheard.items()},
        ),
        "one rail silent": (
            one,
            {A: hears(lit(host(A), *p0), p0[0], mac(B, p0[0])), B: hears(lit(host(B), *p0), p0[0], mac(A, p0[0]))},
        ),
        "one twin mute": (one, mute(straight, B, p0[1])),
        "netdevs swapped": (
            one,
            {
                A: hears(hears(lit(host(A), *p0), p0[0], mac(B, p0[1])), p0[1], mac(B, p0[0])),
                B: hears(hears(lit(host(B), *p0), p0[0], mac(A, p0[1])), p0[1], mac(A, p0[0])),
            },
        ),
        "twins that hear all": (
            one,
            {
                A: hears(hears(lit(host(A), *p0), p0[0], mac(B, p0[0]), mac(B, p0[1])), p0[1], mac(B, p0[0])),
                B: hears(hears(lit(host(B), *p0), p0[0], mac(A, p0[1])), p0[1], mac(A, p0[1])),
            },
        ),
        "no probe": (one, changed(unheard, B, neighbours=Neighbours(trouble="python3 is not installed"))),
        "a probe without the lit netdevs": (one, changed(straight, B, neighbours=Neighbours({p1[0]: 40}))),
        "not started": (one, {name: replace(seen, neighbours=None) for name, seen in unheard.items()}),
        "unknown machine": (one, {**bare(), A: hears(lit(host(A), *p0), p0[0], "b8:3f:d2:00:00:01")}),
        "third spark": (fleet(spark_a=2, spark_b=2, spark_c=0), trio),
        "loop": (one, cable(bare(), (A, "p0"), (A, "p1"))),
        "switch": (two, cable(cable(both, (A, "p0"), (B, "p1")), (A, "p0"), (A, "p1"))),
        "slow": (one, changed(straight, B, speeds={p0[0]: 100_000, p0[1]: 100_000})),
        "serials differ": (one, {**straight, B: replace(straight[B], cables=dict.fromkeys(p0, "decaf"))}),
        "speed not known": (one, {name: replace(seen, speeds={}) for name, seen in straight.items()}),
        "one host unread": (one, {A: lit(host(A), *p0), B: None}),
        "no host read": (one, {}),
    }
    solo = fleet(spark_c=0)
    found = {name: build(wanted, (A, B), seen) for name, (wanted, seen) in pair.items()}
    return found | {
        "solo": build(solo, (C,), {C: host(C, ())}),
        "solo, dark": build(solo, (C,), bare(C)),
        "solo, cabled": build(solo, (C,), {C: lit(host(C), *p0)}),
        "solo, looped": build(solo, (C,), cable(bare(C), (C, "p0"), (C, "p1"))),
    }
