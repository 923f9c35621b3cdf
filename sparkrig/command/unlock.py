"""`sparkrig unlock`: take the lock of a host from a run that is known to be dead."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sparkrig.command import files

if TYPE_CHECKING:
    from operations.remote import Failed, Lost
    from sparkrig.journal import Journal


@click.command()
@files.INVENTORY
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--json", "as_json", is_flag=True, help="For programs (docs/schema/unlock.json).")
def unlock(inventory_file: Path, yes: bool, as_json: bool) -> None:
    """Free hosts whose lock a dead run still holds, such as one behind a link that was cut.

    It shows each holder and asks. A run that is not dead goes on all the same, and whoever comes next may then
    change the host at the same time. Exit code 1: declined; 3: a host could not be read or freed.
    """
    _, data = files.inventory(inventory_file)
    files.must_answer(yes, f"sparkrig status {inventory_file}, which shows the holder; then the same with --yes")
    from sparkrig import session  # isort: skip - it patches the standard library before pyinfra is loaded
    from operations import journal

    with session.connected(data) as hosts:
        found = session.ask(hosts, "Reading the journals", journal.look)
        said = {name: _said(each) for name, each in found.items()}
        for name, line in said.items():
            click.echo(f"{name}: {line}", err=as_json)
        runs = {name: run for name, each in found.items() if (run := _holder(each)) is not None}
        code = 3 if any(isinstance(each, Exception) for each in found.values()) else 0
        if runs and not (yes or files.agreed("Take these locks away?")):
            raise SystemExit(1)
        able = {name: host for name in runs if not isinstance(host := hosts[name], Exception)}
        for name, why in journal.unlock(able, runs).items():
            said[name], code = why or "unlocked", 3 if why else code
            click.echo(f"{name}: {said[name]}", err=as_json)
    if any(isinstance(each, Exception) for each in found.values()):
        files.try_doctor(inventory_file)
    if as_json:
        files.document("unlock", hosts=said)
    raise SystemExit(code)


def _said(found: Journal | Failed | Lost) -> str:
    from sparkrig import lock

    if isinstance(found, Exception):
        return f"not read: {found}"
    if found.lock is None:
        return "not locked"
    state = "still there" if found.lock.alive else "ended"
    return f"locked by {lock.sentence(found.lock.owner)}; its session is {state}"


def _holder(found: Journal | Failed | Lost) -> str | None:
    """The run that holds a host."""
    return found.lock.owner.run if not isinstance(found, Exception) and found.lock else None
