"""What two Sparks show -> which cage reaches which, and what to say of it: every way to cable them."""

from __future__ import annotations

import json
from dataclasses import replace

from sparkrig.fabric.cabling import End
from sparkrig.fabric.cabling_judge import judge
from sparkrig.fabric.topology import Seen, build, cage_of
from sparkrig.fleet import Fleet
from sparkrig.network.links import Link
from tests.tables import each_row, rows
from tests.unit import topologies as made
from tests.unit.topologies import A, B

STATES = made.states()

# level, cause, subject of each finding
SAID = {
    "straight": [("healthy", "", "pair")],
    "both cables": [("healthy", "", "pair")],
    "crossed": [("fault", "cable-crossed", "rails 0 and 1")],
    "crossed at the first host": [("fault", "cable-crossed", "rails 0 and 1")],
    "in the other cage of both": [("fault", "cable-crossed", "rails 0 and 1")],
    "swapped": [("fault", "cable-crossed", "rails 0, 1, 2 and 3")],
    "swapped, one declared": [("fault", "cable-crossed", "rails 0 and 1")],
    "one of two, crossed": [
        ("fault", "cable-crossed", "rails 0, 1, 2 and 3"),
        ("fault", "cable-out", "rails 0 and 1"),
    ],
    "cable out": [("fault", "cable-out", "rails 0 and 1")],
    "second cable out": [("fault", "cable-out", "rails 2 and 3")],
    "cable out, no netdevs": [("fault", "netdev-missing", "rails 0 and 1")],
    "netdevs of one host missing": [("fault", "netdev-missing", "rails 0 and 1")],
    "one rail missing": [("fault", "netdev-missing", "rail 1")],
    "half plugged": [("fault", "half-plugged", "rails 0 and 1")],
    "one twin plugged": [("fault", "half-plugged", "rail 1")],
    "netdev down": [("fault", "netdev-down", "rail 1")],
    "one way": [("fault", "one-way", "rails 0 and 1")],
    "no answer": [("unknown", "no-answer", "rails 0 and 1")],
    "no answer, same cable": [("unknown", "no-answer", "rails 0 and 1")],
    "one rail silent": [("fault", "no-answer", "rail 1")],
    "one twin mute": [("fault", "no-answer", "rail 1")],
    "netdevs swapped": [("fault", "netdevs-swapped", "rails 0 and 1")],
    "twins that hear all": [("healthy", "", "pair")],
    "no probe": [("unknown", "no-probe", "rails 0 and 1")],
    "a probe without the lit netdevs": [("unknown", "no-probe", "rails 0 and 1")],
    "not started": [("unknown", "no-probe", "rails 0 and 1")],
    "unknown machine": [("fault", "foreign-neighbour", "spark-a p0")],
    "third spark": [("fault", "foreign-neighbour", "spark-a p0")],
    "loop": [("fault", "loop", "spark-a")],
    "switch": [("degraded", "switch", "pair")],
    "slow": [("degraded", "speed-low", "rails 0 and 1")],
    "serials differ": [("healthy", "", "pair")],
    "speed not known": [("healthy", "", "pair")],
    "one host unread": [("unknown", "unread", "spark-b")],
    "no host read": [("unknown", "unread", "spark-a"), ("unknown", "unread", "spark-b")],
    "solo": [("healthy", "", "spark-c")],
    "solo, dark": [("healthy", "", "spark-c")],
    "solo, cabled": [("healthy", "", "spark-c")],
    "solo, looped": [("degraded", "loop", "spark-c")],
}


def test_every_state_is_in_the_table() -> None:
    assert set(SAID) == set(STATES)


def test_said() -> None:
    def holds(name: str) -> None:
        found = STATES[name].findings
        assert [(each.verdict.level, each.verdict.cause, each.subject) for each in found] == SAID[name]

    each_row([*SAID], holds)


def test_each_finding_has_its_evidence_and_its_cure() -> None:
    def holds(name: str) -> None:
        for finding in STATES[name].findings:
            verdict = finding.verdict
            assert verdict.evidence and not verdict.evidence.endswith(".")
            assert bool(verdict.cure) is not verdict.healthy

    each_row([*SAID], holds)


