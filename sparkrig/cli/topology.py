"""`sparkrig topology`: which cage reaches which, and which GID carries each rail."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparkrig.cli import files
from sparkrig.terminal.project import Where
from sparkrig.text import listed

if TYPE_CHECKING:
    from rich.console import Console

    from sparkrig.fabric.cabling import Topology
    from sparkrig.fabric.survey import Survey
    from sparkrig.fleet import Fleet


@click.command()
@files.HOSTS
@click.option("--svg", type=click.Path(path_type=Path), metavar="FILE", help="Also draw it as SVG into FILE.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (schema: docs/schema/topology.json).")
def topology(inventory_file: Where, svg: Path | None, as_json: bool) -> None:
    """Show which cage of which Spark reaches which, compared with the inventory, and every GID.

    It changes nothing. For two seconds each host sends a few frames over each fabric port. Exit code 2: the
    cabling or a GID is not as declared; 3: something could not be determined.
    """
    from sparkrig import verdict
    from sparkrig.fabric.survey import Topologies
    from sparkrig.terminal.screen import Screen

    fleet, data = files.inventory(inventory_file)
    console = Screen(stderr=as_json)
    together = fleet.groups() if fleet.declared else [tuple(data)]
    surveys = [found for names in together for found in _surveys({name: data[name] for name in names}, fleet)]
    for found in surveys:
        _show(console, found)
    if as_json:
        files.print_json(Topologies(groups=[found.group for found in surveys]))
    if svg:
        files.write_each(
            (files.one_of(svg, found.names[0], len(surveys)), partial(_svg, found.topology)) for found in surveys
        )
    raise SystemExit(verdict.exit_code(finding.verdict for found in surveys for finding in found.fabric()))


def _surveys(data: Mapping[str, Mapping[str, Any]], fleet: Fleet) -> list[Survey]:
    from sparkrig.ssh import session  # isort: skip - it patches the standard library before pyinfra is loaded
    from sparkrig.fabric.io import survey
    from sparkrig.terminal import progress

    all_hosts = listed(data)
    with session.connected(data) as found, progress.hosts([all_hosts], "Looking at the cabling") as told:
        return list(survey.look(found, fleet, partial(told, all_hosts)))


def _show(console: Console, found: Survey) -> None:
    from sparkrig.fabric.render import gids
    from sparkrig.fabric.render.topology import Listing
    from sparkrig.render.findings import Findings

    console.print(Listing(found.topology))
    for table in gids.tables(found):
        console.print(table)
    console.print(Findings(finding for finding in found.fabric() if finding not in found.topology.findings))


def _svg(topology: Topology) -> str:
    from sparkrig.fabric.render.topology import Listing
    from sparkrig.render import picture

    return picture.svg(Listing(topology), f"Cabling of {listed(host.name for host in topology.hosts)}")
