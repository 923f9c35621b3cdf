"""Which run an undo takes back, and whether its hosts keep all that it needs."""

from __future__ import annotations

from collections.abc import Mapping

from sparkrig.cure import over_ssh, quoted_path, verb
from sparkrig.refusal import Refusal
from sparkrig.runs import journal, lock
from sparkrig.runs.journal import Journal, Run
from sparkrig.text import listed


def target(journals: Mapping[str, Journal], asked: str | None) -> str | None:
    """The run to take back on the hosts of one group: the one that was asked for, or the newest that still stands.

    None where there is none to take back. Raises Refusal for one that no host knows, or that is undone already.
    """
    if asked:
        known = {name: found for name, found in journals.items() if found.find(asked)}
        if not known:
            raise Refusal(f"no run {asked} is kept on {' or '.join(journals)}", _show())
        if all(wholly_undone(asked, found) for found in known.values()):
            raise Refusal(f"{asked} is undone already", _show())
        return asked
    newest = [
        runs[0] for found in journals.values() if (runs := [run for run in found.runs if stands(run, found)])
    ]
    # hosts count their runs each for itself: one that keeps both knows which came later, else their clocks have to
    last = [run for run in newest if not any(_before(run, other, journals) for other in newest)]
    return max(last or newest, key=lambda run: (run.owner.since, run.id)).id if newest else None


def _show() -> str:
    return verb("status", "--runs", "20")


def wholly_undone(run_id: str, found: Journal) -> bool:
    """Whether a run was taken back with nothing left alone; what was left can be asked for again."""
    back = journal.undone(found).get(run_id)
    return back is not None and not back.left


def _before(run: Run, other: Run, journals: Mapping[str, Journal]) -> bool:
    """Whether a host that keeps both runs had one before the other."""
    kept = [(found.find(run.id), found.find(other.id)) for found in journals.values()]
    return any(one and two and one.order < two.order for one, two in kept)


def stands(run: Run, found: Journal) -> bool:
    """Whether a run changed something that is worth taking back, and it was not taken back yet."""
    items = [item for item in journal.changed(run, found) if not item.startswith(journal.STAYING)]
    return bool(items or run.moved_network) and not run.owner.undoes and run.id not in journal.undone(found)


def spared(
    run_id: str, journals: Mapping[str, Journal], others: Mapping[str, Journal | None], command: str
) -> None:
    """Raise Refusal where a run would be taken back on one host of a pair alone, although it was made on both.

    journals: of the hosts that it is to be taken back on; others: of the other host, None where it cannot be read;
    command: to try, which takes the run back on the hosts that keep it, alone.
    """
    took = _took_part(run_id, journals)
    keep = [name for name, found in others.items() if found and found.find(run_id)]
    left = keep or [name for name in others if name in took]
    if left:
        raise Refusal(
            f"run {run_id} was made on {listed(left)} too, and {_as_one(len(others) + len(journals))}",
            command,
        )


def whole(
    run_id: str, journals: Mapping[str, Journal], others: Mapping[str, Journal | None], command: str
) -> None:
    """Raise Refusal where a host that a run was made on keeps nothing of it, or where that cannot be known.

    The arguments are those of `spared`. Hosts may have been renamed since, so they are counted.
    """
    took = _took_part(run_id, journals)
    known = {**others, **journals}
    keep = [name for name, found in known.items() if found and found.find(run_id)]
    rest = [name for name in known if name not in keep]
    if len(took) <= len(keep) and (took or not rest):
        return
    if not took:
        why = "; ".join(_nothing_of_it(name, known) for name in rest)
        raise Refusal(
            f"run {run_id} is kept on {listed(keep)}, and the older version that made it did not note whether "
            f"it was made on {listed(rest)} too ({why})",
            command,
        )
    missing = [name for name in took if name not in keep]
    missing = missing if {*took} & {*known} else rest or missing
    why = "; ".join(_nothing_of_it(name, known) for name in missing)
    raise Refusal(
        f"run {run_id} was made on {len(took)} hosts, and what stood before on {listed(missing)} is not known "
        f"({why})",
        command,
    )


def _as_one(count: int) -> str:
    return "a pair goes back as a pair" if count < 3 else "a cluster goes back as one"


def _took_part(run_id: str, journals: Mapping[str, Journal]) -> list[str]:
    """The hosts that a run was made on, as those that keep it have noted; none where an older version made it."""
    kept = [run for found in journals.values() if (run := found.find(run_id))]
    return [*dict.fromkeys(name for run in kept for name in run.owner.hosts)]


def _nothing_of_it(name: str, known: Mapping[str, Journal | None]) -> str:
    if name not in known:
        return f"{name} is not among the hosts of this {'pair' if len(known) < 3 else 'cluster'}"
    found = known[name]
    if found is None:
        return f"{name} cannot be read"
    if not found.runs:
        return f"the journal of {name}, {journal.ROOT}, is gone or empty"
    return f"the journal of {name} has {len(found.runs)} other run{'s'[: len(found.runs) > 1]}, and not this one"


def readable(run_id: str, journals: Mapping[str, Journal]) -> None:
    """Raise Refusal where a host lost a part of what it kept, which would be taken for absent before."""
    for name, found in journals.items():
        run = found.find(run_id)
        if run is None:
            continue
        later = found.runs[: found.runs.index(run)]
        parts = [f"{run_id}/{part}" for part in run.lacks]
        parts += [f"{each.id}/before/state" for each in later if "before/state" in each.lacks]
        # a garbled run.json leaves the number, or of older ones the id, which begins with the time
        parts += [f"{each.id}/run.json" for each in found.runs if each.garbled and _may_be_later(each, run)]
        if parts:
            raise Refusal(
                f"the journal of {name} is damaged: {listed(parts)} in {lock.RUNS} is gone or cannot be "
                f"understood, so what stood there before run {run_id} is not known",
                over_ssh(name, f"sudo ls -lR {quoted_path(f'{lock.RUNS}/' + parts[0].partition('/')[0])}"),
            )


def _may_be_later(garbled: Run, run: Run) -> bool:
    """Whether a run that cannot be understood may have come after another one, also for want of its number."""
    if "number" in garbled.lacks:
        return True
    return (garbled.number or 0, garbled.id) >= (run.number or 0, "" if run.number else run.id)
