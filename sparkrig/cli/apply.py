"""`sparkrig apply`: the plan of an inventory, one question, and the run of pyinfra that its deploy file is."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sparkrig.cli import files, plan
from sparkrig.cli.plan import Plan
from sparkrig.cure import quoted_path
from sparkrig.drift.plan import Applying
from sparkrig.operations import applying
from sparkrig.terminal import project
from sparkrig.text import listed

if TYPE_CHECKING:
    from rich.console import Console


@dataclass
class _Outcome:
    """What came of it. lines: sentences, the last of which is how it ended; code: the exit code."""

    lines: list[str] = field(default_factory=list)
    code: int = 0


@click.command()
@files.INVENTORY
@click.option("--limit", multiple=True, metavar="HOST", help="Only this host and its peers; may be repeated.")
@click.option("--all", "everything", is_flag=True, help="Show new files and long package lists in full.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (schema: docs/schema/apply.json).")
def apply(inventory_file: Path, limit: tuple[str, ...], everything: bool, yes: bool, as_json: bool) -> None:
    """Make hosts match what you declared: show the plan, ask once, and carry it out.

    It runs `pyinfra INVENTORY deploys/cluster.py` in a process of its own; you can always run plain pyinfra
    instead. If a host is refused or cannot be read, it and its peer are left out, and the others go on.

    Exit code 1: refused, declined, or the run did not finish; 2: a check failed; 3: a host could not be reached;
    4: the network was changed and rolled back (sparkrig docs plan).
    """
    again = shlex.join(["sparkrig", "apply", project.as_typed(inventory_file), *plan.limited(limit)])
    files.must_answer(yes, f"{again.replace(' apply ', ' plan ', 1)}, which shows the plan; then {again} --yes")
    from sparkrig.terminal.screen import Screen

    console = Screen(stderr=as_json)
    with files.refusals():
        made = plan.of(inventory_file, limit, wait_s=None, why="superseded by sparkrig apply")
    plan.show(console, made, everything=everything)
    outcome = _carried_out(made, again, yes=yes)
    _show(console, outcome)
    if as_json:
        files.print_json(Applying(plan=made.document(), outcome=outcome.lines[-1], exit_code=outcome.code))
    raise SystemExit(outcome.code)


def _carried_out(made: Plan, again: str, *, yes: bool) -> _Outcome:
    due = [name for name, each in made.hosts.items() if each.due]
    left_out = max((3 if host.unread else 1 for host in made.hosts.values() if host.stands), default=0)
    if not due:
        return _Outcome([_nothing(left_out, made)], left_out)
    if not yes and not files.agreed("Apply this?"):
        return _Outcome(["Declined; nothing was changed."], 1)
    began = applying.now()
    hosts = _together(made, due)
    code, applied = applying.run(_words(made, hosts), hosts, made.hosts, made.patience)
    if code == 0 and applied.whole:
        next_ = f"sparkrig doctor {quoted_path(project.as_typed(made.inventory))}"
        left = " The others are left as they are." if left_out else ""
        return _Outcome([f"Done: {_counted(made, due)}.{left} Next: {next_}"], left_out)
    back = applying.rolled_back({name: made.data[name] for name in hosts}, began) if applied.step else False
    typed = quoted_path(project.as_typed(made.inventory))
    last = f"The network was put back to what it was. Try: sparkrig topology {typed}, then {again}" if back else ""
    lines = [*applied.why(), last or applied.ended(typed, again, plan.DEPLOY)]
    return _Outcome(lines, max(applied.exit_code(back=back), left_out))


def _nothing(left_out: int, made: Plan) -> str:
    if not left_out:
        return "Nothing is to be done."
    names = [name for name, each in made.hosts.items() if each.unread or each.refusals]
    return f"Nothing was changed: what stands behind `try:` is the way on for {listed(names)}."


def _together(made: Plan, due: Sequence[str]) -> list[str]:
    """The hosts of the run: those that are due, with their peers."""
    wanted = {*due, *(peer for name in due for peer in made.fleet.peers(name))}
    return [name for name in made.hosts if name in wanted]


def _words(made: Plan, hosts: Sequence[str]) -> list[str]:
    limit = [] if set(hosts) == set(made.fleet) else plan.limited(tuple(hosts))
    return ["-y", *limit, str(made.inventory), str(project.root(made.inventory) / project.DEPLOY)]


def _counted(made: Plan, due: Sequence[str]) -> str:
    counts = [f"{made.hosts[name].count} on {name}" for name in due]
    return f"changed {listed(counts)}"


def _show(console: Console, outcome: _Outcome) -> None:
    from sparkrig.drift.render.plan import Sheet

    sheet = Sheet(console)
    sheet.blank()
    for line in outcome.lines[:-1]:
        sheet.put(line, "red", 0, 2)
    sheet.put(outcome.lines[-1], "bold", 0, 2)
