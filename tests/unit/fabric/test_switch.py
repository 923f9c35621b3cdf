"""Sparks on a switch: each of the five findings of its ports, alone, and those of the cages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from ipaddress import IPv4Interface
from itertools import permutations

from sparkrig.fabric.cabling import Topology
from sparkrig.fabric.neighbours import Neighbours
from sparkrig.fabric.topology import Seen, build, obstacles
from sparkrig.fleet import Fleet
from tests.tables import each_row
from tests.unit import topologies as made
from tests.unit.clustered import NAMES, Hosts, fleet, ring, shown, switch
from tests.unit.topologies import TWINS, A, B, C

D = NAMES[3]
P0, TWIN = TWINS["p0"]


def said(found: Topology) -> list[tuple[str, str, str]]:
    return [(each.verdict.level, each.verdict.cause, each.subject) for each in found.findings]


def test_any_number_that_reach_one_another_is_one_healthy_finding() -> None:
    def holds(count: int) -> None:
        found = shown(count, "switch", switch(count))
        assert said(found) == [("healthy", "", "cluster")]
        names = found.findings[0].verdict.evidence
        assert all(f"p0 of {name}" in names for name in NAMES[:count]) and "heard both ways, 200 Gb/s" in names
        assert obstacles(fleet(count, "switch"), NAMES[:count], switch(count)) == []

    each_row([2, 3, 4, 8], holds)


def addressed(seen: Seen, **addresses: str) -> Seen:
    links = dict(seen.network.links)
    for netdev, address in addresses.items():
        links[netdev] = replace(links[netdev], addresses=(IPv4Interface(address),))
    return replace(seen, network=replace(seen.network, links=links))


def dhcp() -> Hosts:
    """Both twins of spark-c have what the switch's DHCP gave them."""
    hosts = switch()
    return {**hosts, C: addressed(hosts[C], **{P0: "100.100.100.4/24", TWIN: "100.100.100.5/24"})}


def lossy(**lost: int) -> Hosts:
    hosts = switch()
    counted = {A: 0, B: 0, C: 0} | {name.replace("_", "-"): count for name, count in lost.items()}
    return {name: replace(hosts[name], lost={P0: count, TWIN: 0}) for name, count in counted.items()}


FIVE: dict[str, tuple[Mapping[str, Seen | None], tuple[str, str, str], list[str]]] = {
    "a port below 200 Gb/s": (
        made.changed(switch(), C, speeds=dict.fromkeys(TWINS["p0"], 100_000)),
        ("degraded", "switch-speed", "spark-c p0"),
        [
            "p0 of spark-c and its port of the switch negotiated 100 Gb/s, where 200 Gb/s is expected",
            "set the switch's port for p0 of spark-c to 200 Gb/s without auto-negotiation (200G-baseCR4)",
        ],
    ),
    "frames above 1500 dropped": (
        switch(short=[C]),
        ("fault", "switch-mtu", "spark-c p0"),
        [
            "p0 of spark-c gets no frame of 9000 bytes from any other",
            "an L2 MTU of 9216 on the switch's port for p0 of spark-c",
        ],
    ),
    "a port in another VLAN or bridge": (
        switch(4, apart=[C]),
        ("fault", "switch-apart", "spark-c p0"),
        [
            "p0 of spark-c reaches none of p0 of spark-a, p0 of spark-b and p0 of spark-d",
            "one bridge and one VLAN",
        ],
    ),
    "a slow port": (
        lossy(spark_c=5000),
        ("degraded", "switch-slow", "spark-c p0"),
        [
            "5000 packets came out of order to p0 of spark-c",
            "hardware offloading, and compare the switch's port for p0 of spark-c with the others",
        ],
    ),
    "twins in one subnet": (
        dhcp(),
        ("fault", "switch-subnet", "spark-c p0"),
        [f"{P0} (100.100.100.4/24) and {TWIN} (100.100.100.5/24) share a subnet on p0 of spark-c", "DHCP"],
    ),
}


