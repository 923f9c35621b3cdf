"""The journal of a host: what each run changed there, what stood there before, and how the run ended.

/var/lib/sparkrig/runs/RUN/ holds `run.json` (who, why, where), `before/state`, `before/files` (what stood there),
`steps` (begun and ended, a line each), `wrote/state` and `wrote/files` (what the run itself wrote), and `after`
(what stood there at the end; a run without it did not get there). `number` counts the runs of a host: it is their
order, since a clock may be wrong. The guarded change of the network keeps its own things in `guard/`
(sparkrig.network.guard).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from sparkrig import programs
from sparkrig.host.armed import Armed
from sparkrig.runs.lock import RUNS, Lock, Owner
from sparkrig.runs.managed_files import PACKAGES, WRITTEN
from sparkrig.text import listed
from sparkrig.value import Value

ROOT = RUNS.rpartition("/")[0]
ABSENT = "absent"
OWN = "Own steps | "  # the names of an owner's own steps begin so (deploys/own.py)
HELD = "held"
DPKG_STATUS = "/var/lib/dpkg/status"  # where dpkg keeps which packages are held

# Every path that a run may leave changed; sparkrig.operations.files keeps what was not ours beside it.
PATHS = (*WRITTEN, *(f"{path}.before-sparkrig" for path in WRITTEN if "sparkrig" not in path))

NOTED = f"noted='{' '.join(PACKAGES)}'\n"
STANDS = NOTED + programs.text("runs/journal_stands.sh")
BEGIN = NOTED + programs.text("runs/journal_begin.sh")
ABANDON = programs.text("runs/journal_abandon.sh")
END = NOTED + programs.text("runs/journal_end.sh")
LEFT = programs.text("runs/journal_left.sh")
TRIAL = programs.text("runs/journal_trial.sh")
NOTE = programs.text("runs/journal_note.sh")

# Items that no undo puts back: packages, which others may have come to need, and what an earlier sparkrig removed.
STAYING = ("package ", "weights ", "image ")

Snapshot = Mapping[str, str]
Outcome = Literal["running", "done", "failed", "interrupted", "rolled back", "undone"]


@dataclass(frozen=True)
class Step:
    """One operation of a run. begun, ended: seconds since 1970; rc: of its last command; None while it lasts."""

    name: str
    begun: int
    ended: int | None = None
    rc: int | None = None


@dataclass(frozen=True)
class Left(Value):
    """Something that an undo did not put back, and why."""

    item: str
    why: str


@dataclass(frozen=True)
class Run:
    """One run on one host.

    before, after: what stood there, by item (`file /etc/nccl.conf`, `hold NAME`, `package NAME`; `weights
    OWNER/NAME` and `image ID` of what was removed), where an item that was not there has no entry; after is None
    where the run did not get to its end. guard: the state of its guarded network change, and the reason of a
    rollback; lacks: what of its folder is not there any more, so that what stood there before is not known;
    number: its place among the runs of the host, None of a version that numbered none; wrote: what it itself put
    to each item, one after the other, the last being what it left; None where that version kept none of it; left:
    what it did not put back, of an undo; network: what its change of the network made of which item (`profile
    PATH`, by digests), None where that version kept none of it; trial: why a server that it tried was rolled back,
    empty where none was; unnoted: of one without an end, the items of which an older version noted nothing.
    """

    id: str
    owner: Owner
    steps: tuple[Step, ...] = ()
    before: Snapshot = field(default_factory=dict)
    after: Snapshot | None = None
    ended: int | None = None
    guard: str = ""
    lacks: tuple[str, ...] = ()
    number: int | None = None
    wrote: Mapping[str, tuple[str, ...]] | None = None
    left: tuple[Left, ...] = ()
    network: Mapping[str, tuple[str, str]] | None = None
    trial: str = ""
    unnoted: tuple[str, ...] = ()

    @property
    def torn(self) -> bool:
        """Whether it broke off within a step, which may have written what nothing is noted of."""
        return self.after is None and bool(self.steps) and self.steps[-1].ended is None

    @property
    def order(self) -> tuple[int, int, str]:
        """Its place among the runs of its host. Without a number: before all that have one, by clock and name."""
        return (self.number or 0, 0 if self.number else self.owner.since, self.id)

    @property
    def garbled(self) -> bool:
        """Whether its run.json cannot be understood, which has its hosts and its place among the runs."""
        return not self.owner.run

    @property
    def armed(self) -> bool:
        """Whether its network change rolls back unless it is confirmed."""
        return self.guard.partition(" ")[0] in ("armed", "applied")

    @property
    def reverted(self) -> str | None:
        """Why a change of it was rolled back: of the network, or of the server; None where none was."""
        if self.guard.startswith("rolled-back"):
            return self.guard.partition(" ")[2]
        return self.trial or None

    @property
    def moved_network(self) -> bool:
        return self.guard.partition(" ")[0] == "committed"


@dataclass(frozen=True)
class Journal(Value):
    """All of it: runs newest first, what stands there now, and the host's clock.

    update: an update that is open (`sparkrig update`), in words; empty for none; armed: network changes that are
    not confirmed; lost: whether the runs are gone, although one ended here.
    """

    now: int
    lock: Lock | None = None
    runs: tuple[Run, ...] = ()
    current: Snapshot = field(default_factory=dict)
    update: str = ""
    armed: tuple[Armed, ...] = ()
    lost: bool = False

    @property
    def readable(self) -> tuple[Run, ...]:
        """The runs whose run.json can be understood."""
        return tuple(run for run in self.runs if not run.garbled)

    def left_out(self) -> list[str]:
        """The sentences about the others."""
        return [
            f"run {run.id} is left out: {RUNS}/{run.id}/run.json is gone or cannot be understood"
            for run in self.runs
            if run.garbled
        ]

    def find(self, run: str) -> Run | None:
        return next((each for each in self.runs if each.id == run), None)


def changed(run: Run, journal: Journal) -> dict[str, tuple[str, str]]:
    """What a run changed: item -> what stood there before and after, `absent` included.

    That is what the run itself wrote; of a version that did not keep that, whatever is another one at its end.
    """
    pairs = differing(run, journal)
    if run.wrote is not None:
        pairs = {item: pair for item, pair in pairs.items() if item.startswith("package ")}
        pairs |= {item: (run.before.get(item, ABSENT), values[-1]) for item, values in run.wrote.items()}
    pairs |= (run.network or {}) if run.moved_network else {}
    return {item: pairs[item] for item in sorted(pairs) if pairs[item][0] != pairs[item][1]}


def stood(run: Run, item: str) -> str:
    """What a run found of an item."""
    return (run.network or {}).get(item, (run.before.get(item, ABSENT),))[0]


def differing(run: Run, journal: Journal) -> dict[str, tuple[str, str]]:
    """What was another one at the end of a run than before it, whatever made it so."""
    after = _left(run, journal)
    items = sorted({*run.before, *(item for item in after if not item.startswith("profile "))} - {*run.unnoted})
    pairs = {item: (run.before.get(item, ABSENT), after.get(item, ABSENT)) for item in items}
    return {item: pair for item, pair in pairs.items() if pair[0] != pair[1]}


def _left(run: Run, journal: Journal) -> Snapshot:
    """What stood there at a run's end; of one that broke off, what the next one found, or what is there now."""
    if run.after is not None:
        return run.after
    later = journal.runs[: journal.runs.index(run)]
    return later[-1].before if later else journal.current


