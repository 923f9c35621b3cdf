"""T1: each fault of a ring and of a switch alone, in the same words by topology, doctor and bandwidth."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

from tests.plan.clustered import Cluster, trials
from tests.plan.conftest import Host
from tests.plan.desk import Desk, Done, noted
from tests.tables import each_row

RING, SWITCH = Cluster(3, "ring"), Cluster(4, "switch")
A, B, C, D = (f"@fake/spark-{letter}" for letter in "abcd")
P0, P1 = ("enp1s0f0np0", "enP2p1s0f0np0"), ("enp1s0f1np1", "enP2p1s0f1np1")
PROBE = "SPARKRIG_PROBE"
Faulty = Callable[[list[Host]], list[Host]]
Row = Callable[[str, str], str]
"""A row that a host prints, as it is where something is wrong: is given the host's name and the row."""


def printed(change: Row) -> Faulty:
    """Hosts of whose looks each row is changed."""

    def rows(host: Host, printed: Mapping[str, Any]) -> dict[str, Any]:
        return {
            piece: [change(host.name, row) for row in text] if "#sparkrig:end" in piece else text
            for piece, text in printed.items()
        }

    return lambda hosts: [
        replace(host, first=rows(host, host.first), responses=rows(host, host.responses)) for host in hosts
    ]


def heard(probe: Callable[[int], list[str]]) -> Faulty:
    """Hosts that hear something else. probe: what the host at that place prints."""

    def listens(place: int, host: Host) -> Host:
        return replace(host, first=_with(host.first, place), responses=_with(host.responses, place))

    def _with(printed: Mapping[str, Any], place: int) -> dict[str, Any]:
        return {piece: probe(place) if PROBE in piece else text for piece, text in printed.items()}

    return lambda hosts: [listens(place, host) for place, host in enumerate(hosts)]


def dark(ends: dict[str, Collection[str]]) -> Row:
    """No carrier on these netdevs, by host."""

    def row(name: str, text: str) -> str:
        mine = "|".join(ends.get(name, ("-",)))
        return re.sub(rf"^((?:port (?:{mine}) p\d|(?:{mine}) carrier)) 1", r"\1 0", text)

    return row


def on(name: str, pattern: str, text: str) -> Row:
    return lambda at, row: re.sub(pattern, text, row) if at == name else row


def cable_out(hosts: list[Host]) -> list[Host]:
    """The cable from p0 of spark-b to p1 of spark-c."""
    gone = {1: "spark-c", 2: "spark-b"}
    deaf = heard(lambda place: RING.heard(place, {gone[place]} if place in gone else ()))
    return printed(dark({B: P0, C: P1}))(deaf(hosts))


Plug = tuple[int, str]
"""A host by its place, and a cage."""
STRANGER = "aa:bb:cc:00:00:01"


def cabled(*over: tuple[Plug, Plug], astray: Collection[Plug] = ()) -> Faulty:
    """A ring with these cables and no other. astray: plugs of cables that lead to a machine of others."""
    far = {near: there for one, other in over for near, there in ((one, other), (other, one))}

    def probe(place: int) -> list[str]:
        rows = [f"sent {netdev} 20" for netdev in (*P0, *P1)]
        for cage, netdevs in (("p0", P0), ("p1", P1)):
            macs = [STRANGER] if (place, cage) in astray else []
            if (place, cage) in far:
                there, other = far[place, cage]
                macs = [RING.mac(RING.names[there], each) for each in (P0 if other == "p0" else P1)]
            rows += [f"heard {own} {mac} 19" for own in netdevs for mac in macs]
        return [*rows, "end"]

    out = {
        name: [
            *(P0 if (place, "p0") not in {*far, *astray} else ()),
            *(P1 if (place, "p1") not in {*far, *astray} else ()),
        ]
        for place, name in enumerate((A, B, C))
    }
    unplugged = printed(dark({name: netdevs for name, netdevs in out.items() if netdevs}))
    return lambda hosts: unplugged(heard(probe)(hosts))


