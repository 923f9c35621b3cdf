"""What `sparkrig status` shows: what each host is, who is at it, what was done to it, and what to type next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sparkrig import cure
from sparkrig.cure import verb
from sparkrig.host import armed
from sparkrig.host.preflight import lost_journal
from sparkrig.runs import journal, recovery
from sparkrig.runs.journal import Journal, Left, Outcome, Run, Step
from sparkrig.runs.lock import Lock, Owner
from sparkrig.runs.partial import PartialRun
from sparkrig.status.figures import Figures
from sparkrig.value import Unread
from sparkrig.watch.schedule import Scheduled


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
    """One host: what it is set to, who holds it, what is armed, its newest runs.

    update: one that is open (`sparkrig update`); lost: whether the runs are gone, although one ended there.
    """

    state: Figures | Unread
    lock: Holder | None
    armed: list[Armed]
    update: str | None
    runs: list[Done]
    left_out: list[str]
    lost: bool


@dataclass(frozen=True, kw_only=True)
class Report:
    """Each host of an inventory, by its name.

    partial: what was done to some hosts of a pair or cluster alone; schedule: None where drift does not run by a
    timer; unread, so that no run can work either, where its record is damaged.
    """

    schema: Literal["sparkrig.status/2"] = "sparkrig.status/2"
    hosts: Mapping[str, Host | Unread]
    partial: list[PartialRun]
    schedule: Scheduled | Unread | None


@dataclass(frozen=True)
class Seen:
    """What was read of a host. state: what its one look shows, which may fail where the journal can be read."""

    journal: Journal
    state: Figures | Unread

    @property
    def whole(self) -> bool:
        return not isinstance(self.state, Unread)


def host(found: Journal, state: Figures | Unread, runs: int) -> Host:
    """The document of one host. runs: how many of them, the newest ones."""
    return Host(
        state=state,
        lock=_holder(found.lock) if found.lock else None,
        armed=[Armed(each.run, each.left) for each in found.armed],
        update=found.update or None,
        runs=[_done(run, found) for run in found.readable[:runs]],
        left_out=[run.id for run in found.runs if run.garbled],
        lost=found.lost,
    )


def hosts(seen: Mapping[str, Seen | Unread], shared: Mapping[str, Journal], runs: int) -> dict[str, Host | Unread]:
    """The document of each host. shared: each journal with what those of the others know (journal.shared)."""
    return {
        name: host(shared[name], unread.state, runs) if isinstance(unread, Seen) else unread
        for name, unread in seen.items()
    }


def _holder(lock: Lock) -> Holder:
    return Holder(**{**vars(lock.owner), "run": lock.run or lock.owner.run}, alive=lock.alive)


def _done(run: Run, found: Journal) -> Done:
    return Done(
        **{**vars(run.owner), "run": run.id},
        outcome=journal.outcome(run, found),
        detail=journal.ending(run, found),
        ended=run.ended,
        steps=run.steps,
        changed=[Changed(item, *stood) for item, stood in journal.changed(run, found).items()],
        network=run.moved_network,
        left=journal.left(run, found),
    )


def exit_code(journals: Iterable[Journal], partial: Sequence[PartialRun]) -> int:
    """4 where the last change of a host was rolled back, 2 where something is open, else 0."""
    known = [*journals]
    alone = {each.run for each in partial}  # of such a run one host stands
    unsettled = [(run, each) for each in known if (run := journal.unsettled(each)) and run.id not in alone]
    if any(journal.outcome(run, each) == "rolled back" for run, each in unsettled):
        return 4
    return 2 if unsettled or partial or any(each.update or each.armed or each.lost for each in known) else 0


def advice(found: Journal, state: Figures | Unread, partial: Sequence[PartialRun]) -> str:
    """What goes on from here on a host; empty where nothing is to be done."""
    broken = journal.unsettled(found)
    if broken:
        alone = {each.run for each in partial}
        return "" if broken.id in alone else recovery.advice(broken, found)
    refusals = [*armed.refusals(found.armed), *([lost_journal()] if found.lost else [])]
    if refusals:
        return refusals[0].cure
    if isinstance(state, Figures) and state.differs:
        return f"each difference with what mends it: {verb('drift') if cure.LISTED[0] else verb('doctor')}"
    return ""
