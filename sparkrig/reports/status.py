"""What `sparkrig status` prints for programs: who is at each host, and what was done to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sparkrig.reports.schedule import Scheduled
from sparkrig.runs import journal
from sparkrig.runs.journal import Journal, Left, Outcome, Run, Step
from sparkrig.runs.lock import Lock, Owner
from sparkrig.runs.partial import PartialRun
from sparkrig.text import listed
from sparkrig.value import Unread


@dataclass(frozen=True, kw_only=True)
class Holder(Owner):
    """Who holds a host. alive: whether its session still is, null where that is unknown."""

    alive: bool | None


@dataclass(frozen=True)
class Armed:
    """A network change that goes back by itself unless the run confirms it."""

    run: str
    reverts_in_s: int


@dataclass(frozen=True)
class Changed:
    """An item that a run changed; before, after: `absent`, or what stood there in short."""

    item: str
    before: str
    after: str


@dataclass(frozen=True, kw_only=True)
class Done(Owner):
    """One run on one host, and who began it.

    ended: seconds since 1970 by the host's clock, None where it did not end; detail: the outcome in words;
    network: whether it changed the network; left: what of it an undo did not put back, or what it did not itself.
    """

    outcome: Outcome
    detail: str
    ended: int | None
    steps: tuple[Step, ...]
    changed: list[Changed]
    network: bool
    left: Sequence[Left]


@dataclass(frozen=True)
class Host:
    """One host: who holds it, what is armed, its newest runs.

    update: one that is open (`sparkrig update`); lost: whether the runs are gone, although one ended there.
    """

    lock: Holder | None
    armed: list[Armed]
    update: str | None
    runs: list[Done]
    left_out: list[str]
    lost: bool


@dataclass(frozen=True, kw_only=True)
class Report:
    """What was done to each host of an inventory, by its name.

    halves: what was done to one host alone; schedule: None where drift does not run by a timer; unread, so
    that no run can work either, where its record is damaged.
    """

    schema: Literal["sparkrig.status/1"] = "sparkrig.status/1"
    hosts: Mapping[str, Host | Unread]
    halves: list[PartialRun]
    schedule: Scheduled | Unread | None


def host(found: Journal, runs: int) -> Host:
    """The document of one host. runs: how many of them, the newest ones."""
    return Host(
        lock=_holder(found.lock) if found.lock else None,
        armed=[Armed(each.run, each.left) for each in found.armed],
        update=found.update or None,
        runs=[_done(run, found) for run in found.readable[:runs]],
        left_out=[run.id for run in found.runs if run.garbled],
        lost=found.lost,
    )


def _holder(lock: Lock) -> Holder:
    return Holder(**{**vars(lock.owner), "run": lock.run or lock.owner.run}, alive=lock.alive)


def _done(run: Run, found: Journal) -> Done:
    return Done(
        **{**vars(run.owner), "run": run.id},
        outcome=journal.outcome(run, found),
        detail=told(run, found),
        ended=run.ended,
        steps=run.steps,
        changed=[Changed(item, *stood) for item, stood in journal.changed(run, found).items()],
        network=run.moved_network,
        left=journal.left(run, found),
    )


def told(run: Run, found: Journal) -> str:
    """How a run ended, in words."""
    outcome = journal.outcome(run, found)
    count = f"{len(run.steps)} step{'' if len(run.steps) == 1 else 's'}"
    if outcome == "rolled back":
        return f"rolled back: {run.reverted}"
    if outcome in ("done", "undone"):
        but = listed(f"{each.item.removeprefix('file ')} ({each.why})" for each in journal.left(run, found))
        return f"{outcome}{f' but for {but}' if but else ''}, {count}"
    if outcome == "running":
        return f"running, {journal.where(run)}"
    return f"{outcome} {journal.where(run)}"