def outcome(run: Run, journal: Journal) -> Outcome:
    """How a run ended."""
    if run.id in undone(journal):
        return "undone"
    if run.ended is not None:
        return "done"
    if journal.lock and journal.lock.alive and run.id in (journal.lock.owner.run, journal.lock.run):
        return "running"
    if run.reverted is not None:
        return "rolled back"
    last = run.steps[-1] if run.steps else None
    return "failed" if last and last.rc else "interrupted"


def undone(journal: Journal) -> dict[str, Run]:
    """The runs that a later one took back and no run brought back since; by name, the last one that did."""
    gone: dict[str, Run] = {}
    for run in journal.runs:  # newest first, so what took a run back is known to stand or not
        if run.owner.undoes and run.ended is not None and run.id not in gone:
            gone.setdefault(run.owner.undoes, run)
    return gone


def left(run: Run, journal: Journal) -> tuple[Left, ...]:
    """What of a run was not put back by the one that took it back, or what an undo did not put back itself."""
    back = undone(journal).get(run.id)
    return back.left if back else run.left


def where(run: Run) -> str:
    """How far a run that did not end got: `step 3 (Network | profiles and live links)`."""
    if not run.steps:
        return "before its first step"
    last = run.steps[-1]
    within = "at" if last.ended is None or last.rc else "after"
    return f"{within} step {len(run.steps)} ({last.name})"


def ending(run: Run, kept: Journal) -> str:
    """How a run ended, in words."""
    end = outcome(run, kept)
    count = f"{len(run.steps)} step{'' if len(run.steps) == 1 else 's'}"
    if end == "rolled back":
        return f"rolled back: {run.reverted}"
    if end in ("done", "undone"):
        but = listed(f"{each.item.removeprefix('file ')} ({each.why})" for each in left(run, kept))
        return f"{end}{f' but for {but}' if but else ''}, {count}"
    if end == "running":
        return f"running, {where(run)}"
    return f"{end} {where(run)}"


def shared(found: Mapping[str, Journal]) -> dict[str, Journal]:
    """The journals of several hosts, each with what those of the others know of it.

    A run that one of them rolled back is rolled back on all of its hosts: a host that had nothing of its own to
    change has no guard, and its run looks as if it had broken off. A host without a run, which one that ended
    names, lost them.
    """
    known = {host for journal in found.values() for run in journal.runs if run.ended for host in run.owner.hosts}
    whys = {
        (run.id, host): (name, run.reverted)
        for name, journal in found.items()
        for run in journal.runs
        if outcome(run, journal) == "rolled back"
        for host in run.owner.hosts  # a pair's; other pairs of an inventory have a run of the same id
    }

    def told(name: str, run: Run, journal: Journal) -> Run:
        known = whys.get((run.id, name))
        if run.guard or run.trial or known is None or outcome(run, journal) not in ("failed", "interrupted"):
            return run
        said = f"with {known[0]}: {known[1]}"
        of_network = _of_network(found[known[0]], run.id)
        return replace(run, guard=f"rolled-back {said}") if of_network else replace(run, trial=said)

    return {
        name: replace(
            journal,
            runs=tuple(told(name, run, journal) for run in journal.runs),
            lost=journal.lost or (not journal.runs and name in known),
        )
        for name, journal in found.items()
    }


def _of_network(journal: Journal, id: str) -> bool:
    """Whether it was the network that a run rolled back there."""
    run = journal.find(id)
    return run is not None and run.guard.startswith("rolled-back")


def unsettled(journal: Journal) -> Run | None:
    """The last run that counts, where it failed or broke off, and no later one was done."""
    for run in journal.readable:
        told = outcome(run, journal)
        if told in ("done", "undone"):
            return None
        if told != "running":
            return run
    return None
