"""`sparkrig update`: what an update would do to each Spark, and the update itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from sparkrig.cli import files
from sparkrig.host.update_record import PARTS
from sparkrig.terminal import project
from sparkrig.terminal.project import Where

if TYPE_CHECKING:
    from sparkrig.fleet import Fleet


@click.command()
@files.HOSTS
@click.option("--check", is_flag=True, help="Show what an update would do, and change nothing.")
@click.option(
    "--to",
    default="latest",
    show_default=True,
    metavar="RELEASE",
    help="A release that the Spark knows of (OTA2607, 'July 2026', 7.5.0), or `candidate`: what apt offers.",
)
@click.option(
    "--only",
    "parts",
    type=click.Choice(PARTS),
    default=PARTS,
    multiple=True,
    help="Only this part; may be repeated.",
)
@click.option("--limit", multiple=True, metavar="HOST", help="Only this host and its peers; may be repeated.")
@click.option("--back", is_flag=True, help="Put the packages of an open update back to what they were.")
@click.option(
    "--allow-removal",
    "may_go",
    multiple=True,
    metavar="PACKAGE",
    help="Let apt remove this package; may be repeated.",
)
@click.option("--irreversible", is_flag=True, help="With --yes: also what cannot be undone, such as firmware.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option(
    "--json", "as_json", is_flag=True, help="With --check: print JSON (schema: docs/schema/update.json)."
)
def update(
    inventory_file: Where,
    check: bool,
    to: str,
    parts: tuple[str, ...],
    limit: tuple[str, ...],
    back: bool,
    may_go: tuple[str, ...],
    irreversible: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Update driver, system and firmware, one Spark at a time, each proven before the next one.

    It shows which of NVIDIA's releases a Spark has and knows of, what apt would do once the hold of a deploy is
    released, which kernel would boot and whether it has its nvidia.ko, the firmware of the board, what other
    programs hold, and what leads back; then it asks. With --check it stops there, changes nothing on the hosts and
    fetches nothing.

    What serves is stopped, and started again at the end. A new kernel is booted once, and becomes the default when
    driver and GPU are proven; else the earlier one boots again. The deploy then holds and pins as before, and
    checks. If it breaks off anywhere, the same command goes on. --back puts the packages of an update that is open
    back.

    Exit code 0: nothing to update, or all done; 1: refused or declined; 2: with --check: something is to update,
    or an update would not begin; else an update did not get to its end; 3: a host could not be read.
    """
    if as_json and not check:
        raise click.UsageError("--json expects --check")
    due = None if check else files.declared(inventory_file, "an update without --check")
    fleet, every = files.inventory(inventory_file)
    fleet = files.joined(fleet, every)
    with files.refusals():
        data = files.limited(every, limit, fleet)
        if due:
            from sparkrig.operations import update_run

            asked = update_run.Asked(due, to, parts, limit, back, irreversible, yes, may_go)
            raise SystemExit(update_run.run(asked, fleet, data))
    raise SystemExit(_foreseen(inventory_file, fleet, data, to, parts, may_go, as_json=as_json))


def _foreseen(
    hosts: Where,
    fleet: Fleet,
    data: Mapping[str, Mapping[str, Any]],
    to: str,
    parts: Sequence[str],
    may_go: Sequence[str],
    *,
    as_json: bool,
) -> int:
    """Show what an update would do; gives the exit code."""
    from sparkrig.operations import update_look
    from sparkrig.update import report

    found = update_look.looked(hosts.name, fleet, data, to, parts)
    made = update_look.prospects(fleet, data, found, parts, may_go)
    order, mixed = report.order(made, fleet.groups()), report.mixed(made, fleet.groups())
    code = report.code(made.values())
    if as_json:
        rows = [report.document(name, made[name]) for name in order]
        files.print_json(report.Report(inventory=project.as_typed(hosts), hosts=rows, mixed=mixed, exit_code=code))
    else:
        update_look.show(made, order, mixed)
    return code
