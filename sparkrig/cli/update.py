"""`sparkrig update`: what an update of driver, system and firmware would do to each Spark, and the verb itself."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparkrig.cli import files, looking
from sparkrig.host.releases import LATEST
from sparkrig.refusal import Refusal

if TYPE_CHECKING:
    from pyinfra.api import Host

    from sparkrig.fleet import Fleet
    from sparkrig.host.releases import Recipe
    from sparkrig.io.remote import Failed, Lost
    from sparkrig.look.update import Foreseen, Seen
    from sparkrig.reports.update import Prospect

_LOOK_S = 120  # fwupd and two forecasts of apt
_FETCH_S = 720  # as operations/apt.py ends it
_MEANWHILE = ("sparkrig.facts.update", "sparkrig.facts.upgrade", "sparkrig.reports.update", "sparkrig.io.screen")


@click.command()
@files.INVENTORY
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
    type=click.Choice(("driver", "os", "firmware")),
    multiple=True,
    help="Only this part; may be repeated.",
)
@click.option("--limit", multiple=True, metavar="HOST", help="Only this host and its peers; may be repeated.")
@click.option("--back", is_flag=True, help="Put the packages of an open update back to what they were.")
@click.option("--irreversible", is_flag=True, help="With --yes: also what cannot be undone, such as firmware.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option(
    "--json", "as_json", is_flag=True, help="With --check: print JSON (schema: docs/schema/update.json)."
)
def update(
    inventory_file: Path,
    check: bool,
    to: str,
    only: tuple[str, ...],
    limit: tuple[str, ...],
    back: bool,
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
    from sparkrig.host import update_record
    from sparkrig.reports import update as report

    if as_json and not check:
        raise click.UsageError("--json expects --check")
    fleet, every = files.inventory(inventory_file)
    with files.refusals():
        data = files.limited(every, limit, fleet)
    parts = only or update_record.PARTS
    if not check:
        from sparkrig.cli import update_run

        asked = update_run.Asked(inventory_file, to, parts, limit, back, irreversible, yes)
        raise SystemExit(update_run.run(asked, fleet, data))
    found = looked(inventory_file, fleet, data, to, parts)
    made = prospects(fleet, data, found, parts)
    order, mixed = report.order(made, fleet.groups()), report.mixed(made, fleet.groups())
    if as_json:
        hosts = [report.document(name, made[name]) for name in order]
        code = report.code(made.values())
        files.print_json(
            report.Report(inventory=files.typed(inventory_file), hosts=hosts, mixed=mixed, exit_code=code)
        )
    else:
        show(made, order, mixed)
    raise SystemExit(report.code(made.values()))


def show(made: Mapping[str, Prospect], order: Sequence[str], mixed: Sequence[str]) -> None:
    """What an update would do to each host, on the screen. mixed: sentences about clusters."""
    from sparkrig.io.screen import Screen
    from sparkrig.render import update as picture

    picture.show(Screen(), made, order, mixed)


def prospects(
    fleet: Fleet,
    data: Mapping[str, Mapping[str, Any]],
    looked: Mapping[str, Foreseen | Failed | Lost],
    parts: Collection[str],
) -> dict[str, Prospect]:
    """What comes of each host; one that cannot be read stands by itself."""
    from sparkrig.reports import update as report

    made: dict[str, Prospect] = {}
    for name, found in looked.items():
        if isinstance(found, Exception):
            why = looking.hindrance(name, data[name], str(found))
            made[name] = report.Prospect(unread=why)
        else:
            made[name] = report.prospect(found, parts, fleet[name].driver_branch)
    return made


def looked(
    file: Path,
    fleet: Fleet,
    data: Mapping[str, Mapping[str, Any]],
    to: str,
    parts: Collection[str],
    *,
    fetch: bool = False,
) -> dict[str, Foreseen | Failed | Lost]:
    """What is seen and foreseen of each host: two execs, since the second one needs what the first one saw.

    fetch: whether apt fetches its package lists first; for a release by its name once the Spark knows that one.
    """
    from sparkrig.io import session  # isort: skip - it patches the standard library before pyinfra is loaded
    from sparkrig.io import remote
    from sparkrig.operations import apt, guard

    limits = {name: (3 * _LOOK_S + (_FETCH_S if fetch else 0)) * fleet[name].patience for name in data}

    def ask(at: Host) -> Foreseen:
        from sparkrig.facts.update import Update
        from sparkrig.look.update import Foreseen
        from sparkrig.reports import update as report

        mine = fleet[at.name]
        seconds = int(_LOOK_S * mine.patience)
        named = to not in (
            LATEST,
            report.CANDIDATE,
        )  # and may be unknown, which is told before anything is fetched
        if fetch and not named:
            remote.execute(at, apt.update(), int(_FETCH_S * mine.patience))
        seen = remote.read(at, Update(), seconds=seconds)
        if seen.preflight.armed:
            guard.settle(at, seen.preflight.armed, mine.patience, "superseded by sparkrig update" if fetch else "")
            seen = remote.read(at, Update(), seconds=seconds)
        try:
            goal = report.goal(seen, to, parts, mine.driver_branch)
        except Refusal as refusal:
            return Foreseen(seen, None, None, refusal)
        if fetch and named:
            remote.execute(at, apt.update(), int(_FETCH_S * mine.patience))
            seen = remote.read(at, Update(), seconds=seconds)
        return _foreseen(at, seen, goal, parts, mine.driver_branch, seconds)

    title = f"Looking at {file.name}"
    return session.asked(data, title, ask, wait_s=0, limits_s=limits, meanwhile=_MEANWHILE)


def _foreseen(
    at: Host, seen: Seen, goal: Recipe | None, parts: Collection[str], branch: int, seconds: int
) -> Foreseen:
    from sparkrig.facts.upgrade import Upgrade
    from sparkrig.host import driver, update_limits
    from sparkrig.io import remote
    from sparkrig.look.update import Asked, Foreseen

    ours = tuple(driver.hold_set(seen.driver, branch))
    released, held = (ours, ()) if "driver" in parts else ((), ours)
    if not released and "os" not in parts:
        return Foreseen(seen, goal, None)
    limits = update_limits.limits(seen.driver, seen.repositories, goal, branch) if goal else ""
    asked = Asked(released, held, () if "os" in parts else released, limits)
    given = (asked.released, asked.limits, asked.alone, asked.held, seconds)
    return Foreseen(seen, goal, remote.read(at, Upgrade(), *given, seconds=seconds), asked=asked)
