"""`sparkrig bandwidth`: is each rail of a pair a healthy one, and if not, what is it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparkrig.cli import extras, files
from sparkrig.cure import quoted_path
from sparkrig.refusal import Refusal

if TYPE_CHECKING:
    from rich.console import Console

    from sparkrig.bandwidth.history import History
    from sparkrig.bandwidth.measurement import Run
    from sparkrig.fabric.cabling import Topology
    from sparkrig.fleet import Fleet
    from sparkrig.reports import schema
    from sparkrig.settings import Settings


@click.command()
@files.INVENTORY
@click.option(
    "--quick",
    is_flag=True,
    help="Measure one direction, all rails at once, and alone only a rail which that leaves open.",
)
@click.option(
    "--seconds",
    type=click.IntRange(2, 60),
    help="Duration of each measurement. [default: the setting bandwidth_seconds]",
)
@click.option(
    "--history",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File of past measurements; this one is added. [default: in ~/.local/state/sparkrig]",
)
@click.option("--html", type=click.Path(path_type=Path), metavar="FILE", help="Write an HTML report to FILE.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (schema: docs/schema/bandwidth.json).")
def bandwidth(
    inventory_file: Path,
    quick: bool,
    seconds: int | None,
    history: Path | None,
    html: Path | None,
    as_json: bool,
) -> None:
    """Measure each rail of each pair, alone and all at once, and tell a faulty link from a healthy one.

    It changes nothing on the hosts. Exit code 2: something is degraded or faulty; 3: something could not be
    measured or judged.
    """
    from sparkrig.io.screen import Screen

    if html:
        extras.need("report")
    fleet, data = files.inventory(inventory_file, bandwidth_seconds=seconds)
    pairs = [group for group in fleet.groups() if len(group) > 1]
    if not pairs:
        raise click.ClickException(
            f"{inventory_file} names no pair, and a Spark on its own has no rail to measure. "
            f"Try: sparkrig topology {quoted_path(inventory_file)}"
        )
    console = Screen(stderr=as_json)
    why = f"sparkrig bandwidth {quoted_path(inventory_file)}"
    documents, codes = list[Any](), list[int]()
    for pair in pairs:
        try:
            fleet.refuse_many(pair[0], "bandwidth measures the rails of")
            run, drawn = _measure(console, {name: data[name] for name in pair}, fleet, why, thorough=not quick)
        except Refusal as refusal:
            documents.append(_refused(console, pair, refusal))
            codes.append(3)
            continue
        documents.append(run.to_json())
        page = files.one_of(html, run.pair, len(pairs)) if html else None
        codes.append(_shown(console, run, drawn, fleet[pair[0]], history, page))
    if as_json:
        document: schema.Bandwidth = {"schema": "sparkrig.bandwidth/1", "pairs": documents}
        files.print_json(document)
    raise SystemExit(max(codes))


def _refused(console: Console, pair: Sequence[str], refusal: Refusal) -> schema.Refused:
    """Show why a pair was not measured; for programs, too."""
    from rich.text import Text

    console.print(Text.assemble((f"{refusal.what}.", "red"), f" Try: {refusal.cure}"), soft_wrap=True)
    return {"hosts": list(pair), "refused": refusal.what, "try": refusal.cure}


def _shown(
    console: Console, run: Run, drawn: Topology, settings: Settings, history: Path | None, page: Path | None
) -> int:
    """Show what was measured, keep it, and write its page; gives the exit code of the pair."""
    from rich.text import Text

    from sparkrig.verdict import exit_code

    code = exit_code(run.verdicts)
    earlier = _show(console, run, history)
    if page is None:
        return code
    if earlier is None:
        return max(code, 1)  # a page without its history would show a trend that is none
    try:
        _report(page, run, earlier, drawn, settings)
    except click.ClickException as error:  # what was measured is kept, and the next pair still comes
        console.print(Text(error.format_message(), "yellow"), soft_wrap=True)
        return max(code, 1)
    return code


def _measure(
    console: Console, data: Mapping[str, Mapping[str, Any]], fleet: Fleet, why: str, *, thorough: bool
) -> tuple[Run, Topology]:
    """One pair, under its lock. Raises Refusal where another run holds the lock, or a host cannot be read."""
    from sparkrig.io import session  # isort: skip - it patches the standard library before pyinfra is loaded
    from sparkrig.cli.measuring import Measuring
    from sparkrig.io.fabric_check import check
    from sparkrig.io.remote import Failed, Lost
    from sparkrig.operations import journal

    with session.connected(data) as found, Measuring(console, " and ".join(data)) as progress:
        lost = {name: str(host) for name, host in found.items() if isinstance(host, Exception)}
        if lost:
            why = "; ".join(f"{name} cannot be reached: {reason}" for name, reason in lost.items())
            raise Refusal(why, "sparkrig doctor INVENTORY access")
        hosts = {name: host for name, host in found.items() if not isinstance(host, Exception)}
        try:
            with journal.locked(journal.Run(why), hosts):
                return check(hosts, fleet, progress, thorough=thorough), progress.topology
        except (Failed, Lost) as error:
            raise Refusal(str(error), "the same again, once that is mended") from None


def _show(console: Console, run: Run, file: Path | None) -> History | None:
    """The verdicts, and the run beside the earlier ones, which it joins; those, or None if they cannot be read."""
    from rich.text import Text

    from sparkrig.bandwidth import history_trend
    from sparkrig.io import history_file
    from sparkrig.render.bandwidth import verdicts
    from sparkrig.render.trend import trend

    console.print()
    console.print(verdicts(run))
    console.print()
    before = None
    try:
        before = history_file.read(run.pair, file)
        place = history_file.append(run, file)
    except Refusal as refusal:
        console.print(Text.assemble((refusal.what, "yellow"), f"; try: {refusal.cure}"))
        return before
    console.print(
        trend(history_trend.trends(before.entries, run), ascii_only=not console.encoding.startswith("utf"))
    )
    if before.remark:
        console.print(before.remark)
    console.print(f"Kept in {place}", style="dim", soft_wrap=True)
    return before


def _report(file: Path, run: Run, earlier: History, drawn: Topology, settings: Settings) -> None:
    from sparkrig.bandwidth import bands as judgement
    from sparkrig.render.report import html
    from sparkrig.render.topology_svg import svg

    bands = judgement.bands(judgement.expected(settings))
    files.write(file, html(run, earlier, (svg(drawn), svg(drawn, narrow=True)), bands=bands))
