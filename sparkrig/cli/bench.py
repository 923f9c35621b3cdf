"""`sparkrig bench`: how fast a served model answers, by its engine's own benchmark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparkrig.cli import files
from sparkrig.io import terminal

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from sparkrig.io.remote import Failed, Lost
    from sparkrig.serving.bench.report import Report
    from sparkrig.serving.bench.server import Look, Server
    from sparkrig.serving.bench.tool import Launched
    from sparkrig.serving.bench.workload import Workload
    from sparkrig.serving.model import Model

_EVERY = "all"


class _Workload(click.types.StringParamType):
    """The name of a workload, which a shell completes."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        from click.shell_completion import CompletionItem

        from sparkrig.serving.bench.workload import WORKLOADS

        names = [*(each.name for each in WORKLOADS), _EVERY]
        return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def _list(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if not wanted or context.resilient_parsing:
        return
    from sparkrig.serving.bench.workload import WORKLOADS

    for each in WORKLOADS:
        terminal.echo(f"{each.name:16} {each.meaning}")
    context.exit()


@click.command()
@files.INVENTORY
@click.argument("names", metavar="[WORKLOAD]...", nargs=-1, type=_Workload())
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
@click.option(
    "--as", "known_as", metavar="NAME", help="Its name in the catalogue, if the served name does not show it."
)
@click.option(
    "--list",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_list,
    help="List every workload with its meaning, and exit.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON (schema: docs/schema/bench.json).")
def bench(inventory_file: Path, names: tuple[str, ...], as_json: bool, **asked: Any) -> None:
    """Measure how fast a model that deploys/serve.py set up answers: time to the first token, tokens per second.

    It runs the engine's own benchmark in the container of the server: `vllm bench serve`, or
    `sglang.bench_serving`. Published figures for the model stand next to its own. The default WORKLOADs take a few
    minutes; --list names every one, and `all` runs them all. The server answers others more slowly meanwhile.

    Exit code 2: a request failed; 3: a host cannot be reached, or the benchmark came to nothing.
    """
    workloads, model = _workloads(names, asked), _known(asked["known_as"])
    _, data = files.inventory(inventory_file)
    report = _measure(data, inventory_file, workloads, model, asked, named=bool(names) and _EVERY not in names)
    if as_json:
        terminal.echo(report.dumps())
    else:
        from sparkrig.io.screen import Screen
        from sparkrig.render.bench import Page

        Screen().print(Page(report), soft_wrap=True)
    raise SystemExit(report.exit)


def _workloads(names: Sequence[str], asked: Mapping[str, Any]) -> list[Workload]:
    """Those of that name, or the usual ones, as they are asked for; exit code 1 where that makes no sense."""
    from sparkrig.serving.bench.workload import USUAL, WORKLOADS

    by_name = {each.name: each for each in WORKLOADS}
    chosen = [*by_name] if _EVERY in names else names or USUAL
    unknown = [each for each in chosen if each not in by_name]
    if unknown:
        raise click.ClickException(f"there is no workload {unknown[0]}. Try: sparkrig bench --list")
    if asked["at"] and not any(by_name[each].concurrency > 1 for each in chosen):
        raise click.ClickException(
            "--at is of workloads with parallel requests, and none is asked for. Try: sparkrig bench --list"
        )
    return [by_name[each].asked(runs=asked["runs"], at=asked["at"]) for each in dict.fromkeys(chosen)]


def _known(name: str | None) -> Model | None:
    """The catalogue's model of that name; exit code 1 where there is none."""
    model = files.catalogue().find(name) if name else None
    if name and model is None:
        raise click.ClickException(f"the catalogue has no model and no checkpoint {name}. Try: sparkrig models")
    return model


def _measure(
    data: Mapping[str, Mapping[str, Any]],
    inventory: Path,
    workloads: Sequence[Workload],
    model: Model | None,
    asked: Mapping[str, Any],
    *,
    named: bool,
) -> Report:
    """Look at the hosts, refuse or measure. named: whether the user named the workloads."""
    from sparkrig.io import session  # isort: skip - it patches the standard library before pyinfra is loaded
    from datetime import UTC, datetime
    from importlib.metadata import version
    from time import monotonic

    from sparkrig.io import bench_run, progress
    from sparkrig.serving.bench import report
    from sparkrig.serving.bench.beside import served

    known, started, began = files.catalogue(inventory), datetime.now(UTC), monotonic()
    with session.connected(data) as hosts:
        looks = session.ask(hosts, "Looking for a server", bench_run.look)
        server = _server(looks, inventory, asked)
        at = hosts[server.host]
        assert not isinstance(at, Exception)  # it was looked at
        its = _launched(at, server, inventory)
        if named:
            _check_length(workloads, its)
        found = model or served(known, (server.record.model, *its.names))
        with progress.hosts([each.name for each in workloads], "Measuring") as told:
            done, left = bench_run.run(at, server, its, workloads, found, asked["limit"], told)
    return report.report(
        known,
        found,
        done,
        left,
        server=server,
        its=its,
        version=version("sparkrig"),
        started=started,
        seconds=round(monotonic() - began, 2),
    )


def _server(looks: Mapping[str, Look | Failed | Lost], inventory: Path, asked: Mapping[str, Any]) -> Server:
    """The server that is measured; exit code 1 where there is none to measure, 3 where a host cannot be read."""
    from sparkrig.cure import deploy
    from sparkrig.refusal import Refusal
    from sparkrig.serving.bench.server import chosen

    seen = {name: look for name, look in looks.items() if not isinstance(look, Exception)}
    unread = {name: look for name, look in looks.items() if isinstance(look, Exception)}
    with files.refusals():
        server = chosen(seen, asked["host"], asked["service"])
        if server is None and not unread:
            such = "such a server" if asked["host"] or asked["service"] else "a server of deploys/serve.py"
            raise Refusal(f"no host has {such}", deploy(what="serve"))
    if server is None:
        for name, why in unread.items():
            terminal.echo(f"{name}: {why}", err=True)
        files.try_doctor(inventory)
        raise SystemExit(3)
    return server


def _launched(at: Any, server: Server, inventory: Path) -> Launched:
    """How the server was started; exit code 3 where its host does not tell."""
    from sparkrig.io import bench_run
    from sparkrig.io.remote import Failed, Lost

    try:
        return bench_run.launched(at, server)
    except (Failed, Lost) as error:
        terminal.echo(f"{server}: {error}", err=True)
        files.try_doctor(inventory)
        raise SystemExit(3) from None


def _check_length(workloads: Sequence[Workload], its: Launched) -> None:
    """Exit code 1 for a workload that was named and does not fit."""
    from sparkrig.io.bench_run import too_long

    for each in workloads:
        if not each.fits(its.context):
            raise click.ClickException(f"{each.name}: {too_long(each, its)}. Try: the same without {each.name}")
