"""`sparkrig startup`: how far a served model is on its way up, and why it does not come up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparkrig.cli import files

if TYPE_CHECKING:
    from sparkrig.fleet import Fleet
    from sparkrig.io.remote import Failed, Lost
    from sparkrig.reports import schema_serving as schema
    from sparkrig.reports.fields import Unread
    from sparkrig.serving.startup import Seen, Startup
    from sparkrig.verdict import Verdict

    Looked = Mapping[str, "Seen | Failed | Lost"]

_LOOK_S = 90  # of one look; journalctl has two hours of a log to go through
_PAUSE_S = 5.0
_MINUTES = 30  # twice what the articles' slowest model took


@click.command()
@files.INVENTORY
@click.option("--once", is_flag=True, help="Look once, whatever the state, and exit.")
@click.option(
    "--minutes",
    type=click.IntRange(1),
    default=_MINUTES,
    show_default=True,
    help="Stop following after this time.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON (schema: docs/schema/startup.json).")
def startup(inventory_file: Path, once: bool, minutes: int, as_json: bool) -> None:
    """Follow the start of a served model, and say why it fails or hangs.

    It shows the phases of each node (cluster formed, weights loaded, compiled, first answer) next to times that
    others measured. It reads the log of the unit sparkrig-serve, and changes nothing.

    Exit code 2: the model does not come up, or not as it should; 3: it is not up yet, or a host cannot be read.
    """
    from sparkrig import verdict
    from sparkrig.cure import cure_of

    fleet, data = files.inventory(inventory_file)
    found = _follow(fleet, data, inventory_file.name, 0 if once else minutes * 60)
    read, judged = _judged(fleet, found)
    file = files.typed(inventory_file)
    verdicts = {name: replace(each, cure=cure_of(each.cure).of(file)) for name, each in judged.items()}
    unread = {name: str(state) for name, state in found.items() if isinstance(state, Exception)}
    if as_json:
        hosts = {name: _plain(name, found, read, verdicts) for name in found}
        document: schema.Startup = {"schema": "sparkrig.startup/1", "hosts": hosts}
        files.print_json(document)
    else:
        _show(read, verdicts, unread)
    if unread:
        files.try_doctor(inventory_file)
    raise SystemExit(3 if unread else verdict.exit_code(verdicts.values()))


def _follow(fleet: Fleet, data: Mapping[str, Mapping[str, Any]], what: str, seconds: float) -> Looked:
    """The last look: the first after which nothing is under way any more, or the time is over."""
    from sparkrig.io import session  # isort: skip - it patches the standard library before pyinfra is loaded
    import time

    from sparkrig.facts.startup import Startup as Fact
    from sparkrig.io import progress, remote

    end, before = time.monotonic() + seconds, set[str]()
    with session.connected(data) as hosts, progress.hosts(list(data), f"Following what {what} serves") as told:
        while True:
            found = remote.each(hosts, lambda at: remote.read(at, Fact(), seconds=_LOOK_S))
            steps = dict(_steps(fleet, found))
            if not steps or time.monotonic() >= end:
                return found
            for name in before - steps.keys():
                told.done(name)
            for name, step in steps.items():
                told(name, step)
            before = {*steps}
            time.sleep(_PAUSE_S)


def _steps(fleet: Fleet, found: Looked) -> Iterator[tuple[str, str]]:
    """What each node is at, of those of which it is not known yet how they end."""
    from sparkrig.render.progress import spent
    from sparkrig.serving.startup import DOING

    read, verdicts = _judged(fleet, found)
    for name, verdict in verdicts.items():
        if verdict.cause in ("starting", "begins"):
            phase = read[name].current
            usual = f" ({spent(phase.reference.seconds)} elsewhere)" if phase and phase.reference else ""
            yield name, f"{DOING[phase.name]}{usual}" if phase else "beginning"


def _judged(fleet: Fleet, found: Looked) -> tuple[dict[str, Startup], dict[str, Verdict]]:
    """How far each host is that could be read, with its findings; pairs serve together."""
    from sparkrig.serving import startup, trouble

    seen = {name: state for name, state in found.items() if not isinstance(state, Exception)}
    read = {name: startup.read(state) for name, state in seen.items()}
    verdicts: dict[str, Verdict] = {}
    for group in fleet.groups():
        verdicts |= trouble.judge({name: (seen[name], read[name]) for name in group if name in seen})
    return read, verdicts


def _plain(
    name: str, found: Looked, read: Mapping[str, Startup], verdicts: Mapping[str, Verdict]
) -> schema.Node | Unread:
    state = found[name]
    if isinstance(state, Exception):
        return {"unread": str(state)}
    node = read[name]
    return {
        "state": node.state,
        "role": node.role,
        "form": node.form,
        "address": node.address,
        "phases": list(node.phases),
        "seconds": node.seconds,
        "quiet": node.quiet,
        "image": state.image.id if state.image else "",
        "restarts": state.restarts,
        "verdict": verdicts[name],
    }


def _show(read: Mapping[str, Startup], verdicts: Mapping[str, Verdict], unread: Mapping[str, str]) -> None:
    from sparkrig.io.screen import Screen
    from sparkrig.render.findings import Findings
    from sparkrig.render.startup import Node
    from sparkrig.verdict import Finding, Verdict

    console = Screen()
    for name, node in read.items():
        console.print(Node(name, node))
        console.print()
    lost = {name: Verdict("unknown", "unread", why) for name, why in unread.items()}
    console.print(Findings(Finding(name, each) for name, each in {**verdicts, **lost}.items()))
