"""A ring of three: which cable is wrong, and which plug to move."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations

from sparkrig.fabric.cabling import Topology
from sparkrig.fabric.cabling_judge import judge
from sparkrig.fabric.topology import Seen, build, obstacles
from sparkrig.fleet import Fleet
from tests.tables import each_row
from tests.unit import topologies as made
from tests.unit.clustered import ELSEWHERE, NAMES, RING, Cables, Hosts, fleet, half, out, ring, shown, switch
from tests.unit.topologies import TWINS, A, B, C, End


def said(found: Topology) -> list[tuple[str, str, str]]:
    return [(each.verdict.level, each.verdict.cause, each.subject) for each in found.findings]


def test_a_ring_as_wanted_is_one_healthy_finding() -> None:
    found = shown(3, "ring", ring())
    assert said(found) == [("healthy", "", "cluster")]
    evidence = found.findings[0].verdict.evidence
    assert "p0 of spark-a reaches p1 of spark-b as wanted (heard both ways, 200 Gb/s" in evidence
    assert "p1 of spark-a reaches p0 of spark-c as wanted" in evidence
    assert [cable.rails for cable in found.cables] == [(0, 1), (2, 3), (4, 5)]
    assert all(judge(found, cable).healthy for cable in found.cables)
    assert found.form == "ring" and obstacles(fleet(3, "ring"), NAMES[:3], ring()) == []


def mended(cables: Cables, cure: str) -> Cables:
    """The cables once the cure was followed."""
    places: dict[End, End] = {}
    if hosts := re.fullmatch(r"swap the two plugs of (.*?)(, or name .*)?", cure):
        for host in re.findall(r"spark-\w", hosts[1]):
            places |= {(host, "p0"): (host, "p1"), (host, "p1"): (host, "p0")}
    else:
        assert re.match(
            r"(swap the plugs in|move the plug from) p\d of spark-\w (and|to) p\d of spark-\w$", cure
        ), cure
        (one, here), (other, there) = re.findall(r"(p\d) of (spark-\w)", cure)
        places = {(here, one): (there, other), (there, other): (here, one)}
    return tuple((places.get(one, one), places.get(other, other)) for one, other in cables)


def crossed(cables: Cables) -> list[str]:
    """The cures of what leads elsewhere."""
    findings = shown(3, "ring", ring(*cables)).findings
    return [each.verdict.cure for each in findings if each.verdict.cause == "cable-crossed"]


def test_a_cable_that_leads_elsewhere_is_named_with_the_plug_to_move() -> None:
    def holds(cables: Cables, evidence: list[str]) -> None:
        found = shown(3, "ring", ring(*cables))
        told = [each.verdict.evidence for each in found.findings if each.verdict.cause == "cable-crossed"]
        assert told == ["; ".join(evidence)]
        (cure,) = {*crossed(cables)}
        assert crossed(mended(cables, cure)) == [], cure
        refused = [str(each) for each in obstacles(fleet(3, "ring"), NAMES[:3], ring(*cables))]
        assert any(evidence[0] in each for each in refused)

    each_row(ELSEWHERE, holds)


def test_a_cable_that_is_out_is_named_beside_one_that_lies_elsewhere() -> None:
    """Once the plug is moved, the ring has two cables: the ends of the third are named at once."""

    def holds(cables: Cables, lacking: str) -> None:
        found = [each.verdict for each in shown(3, "ring", ring(*cables)).findings]
        (out,) = [each for each in found if each.cause == "cable-out"]
        assert "have no carrier: 2 of 3 cables are there, and none is left for " + lacking in out.evidence
        assert out.cure == f"seat a QSFP cable in {lacking} until it clicks, once the others are where they belong"
        assert found.index(out) == len(found) - 1, "the cables that are there come first"

    rows = {
        "a cable out and one in its place": (
            ELSEWHERE["a cable out and one in its place"][0],
            "p0 of spark-a and p1 of spark-b",
        ),
        "two cables between two hosts": (
            ELSEWHERE["two cables between two hosts"][0],
            "p1 of spark-a and p0 of spark-c",
        ),
        "one in the wrong cage": ((((A, "p0"), (B, "p0")), RING[2]), "p0 of spark-b and p1 of spark-c"),
        "a loop": ((((A, "p0"), (A, "p1")), RING[1]), "p0 of spark-a and p1 of spark-b"),
    }
    each_row(rows, holds)


def test_one_host_is_named_where_its_own_plugs_are_swapped() -> None:
    assert {*crossed(ELSEWHERE["two plugs of one host"][0])} == {
        "swap the plugs in p0 of spark-b and p1 of spark-b"
    }
    assert {*crossed(ELSEWHERE["each p0 to the p1 before"][0])} == {
        "swap the two plugs of spark-a, spark-b and spark-c, or name the hosts as spark-a, spark-c and spark-b "
        "where fabric_network gives the addresses"
    }
    data = {"cluster": "lab", "topology": "ring", "fabric_network": "10.20.0.0/16"}
    renamed = Fleet.parse(dict.fromkeys((A, C, B), data))
    assert build(renamed, (A, C, B), ring(*ELSEWHERE["each p0 to the p1 before"][0])).findings[0].verdict.healthy


def test_the_cure_of_any_two_plugs_that_changed_places_makes_the_ring() -> None:
    ends = sorted({end for cable in RING for end in cable})
    tried = 0
    for place, one in enumerate(ends):
        for other in ends[place + 1 :]:
            swap = {one: other, other: one}
            cables = tuple((swap.get(a, a), swap.get(b, b)) for a, b in RING)
            for cure in {*crossed(cables)}:
                tried += 1
                assert {frozenset(each) for each in mended(cables, cure)} == {frozenset(each) for each in RING}
    assert tried >= 12


def slow() -> Hosts:
    return made.changed(ring(), B, speeds=dict.fromkeys(TWINS["p1"], 100_000))


def unread() -> dict[str, Seen | None]:
    return {**ring(*RING[:1]), C: None}


def test_one_fault_of_a_ring_is_one_finding() -> None:
    rows = {
        "a cable out": (out(), [("fault", "cable-out", "rails 2 and 3")]),
        "a plug not seated": (half(), [("fault", "half-plugged", "rails 2 and 3")]),
        "a slow cable": (slow(), [("degraded", "speed-low", "rails 0 and 1")]),
        "a host unread": (unread(), [("unknown", "unread", C)]),
        "no probe on one": (
            made.changed(made.changed(out(), A, neighbours=None), C, neighbours=None),
            [("fault", "cable-out", "rails 2 and 3"), ("unknown", "no-probe", "rails 4 and 5")],
        ),
        "a twin that is mute": (made.mute(ring(), C, TWINS["p0"][1]), [("fault", "no-answer", "rail 3")]),
        "a loop": (
            ring(((A, "p0"), (A, "p1")), RING[1]),
            [("fault", "loop", A), ("fault", "cable-out", "rails 0 and 1")],
        ),
    }

    def holds(hosts: Mapping[str, Seen | None], expected: list[tuple[str, str, str]]) -> None:
        found = said(shown(3, "ring", hosts))
        assert {*expected} <= {*found}, found
        assert len([each for each in found if each[0] == "fault"]) == len([e for e in expected if e[0] == "fault"])

    each_row(rows, holds)


def test_a_cable_to_a_fourth_spark_is_a_stranger() -> None:
    hosts = made.cable({**out(), "spark-d": made.host("spark-d")}, (C, "p0"), ("spark-d", "p0"))
    found = shown(3, "ring", hosts)
    assert ("fault", "foreign-neighbour", "spark-c p0") in said(found)
    assert "p0 of spark-c hears spark-d" in found.findings[0].verdict.evidence


def test_a_cable_that_is_wanted_and_elsewhere_is_out_in_the_drawing() -> None:
    found = shown(3, "ring", ring(*ELSEWHERE["a cable out and one in its place"][0]))
    verdicts = {(str(c.one), str(c.other)): judge(found, c).cause for c in found.cables}
    assert verdicts["p0 of spark-a", "p1 of spark-c"] == "cable-crossed"
    assert verdicts["p0 of spark-a", "p1 of spark-b"] == "cable-out"
    assert replace(found, findings=()).form == "ring"


def switched(*cages: str) -> Hosts:
    """Three hosts with those cages on one switch."""
    hosts = made.bare(A, B, C)
    for one, other in combinations([(host, cage) for host in NAMES[:3] for cage in cages], 2):
        hosts = made.cable(hosts, one, other)
    return hosts


def test_a_switch_in_place_of_a_ring_is_one_finding() -> None:
    """Six plugs in one switch reach one another in fifteen ways, and no cable is in a wrong cage."""
    every = shown(3, "ring", switched("p0", "p1"))
    assert said(every) == [("degraded", "switch", "cluster")]
    assert "declare topology switch" in every.findings[0].verdict.cure
    assert {judge(every, cable).cause for cable in every.cables} == {"", "switch"}
    first = shown(3, "ring", switched("p0"))
    assert said(first) == [("fault", "switch", "cluster")] and first.findings[0].rails == (0, 1, 2, 3, 4, 5)
    told = first.findings[0].verdict.evidence
    assert "a switch joins p0 of spark-a, p0 of spark-b and p0 of spark-c, and not p0 of spark-a to p1" in told


def test_the_frames_of_a_host_that_was_not_read_are_no_strangers() -> None:
    """Its probe ran, and what it answered could not be read: its MAC addresses are unknown."""
    assert said(shown(3, "ring", {**ring(), C: None})) == [("unknown", "unread", C)]
    assert obstacles(fleet(3, "ring"), NAMES[:3], {**ring(), C: None}) == []


def test_a_plug_is_not_moved_to_a_cage_that_is_taken() -> None:
    loop, between = ((A, "p0"), (A, "p1")), ((B, "p1"), (C, "p0"))
    found = shown(3, "ring", ring(loop, between))
    cures = {each.verdict.cause: each.verdict.cure for each in found.findings}
    assert cures["loop"] == cures["cable-crossed"] == "swap the plugs in p0 of spark-a and p0 of spark-c"


def test_one_serial_on_all_cables_is_no_cable() -> None:
    """Where no frame shows what leads where: such as without python3, or with netdevs that are down."""

    def unheard(*serials: str) -> Hosts:
        hosts = made.bare(A, B, C)
        for (one, other), serial in zip(RING, serials, strict=True):
            hosts = made.cable(hosts, one, other, serial)
        return {name: replace(seen, neighbours=None) for name, seen in hosts.items()}

    for serials, evidence in ((("x", "y", "z"), "same cable serial"), (("x", "x", "x"), "carrier only")):
        found = shown(3, "ring", unheard(*serials))
        assert {each.verdict.cause for each in found.findings} == {"no-probe"}
        assert [cable.evidence for cable in found.cables] == [evidence] * 3


def test_a_kernel_that_names_no_port_leaves_the_name_of_the_netdev() -> None:
    def unnamed(hosts: Hosts) -> Hosts:
        links = {name: replace(link, port="") for name, link in hosts[C].network.links.items()}
        return made.changed(hosts, C, network=replace(hosts[C].network, links=links))

    assert said(shown(3, "ring", unnamed(ring()))) == [("healthy", "", "cluster")]
    assert said(shown(3, "switch", unnamed(switch()))) == [("healthy", "", "cluster")]


def test_two_hosts_with_one_mac_address_are_named_and_nothing_else() -> None:
    def copied(hosts: Hosts, *netdevs: str) -> Hosts:
        links = hosts[C].network.links
        same = {name: replace(links[name], mac=made.mac(B, name)) for name in netdevs}
        return made.changed(hosts, C, network=replace(hosts[C].network, links={**links, **same}))

    twice = [("fault", "mac-twice", "spark-b and spark-c")]
    found = shown(3, "ring", copied(ring(), "enp1s0f0np0"))
    assert said(found) == twice
    told = found.findings[0].verdict.evidence
    assert told.startswith("one MAC address is that of enp1s0f0np0 of spark-b and enp1s0f0np0 of spark-c (52:54")
    assert said(shown(4, "switch", copied(switch(4), "enp1s0f0np0"))) == twice
    one_spark = shown(3, "ring", copied(ring(), *made.NETDEVS))
    assert said(one_spark) == twice
    assert "these names lead to one Spark" in one_spark.findings[0].verdict.evidence


def test_a_host_that_was_not_read_is_not_apart_from_a_switch() -> None:
    found = shown(3, "ring", {**switched("p0", "p1"), C: None})
    assert said(found) == [("unknown", "unread", C), ("degraded", "switch", "cluster")]


def test_a_machine_that_is_heard_may_be_of_another_cluster() -> None:
    """Only where all hosts of the inventory were looked at is it known that none of them is it."""
    hosts = ring(*RING[:2])
    hosts[A] = made.hears(made.lit(hosts[A], *TWINS["p1"]), TWINS["p1"][0], made.mac("spark-d", TWINS["p1"][0]))
    alone = {"cluster": "lab", "topology": "ring", "fabric_network": "10.20.0.0/16"}
    more = Fleet.parse({**dict.fromkeys(NAMES[:3], alone), "spark-d": {}})
    for known, words in (
        (fleet(3, "ring"), "a machine that the inventory does not name"),
        (more, "a machine that was not looked at, or that the inventory does not name"),
    ):
        [finding] = build(known, NAMES[:3], hosts).findings
        assert f"p1 of spark-a hears {words} (52:54:00" in finding.verdict.evidence
        assert "leads to another Spark" in finding.verdict.evidence
