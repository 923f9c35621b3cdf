"""Files that can strand a host, changed under guard: by a deploy, and by an undo."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pyinfra import host, inventory
from pyinfra.api import FunctionCommand, Host, State, operation

from sparkrig.fabric.io import witness
from sparkrig.files import Found
from sparkrig.fleet import Fleet
from sparkrig.network.guard import LIVE_S, Guarded, Order
from sparkrig.operations import guard, journal, plan
from sparkrig.operations.guard import Bench, RolledBack
from sparkrig.operations.journal import Run
from sparkrig.operations.refusal import Commands, refusing, say
from sparkrig.refusal import Refusal
from sparkrig.resources.resource import Changes, Resource
from sparkrig.runs.change import Change, of_files
from sparkrig.settings import Settings
from sparkrig.ssh import remote
from sparkrig.ssh.remote import Failed, Lost


@operation()
@refusing
def change(resource: Resource[Any], changes: Changes, found: Mapping[str, Found], fleet: Fleet) -> Commands:
    """Write and remove files of a resource, and have them followed; they go back unless a new connection gets in.

    + resource: whose guard says how they are followed
    + changes: what is to be done to them
    + found: the files as the facts of this run saw them
    + fleet: the checked settings of all hosts
    """
    seconds = fleet[host.name].rollback_seconds
    interrupts = f"new connections, if it is wrong, for the {seconds} s after which it reverts unless proven"
    rows = [
        *of_files(changes.wanted, found),
        *(Change("file", path, "not declared", None) for path in changes.remove),
        *(Change("service", path, "another text is followed", "followed") for path in _reread(changes)),
    ]
    plan.report(replace(row, interrupts=interrupts) for row in rows)
    if not changes:
        host.noop("files are as they should be, and followed")
        return
    files = [Guarded(file.path, file.content, file.mode) for file in changes.write or changes.wanted]
    files += [Guarded(path) for path in changes.remove]
    yield from journal.beginning()
    yield FunctionCommand(_change, (resource, files, fleet, journal.step()), {})


def _reread(changes: Changes) -> Sequence[str]:
    """The files that stand there as they should, and whose service has an older text."""
    return () if changes.write or changes.remove else changes.reload


def _change(
    state: State,  # noqa: ARG001 - pyinfra passes both, by name
    host: Host,
    resource: Resource[Any],
    files: Sequence[Guarded],
    fleet: Fleet,
    step: str,
) -> bool:
    at = inventory.get_host(host.name)
    try:
        carry_out(resource, journal.current(), {at.name: at}, {at.name: files}, step, fleet[at.name], host.log)
    except (Refusal, RolledBack, Failed, Lost) as error:
        say(host, str(error))
        return False
    return True


def carry_out(
    resource: Resource[Any],
    run: Run,
    hosts: Mapping[str, Host],
    files: Mapping[str, Sequence[Guarded]],
    step: str,
    settings: Settings,
    tell: Callable[[str], None],
) -> None:
    """Change the files of a resource on all hosts, or on none.

    files: by host; step: what it is called in the journals; settings: of one host, for its deadlines. Raises
    Refusal, RolledBack, Failed or Lost.
    """
    how = resource.guard
    assert how
    here = remote.every(hosts, lambda at: guard.prepare(at, run.id, settings.patience))
    own = [name for name, is_here in here.items() if is_here]
    outside = witness.proof(hosts, own, hosts, allowed=settings.allow_unwitnessed, patience=settings.patience)
    orders = {
        name: Order(
            step=step,
            window=settings.rollback_seconds,
            seconds=int(LIVE_S * settings.patience),
            patience=settings.patience,
            discard=(),
            part=resource.name,
            files=files[name],
            test=how.test,
            live=how.live,
            verify=how.verify,
            units=how.units,
        )
        for name in hosts
    }
    guard.carry_out(Bench(hosts, orders, {}, run.folder, settings.patience, tell, outside, how.what))
