"""`sparkrig unlock`: take the lock of a host from a run that is known to be dead."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sparkrig.cli import files
from sparkrig.cure import quoted_path
from sparkrig.terminal import terminal

if TYPE_CHECKING:
    from sparkrig.runs.journal import Journal
    from sparkrig.ssh.remote import Failed, Lost


@click.command()
@files.INVENTORY
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (schema: docs/schema/unlock.json).")
def unlock(inventory_file: Path, yes: bool, as_json: bool) -> None:
    """Release the lock that a dead run still holds on a host, for example behind a link that was cut.

    It shows each holder and asks. A run that is still alive is not stopped, and another run may then change the
    host at the same time. Exit code 1: declined; 3: a host could not be read or unlocked.
    """
    _, data = files.inventory(inventory_file)
    files.must_answer(
        yes, f"sparkrig status {quoted_path(inventory_file)}, which shows the holder; then the same with --yes"
    )
    from sparkrig.ssh import session  # isort: skip - it patches the standard library before pyinfra is loaded
    from sparkrig.operations import journal
    from sparkrig.runs.lock import Unlock

    with session.connected(data) as hosts:
        found = session.ask(hosts, "Reading the journals", journal.look)
        said = {name: _said(each) for name, each in found.items()}
        for name, line in said.items():
            terminal.echo(f"{name}: {line}", err=as_json)
        locks = {name: lock for name, each in found.items() if (lock := _lock(each)) is not None}
        code = 3 if any(isinstance(each, Exception) for each in found.values()) else 0
        if locks and not (yes or files.agreed("Take these locks away?")):
            raise SystemExit(1)
        able = {name: host for name in locks if not isinstance(host := hosts[name], Exception)}
        for name, why in journal.unlock(able, locks).items():
            said[name], code = why or "unlocked", 3 if why else code
            terminal.echo(f"{name}: {said[name]}", err=as_json)
    if any(isinstance(each, Exception) for each in found.values()):
        files.try_doctor()
    if as_json:
        files.print_json(Unlock(hosts=said))
    raise SystemExit(code)


def _said(found: Journal | Failed | Lost) -> str:
    if isinstance(found, Exception):
        return f"not read: {found}"
    locked = f"locked by {found.lock.sentence}" if found.lock else "not locked"
    return "; ".join([locked, *found.left_out()])


def _lock(found: Journal | Failed | Lost) -> str | None:
    """The lock of a host as it was shown."""
    return found.lock.id if not isinstance(found, Exception) and found.lock else None
