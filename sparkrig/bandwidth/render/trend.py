"""How the figures of a run compare with earlier ones, in lines of a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from sparkrig.bandwidth import history_trend
from sparkrig.bandwidth.history import Entry
from sparkrig.bandwidth.history_trend import Trend
from sparkrig.bandwidth.measurement import Run
from sparkrig.render.findings import STYLES

_RUNS = 16
_MOVED = 5.0  # percent below the median of a figure's earlier ones, from which on it is worth a line; ours
_LISTED = 8  # figures of a cluster that have a line
_BESIDE = 70  # columns, from which on what is said of a row has room beside it
BARS, ASCII_BARS = "▁▂▃▄▅▆▇█", "_.-=+*%#"


class Trends:
    """The leading figures of a run for rich's console, each as a bar beside the ones before it, oldest first.

    Of a pair a row for each rail and direction, of a cluster for what moved, and a line for the rest. A bar is as
    high as its share of the highest; `?` could not be measured.
    """

    def __init__(self, trends: Sequence[Trend], run: Run) -> None:
        kinds = set(history_trend.leading(trend.entry for trend in trends))
        leading = [trend for trend in trends if trend.entry.kind in kinds]
        rows = [trend for trend in leading if run.of_two or _moved(trend)]
        self.rest = [trend for trend in leading if trend not in rows]
        if not run.of_two:
            rows.sort(key=lambda trend: trend.percent or 0.0)
        self.more = [] if run.of_two else rows[_LISTED:]
        self.rows = rows if run.of_two else rows[:_LISTED]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        beside = options.max_width >= _BESIDE
        grid = Table.grid(padding=(0, 2))
        grid.add_column(no_wrap=beside)
        for trend in self.rows:
            entry = trend.entry
            way = f"rail {entry.rail} {entry.sender} {'->' if options.ascii_only else '→'} {entry.receiver}"
            bars = Text.assemble(*_bars([*trend.earlier, entry][-_RUNS:], ascii_only=options.ascii_only))
            cells: list[RenderableType] = [Text(way, "bold"), bars, Text(trend.sentence)]
            if beside:
                grid.add_row(*cells)
            else:
                for cell in cells:
                    grid.add_row(cell)
        if self.rows:
            yield grid
        if self.more:
            yield Text(f"{len(self.more)} more figures moved; the report has all of them")
        yield from _others(self.rest)


def _bars(entries: Sequence[Entry], *, ascii_only: bool) -> list[tuple[str, str]]:
    """A character with its style for each figure."""
    bars = ASCII_BARS if ascii_only else BARS
    highest = max((entry.figure or 0.0 for entry in entries), default=0.0) or 1.0
    return [
        (
            "?" if entry.figure is None else bars[round(entry.figure / highest * (len(bars) - 1))],
            STYLES[entry.level],
        )
        for entry in entries
    ]


def _moved(trend: Trend) -> bool:
    """Whether a figure is below its earlier ones, or not healthy where earlier ones were."""
    if trend.percent is not None and trend.percent <= -_MOVED:
        return True
    return trend.entry.level != "healthy" and bool(trend.healthy)


def _others(rest: Sequence[Trend]) -> Iterator[Text]:
    """The figures that did not move, in one line; nothing where there is none."""
    compared = [abs(trend.percent) for trend in rest if trend.percent is not None]
    if compared:
        verb = "s are each" if len(compared) > 1 else " is"
        yield Text(f"{len(compared)} figure{verb} within {max(compared):.1f} % of the median of the earlier ones")
    elif rest:
        have = "s have" if len(rest) > 1 else " has"
        yield Text(f"{len(rest)} figure{have} too few healthy earlier ones to compare with")
