"""`sparkrig bench`: how fast a served model answers, one at a time and several, beside what others measured."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparkrig.cli import extras, files
from sparkrig.cure import quoted, quoted_path
from sparkrig.io import terminal
from sparkrig.text import listed

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from sparkrig.io import progress
    from sparkrig.io.bench_client import Served, Server
    from sparkrig.serving.bench.report import Left, Measured, Report
    from sparkrig.serving.bench.workload import Workload
    from sparkrig.serving.model import Catalogue, Model

_NO_KEY = (401, 403)
_EVERY = "all"


class _Workload(click.types.StringParamType):
    """The name of a workload, which a shell completes."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        from click.shell_completion import CompletionItem

        from sparkrig.serving.bench.workload import WORKLOADS

        names = [*(each.name for each in WORKLOADS), _EVERY]
        return [CompletionItem(name) for name in names if name.startswith(incomplete)]


@click.command()
@click.argument("url", required=False)
@click.argument("names", metavar="[WORKLOAD]...", nargs=-1, type=_Workload())
@click.option("--runs", type=click.IntRange(1), help="Runs of each workload, after a warm-up. [default: 3]")
@click.option("--seconds", type=click.FloatRange(0, min_open=True), help="Duration of a mix. [default: 90 or 180]")
@click.option("--at", type=click.IntRange(1), help="Parallel requests in batches and mixes. [default: 4 or 2]")
@click.option(
    "--limit",
    type=click.FloatRange(0, min_open=True),
    default=300.0,
    help="Time limit for one request, in seconds. [default: 300]",
)
@click.option("--model", help="The model to ask, if the server has several.")
@click.option(
    "--as", "known_as", metavar="NAME", help="Its name in the catalogue, if the served name does not show it."
)
@click.option(
    "--thinking", is_flag=True, help="Let the model think before it answers. The articles measured without it."
)
@click.option(
    "--key-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File with the server's API key, readable by you alone (mode 0600).",
)
@click.option("--list", "listing", is_flag=True, help="List every workload with its meaning, and exit.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (schema: docs/schema/bench.json).")
def bench(url: str | None, names: tuple[str, ...], listing: bool, as_json: bool, **asked: Any) -> None:
    """Measure how fast the model at URL answers: time to the first token, tokens per second, errors by kind.

    It asks what the articles in the catalogue asked, first one request at a time, then several, and shows their
    figures for the model next to its own. The default WORKLOADs take about seven minutes; --list names every one,
    and `all` runs them all.

    Exit code 2: a request failed; 3: the server cannot be reached, or answers nothing.
    """
    from sparkrig.serving.bench.workload import WORKLOADS

    if listing:
        _list(WORKLOADS)
        return
    if url is None:
        raise click.UsageError("Missing argument 'URL'.", click.get_current_context())
    extras.need("bench")
    place, workloads = _place(url), _workloads(names, asked)
    _check(workloads, asked)
    key, model = _key(asked["key_file"]), _known(asked["known_as"])
    report = _measure(place, key, workloads, model, asked, named=bool(names) and _EVERY not in names)
    if as_json:
        terminal.echo(report.dumps())
    else:
        _show(report)
    sys.exit(report.exit)


def _place(url: str) -> str:
    """Where the server is, without /v1; exit code 1 where that is no place."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        whole = bool(parts.scheme in ("http", "https") and parts.hostname and parts.port != 0)
    except ValueError:
        whole = False
    if not whole:
        raise click.ClickException(f"{url} is no address of a server. Try: sparkrig bench http://spark-a:8000")
    bare = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise click.ClickException(
            "the URL has more than a place in it; a key belongs into a file. "
            f"Try: sparkrig bench {quoted(bare)} --key-file FILE"
        )
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/').removesuffix('/v1')}"


def _workloads(names: Sequence[str], asked: dict[str, Any]) -> list[Workload]:
    """Those of that name, or the usual ones, as they are asked for; exit code 1 for a name that there is not."""
    from sparkrig.serving.bench.workload import USUAL, WORKLOADS

    by_name = {each.name: each for each in WORKLOADS}
    chosen = [*by_name] if _EVERY in names else names or USUAL
    unknown = [each for each in chosen if each not in by_name]
    if unknown:
        raise click.ClickException(f"there is no workload {unknown[0]}. Try: sparkrig bench --list")
    numbers = {name: asked[name] for name in ("runs", "seconds", "at")}
    return [by_name[each].asked(**numbers) for each in dict.fromkeys(chosen)]


def _key(file: Path | None) -> str:
    """What stands in the file; exit code 1 where that is no key, or is not for its owner alone."""
    if file is None:
        return ""
    from sparkrig.io import private_file

    with files.refusals():
        text = private_file.read(file).strip()
    if not text or not text.isascii() or not text.isprintable() or " " in text:
        raise click.ClickException(
            f"{file} has no API key in it, one line of letters and signs expected. Try: wc {quoted_path(file)}"
        )
    return text


def _known(name: str | None) -> Model | None:
    """The catalogue's model of that name; exit code 1 where there is none."""
    model = files.catalogue().find(name) if name else None
    if name and model is None:
        raise click.ClickException(f"the catalogue has no model and no checkpoint {name}. Try: sparkrig models")
    return model


