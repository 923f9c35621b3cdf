"""`sparkrig status`: what was done to each host of an inventory, by whom, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparkrig.cli import files, scheduled
from sparkrig.io import terminal

if TYPE_CHECKING:
    from sparkrig.fleet import Fleet
    from sparkrig.io.remote import Failed, Lost
    from sparkrig.refusal import Refusal
    from sparkrig.reports.schedule import Known, Scheduled
    from sparkrig.runs.journal import Journal
    from sparkrig.runs.partial import PartialRun
    from sparkrig.value import Unread


@click.command()
@files.INVENTORY
@click.option(
    "--runs", type=click.IntRange(1, 20), default=5, help="Number of runs to show for each host. [default: 5]"
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON (schema: docs/schema/status.json).")
def status(inventory_file: Path, runs: int, as_json: bool) -> None:
    """Show who is working on each host, an armed rollback, and what the last runs changed and how they ended.

    It changes nothing. Exit code 2: a run broke off or failed and no later run finished, or a run was committed
    or undone on some hosts of a pair or cluster alone, or an update is open, or a change of the network is not
    confirmed, or a journal is gone; 3: a host or the schedule could not be read, or a scheduled run of drift
    failed or is missing; 4: the last change of the network or of the server was rolled back.
    """
    from sparkrig.render import schedule as shown
    from sparkrig.reports import status as report
    from sparkrig.reports.schedule import Known, standing
    from sparkrig.runs import journal
    from sparkrig.value import each_host

    fleet, data = files.inventory(inventory_file)
    found = _look(data, inventory_file.name)
    told = {name: each for name, each in found.items() if not isinstance(each, Exception)}
    partial = _partial_runs(fleet, told, files.typed(inventory_file))
    watched = _watched(inventory_file)
    read = journal.shared(told)
    found = {**found, **read}
    if as_json:
        hosts = each_host(found, lambda each: report.host(each, runs))
        files.print_json(report.Report(hosts=hosts, halves=partial, schedule=_scheduled(watched)))
    else:
        _show(found, runs, files.typed(inventory_file), partial)
        for line in shown.lines(watched) if isinstance(watched, Known) else ():
            terminal.echo(f"{inventory_file.name}: {line}")
    if len(read) < len(found):
        files.try_doctor(inventory_file)
        raise SystemExit(3)
    alone = {each.run for each in partial}  # of such a run one host stands
    left = {
        journal.outcome(run, each)
        for each in read.values()
        if (run := journal.unsettled(each)) and run.id not in alone
    }
    open_ = any(each.update or each.armed or each.lost for each in read.values())
    if "rolled back" in left:
        raise SystemExit(4)
    failed = bool(standing(watched)) if isinstance(watched, Known) else watched is not None
    raise SystemExit(3 if failed else 2 if left or partial or open_ else 0)


def _watched(inventory: Path) -> Known | Refusal | None:
    """How drift is scheduled, or why that cannot be read: what was seen of the hosts is shown all the same."""
    from sparkrig.refusal import Refusal

    try:
        return scheduled.known(inventory)
    except Refusal as refusal:
        terminal.echo(f"Warning: the schedule is left out: {refusal.what}. Try: {refusal.cure}", err=True)
        return refusal


def _scheduled(watched: Known | Refusal | None) -> Scheduled | Unread | None:
    from sparkrig.reports.schedule import Known, document
    from sparkrig.value import Unread

    if watched is None:
        return None
    return document(watched) if isinstance(watched, Known) else Unread(watched.what)


def _look(data: Mapping[str, Mapping[str, Any]], what: str) -> dict[str, Journal | Failed | Lost]:
    from sparkrig.io import session  # isort: skip - it patches the standard library before pyinfra is loaded
    from sparkrig.operations import journal

    return session.asked(data, f"Reading the journals of {what}", journal.look)


def _partial_runs(fleet: Fleet, read: Mapping[str, Journal], inventory: str) -> list[PartialRun]:
    """What was done to one host of a pair alone."""
    from sparkrig.runs.partial import partial_runs

    pairs = [{name: read[name] for name in names if name in read} for names in fleet.groups()]
    return [each for pair in pairs for each in partial_runs(pair, inventory)]


def _show(
    found: Mapping[str, Journal | Failed | Lost], runs: int, inventory: str, partial: Sequence[PartialRun]
) -> None:
    from rich.text import Text

    from sparkrig.host import armed
    from sparkrig.host.preflight import lost_journal
    from sparkrig.io.screen import Screen
    from sparkrig.render import journal as picture
    from sparkrig.runs import journal, recovery

    console = Screen()
    for number, (name, each) in enumerate(found.items()):
        if isinstance(each, Exception):
            console.print(Text.assemble((name, "bold"), (f": not read: {each}", "red")), soft_wrap=True)
            continue
        if console.has_width:
            if number:
                console.print()
            console.print(picture.status(name, each, runs, ascii_only=not console.encoding.startswith("utf")))
        else:
            for line in picture.lines(name, each, runs):
                terminal.echo(line)
        broken = journal.unsettled(each)
        open_ = [*armed.refusals(each.armed), *([lost_journal()] if each.lost else [])]
        for refusal in open_[: 0 if broken else 1]:
            console.print(Text(f"{name}: {refusal.of(inventory).cure}"), soft_wrap=True)
        if broken and broken.id not in {each.run for each in partial}:
            console.print(Text(f"{name}: {recovery.advice(broken, each, inventory)}"), soft_wrap=True)
    for alone in partial:
        console.print(Text(alone.sentence), soft_wrap=True)
