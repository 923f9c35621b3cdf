"""Two faults in a row and more: every short history of runs, kills, power cuts, edits and clocks, on one host.

Guard, lock, journal and records together, by their real programs (run_host). What is promised of each history:

- What a run called done stays until somebody changes it: a later run, an undo, an edit. What a dead run left armed
  never takes it back.
- Whatever is armed is seen by the look of each verb, with its time.
- Once all timers ran out nothing is armed, the next run gets the lock, and each run's record says what stands.

Histories that lead to the same host (but for its clocks) are gone on with once.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from sparkrig.runs import journal, undo, undo_merge, undo_target
from sparkrig.runs.journal import Journal
from tests.unit.runs.run_host import BEGUN, COMMITTED, GRACE_S, MOMENTS, NCCL, UNENDED, WINDOW_S, Died, Kept, Spark

MTUS = (9000, 8000, 7000, 6000, 5000)
ADDRESS = {"netdev": "cx", "address": "10.0.0.1/24", "gid": "gid"}


@dataclass(frozen=True)
class Promise:
    """What has to stand once all is settled: None where another one, or a dead run, may have changed it.

    declared: which declaration came last, 0 for none.
    """

    mtu: int | None = 1500
    text: str | None = ""
    declared: int = 0


@dataclass
class Operator:
    """Who has runs made on a host. seen: its journal; settles: as verbs do since this model found that hole."""

    at: Spark
    promise: Promise
    seen: Journal
    settles: bool = True

    def looked(self, why: str) -> Journal:
        """The look that a run begins with: nothing happened since the host was seen."""
        found = self.seen
        if found.armed and self.settles:
            self.at.settle(why)
            found = self.at.look()
        return found

    def name(self) -> str:
        it = self.at.nm.it
        it.runs += 1
        it.wall += 100
        self.at.clocks()
        return f"20261121T04{it.runs:04}Z-ab12"

    def deploy(self, dies: str = "") -> None:
        self.declares(replace(self.promise, declared=self.promise.declared + 1), dies)

    def again(self, dies: str = "") -> None:
        """What was declared last; nothing where nothing was."""
        if self.promise.declared:
            self.declares(self.promise, dies)

    def declares(self, promise: Promise, dies: str) -> None:
        at, mtu = self.at, MTUS[promise.declared - 1]
        text = f"# sparkrig\nN={promise.declared}\n"
        self.promise = replace(self.promise, declared=promise.declared)
        self.looked("superseded by a deploy")
        moves = (at.nm.it.mtu, at.nm.it.memory) != (mtu, mtu)
        writes = self.text() != text
        if not moves and not writes:
            self.promise = Promise(mtu, text, promise.declared)  # it ends with 0, and takes no lock
            return
        run = self.name()
        at.begin(run)
        try:
            if dies == BEGUN:
                raise Died
            if moves:
                properties = {"802-3-ethernet.mtu": str(mtu)}
                profile = {"uuid": "ours", "verb": "modify", "properties": properties}
                order = {"profiles": [profile], "links": [{**ADDRESS, "mtu": mtu}]}
                assert at.guarded(run, order, dies), at.nm.told()
                self.promise = replace(self.promise, mtu=mtu)
            if dies == COMMITTED:
                raise Died
            if writes:
                at.write(run, NCCL, text)
                self.promise = replace(self.promise, text=text)
            if dies == UNENDED:
                raise Died
            at.end(run)
            self.promise = Promise(mtu, text, promise.declared)
            assert (at.nm.it.mtu, self.text()) == (mtu, text), "it is done, and not as declared"
        except Died:
            at.dies()

    def undo(self, dies: str = "") -> None:
        at = self.at
        found = self.looked("superseded by sparkrig undo")
        target = undo_target.target({"a": found}, None)
        if target is None:
            return
        plan = undo.plan(found, target, everything=False)
        if asked := undo_merge.texts_of(plan):
            texts = at.sh(undo.TEXTS, *asked).stdout.replace(str(at.root), "")
            plan = undo_merge.merged(plan, undo_merge.parse_texts(texts.splitlines()))
        if not plan:
            return
        run = self.name()
        at.begin(run, undoes=target)
        try:
            if dies == BEGUN:
                raise Died
            if plan.network:
                order = {"profiles": [], "links": [], "restore": f"/var/lib/sparkrig/runs/{target}/guard/before"}
                assert at.guarded(run, {**order, "mine": plan.mine}, dies), at.nm.told()
                self.promise = replace(self.promise, mtu=at.nm.it.mtu)
            if dies == COMMITTED:
                raise Died
            at.takes_back(plan, run)
            self.promise = replace(self.promise, text=self.text())
            if dies == UNENDED:
                raise Died
            at.end(run)
            self.promise = replace(self.promise, mtu=at.nm.it.mtu, text=self.text())
        except Died:
            at.dies()

    def text(self) -> str:
        file = self.at.at(NCCL)
        return file.read_text() if file.exists() else ""

    # what others do

    def edits_file(self) -> None:
        self.at.at(NCCL).write_text(f"{self.text()}USER=1\n")
        self.promise = replace(self.promise, text=None)

    def edits_link(self) -> None:
        self.at.edits_link()
        self.promise = replace(self.promise, mtu=None)

    def waits(self) -> None:
        self.at.passes(WINDOW_S + GRACE_S + 1)


Event = Callable[[Operator], None]
EVENTS: dict[str, Event] = {
    "deploy": Operator.deploy,
    "again": Operator.again,
    "undo": Operator.undo,
    **{f"deploy killed once {when}": lambda by, when=when: by.deploy(when) for when in MOMENTS},  # type: ignore[misc]
    **{f"undo killed once {when}": lambda by, when=when: by.undo(when) for when in MOMENTS},  # type: ignore[misc]
    "power cut": lambda by: by.at.loses_power(),
    "edit of the file": Operator.edits_file,
    "edit of the link": Operator.edits_link,
    "clock steps": lambda by: by.at.steps_clock(),
    "time passes": Operator.waits,
}
CORE = (
    *("deploy", "again", "undo", "deploy killed once applied", "deploy killed once committed"),
    *("undo killed once applied", "power cut", "edit of the link", "time passes"),
)
SHORT = ("deploy killed once applied", "again", "undo", "power cut")


@dataclass
class Walk:
    """All histories of some events, up to a length. steps: those that were made for them."""

    at: Spark
    events: Sequence[str]
    settles: bool = True
    steps: int = 0

    def broken(self, most: int) -> Iterator[str]:
        """Each broken promise, with the first history that breaks it."""
        known = set[str]()
        layer: list[tuple[Kept, Promise, Journal, tuple[str, ...]]] = [
            (self.at.kept(), Promise(), self.at.look(), ())
        ]
        for _ in range(most):
            reached = []
            for (kept, promise, seen, history), event in itertools.product(layer, self.events):
                self.steps += 1
                self.at.back_to(kept)
                by = Operator(self.at, promise, seen, self.settles)
                try:
                    EVENTS[event](by)
                    after = self.at.kept()
                    key = f"{self.at.digest(after)} {by.promise}"
                    if key in known:
                        continue  # it was gone on with, from a history that is as short or shorter
                    known.add(key)
                    reached.append((after, by.promise, holds(by), (*history, event)))
                except AssertionError as broken:
                    yield f"{', then '.join((*history, event))}: {str(broken).splitlines()[0]}"
            layer = reached


def holds(by: Operator) -> Journal:
    """All three promises, now and once the timers ran out; what is seen now."""
    at = by.at
    now = found = seen_as_it_is(at)
    if found.armed:
        by.waits()
        found = seen_as_it_is(at)
    assert not at.armed(), "something is armed for ever"
    assert not at.nm.it.timers and not at.nm.it.checkpoints and not at.nm.program.BOOT_UNIT.exists()
    assert by.promise.mtu in (None, at.nm.it.mtu), f"MTU {by.promise.mtu} stood, and it is {at.nm.it.mtu}"
    assert by.promise.text in (None, by.text()), f"{by.promise.text!r} stood, and it is {by.text()!r}"
    assert at.nm.it.memory == int(at.nm.profile.read_text().split("=")[-1]), "the profile is saved"
    for run in found.runs:
        told = journal.outcome(run, found)
        assert told != "running", run.id
        assert (told == "done") <= (run.ended is not None), run.id
        assert not run.guard or run.guard.split()[0] in ("committed", "rolled-back"), run.guard
        assert not run.guard.startswith("rolled-back") or told in ("rolled back", "undone"), (run.id, told)
        assert "not as before" not in run.guard, run.guard
    at.lock_can_be_taken()
    return now


def seen_as_it_is(at: Spark) -> Journal:
    found = at.look()
    assert {each.run for each in found.armed} == at.armed(), "what is armed is not what is seen"
    assert {run.id for run in found.runs if run.armed} == at.armed(), "nor what the journal says"
    for each in found.armed:
        due = max(0.0, at.nm.it.timers.get(each.run, 0.0) - GRACE_S - at.nm.now)
        assert math.isclose(each.left, due, abs_tol=2), f"{each.left} s are said to be left, and it is {due:.0f}"
        assert each.alive is False, "its controller is dead"
    return found


@pytest.fixture
def spark(tmp_path: Path) -> Spark:
    return Spark(tmp_path)


def test_what_was_done_stays_and_what_is_armed_is_seen_in_short_histories(spark: Spark) -> None:
    assert [*Walk(spark, SHORT).broken(2)] == []


@pytest.mark.exhaustive
@pytest.mark.slow  # for make faults: thousands of histories
@pytest.mark.timeout(7200)
@pytest.mark.parametrize(
    ("events", "most"), [([*EVENTS], 2), ([*EVENTS], 3), (CORE, 4)], ids=["two", "three", "four"]
)
def test_what_was_done_stays_and_what_is_armed_is_seen_in_long_histories(
    spark: Spark, events: Sequence[str], most: int
) -> None:
    assert [*Walk(spark, events).broken(most)] == []


def test_a_deploy_that_does_not_settle_first_is_found_out(spark: Spark) -> None:
    """The hole that this model is for: what a killed run armed takes back what the next one called done."""
    walk = Walk(spark, ("deploy killed once applied", "again"), settles=False)
    assert [*walk.broken(2)] == ["deploy killed once applied, then again: MTU 9000 stood, and it is 1500"]