def _check(workloads: Sequence[Workload], asked: dict[str, Any]) -> None:
    """Exit code 1 for a number that would change nothing."""
    if asked["at"] and not any(each.concurrency > 1 for each in workloads):
        raise click.ClickException(
            "--at is of batches and mixes, and none is asked for. Try: sparkrig bench --list"
        )
    if asked["seconds"] and not any(each.seconds for each in workloads):
        raise click.ClickException("--seconds is of mixes, and none is asked for. Try: sparkrig bench --list")


def _measure(
    place: str, key: str, workloads: Sequence[Workload], model: Model | None, asked: dict[str, Any], *, named: bool
) -> Report:
    from importlib.metadata import version
    from time import monotonic

    from sparkrig.io import progress
    from sparkrig.io.bench_client import Server
    from sparkrig.serving.bench import report

    known, started, began = files.catalogue(), datetime.now(UTC), monotonic()

    async def run(told: progress.Told) -> tuple[Served, Model | None, list[Measured], list[Left]]:
        async with Server(place, key=key, limit_s=asked["limit"], thinking=asked["thinking"]) as server:
            return await _run(server, workloads, model, known, asked["model"], told, named=named)

    with progress.hosts([each.name for each in workloads], "Measuring") as told:
        served, found, measured, left = asyncio.run(run(told))
    return report.report(
        known,
        found,
        measured,
        left,
        version=version("sparkrig"),
        url=place,
        started=started,
        seconds=round(monotonic() - began, 2),
        served=served.name,
        longest=served.longest,
        thinking=asked["thinking"],
    )


async def _run(
    server: Server,
    workloads: Sequence[Workload],
    model: Model | None,
    known: Catalogue,
    wanted: str | None,
    told: progress.Told,
    *,
    named: bool,
) -> tuple[Served, Model | None, list[Measured], list[Left]]:
    """What is served, the model of the catalogue that it is, and the workloads: measured, or left out and why."""
    from secrets import token_hex

    from sparkrig.io.bench_client import Served, Unreachable
    from sparkrig.io.bench_run import Bench
    from sparkrig.serving.bench import report
    from sparkrig.serving.bench.beside import served as called

    try:
        served = await _served(server, wanted)
    except Unreachable as error:
        why = f"{server.url} cannot be reached: {error}"
        return Served(""), model, [], [report.Left(name=each.name, why=why) for each in workloads]
    if named:
        _check_length(workloads, served)
    found = model or called(known, (served.name, served.root))
    bench = Bench(server, served, found, mark=token_hex(4), tell=told)
    return served, found, *await bench.run(workloads)


async def _served(server: Server, wanted: str | None) -> Served:
    """The model that is asked; exit code 1 where it is not there, or the server is none. Raises Unreachable."""
    from sparkrig.io.bench_client import Unusable

    try:
        found = await server.models()
    except Unusable as error:
        look = f"curl -i {quoted(f'{server.url}/v1/models')}"
        cure = "the same with --key-file FILE" if error.status in _NO_KEY else look
        raise click.ClickException(f"{server.url} cannot be asked: {error}. Try: {cure}") from None
    chosen = next((each for each in found if wanted in (None, each.name)), None)
    if chosen is None:
        there = listed(each.name for each in found) or "no model"
        raise click.ClickException(f"{server.url} serves {there}, and not {wanted}. Try: the same without --model")
    return chosen


def _check_length(workloads: Sequence[Workload], served: Served) -> None:
    """Exit code 1 for a workload that was named and does not fit."""
    from sparkrig.io.bench_run import too_long

    for each in workloads:
        if not each.fits(served.longest):
            enough = 1 << (each.longest - 1).bit_length()
            cure = f"vllm serve ... --max-model-len {enough}"
            raise click.ClickException(f"{each.name}: {too_long(each, served)}. Try: {cure}")


def _show(report: Report) -> None:
    from sparkrig.io.screen import Screen
    from sparkrig.render.bench import Page

    Screen().print(Page(report), soft_wrap=True)
    if not report.model:
        terminal.echo(f"Try: curl -i {quoted(f'{report.url}/v1/models')}", err=True)


def _list(workloads: Sequence[Workload]) -> None:
    for each in workloads:
        terminal.echo(f"{each.name:16} {each.meaning}")