def test_each_finding_of_a_port_alone_names_that_port_and_nothing_else() -> None:
    def holds(hosts: Mapping[str, Seen | None], expected: tuple[str, str, str], parts: list[str]) -> None:
        found = shown(len(hosts), "switch", hosts)
        assert said(found) == [expected]
        verdict = found.findings[0].verdict
        told = f"{verdict.evidence} {verdict.cure}"
        assert not [part for part in parts if part not in told], told
        assert found.findings[0].rails == (0, 1)

    each_row(FIVE, holds)


def down() -> Hosts:
    hosts = switch(4, dark=[C])
    heard = Neighbours({P0: 40}, down=(TWIN,))
    return {**hosts, C: replace(made.lit(hosts[C], P0), neighbours=heard)}


def other_cage() -> Hosts:
    """The plug of spark-c sits in p1."""
    there, joined = switch(3), switch(3, cage="p1")
    hosts = switch(3, dark=[C])
    seen = made.lit(hosts[C], *TWINS["p1"])
    for netdev in TWINS["p1"]:
        seen = made.hears(seen, netdev, *(made.mac(name, twin) for name in (A, B) for twin in TWINS["p0"]))
    assert there and joined
    return {**hosts, C: seen}


def test_a_cage_that_nothing_can_reach_is_named_first() -> None:
    rows: dict[str, tuple[Mapping[str, Seen | None], list[tuple[str, str, str]]]] = {
        "no carrier": (switch(4, dark=[C]), [("fault", "cable-out", "spark-c p0")]),
        "no netdev": ({**switch(), C: made.host(C, ())}, [("fault", "netdev-missing", "spark-c p0")]),
        "one twin missing": (
            {**switch(), C: made.lit(made.host(C, (P0,)), P0)},
            [("fault", "netdev-missing", "spark-c p0")],
        ),
        "switched off": (down(), [("fault", "netdev-down", "spark-c p0")]),
        "half plugged": (
            {**switch(), C: made.lit(switch()[C], TWIN, carrier=False)},
            [("fault", "half-plugged", "spark-c p0")],
        ),
        "in the other cage": (other_cage(), [("fault", "cable-crossed", "spark-c p0")]),
        "a host unread": ({**switch(), C: None}, [("unknown", "unread", C)]),
        "no probe on one": (made.changed(switch(), C, neighbours=None), [("unknown", "no-probe", "cluster")]),
        "a twin that is mute": (made.mute(switch(), C, TWIN), [("fault", "no-answer", "spark-c p0")]),
        "nobody reaches anyone": (
            {name: made.deaf(seen, P0, TWIN) for name, seen in switch().items()},
            [("fault", "switch-apart", "cluster")],
        ),
        "two that are isolated": (
            {
                A: made.deaf_to(made.deaf_to(switch()[A], B, P0), B, TWIN),
                B: made.deaf_to(made.deaf_to(switch()[B], A, P0), A, TWIN),
                C: switch()[C],
            },
            [("fault", "switch-apart", "cluster")],
        ),
        "one direction": (
            {**switch(), A: made.deaf_to(made.deaf_to(switch()[A], B, P0), B, TWIN)},
            [("fault", "one-way", "cluster")],
        ),
        "two and two": (
            switch(4, apart=[C, D]),
            [("fault", "switch-apart", "spark-c p0"), ("fault", "switch-apart", "spark-d p0")],
        ),
    }

    def holds(hosts: Mapping[str, Seen | None], expected: list[tuple[str, str, str]]) -> None:
        assert said(shown(len(hosts), "switch", hosts)) == expected

    each_row(rows, holds)


def test_two_bridges_say_whom_a_port_reaches() -> None:
    found = shown(4, "switch", switch(4, apart=[C, D]))
    assert "p0 of spark-c reaches none of p0 of spark-a and p0 of spark-b, only p0 of spark-d" in (
        found.findings[0].verdict.evidence
    )


