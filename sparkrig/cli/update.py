"""`sparkrig update --check`: what an update of driver, system and firmware would do to each Spark."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparkrig.cli import files, looking

if TYPE_CHECKING:
    from pyinfra.api import Host

    from sparkrig.fleet import Fleet
    from sparkrig.io.remote import Failed, Lost
    from sparkrig.look.update import Foreseen, Seen
    from sparkrig.reports import schema_changes as schema
    from sparkrig.reports.update import Prospect

_LOOK_S = 120  # fwupd and two forecasts of apt
_MEANWHILE = ("sparkrig.facts.update", "sparkrig.facts.upgrade", "sparkrig.reports.update", "sparkrig.io.screen")


@click.command()
@files.INVENTORY
@click.option("--check", is_flag=True, required=True, help="Show what an update would do, and change nothing.")
@click.option(
    "--to",
    default="latest",
    show_default=True,
    metavar="RELEASE",
    help="A release that the Spark knows of (OTA2607, 'July 2026', 7.5.0), or `candidate`: what apt offers.",
)
@click.option(
    "--only",
    type=click.Choice(("driver", "os", "firmware")),
    multiple=True,
    help="Only this part; may be repeated.",
)
@click.option("--limit", multiple=True, metavar="HOST", help="Only this host and its peer; may be repeated.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (schema: docs/schema/update.json).")
def update(
    inventory_file: Path, check: bool, to: str, only: tuple[str, ...], limit: tuple[str, ...], as_json: bool
) -> None:
    """Show what an update of driver, system and firmware would do to each Spark, and in which order.

    It shows which of NVIDIA's releases a Spark has and knows of, what apt would do once the hold of a deploy is
    released, which kernel would boot and whether it has its nvidia.ko, the firmware of the board, what other
    programs hold, and what leads back. It changes nothing on the hosts, and fetches nothing: run
    `sudo apt-get update` there first, if their package lists are old.

    So far it only checks: --check is required. docs/updating.md has the steps of an update by hand.

    Exit code 0: nothing to update; 2: something is, or an update would not begin; 3: a host could not be read.
    """
    from sparkrig.reports import update as report

    assert check  # click requires it
    fleet, every = files.inventory(inventory_file)
    with files.refusals():
        data = files.limited(every, limit, fleet)
    parts = only or report.PARTS
    made = _prospects(inventory_file, fleet, data, to, parts)
    order, mixed = report.order(made, fleet.groups()), report.mixed(made, fleet.groups())
    if as_json:
        document: schema.Update = {
            "schema": "sparkrig.update/1",
            "inventory": files.typed(inventory_file),
            "hosts": [report.document(name, made[name]) for name in order],
            "mixed": mixed,
            "exit_code": report.code(made.values()),
        }
        files.print_json(document)
    else:
        from sparkrig.io.screen import Screen
        from sparkrig.render import update as picture

        picture.show(Screen(), made, order, mixed)
    raise SystemExit(report.code(made.values()))


def _prospects(
    file: Path, fleet: Fleet, data: Mapping[str, Mapping[str, Any]], to: str, parts: Collection[str]
) -> dict[str, Prospect]:
    """What comes of each host; one that cannot be read stands by itself."""
    from sparkrig.reports import update as report

    made: dict[str, Prospect] = {}
    for name, found in _looked(file, fleet, data, to, parts).items():
        if isinstance(found, Exception):
            why = looking.hindrance(name, data[name], str(found), files.typed(file))
            made[name] = report.Prospect(unread=why)
        else:
            made[name] = report.prospect(found, parts, fleet[name].driver_branch)
    return made


def _looked(
    file: Path, fleet: Fleet, data: Mapping[str, Mapping[str, Any]], to: str, parts: Collection[str]
) -> dict[str, Foreseen | Failed | Lost]:
    """What is seen and foreseen of each host: two execs, since the second one needs what the first one saw."""
    from sparkrig.io import session  # isort: skip - it patches the standard library before pyinfra is loaded
    from sparkrig.io import remote

    limits = {name: 2 * _LOOK_S * fleet[name].patience for name in data}

    def ask(at: Host) -> Foreseen:
        from sparkrig.facts.update import Update

        mine = fleet[at.name]
        seconds = int(_LOOK_S * mine.patience)
        seen = remote.read(at, Update(), seconds=seconds)
        return _foreseen(at, seen, to, parts, mine.driver_branch, seconds)

    title = f"Looking at {file.name}"
    return session.asked(data, title, ask, wait_s=0, limits_s=limits, meanwhile=_MEANWHILE)


def _foreseen(at: Host, seen: Seen, to: str, parts: Collection[str], branch: int, seconds: int) -> Foreseen:
    from sparkrig.facts.upgrade import Upgrade
    from sparkrig.host import driver, update_limits
    from sparkrig.io import remote
    from sparkrig.look.update import Foreseen
    from sparkrig.refusal import Refusal
    from sparkrig.reports import update as report

    try:
        goal = report.goal(seen, to, parts)
    except Refusal as refusal:
        return Foreseen(seen, None, None, refusal)
    ours = driver.hold_set(seen.driver, branch)
    driven, held = (ours, []) if "driver" in parts else ([], ours)
    if not driven and "os" not in parts:
        return Foreseen(seen, goal, None)
    limits = update_limits.limits(seen.driver, seen.repositories, goal, branch) if goal else ""
    alone = driven if "os" not in parts else ()
    return Foreseen(seen, goal, remote.read(at, Upgrade(), driven, limits, alone, held, seconds, seconds=seconds))