# the two plugs in spark-a have changed places: two cables lead elsewhere, and each is named
crossed = cabled(((0, "p0"), (2, "p0")), ((0, "p1"), (1, "p1")), ((1, "p0"), (2, "p1")))


FOLLOWS = {"gid-missing"}  # where an address is another one, its GID is, too

FAULTS: dict[str, tuple[Cluster, Faulty, list[tuple[str, str, str]], set[frozenset[str]]]] = {
    "a port below 200 Gb/s": (
        SWITCH,
        printed(on(C, r"^(enp1s0f0np0|enP2p1s0f0np0) speed 200000", r"\1 speed 100000")),
        [(f"{C} p0", "degraded", "switch-speed")],
        set(),
    ),
    "frames above 1500 dropped": (
        SWITCH,
        heard(lambda place: SWITCH.heard(place, short=SWITCH.names if place == 2 else ())),
        [(f"{C} p0", "fault", "switch-mtu")],
        {frozenset({C, other}) for other in (A, B, D)},
    ),
    "a port in another VLAN or bridge": (
        SWITCH,
        heard(lambda place: SWITCH.heard(place, SWITCH.names if place == 2 else {"spark-c"})),
        [(f"{C} p0", "fault", "switch-apart")],
        {frozenset({C, other}) for other in (A, B, D)},
    ),
    "all ports apart": (
        SWITCH,
        heard(lambda place: SWITCH.heard(place, SWITCH.names)),
        [("cluster", "fault", "switch-apart")],
        {frozenset({one, other}) for one in (A, B, C, D) for other in (A, B, C, D) if one < other},
    ),
    "a slow port": (
        SWITCH,
        printed(on(C, r"^(enp1s0f0np0) counter.out_of_seq_request 0", r"\1 counter.out_of_seq_request 5000")),
        [(f"{C} p0", "degraded", "switch-slow")],
        set(),
    ),
    "twins in one subnet": (
        SWITCH,
        printed(on(C, r"10\.20\.1\.13\b", "10.20.0.113")),
        [(f"{C} p0", "fault", "switch-subnet")],
        {frozenset({C, other}) for other in (A, B, D)},
    ),
    "a cable of a ring out": (RING, cable_out, [("rails 4 and 5", "fault", "cable-out")], {frozenset({B, C})}),
    "two cables of a ring crossed": (
        RING,
        crossed,
        [("rails 0, 1, 2 and 3", "fault", "cable-crossed")],
        {frozenset({A, B}), frozenset({A, C})},
    ),
    "a cable of a ring that leads to a machine of others": (
        RING,
        cabled(((0, "p0"), (1, "p1")), ((1, "p0"), (2, "p1")), astray=[(0, "p1")]),
        [(f"{A} p1", "fault", "foreign-neighbour")],
        {frozenset({A, C})},
    ),
    "two of them": (
        RING,
        cabled(((0, "p0"), (1, "p1")), ((1, "p0"), (2, "p1")), astray=[(0, "p1"), (2, "p0")]),
        [(f"{A} p1", "fault", "foreign-neighbour"), (f"{C} p0", "fault", "foreign-neighbour")],
        {frozenset({A, C})},
    ),
    "both plugs of a cable of a ring in one Spark": (
        RING,
        cabled(((0, "p0"), (1, "p1")), ((2, "p0"), (2, "p1"))),
        [(C, "fault", "loop"), ("rails 4 and 5", "fault", "cable-out")],
        {frozenset({A, C}), frozenset({B, C})},
    ),
}


