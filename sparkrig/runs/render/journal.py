"""A host's journal on a screen: who works on it now, what rolls back by itself, and its last runs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from sparkrig.cure import quoted
from sparkrig.host.preflight import lost_journal
from sparkrig.parsing import grammar
from sparkrig.render.findings import ASCII_SIGNS, SIGNS, STYLES, Shade
from sparkrig.runs import journal
from sparkrig.runs.change import few
from sparkrig.runs.journal import Journal, Outcome, Run
from sparkrig.runs.undo import Change, Plan
from sparkrig.text import listed

_SHADES: Mapping[Outcome, Shade] = {
    "done": "healthy",
    "running": "unknown",
    "undone": "quiet",
    "rolled back": "degraded",
    "failed": "fault",
    "interrupted": "fault",
}
_DECADE = 10 * 365 * 86400  # s; sparkrig and the Spark are younger
_STORED = {"weights": "checkpoint", "image": "image"}
_NAMED = 2  # as many files are named; more are counted


def newest(found: Journal, runs: int, *, ascii_only: bool = False) -> RenderableType:
    """One host's lock, what is armed, and its newest runs."""
    grid = Table.grid(padding=(0, 1))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for line in standing(found):
        grid.add_row(Text("!", "yellow"), Text(line, "yellow"))
    for run in found.readable[:runs]:
        shade = _SHADES[journal.outcome(run, found)]
        mark = (ASCII_SIGNS if ascii_only else SIGNS)[shade]
        grid.add_row(Text(mark, STYLES[shade]), _block(run, found, STYLES[shade]))
    if not found.runs:
        grid.add_row("", Text("no run is kept", "dim"))
    return grid


def _block(run: Run, found: Journal, style: str) -> Text:
    return Text.assemble(
        (run.id, "bold"),
        f"  {ago(found.now - run.owner.since)}, by {run.owner.who}\n",
        (f"{run.owner.why}\n", "dim"),
        (journal.ending(run, found), style),
        f"; changed {changed(run, found)}",
    )


def lines(name: str, found: Journal, runs: int) -> list[str]:
    """The same for a pipe: a line each, the host's name first."""
    rows = standing(found) or ([] if found.runs else ["no run is kept"])
    rows += [
        f"{run.id} by {run.owner.who} for: {run.owner.why}: {journal.ending(run, found)}; "
        f"changed: {changed(run, found)}"
        for run in found.readable[:runs]
    ]
    return [f"{name}: {row}" for row in rows]


def standing(found: Journal) -> list[str]:
    """What holds or awaits the host right now."""
    said = []
    if found.lock:
        said.append(f"{'left locked' if found.lock.alive is False else 'locked'} by {found.lock.sentence}")
    said += [each.sentence for each in found.armed]
    if found.update:
        said.append(found.update)
    if found.lost:
        said.append(lost_journal().what)
    return [*said, *found.left_out()]


def changed(run: Run, found: Journal) -> str:
    """What a run changed, files by name where they are few."""
    items = [item.partition(" ")[::2] for item in journal.changed(run, found)]
    files, holds, packages = (
        [name for kind, name in items if kind == each] for each in ("file", "hold", "package")
    )
    parts = files if len(files) <= _NAMED else [f"{len(files)} files"]
    parts += [f"{len(holds)} hold{'' if len(holds) == 1 else 's'}"] if holds else []
    parts += [f"{len(packages)} package{'' if len(packages) == 1 else 's'}"] if packages else []
    parts += [f"{_STORED[kind]} {name} (removed)" for kind, name in items if kind in _STORED]
    network = ["the network"] if run.moved_network else ["the network, not confirmed"] if run.armed else []
    return listed([*parts, *network]) or "nothing"