EVIDENCE = rows(__file__, "evidence")


def test_evidence() -> None:
    def holds(name: str, evidence: str) -> None:
        assert STATES[name].findings[0].verdict.evidence == evidence

    each_row(EVIDENCE.items(), holds)


CURES = {
    "crossed": "move the plug from p1 of spark-b to p0 of spark-b, or name the netdevs ",
    "crossed at the first host": "move the plug from p1 of spark-a to p0 of spark-a, or ",
    "in the other cage of both": "move the plug from p1 of spark-a to p0 of spark-a "
    "and move the plug from p1 of spark-b to p0 of spark-b, or ",
    "swapped": "swap the plugs in p0 of spark-a and p1 of spark-a, or ",
    "swapped, one declared": "swap the plugs in p0 of spark-a and p1 of spark-a, or ",
    "loop": "move the plug from p1 of spark-a to p0 of spark-b",
    "one twin mute": "reboot spark-b with the cable attached",
    "netdev down": "on spark-b: sudo ip link set enP2p1s0f0np0 up",
}


def test_cure() -> None:
    def holds(name: str, cure: str) -> None:
        assert STATES[name].findings[0].verdict.cure.startswith(cure)

    each_row(CURES.items(), holds)


# evidence of each cable that is there, by its ends
CABLES = {
    "straight": {("p0", "p0"): "heard both ways"},
    "both cables": {("p0", "p0"): "heard both ways", ("p1", "p1"): "heard both ways"},
    "crossed": {("p0", "p1"): "heard both ways"},
    "swapped": {("p0", "p1"): "heard both ways", ("p1", "p0"): "heard both ways"},
    "one way": {("p0", "p0"): "heard one way"},
    "half plugged": {("p0", "p0"): "same cable serial"},
    "no answer": {("p0", "p0"): "carrier only"},
    "no answer, same cable": {("p0", "p0"): "same cable serial"},
    "cable out": {},
    "unknown machine": {},
    "one host unread": {},
}


def test_cables() -> None:
    def holds(name: str, real: dict[tuple[str, str], str]) -> None:
        found = {(c.one.cage, c.other.cage): c.evidence for c in STATES[name].cables if c.real}
        assert found == real

    each_row(CABLES.items(), holds)


def test_a_verdict_for_each_cable_alone() -> None:
    judged = {name: [judge(STATES[name], c).cause for c in STATES[name].cables] for name in SAID}
    assert judged["second cable out"] == ["", "cable-out"]
    assert judged["crossed"] == ["cable-crossed", "cable-out"]
    assert judged["third spark"] == ["cable-out"]
    assert judged["one host unread"] == ["unread"]


def test_no_serial_number_comes_out() -> None:
    def holds(name: str) -> None:
        text = json.dumps(STATES[name].to_json())
        assert "c0ffee" not in text and "decaf" not in text

    each_row([*SAID], holds)


def test_what_the_twins_are() -> None:
    cage = STATES["straight"].at(End(B, "p0"))
    assert [(twin.netdev, twin.rail, twin.address, twin.device, twin.gid_index) for twin in cage.twins] == [
        ("enp1s0f0np0", 0, "192.168.100.12", "rocep1s0f0", 3),
        ("enP2p1s0f0np0", 1, "192.168.101.12", "roceP2p1s0f0", 3),
    ]
    assert (cage.state, cage.speed_mbps, cage.rails) == ("link", 200_000, (0, 1))


def turned() -> Fleet:
    """A pair whose second host names its rails in another order."""
    here, there = made.addresses(A, 2), made.addresses(B, 2)
    return Fleet.parse(
        {A: {"pair": "sparks", "fabric": dict(here)}, B: {"pair": "sparks", "fabric": dict(reversed(there))}}
    )


def test_rails_are_numbered_as_the_first_host_names_them() -> None:
    shown = build(turned(), (A, B), made.cable(made.bare(), *made.ONE_CABLE))
    assert [twin.rail for twin in shown.at(End(B, "p0")).twins] == [0, 1]
    assert shown.findings[0].verdict.healthy


