"""Which port of a cluster is named, when an edge is, and when none can be."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sparkrig.bandwidth import outcome, ports
from sparkrig.bandwidth.bands import judge_shared
from sparkrig.bandwidth.measurement import Measurement, Run
from sparkrig.verdict import Finding, Verdict, exit_code
from tests.tables import each_row
from tests.unit.clusters_measured import REACHED, run, slow_port

A, B, C, D = (f"spark-{letter}" for letter in "abcd")
BOTH = "enp1s0f0np0 and enP2p1s0f0np0"
Said = list[tuple[str, str, str]]


def said(found: Run) -> Said:
    """Subject, level and cause of all that is wrong: findings, then edges that they do not explain."""
    wrong = [*(each for each in found.findings if not each.verdict.healthy), *outcome.loose(found)]
    return [(each.subject, each.verdict.level, each.verdict.cause) for each in wrong]


def one_edge(*hosts: str, outcome: float | Verdict = 13.3, twin: int = 0) -> Any:
    return lambda sender, receiver, at: outcome if {sender, receiver} == {*hosts} and at == twin else 111.8


def slow(*hosts: str) -> Any:
    return lambda sender, receiver, _: 13.3 if {sender, receiver} & {*hosts} else 111.8


def sends_slowly(host: str) -> Any:
    return lambda sender, *_: 13.3 if sender == host else 111.8


def silent(host: str) -> Any:
    return lambda sender, receiver, _: REACHED if host in (sender, receiver) else 111.8


MTU = Verdict(
    "degraded", "path-mtu", "97.00 Gb/s at path MTU 1024, 4096 expected: enp1 on spark-b has MTU 1500", "x"
)
FLAP = Verdict("degraded", "link-flap", "the link lost its carrier 2 times", "seat the plugs")
ROWS: dict[str, tuple[Run, Said]] = {
    "all well on a switch": (run(), []),
    "all well in a ring": (run(count=3, form="ring"), []),
    "one slow port": (run(slow_port(B)), [(f"{B} {BOTH}", "fault", "port-slow")]),
    "one slow half of a port": (run(slow_port(C, twins=(1,)), 8), [(f"{C} enP2p1s0f0np0", "fault", "port-slow")]),
    "a port at half its speed": (run(slow_port(D, 55.0)), [(f"{D} {BOTH}", "degraded", "port-slow")]),
    "two slow ports of four": (
        run(slow(B, C)),
        [(f"{B} {BOTH}", "fault", "port-slow"), (f"{C} {BOTH}", "fault", "port-slow")],
    ),
    "two slow ports of three, which a slow switch looks like": (
        run(slow(B, C), 3),
        [("rails 0 and 1", "fault", "all-slow")],
    ),
    "one slow edge": (run(one_edge(A, C)), [(f"rail 0, {A} and {C}", "fault", "slow-start")]),
    "one slow edge of a ring": (run(one_edge(A, C), 3, "ring"), [(f"rail 2, {A} and {C}", "fault", "slow-start")]),
    "both rails of an edge, in one finding": (
        run(lambda sender, receiver, _: 13.3 if {sender, receiver} == {B, C} else 111.8, 3, "ring"),
        [(f"rails 4 and 5, {B} and {C}", "fault", "slow-start")],
    ),
    "both cables of one host of a ring": (
        run(slow_port(C, twins=(0,)), 3, "ring"),
        [(f"{C} enp1s0f0np0 and enp1s0f1np1", "fault", "port-slow")],
    ),
    "all slow": (run(lambda *_: 13.3), [("rails 0 and 1", "fault", "all-slow")]),
    "all of one rail slow": (run(lambda _, __, twin: 13.3 if twin else 111.8), [("rail 1", "fault", "all-slow")]),
    "nothing at all carried": (run(lambda *_: REACHED), [("rails 0 and 1", "fault", "unreachable")]),
    "a port that carries nothing": (run(silent(B)), [(f"{B} {BOTH}", "fault", "port-silent")]),
    "a dead host": (run(missing={D: "spark-d was lost"}), [(D, "unknown", "host-lost")]),
    "a dead host, and a slow port": (
        run(slow(B), missing={D: "spark-d was lost"}),
        [(D, "unknown", "host-lost"), (f"{B} {BOTH}", "fault", "port-slow")],
    ),
    "two dead hosts leave one edge, of which no port can be told": (
        run(slow(B), missing={C: "gone", D: "gone"}),
        [
            (C, "unknown", "host-lost"),
            (D, "unknown", "host-lost"),
            (f"rails 0 and 1, {A} and {B}", "fault", "slow-start"),
        ],
    ),
    "what is known of a host has its own cause": (
        run(lambda sender, receiver, _: (97.0, MTU) if B in (sender, receiver) else 111.8),
        [(f"{B} {BOTH}", "degraded", "path-mtu")],
    ),
    "two things that are known, and all edges of one port": (
        run(
            lambda sender, receiver, _: (
                (97.0, FLAP if D in (sender, receiver) else MTU) if B in (sender, receiver) else 111.8
            )
        ),
        [(f"{B} {BOTH}", "degraded", "port-slow")],
    ),
}


def test_each_fault_alone_is_named_once() -> None:
    def holds(found: Run, wanted: Said) -> None:
        assert said(found) == wanted
        level = {level for _, level, _ in wanted}
        assert exit_code(found.verdicts) == (0 if not wanted else 3 if "unknown" in level else 2)

    each_row(ROWS, holds)


def test_the_cure_of_what_is_slow_everywhere_is_for_all_hosts() -> None:
    for form in ("ring", "switch"):
        (finding,) = run(lambda *_: 13.3, 3, form).findings
        assert "reboot all Sparks with the cables attached" in finding.verdict.cure, finding
        assert "both" not in finding.verdict.cure


def test_an_edge_names_the_finding_that_explains_it() -> None:
    found = run(slow_port(B, twins=(0,)))
    because = {(edge.hosts, edge.number): edge.because for edge in found.rails if edge.because}
    assert because == {(hosts, 0): f"{B} enp1s0f0np0" for hosts in ((A, B), (B, C), (B, D))}
    assert [(port.host, port.twin) for port in found.ports if not port.verdict.healthy] == [(B, 0)]


def test_a_port_says_its_figures_those_of_the_others_and_what_to_do() -> None:
    (finding,) = run(lambda sender, receiver, _: 13.35 if B in (sender, receiver) else 111.8).findings
    assert finding.verdict.evidence == (
        "all 6 edges are slow, 13.35 Gb/s (slow-start); 111.80 Gb/s between the other hosts"
    )
    assert finding.verdict.cure.startswith(f"reboot {B} with the cable attached")
    assert "another port of the switch" in finding.verdict.cure
    (finding,) = run(slow_port(C, 55.0, twins=(0,)), 3, "ring").findings
    assert finding.verdict.evidence.startswith("both edges are slow, 55.00 to ")
    assert "switch" not in finding.verdict.cure and f"on {C}: sudo lspci" in finding.verdict.cure


def test_why_no_edge_of_a_port_can_be_measured_is_said_as_it_is() -> None:
    gone = Verdict("fault", "no-rdma", f"no RDMA device sits on enp1s0f0np0 of {B}", "rdma link")
    found = run()
    edges = [
        replace(edge, ends={}, verdict=gone) if B in edge.hosts and not edge.twin else edge for edge in found.rails
    ]
    judged = ports.judge(edges, found.measurements, {}, "switch")
    assert judged.findings == (Finding(f"{B} enp1s0f0np0", gone, (0,)),)


def test_a_cable_that_is_out_is_no_figure_of_the_hosts_that_it_would_join() -> None:
    """The edge that is slow beside it is named as the edge that it is, and counted without it."""
    out = Verdict("fault", "cable-out", f"neither p0 of {B} nor p1 of {C} has a carrier", "seat a cable")

    def judged(figures: Any) -> ports.Judged:
        found = run(figures, 3, "ring")
        edges = [
            replace(edge, ends={}, verdict=out, because="rails 4 and 5")
            if edge.hosts == (B, C)
            else replace(edge, because="")
            for edge in found.rails
        ]
        measured = [each for each in found.measurements if {each.sender, each.receiver} != {B, C}]
        return ports.judge(edges, measured, {}, "ring")

    one = judged(lambda sender, receiver, _: 13.3 if {sender, receiver} == {A, C} else 111.8)
    (finding,) = (*one.findings, *outcome.loose(replace(run(count=3, form="ring"), rails=one.edges)))
    assert (finding.subject, finding.rails) == (f"rails 2 and 3, {A} and {C}", (2, 3))
    assert {edge.because for edge in one.edges} == {"", "rails 4 and 5"}
    both = judged(lambda *_: 13.3)
    (finding,) = both.findings
    assert (finding.subject, finding.verdict.cause) == ("rails 0, 1, 2 and 3", "all-slow")
    assert finding.verdict.evidence.startswith("all 4 edges are slow, 13.30 Gb/s")


def test_one_direction_that_is_slow_is_said() -> None:
    (finding,) = run(sends_slowly(B)).findings
    assert "all 6 edges are slow in what it sends, 13.30 Gb/s" in finding.verdict.evidence
    (finding,) = run(lambda _, receiver, __: 13.3 if receiver == B else 111.8).findings
    assert "slow in what it receives" in finding.verdict.evidence


def test_an_edge_that_is_slow_in_one_direction_says_which() -> None:
    found = run(lambda sender, receiver, _: 13.3 if (sender, receiver) == (C, A) else 111.8, 3, "ring")
    (finding,) = outcome.loose(found)
    assert finding.subject == f"rails 2 and 3, {A} and {C}"
    assert finding.verdict.evidence.endswith(f"; from {C} to {A} alone, while {A} to {C} is healthy")
    for both_slow in (run(one_edge(A, C)), run(one_edge(A, C), both_ways=False)):
        assert "alone, while" not in outcome.loose(both_slow)[0].verdict.evidence


def test_a_declared_switch_is_not_advised_against() -> None:
    found = run(one_edge(A, C, outcome=4.9))
    (finding,) = outcome.loose(found)
    assert finding.verdict.cause == "detour" and "one bridge" in finding.verdict.cure
    assert "without a switch" in outcome.loose(run(one_edge(A, C, outcome=4.9), 3, "ring"))[0].verdict.cure


def test_a_port_of_100_gbps_is_slow_beside_its_twin_alone() -> None:
    """Alone each rail has enough, and both at once share the port: every edge of it is `pair-reduced`."""
    shared = judge_shared(Measurement("ib_write_bw", 0, A, B, 4, True, Verdict("degraded"), 49.0), 98.0)
    found = run(lambda sender, receiver, _: (49.0, shared) if B in (sender, receiver) else 111.8)
    (finding,) = found.findings
    assert (finding.subject, finding.verdict.cause) == (f"{B} {BOTH}", "port-slow")
    assert finding.verdict.cure.startswith(f"set the port of the switch that {B} is plugged into to 200 Gb/s")
