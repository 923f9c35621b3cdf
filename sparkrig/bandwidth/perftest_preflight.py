"""What keeps a host from being measured: who else uses its RDMA devices, and what perftest needs."""

from __future__ import annotations

from dataclasses import dataclass

from sparkrig import programs
from sparkrig.bandwidth.perftest_run import rest_of
from sparkrig.cure import on_host
from sparkrig.verdict import Verdict

PREFLIGHT = programs.text("bandwidth/perftest_run_preflight.sh")


@dataclass(frozen=True)
class Users:
    """What PREFLIGHT printed: who else uses perftest, or its port.

    running: measurements of ours; ended: leftovers of ours; others: perftest of others, as (name, process id,
    whether it only waits for a client); holder: (name, process id) of what has the first port.
    """

    running: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()
    others: tuple[tuple[str, int, bool], ...] = ()
    holder: tuple[str, int] | None = None


def parse_preflight(text: str) -> Users:
    others = [rest.split() for rest in rest_of(text, "other")]
    held = [rest.split(maxsplit=1)[1].rsplit(maxsplit=1) for rest in rest_of(text, "held")]  # names have blanks
    return Users(
        running=tuple(rest_of(text, "running")),
        ended=tuple(rest_of(text, "ended")),
        others=tuple((name, int(process), state == "waits") for process, name, state in others),
        holder=(held[0][0], int(held[0][1])) if held else None,
    )


def judge_preflight(users: Users) -> list[Verdict]:
    """What those users mean for a measurement; a port that is taken costs it nothing."""
    verdicts = [
        Verdict("degraded", "host-busy", f"{name} (process {process}), not ours, is measuring", "wait for its end")
        for name, process, waits in users.others
        if not waits
    ]
    waiting = {(name, process) for name, process, waits in users.others if waits}
    for name, process in sorted(waiting | ({users.holder} if users.holder else set())):
        evidence = f"{name} (process {process}), not ours, listens where perftest does; it was left alone"
        verdicts.append(
            Verdict("healthy", "port-busy", evidence, on_host(f"sudo kill {process:d}", ", if nothing needs it"))
        )
    for unit in users.ended:
        verdicts.append(
            Verdict("healthy", "stale-server", f"{unit} was left over by an earlier run, and was ended")
        )
    return verdicts
