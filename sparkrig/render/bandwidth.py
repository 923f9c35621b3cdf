"""The screen of `sparkrig bandwidth`: the table of a pair, which matrix.py has of a cluster, and the verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from sparkrig.bandwidth import history_trend, ports
from sparkrig.bandwidth.measurement import Case, Edge, Measurement, Run, amount, kind
from sparkrig.render.findings import Findings, sign
from sparkrig.text import rails
from sparkrig.verdict import Finding, Verdict, worst

Way = tuple[int, str, str]
"""A rail, its sender, its receiver."""


def table(
    cases: Sequence[Case],
    measured: Iterable[Measurement],
    running: Case | None = None,
    *,
    ascii_only: bool = False,
) -> Table:
    """Rails and directions by what is measured on them; an open cell has a dot, a running one three."""
    found = {(_way(each), kind(each)): each for each in measured}
    columns = list(dict.fromkeys(kind(case) for case in cases))
    ways = sorted({way for case in cases for way in _ways(case)}, key=lambda way: (way[0], _first(cases, way)))
    grid = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    grid.add_column("rail", no_wrap=True)
    grid.add_column("direction", no_wrap=True)
    for column in columns:
        grid.add_column(column, justify="right", no_wrap=True)
    planned = {(way, kind(case)) for case in cases for way in _ways(case)}
    busy = {(way, kind(running)) for way in _ways(running)} if running else set()

    def cell(way: Way, name: str) -> Text:
        measured = found.get((way, name))
        if measured:
            return Text.assemble(amount(measured), " ", sign(measured.verdict.level, ascii_only=ascii_only))
        if (way, name) in busy:
            return Text("...", "yellow")
        return Text("." if (way, name) in planned else "", "dim")

    for way in ways:
        grid.add_row(str(way[0]), f"{way[1]} to {way[2]}", *(cell(way, name) for name in columns))
    return grid


def _way(measured: Measurement) -> Way:
    return measured.rail, measured.sender, measured.receiver


def _ways(case: Case) -> list[Way]:
    return [(rail, case.sender, case.receiver) for rail in case.rails]


def _first(cases: Sequence[Case], way: Way) -> int:
    return next(index for index, case in enumerate(cases) if way in _ways(case))


# --- what it all came to


def sentence(found: Sequence[Edge]) -> str:
    """What the edges of two hosts came to, in one line."""
    one, other = found[0].hosts
    alike: dict[str, list[int]] = {}
    for edge in found:
        alike.setdefault(_short(edge.verdict), []).append(edge.number)
    return f"{one} and {other}: {', '.join(f'{rails(numbers)} {short}' for short, numbers in alike.items())}"


def _short(verdict: Verdict) -> str:
    return (verdict.evidence or "healthy") if verdict.healthy else f"{verdict.level} ({verdict.cause})"


def summary(run: Run) -> Finding:
    """All edges in one line: how many are healthy, and what those carry."""
    well = [edge for edge in run.rails if edge.verdict.healthy]
    count = f"{len(well)} of {len(run.rails)} rails between {len(run.hosts)} hosts are healthy"
    figures = sorted(
        each.gbps
        for each in run.measurements
        if each.gbps is not None and each.verdict.healthy and each.test == "ib_write_bw"
    )
    low, high = (history_trend.number(each) for each in (figures[0], figures[-1])) if figures else ("", "")
    spread = f", {low} to {high} Gb/s" if low != high else f", {low} Gb/s" if low else ""
    level = "healthy" if len(well) == len(run.rails) else worst(edge.verdict for edge in run.rails).level
    return Finding("pair" if run.of_two else "cluster", Verdict(level, evidence=f"{count}{spread}"))


def concerns(run: Run) -> list[Finding]:
    """What keeps the fabric from being in spec, each once: hosts, ports, then edges that nothing else explains."""
    wrong = [each for each in run.findings if not each.verdict.healthy]
    return [*wrong, *ports.loose(run.rails)]


def remarks(run: Run) -> list[Finding]:
    """What else is worth a line: what is wrong with a host by itself, then notes on what is well."""
    notes = [each for each in (*run.findings, *run.health) if each.verdict.healthy and each.verdict.cause]
    return [*(each for each in run.health if not each.verdict.healthy), *notes]


def verdicts(run: Run) -> RenderableType:
    """What is well, of a pair by its rails and of a cluster in one line, what is wrong, and what else matters."""
    well = _well(run) if run.of_two else [summary(run)]
    return Findings([*well, *concerns(run), *remarks(run)])


def _well(run: Run) -> list[Finding]:
    """The healthy rails, alike ones in one line."""
    alike: dict[Verdict, list[int]] = {}
    for rail in run.rails:
        if rail.verdict.healthy:
            alike.setdefault(rail.verdict, []).append(rail.number)
    return [Finding(rails(numbers), verdict) for verdict, numbers in alike.items()]
