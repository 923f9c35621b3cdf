"""The check of two hosts or more: who measures when, and what is left where a host is lost on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from types import SimpleNamespace
from typing import Any, cast

import gevent
import pytest
from pydantic import TypeAdapter

from sparkrig.bandwidth import bands, outcome, perftest_run
from sparkrig.bandwidth.bands import Figure
from sparkrig.bandwidth.io import fabric_check, measure
from sparkrig.bandwidth.io.measure import Bench
from sparkrig.bandwidth.measurement import Case, Edge, End, Measurement, PairRun, Run
from sparkrig.bandwidth.report import Report
from sparkrig.bandwidth.tournament import Meeting
from sparkrig.fleet import Rail
from sparkrig.ssh.remote import Failed, Lost
from sparkrig.verdict import Finding, Verdict
from tests.tables import each_row
from tests.unit.clusters_measured import NAMES, fleet

A, B, C, D = NAMES[:4]


class Desk:
    """Hosts that measure in no time, and what was asked of them."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, count: int, form: Any, answer: Callable[[Case], float]
    ) -> None:
        self.fleet, self.count, self.answer = fleet(count, form), count, answer
        self.cases: list[Case] = []
        self.busy: list[set[str]] = []
        self.lost: dict[str, str] = {}
        self.shown: list[str] = []
        self._now: set[str] = set()
        unread: dict[str, str] = {}
        seen = SimpleNamespace(
            names=NAMES[:count],
            unread=unread,
            virtual=False,
            ends=lambda rail: {
                end.host: End(f"roce-{end.netdev}", 3, end.netdev, str(end.address.ip))
                for end in (rail.near, rail.far)
            },
            suspects=lambda _: [],
            blocked=lambda _: None,
            about=lambda rail: self.about(rail),
            gids=list,
            pcie_links=lambda _: {},
            fabric=lambda: [],
            health=lambda: [],
            hosts=lambda: {},
        )
        self.unread = unread
        self.about: Callable[[Rail], list[Finding]] = lambda _: []
        monkeypatch.setattr("sparkrig.fabric.io.fabric_look.look", lambda *_: (seen, []))
        monkeypatch.setattr(fabric_check, "_errors", lambda *_: [])
        monkeypatch.setattr(measure, "run", self.run)

    def run(self, bench: Bench, case: Case) -> list[Measurement]:
        """A case, which takes a moment, so that others of its round begin."""
        hosts = {case.sender, case.receiver}
        if hosts & (bench.lost or {}).keys():  # as measure.run does
            return [self._share(case, rail, gone=True) for rail in case.rails]
        assert not hosts & self._now, f"{hosts} while {self._now} measure"
        self.cases.append(case)
        self._now |= hosts
        gevent.sleep(0.001)
        self.busy.append(set(self._now))
        self._now -= hosts
        for name in hosts & self.lost.keys():
            assert bench.lost is not None
            bench.lost[name] = self.lost[name]
        return [self._share(case, rail, gone=bool(hosts & self.lost.keys())) for rail in case.rails]

    def _share(self, case: Case, rail: int, *, gone: bool) -> Measurement:
        words = case.test, rail, case.sender, case.receiver, case.queue_pairs, case.together
        if gone:
            return Measurement(*words, Verdict("fault", "peer-died", "it does not answer"))
        gbps = self.answer(case)
        verdict = bands.judge(Figure(gbps, 4096, case.queue_pairs, case.together), bands.Expected())
        return Measurement(*words, verdict, gbps, path_mtu=4096)

    def check(self, **how: Any) -> Run:
        hosts = {name: cast(Any, name) for name in NAMES[: self.count]}
        return fabric_check.check(
            hosts, self.fleet, cast(fabric_check.Progress, self), **{"thorough": False, **how}
        )

    # what is told of its progress
    def step(self, what: str) -> None:
        self.shown.append(what)

    def surveyed(self, _: object, found: Sequence[Edge], rounds: int) -> None:
        self.shown.append(f"{len(found)} edges, {rounds} rounds")

    def round(self, number: int, meetings: Sequence[Meeting]) -> None:
        self.shown.append(f"round {number}: {'; '.join(' and '.join(each) for each in meetings)}")

    def meeting(self, *_: object) -> Any:
        nothing = lambda *_: None  # noqa: E731
        return SimpleNamespace(added=nothing, started=nothing, finished=nothing)

    def met(self, found: Sequence[Edge]) -> None:
        self.shown.append(" and ".join(found[0].hosts))


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Desk]]:
    yield lambda count=4, form="switch", answer=lambda _: 97.0: Desk(monkeypatch, count, form, answer)


