"""`sparkrig storage`: what lies on the disks of the hosts for serving, what needs it, and how the rest goes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sparkrig.cli import files
from sparkrig.terminal.project import Where
from sparkrig.value import Unread

if TYPE_CHECKING:
    from sparkrig.serving.plan import Find


@click.command()
@files.HOSTS
@click.option("--host", "only", multiple=True, metavar="HOST", help="On this host only; may be repeated.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (schema: docs/schema/storage.json).")
def storage(inventory_file: Where, only: tuple[str, ...], as_json: bool) -> None:
    """Show which checkpoints and images lie on each host, how large they are, and what needs them.

    It lists the checkpoints below the setting `weights`, docker's images, the caches of the server and of Hugging
    Face's programs, and the free room. A setting, what is served, the state that undo brings back, or a container
    may need one. Beside what nothing needs stands the command that removes it; the verb itself changes nothing.

    Exit code 3: a host could not be read, or it is not known what is needed.
    """
    fleet, data = files.inventory(inventory_file)
    with files.refusals():
        files.limited(data, only, fleet)
    from sparkrig.ssh import session  # noqa: F401 # isort: skip - it patches the standard library before pyinfra is loaded
    from sparkrig.operations.storage import shown
    from sparkrig.terminal.screen import Screen

    asked = {name: values for name, values in data.items() if not only or name in only}
    named = any(fleet[name].model or fleet[name].recipe for name in fleet)
    listed = inventory_file if named and isinstance(inventory_file, Path) else None
    find: Find = files.catalogue(listed).find if listed else lambda _: None
    report = shown(asked, fleet, find, None if as_json else Screen())
    if any(isinstance(host, Unread) for host in report.hosts.values()):
        files.try_doctor()
    if as_json:
        files.print_json(report)
    raise SystemExit(report.exit_code)
