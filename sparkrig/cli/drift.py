"""`sparkrig drift`: what the hosts of an inventory are not, of all that is declared of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparkrig.cli import extras, files
from sparkrig.cure import quoted_path
from sparkrig.drift.drift import Report, report
from sparkrig.drift.io import drift_files
from sparkrig.fleet import Fleet
from sparkrig.operations import looking
from sparkrig.refusal import Refusal
from sparkrig.terminal import project, terminal

if TYPE_CHECKING:
    from sparkrig.checks.last_declaration import Declared
    from sparkrig.resources.check import Check

_FILE = click.Path(path_type=Path)
# what asks, judges and shows, loaded while hosts are waited for; those that come first are parts of later ones
_MEANWHILE = (
    "sparkrig.facts.spark",
    "sparkrig.checks",
    "sparkrig.deploys.spark",
    "sparkrig.operations.bandwidth",
    "sparkrig.deploys.dry",
    "sparkrig.deploys.drifted",
    "rich.console",
    "sparkrig.drift.render.drift",
)


@dataclass(frozen=True)
class _Asked:
    """Which hosts, for how long each, and compared with what."""

    inventory: Path
    limit: tuple[str, ...]
    timeout: float | None
    since: Path | None

    @property
    def typed(self) -> str:
        return project.as_typed(self.inventory)


@click.command()
@files.INVENTORY
@click.option(
    "--limit", multiple=True, metavar="HOST", help="Only this host; may be repeated. Its peers are read, too."
)
@click.option(
    "--timeout",
    type=click.FloatRange(1),
    metavar="SECONDS",
    help="Give up on a host after this time. [default: 90, times the setting patience]",
)
@click.option(
    "--since", type=_FILE, metavar="FILE", help="Compare with this report (from --json) instead of the last one."
)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Show every check: those that pass, and those of hosts never deployed.",
)
@click.option(
    "--no-keep", is_flag=True, help="Do not make this the last report, which the next one compares with."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON (schema: docs/schema/drift.json).")
@click.option("--junit", type=_FILE, metavar="FILE", help="Write JUnit XML to FILE, for CI.")
@click.option(
    "--prom", type=_FILE, metavar="FILE", help="Write metrics to FILE, for node_exporter's textfile collector."
)
@click.option("--html", type=_FILE, metavar="FILE", help="Write an HTML page to FILE.")
def drift(
    inventory_file: Path,
    limit: tuple[str, ...],
    timeout: float | None,
    since: Path | None,
    everything: bool,
    no_keep: bool,
    as_json: bool,
    junit: Path | None,
    prom: Path | None,
    html: Path | None,
) -> None:
    """Show where hosts differ from what you declared, since when, and how to fix it.

    It changes nothing on a host. The report is kept on this machine, so that the next one can show what is new.
    Exit code 2: something drifted; 3: a host could not be read, or a check has no result (sparkrig docs drift).
    """
    if junit or prom:
        extras.need("report")
    asked = _Asked(inventory_file, limit, timeout, since)
    with files.refusals():
        made, whole = _report(asked)
        try:
            if as_json:
                terminal.echo(made.dumps())
            else:
                _show(made, everything=everything)
        finally:  # where it cannot be shown, it is kept and written all the same
            if whole and not no_keep:
                _keep(asked, made)
            _write(made, junit, prom, html)
    raise SystemExit(made.exit)


def _show(made: Report, *, everything: bool) -> None:
    from sparkrig.drift.render.drift import show
    from sparkrig.terminal.screen import Screen

    show(Screen(), made, everything=everything)


def _keep(asked: _Asked, made: Report) -> None:
    """Make it the last report of its inventory; what was found does not depend on whether that can be done."""
    try:
        drift_files.keep(asked.inventory, made)
    except Refusal as refusal:
        _warn("this report is not kept, and the next one will not show what is new", refusal)


def _kept(asked: _Asked) -> Report | None:
    """The last report of the inventory; none where it cannot be read, for it only shows what is new."""
    try:
        return drift_files.kept(asked.inventory)
    except Refusal as refusal:
        _warn("the last report is left out, and what is new is not shown", refusal)
        return None


def _warn(what: str, refusal: Refusal) -> None:
    terminal.echo(f"Warning: {what}: {refusal.what}. Try: {refusal.cure}", err=True)


def _write(made: Report, junit: Path | None, prom: Path | None, html: Path | None) -> None:
    """The files that were asked for, each by itself; exit code 1 where one cannot be written."""
    wanted: list[tuple[Path, Callable[[], str]]] = []
    if junit:
        from sparkrig.drift.render import drift_junit

        wanted.append((junit, partial(drift_junit.xml, made)))
    if prom:
        from sparkrig.drift.render import drift_prom

        wanted.append((prom, partial(drift_prom.metrics, made)))
    if html:
        from sparkrig.drift.render import drift_html

        wanted.append((html, partial(drift_html.html, made)))
    files.write_each(wanted)


def _report(asked: _Asked) -> tuple[Report, bool]:
    """The report, and whether it is one to keep: of the whole fleet, beside its last one. Raises Refusal."""
    fleet, every = files.inventory(asked.inventory)
    data = files.limited(every, asked.limit, fleet)
    accepted = drift_files.accepted(asked.inventory)
    since = _since(asked, asked.since, data) if asked.since else None
    started, clock = datetime.now(UTC), time.monotonic()
    found, declared = _look(asked, fleet, data)
    made = report(
        found,
        declared,
        since or _kept(asked),  # as late as this: of a thousand hosts it takes as much room as what was seen did
        accepted,
        inventory=asked.typed,
        version=version("sparkrig"),
        started=started,
        seconds=time.monotonic() - clock,
    )
    return made, len(data) == len(fleet) and not asked.since


def _since(asked: _Asked, file: Path, data: Mapping[str, Any]) -> Report:
    """The report that was asked for. Raises Refusal, also where it has none of the hosts."""
    earlier = drift_files.read(file)
    if not any(earlier.host(name) for name in data):
        raise Refusal(f"{file} is a report of other hosts", f"sparkrig drift {quoted_path(asked.inventory)}")
    return earlier


def _look(
    asked: _Asked, fleet: Fleet, data: Mapping[str, Any]
) -> tuple[dict[str, list[Check] | Refusal], dict[str, Declared | None]]:
    """The checks of each host, or why it could not be read; and what the last deploys kept."""
    title = f"Looking at {asked.inventory.name}"
    seen, unread = looking.look(title, fleet, data, _MEANWHILE, timeout=asked.timeout)
    from sparkrig.deploys import drifted

    return drifted.checked(fleet, data, seen, unread, asked.inventory), drifted.declared(seen)