def ago(seconds: int) -> str:
    """`12 s ago`, `4 min ago`, `5 days ago`; where it is decades, one of the two clocks was not set."""
    if seconds >= _DECADE:
        return "at an unknown time"
    for size, unit in ((86400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds // size} {unit} ago"
    return f"{max(0, seconds)} s ago"


_SAID = {"stays gone": "stays gone", "already": "as before", "foreign": "left alone", "stays": "stays"}
_SAID |= {"unfit": "left alone", "failed": "left alone", "differs": "not put back", "restart": "as before"}


_Row = tuple[str, str]


def undoing(plans: Mapping[str, Plan], journals: Mapping[str, Journal]) -> RenderableType:
    """What becomes of each item of hosts that go back together, so that a person can decide whether it should.

    What is the same on all of them stands once.
    """
    heads = {name: _headline(plan, journals[name]) for name, plan in plans.items()}
    items = {name: [*_items(plan), *_own(plan, journals[name])] for name, plan in plans.items()}
    if len(plans) < 2 or len({_without_age(head) for head in heads.values()}) > 1:
        return Group(*(_told(f"{name}", f": {heads[name]}", items[name]) for name in plans))
    first, *others = items.values()
    same = [item for item in first if all(item in other for other in others)]
    own = {name: [item for item in found if item not in same] for name, found in items.items()}
    names = listed(plans)
    return Group(
        _told(names, f": {next(iter(heads.values()))}", same),
        *(_told(name, " alone:", found) for name, found in own.items() if found),
    )


def _told(names: str, head: str, items: Sequence[Sequence[_Row]]) -> RenderableType:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for act, said in (row for item in items for row in item):
        grid.add_row(Text(f"  {act}", "dim" if act in _SAID.values() else "bold"), said)
    return Group(Text.assemble((names, "bold"), head), grid)


def _items(plan: Plan) -> list[tuple[_Row, ...]]:
    """The rows, those of one item together: its diff follows it."""
    found: list[tuple[_Row, ...]] = []
    for row in rows(plan):
        if found and not row[0]:
            found[-1] += (row,)
        else:
            found.append((row,))
    return found


def _own(plan: Plan, found: Journal) -> list[tuple[_Row, ...]]:
    """The steps of the owner's own, which an undo knows by their names alone."""
    run = found.find(plan.run)
    names = (
        [each.name.removeprefix(journal.OWN) for each in run.steps if each.name.startswith(journal.OWN)]
        if run
        else []
    )
    return [(("stays", f"what the owner's own steps did: {listed(dict.fromkeys(names))}"),)] if names else []


def _without_age(headline: str) -> str:
    """The hosts of a pair do not begin a run in the same second."""
    return re.sub(r", (?:\d+ \w+ ago|at an unknown time), for: ", ", for: ", headline, count=1)


def rows(plan: Plan) -> list[_Row]:
    """What is done, and to what."""
    told = [("network", "as it was before that run, under guard: it reverts by itself unless confirmed")]
    told = told if plan.network else []
    for each in plan.changes:
        if each.kind == "file":
            told.append((_SAID.get(each.act, each.act), each.name + _why(each)))
            told += [("", row) for row in each.diff]
    told += [
        ("left alone", f"{change.name} of the network (changed since by another one; --all takes it back too)")
        for change in plan.changes
        if change.kind == "profile" and change.act == "foreign"
    ]
    for act in ("release", "hold", "already", "foreign"):
        held = [change for change in plan.changes if change.kind == "hold" and change.act == act]
        if held:
            said = f"hold of {listed(few([each.name for each in held]))}{_why(held[0])}"
            told.append((_SAID.get(act, act), said))
    gone = [change for change in plan.changes if change.act == "stays" and change.kind in _STORED]
    told += [
        ("stays gone", f"{_STORED[each.kind]} {each.name}, which is kept nowhere; a deploy fetches it again")
        for each in gone
    ]
    kept = [change.name for change in plan.changes if change.act == "stays" and change not in gone]
    if kept:
        ours = [name for name in kept if grammar.PACKAGE.fits(name)]  # another one is no package, or an option
        remove = f"; to remove: sudo apt-get remove {quoted(*ours)}" if ours else ""
        told.append(("stays", f"{listed(kept)}{remove}"))
    told += [("remove", each.said) for each in plan.beside]
    if plan.docker:
        told.append(("restart", "docker, which reads its daemon.json only then"))
    return told


def _why(change: Change) -> str:
    if change.act in ("unfit", "failed"):
        return f" (docker does not start with what stood there: {change.why})"
    if change.act == "foreign":
        why = f", and cannot be merged: {change.why}" if change.why else ""
        return f" (changed since by another one{why}; --all takes it back too)"
    if change.diff:
        return " (changed since by another one, whose change stays)"
    return f" (changed by {listed(change.later)} too, which goes with it)" if change.later else ""


def _headline(plan: Plan, found: Journal) -> str:
    run = found.find(plan.run)
    if run is None:
        return f"{plan.run} did nothing here"
    what = f"{plan.run} by {run.owner.who}, {ago(found.now - run.owner.since)}, for: {run.owner.why}"
    return what if plan else f"nothing is left to undo of {what}"
