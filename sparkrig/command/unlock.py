"""`sparkrig unlock`: take the lock of a host from a run that is known to be dead."""

from __future__ import annotations

from pathlib import Path

import click

from sparkrig.command import files


@click.command()
@click.argument("inventory_file", metavar="INVENTORY", type=click.Path(path_type=Path))
@click.option("--yes", is_flag=True, help="Do not ask.")
def unlock(inventory_file: Path, yes: bool) -> None:
    """Free hosts whose lock a dead run still holds, such as one behind a link that was cut.

    It shows each holder and asks. A run that is not dead goes on all the same, and whoever comes next may then
    change the host at the same time. Exit code 3: a host could not be read.
    """
    from sparkrig import session  # isort: skip - it patches the standard library before pyinfra is loaded
    from operations import journal
    from operations.remote import Failed, Lost
    from sparkrig import lock

    _, data = files.inventory(inventory_file)
    files.must_answer(yes)
    code = 0
    with session.connected(data) as hosts:
        found = journal.read(hosts)
        locks = {}
        for name, each in found.items():
            if isinstance(each, (Failed, Lost)):
                click.echo(f"{name}: not read: {each}", err=True)
                code = 3
            elif each.lock:
                state = "still there" if each.lock.alive else "ended"
                click.echo(f"{name}: locked by {lock.sentence(each.lock.owner)}; its session is {state}")
                locks[name] = each.lock.owner.run
            else:
                click.echo(f"{name}: not locked")
        able = {name: host for name in locks if not isinstance(host := hosts[name], Exception)}
        if locks and (yes or files.agreed("Take these locks away?")):
            for name, why in journal.unlock(able, locks).items():
                click.echo(f"{name}: {why or 'unlocked'}")
                code = 3 if why else code
        elif locks:
            code = 1
    raise SystemExit(code)
