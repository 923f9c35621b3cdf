"""The node exporter that the metrics of the black box go through."""

from __future__ import annotations

from pyinfra import host, state
from pyinfra.api import operation

from sparkrig import programs
from sparkrig.operations import apt
from sparkrig.operations import plan as plans
from sparkrig.operations.journal import recorded
from sparkrig.operations.refusal import Commands, refusing
from sparkrig.resources import watch
from sparkrig.runs.change import Change
from sparkrig.ssh.shell import in_turn, script

RUN = programs.text("operations/watch_exporter.sh")


@operation()
@refusing
@recorded
def exporter(plan: watch.WatchChanges, patience: float) -> Commands:
    """Install it where it is absent, without what it recommends, and start it where it does not run.

    It fails where the exporter does not stay alive: its package is installed as well where its port is taken.

    + plan: of the black box
    + patience: factor on the wait for others that use apt
    """
    if not plan.exporter:
        host.noop(f"{watch.EXPORTER} runs")
        return
    if plan.exporter == "does not run":
        plans.report([Change("service", watch.EXPORTER, "does not run", "runs")])
        yield script(RUN)
        return
    plans.report([Change("package", watch.EXPORTER, None, "the newest of its repository")])
    if state.is_executing:
        apt.wait(host, patience)
    yield in_turn(*apt.newest(host, watch.EXPORTER), script(RUN))
