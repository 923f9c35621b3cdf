"""`sparkrig bench`: how fast a served model answers, by its engine's own benchmark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparkrig.cli import files
from sparkrig.serving.bench.workload import USUAL, WORKLOADS, Workload

if TYPE_CHECKING:
    from sparkrig.serving.bench.report import Report
    from sparkrig.serving.bench.server import Look, Server
    from sparkrig.serving.bench.tool import CommandLine
    from sparkrig.ssh.remote import Failed, Lost

_EVERY = "all"


@click.command()
@files.INVENTORY
@click.argument("names", metavar="[WORKLOAD]...", nargs=-1, type=click.Choice([*WORKLOADS, _EVERY]))
@click.option("--host", default="", metavar="HOST", help="The host that answers, if several serve.")
@click.option("--service", default="", metavar="NAME", help="The named service, if the host has several.")
@click.option("--runs", type=click.IntRange(1, 100), help="Requests one after the other. [default: 3, or 1]")
@click.option(
    "--at", type=click.IntRange(1, 256), help="Parallel requests of batch and long-128k. [default: 4, 2]"
)
@click.option(
    "--limit",
    type=click.IntRange(10, 7200),
    default=600,
    show_default=True,
    help="Time limit for one workload, in seconds.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON (schema: docs/schema/bench.json).")
def bench(inventory_file: Path, names: tuple[str, ...], as_json: bool, **asked: Any) -> None:
    """Measure how fast a model that deploys/serve.py set up answers: time to the first token, tokens per second.

    It runs the engine's own benchmark in the container of the server: `vllm bench serve`, or
    `sglang.bench_serving`. Published figures for the model stand next to its own. The WORKLOADs are short, batch
    and long-8k (the default, a few minutes), long-32k and long-128k, or `all`; docs/bench.md has their lengths.
    The server answers others more slowly meanwhile.

    Exit code 2: a request failed; 3: a host cannot be reached, or the benchmark came to nothing.
    """
    workloads = _workloads(names, asked)
    _, data = files.inventory(inventory_file)
    report = _measure(data, inventory_file, workloads, asked, named=bool(names) and _EVERY not in names)
    if as_json:
        files.print_json(report)
    else:
        from sparkrig.serving.render.bench import Measurements
        from sparkrig.terminal.screen import Screen

        Screen().print(Measurements(report), soft_wrap=True)
    if not report.host:
        files.try_doctor()
    raise SystemExit(report.exit)


def _workloads(names: Sequence[str], asked: Mapping[str, Any]) -> list[Workload]:
    """Those of that name, or the usual ones, as they are asked for; exit code 1 where --at changes nothing."""
    chosen = [*WORKLOADS] if _EVERY in names else [*dict.fromkeys(names or USUAL)]
    if asked["at"] and not any(WORKLOADS[each].concurrency > 1 for each in chosen):
        raise click.ClickException("--at is of parallel requests, and none is asked for. Try: the same with batch")
    return [WORKLOADS[each].asked(runs=asked["runs"], at=asked["at"]) for each in chosen]


def _measure(
    data: Mapping[str, Mapping[str, Any]],
    inventory: Path,
    workloads: Sequence[Workload],
    asked: Mapping[str, Any],
    *,
    named: bool,
) -> Report:
    """Look at the hosts, refuse or measure. named: whether the user named the workloads."""
    from sparkrig.ssh import session  # isort: skip - it patches the standard library before pyinfra is loaded
    from datetime import UTC, datetime
    from importlib.metadata import version

    from sparkrig.serving.bench import report
    from sparkrig.serving.io import bench_run
    from sparkrig.ssh.remote import Failed, Lost
    from sparkrig.terminal import progress

    known, started = files.catalogue(inventory), datetime.now(UTC)
    made = partial(report.report, known, version=version("sparkrig"), started=started)
    with session.connected(data) as hosts:
        looks = session.ask(hosts, "Looking for a server", bench_run.look)
        try:
            server = _server(looks, asked)
            at = hosts[server.host]
            assert not isinstance(at, Exception)  # it was looked at
            its = bench_run.launched(at, server)
        except (Failed, Lost) as error:
            left = [report.Left(name=workload.name, why=str(error), failed=True) for workload in workloads]
            return made(None, [], left, ended=datetime.now(UTC))
        if named:
            _check_length(workloads, its)
        model = known.find(server.record.model)
        with progress.hosts([workload.name for workload in workloads], "Measuring") as told:
            done, left = bench_run.run(at, server, its, workloads, model, asked["limit"], told)
    return made(model, done, left, server=server, its=its, ended=datetime.now(UTC))


def _server(looks: Mapping[str, Look | Failed | Lost], asked: Mapping[str, Any]) -> Server:
    """The server that is measured; exit code 1 where there is none to measure.

    Raises Failed or Lost where it may be on a host that cannot be read.
    """
    from sparkrig.cure import deploy
    from sparkrig.refusal import Refusal
    from sparkrig.serving.bench.server import chosen
    from sparkrig.ssh.remote import Lost

    with files.refusals():
        seen = {name: look for name, look in looks.items() if not isinstance(look, Exception)}
        if server := chosen(seen, asked["host"], asked["service"]):
            return server
        unread = "; ".join(f"{name}: {look}" for name, look in looks.items() if isinstance(look, Exception))
        if unread:
            raise Lost(unread)
        such = "such a server" if asked["host"] or asked["service"] else "a server of deploys/serve.py"
        raise Refusal(f"no host has {such}", deploy(what="serve"))


def _check_length(workloads: Sequence[Workload], its: CommandLine) -> None:
    """Exit code 1 for a workload that was named and does not fit."""
    from sparkrig.serving.io.bench_run import too_long

    for workload in workloads:
        if not workload.fits(its.context):
            raise click.ClickException(
                f"{workload.name}: {too_long(workload, its)}. Try: the same without {workload.name}"
            )
