"""`sparkrig blackbox`: the last minutes before a reset that was not asked for."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparkrig.cli import files
from sparkrig.terminal import terminal
from sparkrig.terminal.project import Where

if TYPE_CHECKING:
    from sparkrig.fleet import Fleet
    from sparkrig.host.blackbox import BlackBox
    from sparkrig.ssh.remote import Failed, Lost

    Looked = Mapping[str, BlackBox | Failed | Lost]

_LOOK_S = 90  # times `patience`
_LAST = files.Duration(1, 7200, "90s, 30m or 1h is expected, and 2h at most. Try: --last 30m")


@click.command()
@files.HOSTS
@click.option(
    "--last", type=_LAST, default="30m", show_default=True, help="How much of the time before it to show."
)
@click.option("--html", type=click.Path(path_type=Path), metavar="FILE", help="Write an HTML page to FILE.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (schema: docs/schema/blackbox.json).")
def blackbox(inventory_file: Where, last: float, html: Path | None, as_json: bool) -> None:
    """Show the last minutes before each host's last reset that was not asked for, and what stood out.

    A host keeps a black box where the setting watch is True: memory, pressure, GPU, temperatures, lines of the
    driver and who had the memory, every ten seconds. It changes nothing.

    Exit code 3: a host could not be read.
    """
    from sparkrig.value import each_host
    from sparkrig.watch.blackbox_report import Report, box

    fleet, data = files.inventory(inventory_file)
    looked = _look(inventory_file.name, fleet, data)
    found = {name: black_box for name, black_box in looked.items() if not isinstance(black_box, Exception)}
    if as_json:
        files.print_json(Report(hosts=each_host(looked, lambda black_box: box(black_box, last))))
    else:
        _show(looked, last)
    if html:
        from sparkrig.watch.render import blackbox as picture

        files.write(html, picture.page(looked, last, f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"))
    if len(found) < len(looked):
        files.try_doctor()
        raise SystemExit(3)


def _look(what: str, fleet: Fleet, data: Mapping[str, Mapping[str, Any]]) -> Looked:
    from sparkrig.ssh import session  # isort: skip - it patches the standard library before pyinfra is loaded
    from sparkrig.facts.blackbox import Blackbox
    from sparkrig.ssh import remote

    limits = {name: _LOOK_S * fleet[name].patience for name in data}
    return session.asked(
        data,
        f"Reading the black boxes of {what}",
        lambda at: remote.read(at, Blackbox(), seconds=int(limits[at.name])),
        wait_s=0,
        limits_s=limits,
    )


def _show(looked: Looked, seconds: float) -> None:
    from sparkrig.terminal.screen import Screen
    from sparkrig.watch.render.blackbox import Picture

    console = Screen()
    for name, found in looked.items():
        if isinstance(found, Exception):
            terminal.echo(f"{name}: {found}", err=True)
        else:
            console.print(Picture(name, found, seconds))
