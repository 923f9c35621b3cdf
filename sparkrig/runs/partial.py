"""What was done to one host of a pair alone: a run that only one committed, or that was taken back on one only.

No protocol keeps this from happening (two generals): a controller can die between the word to commit to one host
and that to the other. Each host is then one that can be reached, and the journals of both show what happened.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from sparkrig.cure import verb
from sparkrig.runs import journal, recovery, undo_target
from sparkrig.runs.journal import Journal, Run
from sparkrig.text import listed


@dataclass(frozen=True)
class PartialRun:
    """One run. on: the hosts where it was committed, or undone; others: those where it was not; cure: to type."""

    run: str
    kind: Literal["committed", "undone"]
    on: tuple[str, ...]
    others: tuple[str, ...]
    said: str
    cure: str

    @property
    def sentence(self) -> str:
        return f"{self.said}. Try: {self.cure}"


def partial_runs(journals: Mapping[str, Journal]) -> list[PartialRun]:
    """What was done to one host alone and not mended since, the newest first.

    journals: of both hosts of a pair, by name; nothing of one alone.
    """
    ids = dict.fromkeys(run.id for found in journals.values() for run in found.runs)
    if len(journals) < 2 or any(_runs_now(id, journals) for id in ids):
        return []
    return [each for id in ids for each in (*_committed(id, journals), *_undone(id, journals))]


def _runs_now(id: str, journals: Mapping[str, Journal]) -> bool:
    runs = [(run, found) for found in journals.values() if (run := found.find(id))]
    return any(journal.outcome(run, found) == "running" for run, found in runs)


def _committed(id: str, journals: Mapping[str, Journal]) -> Iterator[PartialRun]:
    kept = {name: run for name, found in journals.items() if (run := found.find(id))}
    on = [name for name, run in kept.items() if run.moved_network and id not in journal.undone(journals[name])]
    others = [
        name
        for name, run in kept.items()
        if (run.armed or run.guard.startswith("rolled-back")) and not _done_since(run, journals[name])
    ]
    if on and others:
        said = (
            f"only {listed(on)} committed the network of run {id}; that of {listed(others)} is as it was before, "
            "or goes back by itself"
        )
        yield PartialRun(id, "committed", tuple(on), tuple(others), said, recovery.again(kept[on[0]]))


def _undone(id: str, journals: Mapping[str, Journal]) -> Iterator[PartialRun]:
    on = [name for name, found in journals.items() if _gone(id, found)]
    if not on:
        return
    first = journals[on[0]].find(id)
    others = [name for name in journals if name not in on]
    stands = [
        name for name in others if (run := journals[name].find(id)) and undo_target.stands(run, journals[name])
    ]
    lost = [name for name in others if first and name in first.owner.hosts and not journals[name].find(id)]
    if stands:
        said = f"run {id} is undone on {listed(on)} alone, and still stands on {listed(stands)}"
        cure = verb("undo", id)
        yield PartialRun(id, "undone", tuple(on), tuple(stands), said, cure)
    elif lost and first:
        said = f"run {id} is undone on {listed(on)} alone, and {listed(lost)} keeps nothing of it"
        yield PartialRun(id, "undone", tuple(on), tuple(lost), said, recovery.again(first))


def _gone(id: str, found: Journal) -> bool:
    """Whether a run is undone on a host, and nothing was done there since."""
    if id not in journal.undone(found):
        return False
    back = next(run for run in found.runs if run.owner.undoes == id and run.ended is not None)
    return not _done_since(back, found)


def _done_since(run: Run, found: Journal) -> bool:
    later = found.runs[: found.runs.index(run)]
    return any(each.ended is not None and not each.owner.undoes for each in later)
