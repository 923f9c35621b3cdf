"""`sparkrig drift`: what the hosts of an inventory are not, of all that is declared of them."""

from __future__ import annotations

import difflib
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparkrig import declared, drift_files, login, whole_file
from sparkrig.command import files
from sparkrig.drift import Report, report, unexplained
from sparkrig.refusal import Refusal
from sparkrig.settings import Fleet

if TYPE_CHECKING:
    from pyinfra.api import Host

    from sparkrig.check import Check
    from sparkrig.state import State

_LOOK_S = 90  # times `patience`; a healthy host answers within a few
_ROOT = Path(__file__).resolve().parents[2]
_FILE = click.Path(path_type=Path)
# what asks, judges and shows, loaded while hosts are waited for; those that come first are parts of later ones
_MEANWHILE = (
    "facts.spark",
    "sparkrig.checks",
    "deploys.spark",
    "operations.bandwidth",
    "deploys.dry",
    "rich.console",
    "sparkrig.picture.drift",
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
        return files.typed(self.inventory)


@click.command()
@files.INVENTORY
@click.option("--limit", multiple=True, metavar="HOST", help="Only this host (and its peer is read too).")
@click.option("--timeout", type=click.FloatRange(1), metavar="SECONDS", help="Give a host up then; else after 90.")
@click.option("--since", type=_FILE, metavar="FILE", help="Compare with this report instead of the last one.")
@click.option("--all", "everything", is_flag=True, help="Show the checks that hold, too.")
@click.option("--json", "as_json", is_flag=True, help="For programs (docs/schema/drift.json).")
@click.option("--junit", type=_FILE, metavar="FILE", help="Write it as JUnit XML, for CI.")
@click.option("--prom", type=_FILE, metavar="FILE", help="Write it for node_exporter's textfile collector.")
@click.option("--html", type=_FILE, metavar="FILE", help="Write it as a page for a browser.")
def drift(
    inventory_file: Path,
    limit: tuple[str, ...],
    timeout: float | None,
    since: Path | None,
    everything: bool,
    as_json: bool,
    junit: Path | None,
    prom: Path | None,
    html: Path | None,
) -> None:
    """Show what hosts are not, of all that is declared of them, and what mends it.

    It looks and changes nothing on a host. The report is kept on this machine, so that the next one can tell
    what is new. Exit code 2: something drifted; 3: a host could not be read, or a check could not be told
    (docs/drift.md).
    """
    asked = _Asked(inventory_file, limit, timeout, since)
    with files.refusals():
        made = _report(asked)
        if as_json:
            click.echo(made.dumps())
        else:
            _show(made, everything=everything)
        _write(made, junit, prom, html)
    raise SystemExit(made.exit)


def _show(made: Report, *, everything: bool) -> None:
    from rich.console import Console

    from sparkrig.picture.drift import show

    folder = "" if Path.cwd() == _ROOT else str(_ROOT)
    show(Console(highlight=False), made, everything=everything, folder=folder)


def _write(made: Report, junit: Path | None, prom: Path | None, html: Path | None) -> None:
    """The files that were asked for. Raises Refusal."""
    if junit:
        from sparkrig.picture import drift_junit

        whole_file.write(junit, drift_junit.xml(made))
    if prom:
        from sparkrig.picture import drift_prom

        whole_file.write(prom, drift_prom.metrics(made))
    if html:
        from sparkrig.picture import drift_html

        whole_file.write(html, drift_html.html(made))


def _report(asked: _Asked) -> Report:
    """The report, made, and kept where it is one of the whole fleet and of its last one. Raises Refusal."""
    fleet, every = files.inventory(asked.inventory)
    data = _limited(every, asked.limit, fleet)
    accepted = drift_files.accepted(asked.inventory)
    earlier = drift_files.read(asked.since) if asked.since else drift_files.kept(asked.inventory)
    if asked.since and earlier and not any(earlier.host(name) for name in data):
        raise Refusal(f"{asked.since} is a report of other hosts", f"sparkrig drift {asked.inventory}")
    started, clock = datetime.now(UTC), time.monotonic()
    seen, found = _look(asked, fleet, data)
    made = report(
        found,
        {name: declared.load(state.files.get(declared.PATH)) for name, state in seen.items()},
        earlier,
        accepted,
        inventory=asked.typed,
        version=version("sparkrig"),
        started=started,
        seconds=time.monotonic() - clock,
    )
    if len(data) == len(fleet) and not asked.since:
        drift_files.keep(asked.inventory, made)
    return made


def _limited(data: Mapping[str, Any], limit: Sequence[str], fleet: Fleet) -> dict[str, Any]:
    """The hosts to be looked at. A host that is not in the inventory is an error, not an empty fleet."""
    for name in limit:
        if name not in data:
            [close] = difflib.get_close_matches(name, data, 1, 0)
            raise Refusal(f"there is no host {name} in the inventory", f"--limit {close}")
    wanted = {*limit, *(fleet.peer(name) for name in limit)} if limit else set(data)
    return {name: values for name, values in data.items() if name in wanted}


def _look(
    asked: _Asked, fleet: Fleet, data: Mapping[str, Any]
) -> tuple[dict[str, State], dict[str, list[Check] | Refusal]]:
    """What was seen of each host that could be read, and the checks of each, or why it could not."""
    from sparkrig import session  # isort: skip - it patches the standard library before pyinfra is loaded
    from operations import remote

    limits = {name: asked.timeout or _LOOK_S * fleet[name].patience for name in data}

    def read(at: Host) -> State:
        from facts.spark import Spark

        mine = fleet[at.name]
        return remote.read(at, Spark(), mine.weights if mine.model else "", seconds=int(limits[at.name]))

    title = f"Looking at {asked.inventory.name}"
    answers = session.asked(data, title, read, wait_s=0, limits_s=limits, meanwhile=_MEANWHILE)
    from deploys import dry
    from operations.subject import subject
    from sparkrig import checks

    seen = {name: answer for name, answer in answers.items() if not isinstance(answer, Exception)}
    subjects = {name: subject(name, fleet, seen, asked.typed) for name in seen}
    found = {name: checks.of(each) for name, each in subjects.items()}
    planned = dry.plan(data, fleet, seen)
    whole = {
        name: made + unexplained(made, _peer(fleet.peer(name), found), planned[name], each.apply, each.serve)
        for (name, made), each in zip(found.items(), subjects.values(), strict=True)
    }
    lost = {name: _hindrance(asked, name, data[name], str(answers[name])) for name in data if name not in seen}
    return seen, {name: lost[name] if name in lost else whole[name] for name in data}


def _hindrance(asked: _Asked, name: str, data: Mapping[str, Any], why: str) -> Refusal:
    _, refusal = login.hindrance(name, data, why)
    return Refusal(refusal.what, refusal.cure.replace("INVENTORY", shlex.quote(asked.typed)))


def _peer(name: str | None, found: Mapping[str, list[Check]]) -> Sequence[Check] | None:
    return found.get(name) if name else ()