def test_large_frames_are_judged_where_both_ends_send_them() -> None:
    """Before the first deploy the MTU is 1500, and of two MTUs the host drops what the switch passed."""
    fresh = switch(short=[A, B, C])
    fresh = {
        name: replace(seen, neighbours=replace(seen.neighbours or Neighbours(), long={}))
        for name, seen in fresh.items()
    }
    assert said(shown(3, "switch", fresh)) == [("healthy", "", "cluster")]
    other = switch(short=[C])
    other[C] = replace(
        other[C], neighbours=replace(other[C].neighbours or Neighbours(), long={P0: 4000, TWIN: 4000})
    )
    assert said(shown(3, "switch", other)) == [("healthy", "", "cluster")]


def test_each_port_that_drops_large_frames_is_named() -> None:
    assert [subject for _, _, subject in said(shown(4, "switch", switch(4, short=[B, D])))] == [
        "spark-b p0",
        "spark-d p0",
    ]


def test_large_frames_that_pass_nowhere_blame_no_port() -> None:
    """The bridge, or one port of two that drops them in both directions: the other one may be well."""
    for hosts in (switch(8, short=NAMES), switch(2, short=[A, B])):
        found = shown(len(hosts), "switch", hosts)
        assert said(found) == [("fault", "switch-mtu", "cluster")] and found.findings[0].rails == (0, 1)
        assert "no frame of 9000 bytes passes between any of p0 of spark-a" in found.findings[0].verdict.evidence
    assert said(shown(2, "switch", switch(2, short=[B]))) == [("fault", "switch-mtu", f"{B} p0")]


def test_a_switch_that_is_off_is_one_finding() -> None:
    """No port has a carrier: what they share, and not each plug by itself."""
    found = shown(4, "switch", switch(4, dark=NAMES[:4]))
    assert said(found) == [("fault", "cable-out", "cluster")] and found.findings[0].rails == (0, 1)
    assert "p0 of spark-c and p0 of spark-d has a carrier: the switch is off" in found.findings[0].verdict.evidence
    three = said(shown(4, "switch", switch(4, dark=NAMES[:3])))
    assert three == [("fault", "cable-out", f"{name} p0") for name in NAMES[:3]]


def at_speed(speed: int, *names: str) -> Hosts:
    hosts = switch(4)
    for name in names:
        hosts = made.changed(hosts, name, speeds=dict.fromkeys(TWINS["p0"], speed))
    return hosts


def test_links_that_are_slow_on_all_ports_alike_are_one_finding() -> None:
    """Such as on a switch of 100 Gb/s: no port differs from the others."""
    found = shown(4, "switch", at_speed(100_000, *NAMES[:4]))
    assert said(found) == [("degraded", "switch-speed", "cluster")] and found.findings[0].rails == (0, 1)
    verdict = found.findings[0].verdict
    assert "p0 of spark-c and p0 of spark-d and the switch negotiated 100 Gb/s" in verdict.evidence
    assert "or use a switch and cables made for it" in verdict.cure
    three = said(shown(4, "switch", at_speed(100_000, *NAMES[:3])))
    assert three == [("degraded", "switch-speed", f"{name} p0") for name in NAMES[:3]]
    mixed = made.changed(at_speed(100_000, *NAMES[:4]), B, speeds=dict.fromkeys(TWINS["p0"], 50_000))
    assert len(said(shown(4, "switch", mixed))) == 4, "each has its own speed"


def test_packets_out_of_order_are_compared_between_ports() -> None:
    """All ends lose some where the load is high, or the counters are of a time before."""
    assert said(shown(3, "switch", lossy(spark_c=99))) == [("healthy", "", "cluster")]
    assert said(shown(3, "switch", lossy(spark_a=500, spark_b=500, spark_c=500))) == [("healthy", "", "cluster")]
    assert said(shown(3, "switch", lossy(spark_a=300, spark_b=2999, spark_c=300))) == [("healthy", "", "cluster")]


