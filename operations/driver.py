"""Keeping the driver and the kernel where they are."""

from __future__ import annotations

from pyinfra import host, state
from pyinfra.api import operation

from sparkrig import programs
from sparkrig.facts.resources import of_resource
from sparkrig.host import driver
from sparkrig.operations import apt, plan
from sparkrig.operations.again import again
from sparkrig.operations.journal import recorded
from sparkrig.operations.refusal import Commands, refusing
from sparkrig.resources.driver import DRIVER, judge, judge_upgrade
from sparkrig.runs.change import Change
from sparkrig.ssh.shell import in_turn, script

HOLD = programs.text("operations/driver_hold.sh")


@operation()
@refusing
@recorded
def hold(found: driver.Packages, branch: int) -> Commands:
    """Hold the installed part of the branch's whole set, driver and kernel together.

    + found: the packages as the facts of this run saw them
    + branch: the one that the host is held on
    """
    judge(found, branch)
    names = driver.unheld(found, branch)
    if names:
        plan.report(Change("hold", name, "not held", "held") for name in names)
        # lists before the hold, so that a broken-off run does not prove itself by old ones
        yield in_turn(apt.update(), script(HOLD, *names))
        if state.is_executing:  # and both ended well, or pyinfra would not come back here
            apt.note_fetched(host)
    else:
        host.noop(f"{len(driver.hold_set(found, branch))} packages are held")


@operation()
@refusing
def prove(found: driver.Packages, branch: int, changed: bool) -> Commands:
    """Fail unless a simulated dist-upgrade leaves driver and kernel alone; never changes anything.

    + changed: whether pins or holds are about to change, so that only a fresh look proves anything
    """
    if changed and not state.is_executing:
        return
    judge_upgrade(again(of_resource(DRIVER)) if changed else found, branch)
    host.noop("a dist-upgrade would leave driver and kernel alone")
    yield from ()