def test_disjoint_pairs_measure_at_once_and_each_pair_once(desk: Callable[..., Desk]) -> None:
    def holds(count: int, form: str, rounds: int, at_once: int) -> None:
        made = desk(count, form)
        found = made.check()
        assert made.shown[1] == f"{len(found.rails)} edges, {rounds} rounds"
        pairs = [(case.sender, case.receiver) for case in made.cases]
        assert len(pairs) == len({*pairs}) == count * (count - 1) // 2
        assert max(map(len, made.busy)) == at_once, "hosts at a time"
        assert found.passed and {edge.verdict.evidence for edge in found.rails} == {
            "97.00 Gb/s beside other rails" if form == "switch" or count else ""
        }

    each_row(
        [
            (2, "switch", 1, 2),
            (3, "ring", 3, 2),
            (3, "switch", 3, 2),
            (4, "switch", 3, 4),
            (5, "switch", 5, 4),
            (8, "switch", 7, 8),
        ],
        holds,
    )


def test_the_edges_come_in_the_inventorys_order(desk: Callable[..., Desk]) -> None:
    found = desk().check()
    hosts = [edge.hosts for edge in found.rails]
    assert hosts == sorted(hosts) and [edge.number for edge in found.rails] == [0, 1] * 6
    assert [*found.hosts] == [A, B, C, D]


def test_a_host_that_is_lost_in_the_middle_leaves_the_edges_of_the_others(desk: Callable[..., Desk]) -> None:
    made = desk()
    made.lost = {D: f"{D} was lost (no answer)"}
    found = made.check()
    levels = {(edge.hosts, edge.number): edge.verdict.cause for edge in found.rails}
    assert {hosts for (hosts, _), cause in levels.items() if cause == "host-lost"} == {(A, D), (B, D), (C, D)}
    assert all(not cause for (hosts, _), cause in levels.items() if D not in hosts)
    assert {(each.sender, each.receiver) for each in found.measurements if D in (each.sender, each.receiver)} == {
        (A, D)
    }, "what was never begun has no measurement"
    assert [case for case in made.cases if D in (case.sender, case.receiver)] == made.cases[:1], "not asked again"
    assert [each.subject for each in found.findings if not each.verdict.healthy] == [D]
    assert found.missing == made.lost and not found.passed


def test_a_host_that_was_never_there_leaves_the_others_too(desk: Callable[..., Desk]) -> None:
    made = desk()
    made.unread[B] = "no route"
    hosts: dict[str, Any] = {name: Lost("no route") if name == B else name for name in NAMES[:4]}
    found = fabric_check.check(hosts, made.fleet, cast(Any, made), thorough=False)
    assert made.shown[1] == "12 edges, 3 rounds"
    assert {(case.sender, case.receiver) for case in made.cases} == {(A, C), (A, D), (C, D)}
    gone = [edge for edge in found.rails if B in edge.hosts]
    assert len(gone) == 6 and not any(edge.ends or edge.verdict.cause != "host-lost" for edge in gone)
    (finding,) = [each for each in found.findings if not each.verdict.healthy]
    assert finding.subject == B
    assert finding.verdict.evidence == (
        f"{B} cannot be read (no route): rails 0 and 1 to {A}, {C} and {D} were not measured, or not to their end"
    )


def test_a_port_at_half_the_speed_explains_what_its_twins_reach_together(desk: Callable[..., Desk]) -> None:
    made = desk(answer=lambda case: 48.9 if case.together and C in (case.sender, case.receiver) else 97.0)
    port = Finding(f"{C} p0", Verdict("degraded", "switch-speed", "negotiated 100 Gb/s"), (0, 1))
    made.about = lambda rail: [port] if C in (rail.near.host, rail.far.host) else []
    found = made.check()
    poor = {(edge.verdict.cause, edge.because) for edge in found.rails if not edge.verdict.healthy}
    assert poor == {("pair-reduced", f"{C} p0")}
    assert [each for each in found.findings if not each.verdict.healthy] == [], "the survey names the port"


# --- two hosts


