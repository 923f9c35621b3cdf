"""The trend of each rail as one line of a terminal: its last runs, and how this one compares."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from sparkrig.bandwidth.history import Entry
from sparkrig.bandwidth.history_trend import Trend, leading
from sparkrig.render.findings import STYLES

_RUNS = 16
BARS, ASCII_BARS = "▁▂▃▄▅▆▇█", "_.-=+*%#"


def trend(trends: Sequence[Trend], *, ascii_only: bool = False) -> RenderableType:
    """A row for each rail and direction that was measured: its bandwidth alone, oldest run first.

    A bar is as high as its share of the highest; `?` could not be measured.
    """
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(no_wrap=True, justify="right")
    grid.add_column(overflow="fold")
    kinds = leading(each.entry for each in trends)
    for each in sorted((each for each in trends if each.entry.kind in kinds), key=lambda each: each.entry.kind):
        entry = each.entry
        way = f"rail {entry.rail} {entry.sender} {'->' if ascii_only else '→'} {entry.receiver}"
        bars = Text.assemble(*bars_of([*each.earlier, entry][-_RUNS:], ascii_only=ascii_only))
        grid.add_row(Text(way, "bold"), bars, Text(each.sentence))
    return grid


def bars_of(entries: Sequence[Entry], *, ascii_only: bool) -> list[tuple[str, str]]:
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