def test_subnets_that_lead_one_cage_to_two_are_a_fault_of_the_inventory() -> None:
    there = dict(made.addresses(B, 1)) | {"enp1s0f1np1": "192.168.101.12/24"}
    fleet = Fleet.parse(
        {A: {"pair": "sparks", "fabric": dict(made.addresses(A, 2))}, B: {"pair": "sparks", "fabric": there}}
    )
    found = build(fleet, (A, B), made.cable(made.bare(), *made.ONE_CABLE)).findings
    assert [each.verdict.cause for each in found] == ["rails-crossed"]
    assert found[0].verdict.evidence == (
        "the inventory wants rail 0 to join p0 of spark-a and p0 of spark-b and rail 1 to join p0 of spark-a "
        "and p1 of spark-b, and a cage takes one plug only"
    )


def with_mac(seen: Seen, mac: str, *netdevs: str) -> Seen:
    links = {
        name: replace(link, mac=mac) if name in netdevs else link for name, link in seen.network.links.items()
    }
    return replace(seen, network=replace(seen.network, links=links))


def test_an_address_that_two_cages_share_tells_nothing() -> None:
    """A bond gives its parts one MAC address."""
    hosts = {
        A: made.hears(made.lit(made.host(A), *made.TWINS["p0"]), "enp1s0f0np0", "02:00:00:00:00:09"),
        B: with_mac(made.lit(made.host(B), *made.TWINS["p0"]), "02:00:00:00:00:09", "enp1s0f0np0", "enp1s0f1np1"),
    }
    shown = build(made.fleet(spark_a=2, spark_b=2), (A, B), hosts)
    assert [cable.evidence for cable in shown.cables] == ["carrier only"]
    assert shown.findings[0].verdict.cause == "no-answer"


def test_an_address_in_capitals_is_the_same() -> None:
    hosts = made.cable(made.bare(), *made.ONE_CABLE)
    hosts[B] = with_mac(hosts[B], made.mac(B, "enp1s0f0np0").upper(), "enp1s0f0np0")
    assert build(made.fleet(spark_a=2, spark_b=2), (A, B), hosts).findings[0].verdict.healthy


def test_twins_with_a_wire_each_are_one_cable_too() -> None:
    """As in the virtual pair: each twin hears its opposite alone."""
    p0 = made.TWINS["p0"]
    hosts = {here: made.lit(made.host(here), *p0) for here in (A, B)}
    for here, there in ((A, B), (B, A)):
        for netdev in p0:
            hosts[here] = made.hears(hosts[here], netdev, made.mac(there, netdev))
    assert build(made.fleet(spark_a=2, spark_b=2), (A, B), hosts).findings[0].verdict.healthy


def test_cage_by_the_kernel_then_by_name_then_itself() -> None:
    network = made.host(A).network
    odd = replace(network, links={"ens5": Link("ens5", "", 1500, True, (), "p1")})
    assert cage_of("ens5", odd) == "p1"
    assert cage_of("enP2p1s0f1np1", None) == "p1"
    assert cage_of("fabric0", network) == "fabric0"


def test_groups() -> None:
    assert made.fleet(spark_c=0, spark_b=2, spark_a=2).groups() == [("spark-c",), ("spark-b", "spark-a")]


def test_hearing_the_own_twin_is_no_word_from_elsewhere() -> None:
    """The switch inside the NIC may hand a frame to the twin; what the serials say still counts."""
    p0 = made.TWINS["p0"]
    hosts = {
        name: replace(
            made.hears(made.lit(made.host(name), *p0), p0[0], made.mac(name, p0[1])), cables={p0[0]: "x"}
        )
        for name in (A, B)
    }
    shown = build(made.fleet(spark_a=2, spark_b=2), (A, B), hosts)
    assert [cable.evidence for cable in shown.cables] == ["same cable serial"]


def test_cables_that_all_have_the_same_serial_are_told_apart_by_frames() -> None:
    hosts = made.cable(made.cable(made.bare(), *made.ONE_CABLE, serial="0"), *made.OTHER_CABLE, serial="0")
    shown = build(made.fleet(spark_a=4, spark_b=4), (A, B), hosts)
    assert [(cable.one.cage, cable.other.cage) for cable in shown.cables] == [("p0", "p0"), ("p1", "p1")]
    assert shown.findings[0].verdict.healthy
