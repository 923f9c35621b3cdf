"""`sparkrig drift`: what the hosts of an inventory are not, of all that is declared of them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparkrig import checks, declared, drift_files
from sparkrig.check import Check
from sparkrig.command import files
from sparkrig.drift import Report, report, unexplained
from sparkrig.refusal import Refusal
from sparkrig.settings import Fleet
from sparkrig.state import State

if TYPE_CHECKING:
    pass

_LOOK_S = 60  # times `patience`; a healthy host answers within a few


@click.command()
@files.INVENTORY
@click.option("--limit", multiple=True, metavar="HOST", help="Only this host (and its peer is read too).")
@click.option("--since", type=click.Path(path_type=Path), help="Compare with this report instead of the last one.")
@click.option("--all", "everything", is_flag=True, help="Show the checks that hold, too.")
@click.option("--json", "as_json", is_flag=True, help="For programs (docs/schema/drift.json).")
def drift(
    inventory_file: Path, limit: tuple[str, ...], since: Path | None, everything: bool, as_json: bool
) -> None:
    """Show what hosts are not, of all that is declared of them, and what mends it.

    It looks and changes nothing on a host. The report is kept on this machine, so that the next one can tell
    what is new.
    """
    fleet, data = files.inventory(inventory_file)
    made = _report(inventory_file, fleet, _limited(data, limit, fleet), since)
    if as_json:
        click.echo(made.dumps())
    else:
        from rich.console import Console

        from sparkrig.picture.drift import screen

        Console().print(screen(made, everything=everything))
    raise SystemExit(made.exit)


def _limited(data: Mapping[str, Any], limit: Sequence[str], fleet: Fleet) -> dict[str, Any]:
    """The hosts to be looked at. A host that is not in the inventory is an error, not an empty fleet."""
    for name in limit:
        if name not in data:
            known = ", ".join(data)
            raise click.ClickException(
                f"there is no host {name} in the inventory (it has {known}). Try: --limit {next(iter(data))}"
            )
    wanted = {*limit, *(fleet.peer(name) for name in limit)} if limit else set(data)
    return {name: values for name, values in data.items() if name in wanted}


def _report(file: Path, fleet: Fleet, data: Mapping[str, Any], since: Path | None) -> Report:
    """The report, made and kept; exit code 1 where a file of this machine cannot stand."""
    kept = drift_files.last(file)
    try:
        accepted = drift_files.accepted(file)
        earlier = drift_files.read(since or kept) if since or kept.exists() else None
        started, clock = datetime.now(UTC), time.monotonic()
        seen, checks = _look(file, fleet, data)
        made = report(
            checks,
            {name: declared.load(state.files.get(declared.PATH)) for name, state in seen.items()},
            earlier,
            accepted,
            inventory=str(file),
            version=version("sparkrig"),
            started=started,
            seconds=time.monotonic() - clock,
        )
        if len(data) == len(fleet):
            drift_files.write(kept, made.dumps())
    except Refusal as refusal:
        raise click.ClickException(f"{refusal.what}. Try: {refusal.cure}") from None
    return made


def _look(
    file: Path, fleet: Fleet, data: Mapping[str, Any]
) -> tuple[dict[str, State], dict[str, list[Check] | str]]:
    """What was seen of each host that could be read, and the checks of each, or why it could not."""
    from sparkrig import session  # isort: skip - it patches the standard library before pyinfra is loaded
    from deploys import dry
    from facts.spark import Spark
    from operations import remote
    from operations.subject import subject

    with session.connected(data) as hosts:
        answers = remote.each(
            hosts, lambda at: remote.read(at, Spark(), seconds=int(_LOOK_S * fleet[at.name].patience))
        )
        seen = {name: answer for name, answer in answers.items() if isinstance(answer, State)}
        run = next((at.state for at in hosts.values() if not isinstance(at, Exception)), None)
        planned = dry.plan(run, fleet, seen) if run else {}
    subjects = {name: subject(name, fleet, seen, str(file)) for name in seen}
    found = {name: checks.of(each) for name, each in subjects.items()}
    for name, each in subjects.items():
        peer = found.get(fleet.peer(name) or "", [])
        found[name] += unexplained(found[name], peer, planned[name], each.apply)
    return seen, {name: found.get(name) or str(answer) for name, answer in answers.items()}
