"""`sparkrig status`: what each host of an inventory is, who works on it, and what was done to it last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparkrig.cli import files
from sparkrig.operations.looking import LOOK_S
from sparkrig.terminal import terminal
from sparkrig.terminal.project import Where
from sparkrig.watch.io import scheduled

if TYPE_CHECKING:
    from pyinfra.api import Host
    from pyinfra.api.exceptions import FactProcessError

    from sparkrig.fleet import Fleet
    from sparkrig.refusal import Refusal
    from sparkrig.resources.state import State
    from sparkrig.runs.journal import Journal
    from sparkrig.runs.partial import PartialRun
    from sparkrig.status.status import Seen
    from sparkrig.value import Unread
    from sparkrig.watch.schedule import Known, Scheduled

_AFTER_S = 10  # what a look that ended itself takes to print what it has


@click.command()
@files.HOSTS
@click.option(
    "--runs", type=click.IntRange(1, 20), default=5, help="Number of runs to show for each host. [default: 5]"
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON (schema: docs/schema/status.json).")
def status(inventory_file: Where, runs: int, as_json: bool) -> None:
    """Show what each host is set to, who is working on it, and what its last runs changed and how they ended.

    That is driver, containers, and each rail with its GID and last bandwidth; what differs from the inventory; an
    armed rollback. It changes nothing. Exit code 2: a run broke off or failed and no later run finished, or a run
    was committed or undone on some hosts of a pair or cluster alone, or an update is open, or a change of the
    network is not confirmed, or a journal is gone; 3: a host or the schedule could not be read, or a scheduled
    run of drift failed or is missing; 4: the last change of the network or of the server was rolled back.
    """
    from sparkrig.runs import journal
    from sparkrig.status import status as report
    from sparkrig.watch.render import schedule
    from sparkrig.watch.schedule import Known, standing

    fleet, data = files.inventory(inventory_file)
    fleet, hosts = _look(fleet, data, inventory_file)
    journals = {name: host.journal for name, host in hosts.items() if isinstance(host, report.Seen)}
    partial = _partial_runs(fleet, journals)
    journals = journal.shared(journals)
    watched = _watched(inventory_file) if isinstance(inventory_file, Path) else None
    if as_json:
        documents = report.hosts(hosts, journals, runs)
        files.print_json(report.Report(hosts=documents, partial=partial, schedule=_scheduled(watched)))
    else:
        _show(hosts, journals, runs, partial)
        for line in schedule.lines(watched) if isinstance(watched, Known) else ():
            terminal.echo(f"{inventory_file.name}: {line}")
    if not all(isinstance(host, report.Seen) and host.whole for host in hosts.values()):
        files.try_doctor()
        raise SystemExit(3)
    code = report.exit_code(journals.values(), partial)
    failed = bool(standing(watched)) if isinstance(watched, Known) else watched is not None
    raise SystemExit(3 if failed and code != 4 else code)


def _look(
    fleet: Fleet, data: Mapping[str, Mapping[str, Any]], inventory_file: Where
) -> tuple[Fleet, dict[str, Seen | Unread]]:
    """What was seen of each host, and what joins them."""
    from sparkrig.ssh import session  # isort: skip - it patches the standard library before pyinfra is loaded
    from sparkrig.fabric.io import joining
    from sparkrig.facts.status import Status
    from sparkrig.operations.subject import subjects
    from sparkrig.ssh import remote
    from sparkrig.status.figures import figures
    from sparkrig.status.status import Seen
    from sparkrig.value import Unread

    def read(at: Host) -> tuple[Journal, State | FactProcessError]:
        seconds = int(LOOK_S * fleet[at.name].patience)
        return remote.read(at, Status(seconds), seconds=seconds + _AFTER_S)

    answers = session.asked(data, f"Looking at the Sparks of {inventory_file.name}", read)
    read_hosts = {name: answer for name, answer in answers.items() if not isinstance(answer, Exception)}
    states = {name: state for name, (_, state) in read_hosts.items() if not isinstance(state, Exception)}
    fleet = joining.joined(fleet, {name: state.network for name, state in states.items()})
    known = {name: figures(host) for name, host in subjects(fleet, states).items()}
    return fleet, {
        name: Seen(read_hosts[name][0], known.get(name) or Unread(str(read_hosts[name][1])))
        if name in read_hosts
        else Unread(str(answer))
        for name, answer in answers.items()
    }


def _partial_runs(fleet: Fleet, read: Mapping[str, Journal]) -> list[PartialRun]:
    """What was done to some hosts of a group alone."""
    from sparkrig.runs.partial import partial_runs

    groups = [{name: read[name] for name in names if name in read} for names in fleet.groups()]
    return [run for group in groups for run in partial_runs(group)]


def _watched(inventory: Path) -> Known | Refusal | None:
    """How drift is scheduled, or why that cannot be read: what was seen of the hosts is shown all the same."""
    from sparkrig.refusal import Refusal

    try:
        return scheduled.known(inventory)
    except Refusal as refusal:
        terminal.echo(f"Warning: the schedule is left out: {refusal.what}. Try: {refusal.cure}", err=True)
        return refusal


def _scheduled(watched: Known | Refusal | None) -> Scheduled | Unread | None:
    from sparkrig.value import Unread
    from sparkrig.watch.schedule import Known, document

    if watched is None:
        return None
    return document(watched) if isinstance(watched, Known) else Unread(watched.what)


def _show(
    hosts: Mapping[str, Seen | Unread],
    journals: Mapping[str, Journal],
    runs: int,
    partial: Sequence[PartialRun],
) -> None:
    from rich.text import Text

    from sparkrig.status.render import status as picture
    from sparkrig.status.status import advice
    from sparkrig.terminal.screen import Screen
    from sparkrig.value import Unread

    console = Screen()
    for number, (name, host) in enumerate(hosts.items()):
        if isinstance(host, Unread):
            said = Text.assemble((name, "bold"), (f": not read: {host.unread}", "red"))
            console.print(said, soft_wrap=not console.has_width)
            continue
        if console.has_width:
            if number:
                console.print()
            ascii_only = not console.encoding.startswith("utf")
            console.print(picture.host(name, host.state, journals[name], runs, ascii_only=ascii_only))
        else:
            for line in picture.lines(name, host.state, journals[name], runs):
                terminal.echo(line)
        if words := advice(journals[name], host.state, partial):
            console.print(Text(f"{name}: {words}"), soft_wrap=True)
    for run in partial:
        console.print(Text(run.sentence), soft_wrap=True)
