"""The screen of `sparkrig bandwidth`: the table of a pair, which matrix.py has of a cluster, and the verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement as Width
from rich.table import Table
from rich.text import Text

from sparkrig.bandwidth import outcome
from sparkrig.bandwidth.measurement import Case, Measurement, Run, amount, kind
from sparkrig.render.findings import Findings, sign

Way = tuple[int, str, str]
"""A rail, its sender, its receiver."""

_WIDE = 1000  # columns in which every table has room


class _Figures:
    """A table where the console has room for it, and else its rows as a list each."""

    def __init__(self, columns: Sequence[str], rows: Mapping[Way, Sequence[Text]]) -> None:
        self.columns, self.rows = columns, rows

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        grid = self._grid()
        if Width.get(console, options.update(width=_WIDE), grid).maximum <= options.max_width:
            yield grid
            return
        wide = max(map(len, self.columns), default=0)
        for (rail, sender, receiver), cells in self.rows.items():
            yield Text(f"rail {rail}, {sender} to {receiver}")
            yield from (
                Text.assemble(f"  {name:<{wide}}  ", cell)
                for name, cell in zip(self.columns, cells, strict=True)
                if cell
            )

    def _grid(self) -> Table:
        grid = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
        grid.add_column("rail", no_wrap=True)
        grid.add_column("direction", no_wrap=True)
        for column in self.columns:
            grid.add_column(column, justify="right", no_wrap=True)
        for (rail, sender, receiver), cells in self.rows.items():
            grid.add_row(str(rail), f"{sender} to {receiver}", *cells)
        return grid


def table(
    cases: Sequence[Case],
    measured: Iterable[Measurement],
    running: Case | None = None,
    *,
    ascii_only: bool = False,
) -> RenderableType:
    """Rails and directions by what is measured on them; an open cell has a dot, a running one three."""
    found = {(_way(measurement), kind(measurement)): measurement for measurement in measured}
    columns = list(dict.fromkeys(kind(case) for case in cases))
    ways = sorted({way for case in cases for way in _ways(case)}, key=lambda way: (way[0], _first(cases, way)))
    planned = {(way, kind(case)) for case in cases for way in _ways(case)}
    busy = {(way, kind(running)) for way in _ways(running)} if running else set()

    def cell(way: Way, name: str) -> Text:
        measured = found.get((way, name))
        if measured:
            return Text.assemble(amount(measured), " ", sign(measured.verdict.level, ascii_only=ascii_only))
        if (way, name) in busy:
            return Text("...", "yellow")
        return Text("." if (way, name) in planned else "", "dim")

    return _Figures(columns, {way: [cell(way, name) for name in columns] for way in ways})


def _way(measured: Measurement) -> Way:
    return measured.rail, measured.sender, measured.receiver


def _ways(case: Case) -> list[Way]:
    return [(rail, case.sender, case.receiver) for rail in case.rails]


def _first(cases: Sequence[Case], way: Way) -> int:
    return next(index for index, case in enumerate(cases) if way in _ways(case))


def verdicts(run: Run) -> RenderableType:
    """What is well, of a pair by its rails and of a cluster in one line, what is wrong, and what else matters."""
    well = outcome.well(run) if run.of_two else [outcome.summary(run)]
    return Findings([*well, *outcome.concerns(run), *outcome.remarks(run)])
