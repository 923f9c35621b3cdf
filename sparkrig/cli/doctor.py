"""`sparkrig doctor`: whether hosts are well, category by category, and the one command to type now."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sparkrig.cli import files
from sparkrig.cure import quoted_path, verb
from sparkrig.terminal import project, terminal
from sparkrig.terminal.project import Where
from sparkrig.text import nearest, plain

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from sparkrig.doctor.doctor import Report


def _list(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked and not ctx.resilient_parsing:
        from sparkrig.checks.reference import KINDS
        from sparkrig.resources.kind import CATEGORIES

        width = max(len(kind.name) for kind in KINDS)
        for category in CATEGORIES:
            terminal.echo(category)
            for kind in KINDS:
                if kind.category == category:
                    terminal.echo(f"  {kind.name:{width}}  {kind.meaning}")
        ctx.exit()


def _names(_ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    from sparkrig.checks.reference import KINDS
    from sparkrig.resources.kind import CATEGORIES

    words = [*(category.split()[0].lower() for category in CATEGORIES), *(kind.name for kind in KINDS)]
    return [CompletionItem(word) for word in words if word.startswith(incomplete)]


@click.command()
@files.FIRST
@click.argument("names", metavar="[CHECK]...", nargs=-1, shell_complete=_names)
@click.option(
    "--list",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_list,
    help="List every check with its meaning, and exit.",
)
@click.option("-v", "--verbose", is_flag=True, help="Show every check, not only what is wrong.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (schema: docs/schema/doctor.json).")
def doctor(inventory_file: Where, names: tuple[str, ...], verbose: bool, as_json: bool) -> None:
    """Check whether hosts are healthy: what is wrong, why, and which command to type next.

    CHECK limits it to one check (net.enp1s0f0np0.mtu), to all that begin alike (net, net.enp1s0f0np0), or to a
    category (network).

    With an ADDRESS (nvidia@spark-1a2b.local), several, or `here`, no setting is judged, and the end counts the
    checks that need an inventory (sparkrig docs doctor#without-an-inventory).

    It changes nothing on a host. The hosts of a pair or cluster send each other a few frames and pings. Exit
    code 2: something is wrong; 3: a host could not be read, or a check has no result.
    """
    inventory_file, names = files.addresses(inventory_file, names)
    _refuse_unknown(names)
    fleet, data = files.inventory(inventory_file)
    from sparkrig.doctor.io import examine  # isort: skip - it patches the standard library before pyinfra is loaded
    from sparkrig.doctor.examination import judged
    from sparkrig.operations.subject import subjects

    started, clock, typed = datetime.now(UTC), time.monotonic(), project.as_typed(inventory_file)
    fleet, seen = examine.hosts(inventory_file.name, fleet, data, names)
    made = judged(typed, fleet, data, seen, subjects(fleet, seen.hosts), names, started, clock)
    _refuse_absent(made)
    if as_json:
        terminal.echo(made.dumps())
    else:
        _show(made, everything=verbose or bool(names))
        if isinstance(inventory_file, Path):
            _show_age(inventory_file)
    raise SystemExit(made.exit)


def _show_age(inventory_file: Path) -> None:
    """Print where the project was made by an older sparkrig than the one that runs."""
    from importlib.metadata import version

    root, current = project.root(inventory_file), version("sparkrig")
    if made := project.outdated(root, current):
        new = root.with_name(f"{root.name}-new")
        cure = f"sparkrig init {quoted_path(new)}; diff -r {quoted_path(new)} {quoted_path(root)}"
        terminal.echo(f"{root} is older than this {current}: {plain(made)} made it. Try: {cure}", err=True)


def _refuse_unknown(names: Sequence[str]) -> None:
    """Before anything connects."""
    from sparkrig.checks.reference import KINDS, kinds
    from sparkrig.resources.kind import CATEGORIES

    for name in names:
        if not kinds(name):
            known = [*(category.lower() for category in CATEGORIES), *(kind.name for kind in KINDS)]
            near = nearest(name, known)
            meant = f" (did you mean {near}?)" if near else ""
            raise click.ClickException(f"no check is called {name}{meant}. Try: sparkrig doctor --list")


def _refuse_absent(made: Report) -> None:
    """A check that no host has did not pass."""
    from sparkrig.checks.reference import means

    ids = {row.id for host in made.hosts for row in host.rows}
    for name in made.asked:
        if any(host.read for host in made.hosts) and not any(means(name, id) for id in ids):
            raise click.ClickException(
                f"no host has a check {name}; nothing there is declared or to be seen that it could be about. "
                f"Try: {verb('doctor', '-v')}"
            )


def _show(made: Report, *, everything: bool) -> None:
    from sparkrig.doctor.render.doctor import lines
    from sparkrig.terminal.screen import Screen

    console = Screen()
    width = min(console.width, 100) if console.has_width else None
    for line in lines(made, everything=everything, ascii_only=console.options.ascii_only, width=width):
        console.print(line, soft_wrap=True)
