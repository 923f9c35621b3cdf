"""`sparkrig plan`: what the deploy would change on the hosts of an inventory, old to new."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparkrig import login
from sparkrig.cli import files
from sparkrig.cure import deploy
from sparkrig.drift.plan import Planned, Planning, code, held_up, planned_host, with_own
from sparkrig.operations import looking
from sparkrig.terminal import project

if TYPE_CHECKING:
    from rich.console import Console

    from sparkrig.fleet import Fleet

DEPLOY = "deploys/cluster.py"
_MEANWHILE = (
    "sparkrig.facts.spark",
    "sparkrig.deploys.spark",
    "sparkrig.operations.bandwidth",
    "sparkrig.deploys.dry",
    "sparkrig.deploys.own",
    "sparkrig.terminal.screen",
)


@dataclass(frozen=True)
class Plan:
    """The plan of an inventory: what would be done to each host, by its name."""

    inventory: Path
    fleet: Fleet
    data: Mapping[str, Mapping[str, Any]]
    hosts: Mapping[str, Planned]

    @property
    def exit(self) -> int:
        return code(self.hosts.values())

    @property
    def patience(self) -> dict[str, float]:
        return {name: self.fleet[name].patience for name in self.hosts}

    def document(self) -> Planning:
        """The same for programs."""
        hosts = [planned_host(name, each, self.patience[name]) for name, each in self.hosts.items()]
        return Planning(
            inventory=project.as_typed(self.inventory), deploy=DEPLOY, hosts=hosts, exit_code=self.exit
        )


@click.command()
@files.INVENTORY
@click.option("--limit", multiple=True, metavar="HOST", help="Only this host and its peers; may be repeated.")
@click.option("--all", "everything", is_flag=True, help="Show new files and long package lists in full.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (schema: docs/schema/plan.json).")
def plan(inventory_file: Path, limit: tuple[str, ...], everything: bool, as_json: bool) -> None:
    """Show what the deploy would change on each host: old and new, what it interrupts, and how long it takes.

    It changes nothing. Files are shown as diffs, without values that look like secrets. `sparkrig apply` shows
    the same plan and carries it out.

    Exit code 0: nothing is to be done; 2: something is, or the deploy would refuse a host; 3: a host could not be
    read (sparkrig docs plan).
    """
    with files.refusals():
        made = of(inventory_file, limit)
    if as_json:
        files.print_json(made.document())
    else:
        from sparkrig.terminal.screen import Screen

        console = Screen()
        show(console, made, everything=everything)
        if any(host.due for host in made.hosts.values()):
            _next(console, deploy(limit=limit))
    raise SystemExit(made.exit)


def limited(limit: tuple[str, ...]) -> list[str]:
    """The words of --limit."""
    return [word for name in limit for word in ("--limit", name)]


def of(file: Path, limit: tuple[str, ...], wait_s: float | None = 0, why: str = "") -> Plan:
    """The plan of the hosts as they are now. wait_s: as of `looking.look`. Raises Refusal.

    why: the reason for which what a dead run left armed goes back; without one it is waited for.
    """
    fleet, every = files.inventory(file)
    data = files.limited(every, limit, fleet)
    seen, unread = looking.look(f"Looking at {file.name}", fleet, data, _MEANWHILE, wait_s=wait_s)
    armed = {name: state.preflight.armed for name, state in seen.items()}
    if looking.settle(fleet, data, armed, why):
        seen, unread = looking.look(f"Looking at {file.name}", fleet, data, _MEANWHILE, wait_s=wait_s)
    from sparkrig.deploys import dry, own

    made = dry.planned(data, fleet, seen)
    mine = own.planned(file, fleet, {name: data[name] for name, each in made.items() if not each.stands})
    made = {name: with_own(each, mine.get(name, [])) for name, each in made.items()}
    hosts = {
        name: made[name] if name in made else Planned(unread=login.hindrance(name, data[name], unread[name])[1])
        for name in data
    }
    return Plan(file, fleet, data, held_up(hosts, {name: fleet.peers(name) for name in data}))


def show(console: Console, made: Plan, *, everything: bool) -> None:
    """The plan on a screen."""
    from sparkrig.drift.render import plan as picture

    picture.show(console, made.hosts, made.patience, everything=everything)


def _next(console: Console, command: str) -> None:
    from sparkrig.drift.render.plan import Sheet

    Sheet(console).cure(command, "Next: ")
