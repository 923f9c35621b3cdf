"""Running an engine's own benchmark in the container of its server, over ssh.

Nothing is written outside that container. The tool ends itself after its limit, so that a controller that dies
leaves nothing behind for long, and it is ended at once where a person has had enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from secrets import randbelow, token_hex
from time import monotonic

from pyinfra.api import Host

from sparkrig import programs
from sparkrig.facts.servers import Servers
from sparkrig.parsing import bounds
from sparkrig.serving.bench import tool
from sparkrig.serving.bench.report import Left, Measured, measured
from sparkrig.serving.bench.server import Look, Server
from sparkrig.serving.bench.tool import CommandLine
from sparkrig.serving.bench.workload import Workload
from sparkrig.serving.model import Model
from sparkrig.ssh import remote
from sparkrig.ssh.remote import Failed, Lost
from sparkrig.terminal.progress import Told

_LOOK_S = 90
_END_S = 20
_SPARE_S = 60  # of the host beyond the tool's own limit
_RUN = programs.text("serving/bench_run.sh")
_END = programs.text("serving/bench_end.sh")
_INSPECT = "timeout -k 2 20 docker container inspect --format '{{json .Args}}' \"$1\""


def look(at: Host) -> Look:
    """What servers a host has. Raises Failed or Lost."""
    return remote.read(at, Servers(), seconds=_LOOK_S)


def launched(at: Host, server: Server) -> CommandLine:
    """How the server was started, by its container. Raises Failed or Lost."""
    printed = remote.shell(at, _INSPECT, server.service.unit, seconds=_LOOK_S)

    def read() -> CommandLine:
        words = bounds.loads(printed)
        if not isinstance(words, list):
            raise ValueError("no list of words in it")  # noqa: TRY004 - it is data
        return tool.launched(server.record.engine, list(map(str, words)))

    return remote.parsed(f"the command of {server.service.unit}", read)


def run(
    at: Host,
    server: Server,
    its: CommandLine,
    workloads: Sequence[Workload],
    model: Model | None,
    limit: int,
    told: Told,
) -> tuple[list[Measured], list[Left]]:
    """Each workload, until one comes to nothing; what was measured, and what was left out and why.

    limit: seconds of one workload; model: of the catalogue.
    """
    done: list[Measured] = []
    left: list[Left] = []
    failed = ""
    for workload in workloads:
        if failed or not workload.fits(its.context):
            left.append(Left(name=workload.name, why=failed or too_long(workload, its), failed=bool(failed)))
            continue
        told(workload.name, f"measuring {workload.requests} requests", until=monotonic() + limit)
        try:
            done.append(measured(workload, _run(at, server, its, workload, limit), model))
            told.done(workload.name)
        except (Failed, Lost) as error:
            on = f"; what runs there ends itself within {limit} s" if isinstance(error, Lost) else ""
            left.append(Left(name=workload.name, why=f"{error}{on}", failed=True))
            failed = f"not begun after {workload.name}"
    return done, left


def too_long(asked: Workload, its: CommandLine) -> str:
    """Why a workload does not fit."""
    return f"it takes {asked.longest:,} tokens, and the server {its.context:,} at most"


def _run(at: Host, server: Server, its: CommandLine, asked: Workload, limit: int) -> tool.Figures:
    container, folder = server.service.unit, f"/tmp/sparkrig-bench-{token_hex(8)}"  # noqa: S108 - of the container
    words = tool.words(server.record.engine, its, asked, folder, randbelow(2**31))
    given = (container, folder, str(limit), tool.RESULT, *words)
    try:
        printed = remote.shell(at, _RUN, *given, seconds=limit + _SPARE_S)
    except (Failed, Lost):  # it has ended, or ends itself
        raise
    except BaseException:
        with suppress(Failed, Lost):
            remote.shell(at, _END, container, folder, seconds=_END_S)
        raise
    return remote.parsed(f"the result of {asked.name}", lambda: tool.parse(printed, asked.requests))