def test_a_few_packets_out_of_order_at_every_port_hide_no_slow_one() -> None:
    """Counted on three virtual Sparks behind a port of 20 Mb/s; a healthy one loses a few at each start, too."""
    found = shown(3, "switch", lossy(spark_a=5, spark_b=507, spark_c=2))
    assert said(found) == [("degraded", "switch-slow", "spark-b p0")]
    evidence = found.findings[0].verdict.evidence
    assert "507 packets came out of order to p0 of spark-b" in evidence and "2 to p0 of spark-c" in evidence


def test_twins_in_one_subnet_are_no_reason_against_a_deploy_which_mends_it() -> None:
    assert obstacles(fleet(3, "switch"), NAMES[:3], dhcp()) == []
    refused = obstacles(fleet(4, "switch"), NAMES[:4], switch(4, apart=[C]))
    assert ["its port of the switch is in another VLAN" in str(each) for each in refused] == [True]


def test_other_machines_on_the_switch_are_no_finding() -> None:
    hosts = switch()
    hosts[A] = made.hears(hosts[A], P0, "b8:3f:d2:00:00:01")
    assert said(shown(3, "switch", hosts)) == [("healthy", "", "cluster")]


def lost_from(seen: Seen, sender: str) -> Seen:
    """No large frame of that host came through, and small ones did."""
    heard = seen.neighbours or Neighbours()
    theirs = {made.mac(sender, twin) for twin in TWINS["p0"]}
    left = tuple(row for row in heard.heard_long if row.mac not in theirs)
    assert len(left) < len(heard.heard_long)
    return replace(seen, neighbours=replace(heard, heard_long=left))


def test_large_frames_that_were_lost_on_one_way_alone_blame_no_port() -> None:
    """As on a busy host: seen once on three virtual Sparks whose switch was well."""
    hosts = switch()
    assert said(shown(3, "switch", {**hosts, C: lost_from(hosts[C], B)})) == [("healthy", "", "cluster")]
    silent = {**hosts, A: lost_from(hosts[A], B), C: lost_from(hosts[C], B)}
    found = shown(3, "switch", silent)
    assert said(found) == [("fault", "switch-mtu", "spark-b p0")]
    assert "no other end gets a frame of 9000 bytes from p0 of spark-b" in found.findings[0].verdict.evidence


def test_cables_between_sparks_are_no_port_in_another_vlan() -> None:
    """A ring's cables, one to a free cage, and a loop, where a switch is declared."""
    rows: dict[str, tuple[Mapping[str, Seen | None], list[tuple[str, str, str]], str]] = {
        "a ring": (
            ring(),
            [("fault", "cable-crossed", f"{name} p0") for name in (A, B, C)],
            "p0 of spark-a reaches p1 of spark-b alone, and wanted is the switch",
        ),
        "one cable": (
            made.cable(switch(4, dark=[A]), (A, "p0"), (B, "p1")),
            [("fault", "cable-crossed", "spark-a p0")],
            "p0 of spark-a reaches p1 of spark-b alone",
        ),
        "a loop": (
            made.cable(switch(3, dark=[A]), (A, "p0"), (A, "p1")),
            [("fault", "loop", "spark-a p0")],
            "both plugs of one cable sit in the same Spark",
        ),
        "a cable to the other cage of one, and the others on the switch": (
            made.cable(made.cable(made.bare(A, B, C, D), (A, "p0"), (B, "p1")), (C, "p0"), (D, "p0")),
            [("fault", "cable-crossed", "spark-b p0")],
            "p1 of spark-b reaches p0 of spark-a",
        ),
        "two of them, one in the other cage": (
            made.cable(made.bare(A, B), (A, "p0"), (B, "p1")),
            [("fault", "cable-crossed", "spark-b p0")],
            "the plug sits in the other cage of spark-b",
        ),
    }

    def holds(hosts: Mapping[str, Seen | None], expected: list[tuple[str, str, str]], evidence: str) -> None:
        found = shown(len(hosts), "switch", hosts)
        assert said(found) == expected
        assert evidence in found.findings[0].verdict.evidence

    each_row(rows, holds)