def test_a_pair_with_a_host_that_cannot_be_read_is_refused_with_its_name(desk: Callable[..., Desk]) -> None:
    made = desk(2)
    made.unread[B] = "it is gone"
    with pytest.raises(Failed, match=f"{B} cannot be read: it is gone"):
        made.check()
    assert made.cases == []


def test_a_pair_that_loses_a_host_keeps_the_fault_that_was_seen_and_asks_no_more(
    desk: Callable[..., Desk],
) -> None:
    def answer(case: Case) -> float:
        if len(made.cases) == 8:  # each rail alone in both directions, with one queue pair and with several
            made.lost = {B: f"{B} was lost (no answer)"}
        return 13.35 if case.rails == (1,) else 111.8

    made = desk(2, answer=answer)
    found = made.check(thorough=True)
    assert [(edge.verdict.level, edge.verdict.cause) for edge in found.rails] == [
        ("unknown", "host-lost"),
        ("fault", "slow-start"),
    ]
    assert len(made.cases) == 9, "the one that broke off, and none after it"
    assert [(each.subject, each.verdict.cause) for each in found.findings] == [(B, "host-lost")]
    shown = [each.subject for each in outcome.concerns(found)]
    assert shown == [B, "rail 1"], "the fault is said beside the loss"


def test_a_rail_of_a_pair_that_is_slow_in_one_direction_says_which(desk: Callable[..., Desk]) -> None:
    made = desk(2, answer=lambda case: 13.35 if case.sender == B else 111.8)
    found = made.check(thorough=True)
    said = f"from {B} to {A} alone, while {A} to {B} is healthy"
    assert all(edge.verdict.evidence.endswith(said) for edge in found.rails)
    assert found.ports[0].verdict.cause == "slow-start", "no port is to blame: two hosts have no others"


def test_what_a_pair_and_a_cluster_have_in_their_documents(desk: Callable[..., Desk]) -> None:
    """Those of a pair are the fields of a run, without those that the edges of a cluster brought."""
    report = Report(pairs=[desk(2).check()], clusters=[desk(3).check()])
    document = TypeAdapter(Report).dump_python(report, mode="json")
    [pair], [cluster] = document["pairs"], document["clusters"]
    assert [*pair] == [each.name for each in fields(PairRun)] and "rails" in pair
    assert {*cluster} - {*pair} == {"topology", "ports", "missing"}
    assert [[*rail] for rail in pair["rails"]] == [["number", "ends", "verdict"]] * 2


def test_the_others_stop_what_they_started_where_one_fails() -> None:
    stopped = []

    def waits() -> None:
        try:
            gevent.sleep(60)
        finally:
            stopped.append("its servers")

    def fails() -> None:
        gevent.sleep(0.001)
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        fabric_check._side_by_side({"one": waits, "other": fails})
    assert stopped == ["its servers"]


# --- a trial that breaks off


def bench(lost: dict[str, str]) -> Bench:
    ends: Any = {
        0: {
            A: SimpleNamespace(netdev="n", device="d", gid_index=3, address="10.0.0.1"),
            B: SimpleNamespace(netdev="n", device="d", gid_index=3, address="10.0.0.2"),
        }
    }
    hosts: Any = {A: SimpleNamespace(name=A), B: SimpleNamespace(name=B)}
    return Bench(hosts, ends, {0: []}, bands.Expected(), perftest_run.Pace(5, 1.0), "r1", lost)


def test_who_is_lost_is_asked_for_once_and_not_waited_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str]] = []

    def shell(at: Any, text: str, *_: str, seconds: int) -> str:
        asked.append((at.name, "answers" if text == ":" else "measures"))
        if at.name == B:
            raise Failed("the connection broke off")
        return ""

    monkeypatch.setattr("sparkrig.ssh.remote.shell", shell)
    case = Case("ib_write_bw", (0,), A, B, 4)
    lost: dict[str, str] = {}
    (share,) = measure.run(bench(lost), case)
    assert share.verdict.cause == "host-lost" and lost == {B: f"{B} was lost (the connection broke off)"}
    asked.clear()
    (share,) = measure.run(bench(lost), case)
    assert asked == [] and share.verdict.evidence == lost[B]
    measure.run(bench({}), case)
    assert asked[-2:] == [(A, "answers"), (B, "answers")], "a session that broke off is no proof, of a pair either"
