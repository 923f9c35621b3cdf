"""Packages of the distribution that a resource needs."""

from __future__ import annotations

from collections.abc import Sequence

from pyinfra import host, state
from pyinfra.api import operation

from sparkrig.operations import apt
from sparkrig.operations import plan as plans
from sparkrig.operations.journal import recorded
from sparkrig.operations.refusal import Commands, refusing
from sparkrig.runs.change import Change
from sparkrig.ssh.shell import in_turn


@operation()
@refusing
@recorded
def install(packages: Sequence[str], patience: float) -> Commands:
    """Install packages without what they recommend.

    + packages: those that are not there
    + patience: factor on the wait for others that use apt
    """
    if not packages:
        host.noop("the packages are there")
        return
    plans.report([Change("package", name, None, "the newest of its repository") for name in packages])
    if state.is_executing:
        apt.wait(host, patience)
    yield in_turn(*apt.newest(host, *packages))
