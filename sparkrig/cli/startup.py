"""`sparkrig startup`: how far a served model is on its way up, and why it does not come up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparkrig.cli import files
from sparkrig.terminal.project import Where

if TYPE_CHECKING:
    from sparkrig.fleet import Fleet
    from sparkrig.serving.startup import Seen
    from sparkrig.serving.startup_report import Nodes
    from sparkrig.ssh.remote import Failed, Lost

    Looked = Mapping[str, "Seen | Failed | Lost"]

_LOOK_S = 90  # of one look; journalctl has two hours of a log to go through
_PAUSE_S = 5.0
_MINUTES = 30  # twice what the articles' slowest model took


@click.command()
@files.HOSTS
@click.option("--once", is_flag=True, help="Look once, whatever the state, and exit.")
@click.option(
    "--minutes",
    type=click.IntRange(1),
    default=_MINUTES,
    show_default=True,
    help="Stop following after this time.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON (schema: docs/schema/startup.json).")
def startup(inventory_file: Where, once: bool, minutes: int, as_json: bool) -> None:
    """Follow the start of a served model, and say why it fails or hangs.

    It shows the phases of each node (cluster formed, weights loaded, compiled, first answer) next to times that
    others measured, of each service where a host has several. It reads the log of the unit sparkrig-serve, or
    sparkrig-serve-NAME, and changes nothing. In place of an INVENTORY it takes a log of another server, or - for
    one that is piped in, and reads it as `sparkrig explain` does.

    Exit code 2: the model does not come up, or not as it should; 3: it is not up yet, or a host cannot be read.
    """
    from sparkrig import verdict
    from sparkrig.serving import startup_report

    if isinstance(inventory_file, Path) and inventory_file.suffix != ".py":
        _explain(inventory_file, as_json=as_json)
        return
    fleet, data = files.inventory(inventory_file)
    fleet = files.joined(fleet, data)
    found = _follow(fleet, data, inventory_file.name, 0 if once else minutes * 60)
    judged = startup_report.judged(fleet, _read(found))
    unread = {name: str(state) for name, state in found.items() if isinstance(state, Exception)}
    if as_json:
        files.print_json(startup_report.report(found, judged, unread))
    else:
        _show(judged, unread)
    if unread:
        files.try_doctor()
    raise SystemExit(3 if unread else verdict.exit_code(node.verdict for node in judged.values()))


def _explain(log: Path, *, as_json: bool) -> None:
    """Read the log of another server, and end as `sparkrig explain` ends."""
    from sparkrig.cli.explain import explain

    context = click.get_current_context()
    context.invoke(explain, files=(click.File("rb").convert(str(log), None, context),), as_json=as_json)


def _follow(fleet: Fleet, data: Mapping[str, Mapping[str, Any]], what: str, seconds: float) -> Looked:
    """The last look: the first after which nothing is under way any more, or the time is over."""
    from sparkrig.ssh import session  # isort: skip - it patches the standard library before pyinfra is loaded
    import time

    from sparkrig.facts.startup import Startup as Fact
    from sparkrig.ssh import remote
    from sparkrig.terminal import progress

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


def _read(found: Looked) -> dict[str, Seen]:
    return {name: state for name, state in found.items() if not isinstance(state, Exception)}


def _steps(fleet: Fleet, found: Looked) -> Iterator[tuple[str, str]]:
    """What each node is at, of those of which it is not known yet how they end; by host."""
    from sparkrig.render.progress import spent
    from sparkrig.serving.startup import DOING
    from sparkrig.serving.startup_report import judged

    for (name, service), node in judged(fleet, _read(found)).items():
        if node.verdict.cause in ("starting", "begins"):
            phase = node.current
            usual = f" ({spent(phase.reference.seconds)} elsewhere)" if phase and phase.reference else ""
            of = f"{service}: " if service else ""
            yield name, f"{of}{DOING[phase.name]}{usual}" if phase else f"{of}beginning"


def _called(name: str, service: str) -> str:
    return f"{name} ({service})" if service else name


def _show(judged: Nodes, unread: Mapping[str, str]) -> None:
    from sparkrig.render.findings import Findings
    from sparkrig.serving.render import startup as picture
    from sparkrig.terminal.screen import Screen
    from sparkrig.verdict import Finding, Verdict

    console = Screen()
    for node, each in judged.items():
        console.print(picture.Phases(_called(*node), each))
        console.print()
    told = [Finding(_called(*node), each.verdict) for node, each in judged.items()]
    lost = [Finding(name, Verdict("unknown", "unread", why)) for name, why in unread.items()]
    console.print(Findings([*told, *lost]))
