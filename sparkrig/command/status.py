"""`sparkrig status`: what was done to each host of an inventory, by whom, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparkrig.command import files

if TYPE_CHECKING:
    from rich.console import Console

    from operations.remote import Failed, Lost
    from sparkrig.journal import Journal


@click.command()
@files.INVENTORY
@click.option("--runs", type=click.IntRange(1, 20), default=5, help="How many of each host; 5 by default.")
@click.option("--json", "as_json", is_flag=True, help="For programs (docs/schema/status.json).")
def status(inventory_file: Path, runs: int, as_json: bool) -> None:
    """Show who is at a host, a rollback that is armed, and its last runs: what they changed and how they ended.

    It looks and changes nothing. Exit code 2: a run broke off or failed, and no later one was done; 3: a host
    could not be read.
    """
    from sparkrig import journal
    from sparkrig.picture import journal as picture

    _, data = files.inventory(inventory_file)
    found = _look(data, inventory_file.name)
    read = {name: each for name, each in found.items() if not isinstance(each, Exception)}
    if as_json:
        hosts = {
            name: {"unread": str(each)} if isinstance(each, Exception) else picture.document(each, runs)
            for name, each in found.items()
        }
        files.document("status", hosts=hosts)
    else:
        _show(found, runs)
    if len(read) < len(found):
        files.try_doctor(inventory_file)
        raise SystemExit(3)
    if any(journal.unsettled(each) for each in read.values()):
        raise SystemExit(2)


def _look(data: Mapping[str, Mapping[str, Any]], what: str) -> dict[str, Journal | Failed | Lost]:
    from sparkrig import session  # isort: skip - it patches the standard library before pyinfra is loaded
    from operations import journal

    return session.asked(data, f"Reading the journals of {what}", journal.look)


def _show(found: Mapping[str, Journal | Failed | Lost], runs: int) -> None:
    from rich.console import Console
    from rich.text import Text

    from sparkrig import journal
    from sparkrig.picture import journal as picture

    console = Console(highlight=False)
    for number, (name, each) in enumerate(found.items()):
        if isinstance(each, Exception):
            console.print(Text.assemble((name, "bold"), (f": not read: {each}", "red")), soft_wrap=True)
            continue
        if console.is_terminal:
            if number:
                console.print()
            console.print(picture.status(name, each, runs, ascii_only=not console.encoding.startswith("utf")))
        else:
            for line in picture.lines(name, each, runs):
                click.echo(line)
        if broken := journal.unsettled(each):
            _advise(console, name, broken.owner.why)


def _advise(console: Console, name: str, why: str) -> None:
    from rich.text import Text

    console.print(Text(f"{name}: what is missing is done by the same again: {why}"), soft_wrap=True)
