"""`sparkrig bandwidth`: is each rail of a pair or a cluster a healthy one, and if not, what is it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparkrig.cli import files
from sparkrig.cure import LISTED, deploy, verb
from sparkrig.refusal import Refusal
from sparkrig.terminal.project import Where

if TYPE_CHECKING:
    from rich.console import Console

    from sparkrig.bandwidth.history import History
    from sparkrig.bandwidth.measurement import Run
    from sparkrig.bandwidth.ray_gather import Gathered
    from sparkrig.bandwidth.report import NotMeasured
    from sparkrig.fabric.cabling import Topology
    from sparkrig.fleet import Fleet


@click.command()
@files.HOSTS
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
@click.option("--ray", is_flag=True, help="Measure an all_gather over the nodes of the Ray cluster instead.")
@click.option("--html", type=click.Path(path_type=Path), metavar="FILE", help="Write an HTML report to FILE.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (schema: docs/schema/bandwidth.json).")
def bandwidth(
    inventory_file: Where,
    quick: bool,
    seconds: int | None,
    history: Path | None,
    ray: bool,
    html: Path | None,
    as_json: bool,
) -> None:
    """Measure each rail of each pair, alone and all at once, and tell a faulty link from a healthy one.

    Of more than two hosts each two measure with each other, in rounds in which no host takes part twice. It
    changes nothing on the hosts. Exit code 2: something is degraded or faulty; 3: something could not be measured
    or judged.
    """
    from sparkrig.bandwidth.report import Report
    from sparkrig.terminal.screen import Screen

    fleet, data = files.inventory(inventory_file, bandwidth_seconds=seconds)
    fleet = files.joined(fleet, data)
    why = f"sparkrig bandwidth {files.typed(inventory_file)}"
    groups = _groups(inventory_file, fleet)
    console = Screen(stderr=as_json)
    report = Report()
    codes = list[int]()
    for group in groups if ray else ():
        found, code = _gathered(console, fleet, {name: data[name] for name in group}, why)
        report.ray.append(found)
        codes.append(code)
    for group in () if ray else groups:
        measure = partial(_measure, thorough=not quick)
        name = fleet[group[0]].group_name or ""
        page = files.one_of(html, name, len(groups)) if html else None
        members = {name: data[name] for name in group}
        document, code = _group(console, partial(measure, console, members, fleet, why), group, history, page)
        (report.clusters if len(group) > 2 else report.pairs).append(document)
        codes.append(code)
    if as_json:
        files.print_json(report)
    raise SystemExit(max(codes))


def _gathered(
    console: Console, fleet: Fleet, data: Mapping[str, Mapping[str, Any]], why: str
) -> tuple[Gathered | NotMeasured, int]:
    """An all_gather over the Ray cluster of a group, shown; with its exit code."""
    from sparkrig.ssh import session  # isort: skip - it patches the standard library before pyinfra is loaded
    from rich.text import Text

    from sparkrig.bandwidth.io import ray_gather
    from sparkrig.operations import journal
    from sparkrig.resources.ray import leads
    from sparkrig.ssh.remote import Lost

    try:
        name = leads(fleet, next(iter(data)))
        with session.connected({name: data[name]}) as found:
            at = found[name]
            if isinstance(at, Exception):
                raise Refusal(f"{name} cannot be reached: {at}", verb("doctor", "access"))
            with journal.locked(journal.Run(why), {name: at}):
                made = ray_gather.gathered(at, fleet[name].patience)
    except Refusal as refusal:
        return refused(console, [*data], refusal), 3
    except Lost as error:
        return refused(console, [*data], Refusal(str(error), "the same again, once that is mended")), 3
    lacking = len(data) - len(made.nodes)
    fault = made.fault or (f"{lacking} of {len(data)} hosts took no part" if lacking > 0 else "")
    console.print(Text.assemble(str(made), (f"; {fault}" if fault else "", "red")), soft_wrap=True)
    return made, 2 if fault else 0


def _groups(inventory_file: Where, fleet: Fleet) -> list[tuple[str, ...]]:
    """Those that have rails; exit code 1 where there is nothing to measure."""
    groups = [group for group in fleet.groups() if len(group) > 1]
    if not groups:
        raise click.ClickException(
            f"{inventory_file} names no pair, and a Spark on its own has no rail to measure. "
            f"Try: sparkrig topology {files.typed(inventory_file)}"
        )
    return groups


def _group(
    console: Console,
    measure: Callable[[], tuple[Run, Topology]],
    group: Sequence[str],
    history: Path | None,
    page: Path | None,
) -> tuple[Run | NotMeasured, int]:
    """Measure one pair or cluster, and show it; for programs, too, with its exit code."""
    from sparkrig.bandwidth.report import shown

    try:
        run, drawn = measure()
    except Refusal as refusal:
        return refused(console, group, refusal), 3
    return shown(run), _shown(console, run, drawn, history, page)


def refused(console: Console, pair: Sequence[str], refusal: Refusal) -> NotMeasured:
    """Show why a pair or cluster was not measured; for programs, too."""
    from sparkrig.bandwidth.report import NotMeasured
    from sparkrig.drift.render.plan import Sheet

    sheet = Sheet(console)
    sheet.put(f"{refusal.what}.", "red")
    sheet.cure(refusal.cure, "Try: ")
    return NotMeasured(tuple(pair), refusal.what, refusal.cure)


def _shown(console: Console, run: Run, drawn: Topology, history: Path | None, page: Path | None) -> int:
    """Show what was measured, keep it, and write its page; gives the exit code of the group."""
    from rich.text import Text

    from sparkrig.fabric.render import report
    from sparkrig.verdict import exit_code

    code = exit_code(run.verdicts)
    earlier = _show(console, run, history)
    if not page:
        return code
    if earlier is None:
        return max(code, 1)  # a page without its history would call each figure the first of its kind
    try:
        files.write(page, report.html(run, earlier, drawn))
    except click.ClickException as error:  # what was measured is kept, and the next group still comes
        console.print(Text(error.format_message(), "yellow"), soft_wrap=True)
        return max(code, 1)
    return code


def _measure(
    console: Console,
    data: Mapping[str, Mapping[str, Any]],
    fleet: Fleet,
    why: str,
    *,
    thorough: bool,
) -> tuple[Run, Topology]:
    """One pair or cluster, under the locks of those of its hosts that can be reached. Raises Refusal."""
    from sparkrig.ssh import session  # isort: skip - it patches the standard library before pyinfra is loaded
    from sparkrig.bandwidth.io.fabric_check import check
    from sparkrig.bandwidth.io.measuring import Measuring
    from sparkrig.operations import journal
    from sparkrig.ssh.remote import Failed, Lost

    with session.connected(data) as found, Measuring(console, [*data]) as progress:
        hosts = {name: host for name, host in found.items() if not isinstance(host, Exception)}
        if len(hosts) < 2:
            gone = {name: each for name, each in found.items() if isinstance(each, Exception)}
            unreached = "; ".join(f"{name} cannot be reached: {each}" for name, each in gone.items())
            raise Refusal(unreached, verb("doctor", "access"))
        try:
            with journal.locked(journal.Run(why), hosts):
                run = check(found, fleet, progress, thorough=thorough)
        except (Failed, Lost) as error:
            raise Refusal(str(error), "the same again, once that is mended") from None
        return run, progress.topology


def _show(console: Console, run: Run, file: Path | None) -> History | None:
    """The verdicts, and the run beside the earlier ones, which it joins; those, or None if they cannot be read."""
    from rich.text import Text

    from sparkrig.bandwidth import history
    from sparkrig.bandwidth.io import history_file
    from sparkrig.bandwidth.render import bandwidth

    console.print()
    console.print(bandwidth.verdicts(run))
    console.print()
    before = None
    try:
        before = history_file.read(run.pair, file)
        place = history_file.append(run, file)
    except Refusal as refusal:
        console.print(Text.assemble((refusal.what, "yellow"), f"; try: {refusal.cure}"))
        return before
    for line in history.lines(history.compared(before.before(run), run)):
        console.print(Text(line))
    if before.remark:
        console.print(before.remark)
    console.print(f"Kept in {place}", style="dim", soft_wrap=True)
    if LISTED[0]:
        console.print(
            f"The record that drift goes by is on the hosts, and renewed by: {deploy('probe')}", style="dim"
        )
    return before
