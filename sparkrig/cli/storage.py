"""`sparkrig storage`: what lies on the disks of the hosts for serving, what needs it, and its removal by name."""

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
@click.option(
    "--remove",
    metavar="NAME",
    help="Remove a checkpoint (OWNER/NAME), or an image by its name or ID, after a question.",
)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (schema: docs/schema/storage.json).")
def storage(inventory_file: Where, only: tuple[str, ...], remove: str | None, yes: bool, as_json: bool) -> None:
    """Show which checkpoints and images lie on each host, how large they are, and what needs them.

    It lists the checkpoints below the setting `weights`, docker's images, the caches of the server and of Hugging
    Face's programs, and the free room. A setting, what is served, the state that undo brings back, or a container
    may need one.

    --remove shows what goes and how much room that gives, and asks. What is needed is refused. Removal is a run
    that `sparkrig status` shows, but undo cannot bring back what was removed. Caches are only shown.

    Exit code 1: refused, or declined; 3: a host could not be read, or its removal broke off.
    """
    from sparkrig.storage import report as judgement

    if remove is not None:
        inventory_file = files.declared(inventory_file, "a removal")
    fleet, data = files.inventory(inventory_file)
    if remove is not None:
        with files.refusals():
            judgement.judge_name(remove)
        files.must_answer(yes, f"sparkrig storage {files.typed(inventory_file)}; then the same with --yes")
    elif yes:
        raise click.UsageError("--yes expects --remove NAME")
    with files.refusals():
        files.limited(data, only, fleet)
    from sparkrig.ssh import session  # noqa: F401 # isort: skip - it patches the standard library before pyinfra is loaded
    from sparkrig.operations.storage import Storing
    from sparkrig.terminal.screen import Screen

    asked = {name: values for name, values in data.items() if not only or name in only}
    named = any(fleet[name].model or fleet[name].recipe for name in fleet)
    listed = inventory_file if named and isinstance(inventory_file, Path) else None
    find: Find = files.catalogue(listed).find if listed else lambda _: None
    storing = Storing(fleet, files.typed(inventory_file), find, Screen(stderr=as_json), quiet=as_json)
    report = storing.run(asked, remove, yes=yes)
    if any(isinstance(host, Unread) for host in report.hosts.values()):
        files.try_doctor()
    if as_json:
        files.print_json(report)
    raise SystemExit(report.exit_code)
