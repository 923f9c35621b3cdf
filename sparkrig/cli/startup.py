"""`sparkrig startup`: how far a served model is on its way up, and why it does not come up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
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


@dataclass(frozen=True)
class Node:
    """One service on one host: what was seen of it, how far it is, and what is found of it."""

    seen: Seen
    startup: Startup
    verdict: Verdict


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
    others measured, of each service where a host has several. It reads the log of the unit sparkrig-serve, or
    sparkrig-serve-NAME, and changes nothing.

    Exit code 2: the model does not come up, or not as it should; 3: it is not up yet, or a host cannot be read.
    """
    from sparkrig import verdict

    fleet, data = files.inventory(inventory_file)
    found = _follow(fleet, data, inventory_file.name, 0 if once else minutes * 60)
    judged = _judged(fleet, found)
    file = files.typed(inventory_file)
    judged = {node: replace(each, verdict=verdict.with_file(each.verdict, file)) for node, each in judged.items()}
    unread = {name: str(state) for name, state in found.items() if isinstance(state, Exception)}
    if as_json:
        hosts = {name: _plain(name, found, judged) for name in found}
        document: schema.Startup = {"schema": "sparkrig.startup/1", "hosts": hosts}
        files.print_json(document)
    else:
        _show(judged, unread)
    if unread:
        files.try_doctor(inventory_file)
    raise SystemExit(3 if unread else verdict.exit_code(each.verdict for each in judged.values()))


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
    """What each node is at, of those of which it is not known yet how they end; by host."""
    from sparkrig.render.progress import spent
    from sparkrig.serving.startup import DOING

    for (name, service), node in _judged(fleet, found).items():
        if node.verdict.cause in ("starting", "begins"):
            phase = node.startup.current
            usual = f" ({spent(phase.reference.seconds)} elsewhere)" if phase and phase.reference else ""
            of = f"{service}: " if service else ""
            yield name, f"{of}{DOING[phase.name]}{usual}" if phase else f"{of}beginning"


def _judged(fleet: Fleet, found: Looked) -> dict[tuple[str, str], Node]:
    """How far each service is on each host that could be read, with its findings; pairs serve together.

    Empty stands for the server without a name, which is left out where a pair or a lone host has named ones alone.
    """
    from sparkrig.serving import startup, trouble
    from sparkrig.serving.served import Service

    seen = {name: state for name, state in found.items() if not isinstance(state, Exception)}
    nodes: dict[tuple[str, str], Node] = {}
    for group in fleet.groups():
        there = {name: seen[name] for name in group if name in seen}
        services = sorted({service for each in there.values() for service in each.named})
        if not services or any(each.load != "not-found" for each in there.values()):
            services = ["", *services]
        for service in services:
            mine = {
                name: each.named.get(service, startup.absent(each)) if service else each
                for name, each in there.items()
            }
            read = {name: startup.read(each) for name, each in mine.items()}
            verdicts = trouble.judge({name: (mine[name], read[name]) for name in mine}, Service(service))
            nodes |= {(name, service): Node(mine[name], read[name], verdicts[name]) for name in mine}
    return {(name, service): nodes[name, service] for name in seen for _, service in _of(nodes, name)}


def _of(nodes: Mapping[tuple[str, str], Node], name: str) -> list[tuple[str, str]]:
    return [each for each in nodes if each[0] == name]


def _plain(name: str, found: Looked, judged: Mapping[tuple[str, str], Node]) -> schema.Host | Unread:
    state = found[name]
    if isinstance(state, Exception):
        return {"unread": str(state)}
    nodes = {service: _node(judged[name, service]) for _, service in _of(judged, name)}
    first, *_ = nodes.values()
    unnamed = nodes.pop("", first)
    return {**unnamed, "services": nodes}


def _node(node: Node) -> schema.Node:
    return {
        "state": node.startup.state,
        "role": node.startup.role,
        "form": node.startup.form,
        "address": node.startup.address,
        "phases": list(node.startup.phases),
        "seconds": node.startup.seconds,
        "quiet": node.startup.quiet,
        "image": node.seen.image.id if node.seen.image else "",
        "restarts": node.seen.restarts,
        "verdict": node.verdict,
    }


def _called(name: str, service: str) -> str:
    return f"{name} ({service})" if service else name


def _show(judged: Mapping[tuple[str, str], Node], unread: Mapping[str, str]) -> None:
    from sparkrig.io.screen import Screen
    from sparkrig.render import startup as picture
    from sparkrig.render.findings import Findings
    from sparkrig.verdict import Finding, Verdict

    console = Screen()
    for node, each in judged.items():
        console.print(picture.Node(_called(*node), each.startup))
        console.print()
    told = [Finding(_called(*node), each.verdict) for node, each in judged.items()]
    lost = [Finding(name, Verdict("unknown", "unread", why)) for name, why in unread.items()]
    console.print(Findings([*told, *lost]))