def test_a_port_that_passes_one_direction_alone_is_named_once() -> None:
    for count in (3, 8):
        hosts = switch(count)
        deaf = shown(count, "switch", {**hosts, B: made.deaf(hosts[B], *TWINS["p0"])})
        assert said(deaf) == [("fault", "one-way", f"{B} p0")]
        assert deaf.findings[0].verdict.evidence.startswith("p0 of spark-b hears nothing of p0 of spark-a")
        macs = {made.mac(B, netdev) for netdev in TWINS["p0"]}
        mute = {name: without(seen, macs) for name, seen in hosts.items()}
        found = shown(count, "switch", mute)
        assert said(found) == [("fault", "one-way", f"{B} p0")]
        assert "which hear nothing of it" in found.findings[0].verdict.evidence
    two = switch(2)
    assert said(shown(2, "switch", {**two, B: made.deaf(two[B], *TWINS["p0"])})) == [
        ("fault", "one-way", "cluster")
    ]


def without(seen: Seen, macs: set[str]) -> Seen:
    """A host that does not hear those."""
    assert seen.neighbours is not None
    heard, long = (
        tuple(row for row in rows if row.mac not in macs)
        for rows in (seen.neighbours.heard, seen.neighbours.heard_long)
    )
    return replace(seen, neighbours=replace(seen.neighbours, heard=heard, heard_long=long))


def two_planes(*swapped: str) -> dict[str, Seen]:
    """Both cages of three Sparks in use, each in a VLAN or on a switch of its own. swapped: whose plugs are."""
    hosts = made.bare(A, B, C)
    for one, other in ((A, B), (A, C), (B, C)):
        for cage, far in (("p0", "p1"), ("p1", "p0")):
            ends = [(name, far if name in swapped else cage) for name in (one, other)]
            hosts = made.cable(hosts, ends[0], ends[1])
    return hosts


def test_cages_without_a_subnet_in_common_need_not_reach_one_another() -> None:
    """Both cages of each Spark on a switch: one VLAN for all, or one for each cage."""
    data = {
        name: {
            "cluster": "lab",
            "topology": "switch",
            "fabric": {netdev: f"10.20.{rail}.{last}/24" for rail, netdev in enumerate(made.NETDEVS)},
        }
        for name, last in zip((A, B, C), (11, 12, 13), strict=True)
    }

    def built(hosts: Mapping[str, Seen]) -> Topology:
        return build(Fleet.parse(data), (A, B, C), hosts)

    assert said(built(two_planes())) == [("healthy", "", "cluster")]
    every = made.cable(two_planes(), (A, "p0"), (B, "p1"))
    for one, other in permutations((A, B, C), 2):
        every = made.cable(every, (one, "p0"), (other, "p1"))
    assert said(built(every)) == [("healthy", "", "cluster")]
    crossed = built(two_planes(C))
    assert said(crossed) == [("fault", "cable-crossed", f"{C} p0"), ("fault", "cable-crossed", f"{C} p1")]
    told = crossed.findings[0].verdict
    assert told.evidence.startswith(
        "p0 of spark-c reaches p1 of spark-a and p1 of spark-b, and wanted is to reach"
    )
    assert told.cure.startswith("swap the two plugs of spark-c")
    dark = {**two_planes(), C: made.lit(made.deaf(two_planes()[C], *TWINS["p1"]), *TWINS["p1"], carrier=False)}
    deaf = {n: made.deaf(dark[n], *TWINS["p1"]) if n != C else dark[n] for n in dark}
    deaf = made.cable(deaf, (A, "p1"), (B, "p1"))
    assert said(built(deaf)) == [("fault", "cable-out", f"{C} p1")]


def test_the_addresses_of_a_cage_that_is_not_declared_are_no_finding() -> None:
    """Such as 169.254.0.0/16 on both twins of a free cage, which no deploy of ours removes."""
    hosts = switch()
    free = dict(zip(TWINS["p1"], ("169.254.3.4/16", "169.254.3.5/16"), strict=True))
    assert said(shown(3, "switch", {**hosts, C: addressed(hosts[C], **free)})) == [("healthy", "", "cluster")]
