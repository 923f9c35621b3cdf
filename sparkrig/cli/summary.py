"""`sparkrig summary`: what each Spark of an inventory is set to, on one screen."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparkrig.cli import files
from sparkrig.cure import deploy
from sparkrig.io import project

if TYPE_CHECKING:
    from pyinfra.api import Host

    from sparkrig.fleet import Fleet
    from sparkrig.io.remote import Failed, Lost
    from sparkrig.look.state import State
    from sparkrig.reports.summary import Figures
    from sparkrig.value import Unread

    Rows = Mapping[str, Figures | Unread]

_LOOK_S = 120  # times `patience`; a healthy host answers within a few


@click.command()
@files.INVENTORY
@click.option("--json", "as_json", is_flag=True, help="Print JSON (schema: docs/schema/summary.json).")
def summary(inventory_file: Path, as_json: bool) -> None:
    """Show the state of each Spark: driver, fabric, GID of each device, containers, bandwidth of each rail.

    It changes nothing. Exit code 2: a change of the network is not confirmed, or a journal is gone; 3: a Spark
    could not be read; the others are shown.
    """
    from sparkrig.reports.summary import Report, describe
    from sparkrig.value import Unread

    fleet, data = files.inventory(inventory_file)
    found = _look(fleet, data, inventory_file.name)
    states = {name: state for name, state in found.items() if not isinstance(state, Exception)}
    rows = {
        name: describe(fleet, name, states) if name in states else Unread(str(why)) for name, why in found.items()
    }
    if as_json:
        files.print_json(Report(hosts=rows))
    else:
        _print(rows, inventory_file)
    if len(states) < len(rows):
        raise SystemExit(3)
    if any(state.preflight.armed or state.preflight.lost for state in states.values()):
        raise SystemExit(2)


def _look(fleet: Fleet, data: Mapping[str, Mapping[str, Any]], what: str) -> dict[str, State | Failed | Lost]:
    from sparkrig.io import session  # isort: skip - it patches the standard library before pyinfra is loaded
    from sparkrig.facts.spark import Spark
    from sparkrig.io import remote

    def read(at: Host) -> State:
        return remote.read(at, Spark(), seconds=int(_LOOK_S * fleet[at.name].patience))

    return session.asked(data, f"Looking at the Sparks of {what}", read)


def _print(rows: Rows, inventory_file: Path) -> None:
    from rich.text import Text

    from sparkrig.io.screen import Screen
    from sparkrig.render.summary import panel

    console = Screen()
    for name, row in rows.items():
        console.print(panel(name, row))
    # never wrapped, so that it can be copied from a narrow terminal
    console.print(Text.assemble("Next: ", (_next(rows, inventory_file), "bold")), soft_wrap=True)


def _next(rows: Rows, inventory_file: Path) -> str:
    """One command that can be typed as it is, in the folder where this was typed."""
    from sparkrig.value import Unread

    root = project.root(inventory_file)
    at_root = Path.cwd() == root
    file = str(inventory_file if at_root else inventory_file.resolve())
    read = [row for row in rows.values() if not isinstance(row, Unread)]
    if len(read) < len(rows):
        words = ["sparkrig", "doctor", file, "access"]
    elif not all(row.in_spec for row in read):
        words = shlex.split(deploy(file))
    elif any(rail.unknown for row in read for rail in row.rails):
        words = shlex.split(deploy(file, "probe"))
    else:
        words = ["pytest", "tests/state", "--inventory", file]
    return ("" if at_root else f"cd {shlex.quote(str(root))} && ") + shlex.join(words)
