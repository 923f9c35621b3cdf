"""`sparkrig accept`: live with a drift for a while, by name, with a reason, in a file that goes into git."""

from __future__ import annotations

import getpass
from datetime import date, datetime
from pathlib import Path

import click

from sparkrig.cli import files
from sparkrig.cure import quoted_path
from sparkrig.drift.drift import Acceptance
from sparkrig.drift.io import drift_files
from sparkrig.refusal import Refusal
from sparkrig.terminal import terminal
from sparkrig.text import nearest


def _ids(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """The checks in the last report of the inventory; nothing where there is none."""
    inventory = ctx.params.get("inventory_file")
    try:
        report = drift_files.kept(inventory) if inventory else None
    except Refusal:  # a completion prints no error
        report = None
    rows = [row for host in report.hosts for row in host.rows] if report else []
    return sorted({row.id for row in rows if row.told and row.id.startswith(incomplete)})


@click.command()
@files.INVENTORY
@click.argument("id", shell_complete=_ids)
@click.option("--host", help="Accept it on this host only. [default: every host]")
@click.option(
    "--until",
    required=True,
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="DAY",
    help="Last day on which it is accepted, such as 2027-01-31.",
)
@click.option("--why", required=True, help="The reason, for later readers.")
def accept(inventory_file: Path, id: str, host: str | None, until: datetime, why: str) -> None:
    """Accept a failing check until a date: drift then counts it as accepted, not as drift.

    ID is the name of the check in the last drift report. The entry goes into NAME.accepted.yaml beside the
    inventory; commit that file.
    """
    fleet, _ = files.inventory(inventory_file)
    if host and host not in fleet:
        known = ", ".join(fleet)
        raise click.ClickException(f"there is no host {host} in the inventory. Try: one of {known}")
    if until.date() < date.today():
        raise click.ClickException(f"{until.date()} is over. Try: --until with a day to come")
    if not why.strip():
        raise click.ClickException("a reason is expected. Try: --why 'waiting for the new cable'")
    with files.refusals():
        _must_be_known(inventory_file, id, host)
        entry = Acceptance(id=id, until=until.date(), why=why.strip(), host=host, by=getpass.getuser())
        file = drift_files.accept(inventory_file, entry)
    terminal.echo(
        f"accepted until {until.date()}: {id} on {host or 'every host'}. Now: git add {quoted_path(file)}"
    )


def _must_be_known(inventory: Path, id: str, host: str | None) -> None:
    """Raise Refusal for an id that the last report does not have: a misspelt one would accept nothing."""
    report, show = drift_files.kept(inventory), f"sparkrig drift {quoted_path(inventory)}"
    if report is None:
        raise Refusal("there is no drift report of this inventory yet", show)
    hosts = [each for each in report.hosts if host in (None, each.name)]
    known = {row.id for each in hosts for row in (*each.rows, *each.before)}
    if id not in known:
        near = nearest(id, known)
        instead = f", but {near}" if near else ""
        raise Refusal(
            f"the last report has no check {id}{f' on {host}' if host else ''}{instead}", f"{show} --all"
        )