def wrong(findings: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    rows = [(each["subject"], each["verdict"]["level"], each["verdict"]["cause"]) for each in findings]
    return [row for row in rows if row[1] != "healthy"]


def test_each_fault_alone_is_one_sentence_in_topology_doctor_and_bandwidth(desk: Desk) -> None:
    def holds(
        cluster: Cluster, fault: Faulty, said: list[tuple[str, str, str]], blocked: set[frozenset[str]]
    ) -> None:
        hosts = fault(cluster.measuring())
        looked = noted(desk, hosts).typed("topology", "--json")
        assert "INVENTORY" not in f"{looked.report}{looked.said}", "a cure that is no command"
        shown = looked.report["groups"][0]["topology"]["findings"]
        assert wrong(shown) == said, shown
        done = noted(desk, hosts).typed("bandwidth", "--quick", "--json")
        (found,) = done.report["clusters"]
        assert [row for row in wrong(found["findings"]) if row[2] not in FOLLOWS] == said, found["findings"]
        assert [each for each in found["findings"] if each in shown] == shown, "the same words"
        assert done.code == 2, done.said
        assert "INVENTORY" not in f"{done.report}{done.said}", "a cure that is no command"
        assert unmeasured(found) == blocked
        measured = {frozenset(each[:2]) for each in trials(desk, cluster)}
        assert measured == {frozenset(each["hosts"]) for each in found["rails"]} - blocked
        for each in shown:
            assert " ".join(done.said.split()).count(each["verdict"]["evidence"]) == 1, done.said
        told = words(noted(desk, hosts).typed("doctor", "--json"))
        assert not [each for each in shown if each["verdict"]["evidence"] not in told], told

    each_row(FAULTS, holds)


def test_what_the_survey_finds_explains_the_figures_of_its_port(desk: Desk) -> None:
    """A port below 200 Gb/s is named once, and is the reason that each of its edges gives."""
    slow = SWITCH.measuring(lambda sender, receiver, _: 70.0 if "spark-c" in (sender, receiver) else 111.8)
    done = noted(desk, FAULTS["a port below 200 Gb/s"][1](slow)).typed("bandwidth", "--quick", "--json")
    (found,) = done.report["clusters"]
    assert wrong(found["findings"]) == [(f"{C} p0", "degraded", "switch-speed")]
    poor = [each for each in found["rails"] if each["verdict"]["level"] != "healthy"]
    assert {(each["because"], each["verdict"]["cause"]) for each in poor} == {(f"{C} p0", "switch-speed")}
    assert len(poor) == 6 and all("70.00 Gb/s" in each["verdict"]["evidence"] for each in poor)


def test_what_two_findings_say_alike_is_said_once(desk: Desk) -> None:
    """Both cables of a ring end at the host whose probe did not run."""
    silent = heard(lambda place: ["trouble python3 is not installed"] if place == 2 else RING.heard(place))
    row = noted(desk, silent(RING.measuring())).typed("doctor", "--json").row(A, "pair.cabling")
    assert row["found"] == f"the neighbour probe did not run on {C} (python3 is not installed)"


def test_two_faults_at_once_are_both_named_with_what_to_do_about_each(desk: Desk) -> None:
    """The doctor has one row for what joins the hosts."""
    slow = FAULTS["a port below 200 Gb/s"][1]
    short = heard(lambda place: SWITCH.heard(place, short=SWITCH.names if place == 1 else ()))
    row = noted(desk, short(slow(SWITCH.measuring()))).typed("doctor", "--json").row(A, "pair.cabling")
    assert row["cause"] == "switch-mtu"
    assert f"p0 of {B} gets no frame of 9000" in row["found"] and f"p0 of {C} and its port" in row["found"]
    first, _, second = row["cure"].partition("; then ")
    assert first == f"set an L2 MTU of 9216 on the switch's port for p0 of {B}, and on its bridge"
    assert second.startswith(f"set the switch's port for p0 of {C} to 200 Gb/s")


def unmeasured(found: dict[str, Any]) -> set[frozenset[str]]:
    """Hosts between which an edge has no ends; all their edges have a finding that explains it."""
    edges = [each for each in found["rails"] if not each["ends"]]
    assert all(each["because"] for each in edges), edges
    return {frozenset(each["hosts"]) for each in edges}


def words(done: Done) -> str:
    return "\n".join(str(row["found"]) for host in done.report["hosts"] for row in host["rows"])
