"""How the figures of a run compare with earlier ones, in lines of a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from sparkrig.bandwidth import history_trend
from sparkrig.bandwidth.history import Entry
from sparkrig.bandwidth.history_trend import Trend
from sparkrig.bandwidth.measurement import Edge, Run
from sparkrig.render.findings import STYLES
from sparkrig.text import listed

_RUNS = 16
_MOVED = 5.0  # percent below the median of a figure's earlier ones, from which on it is worth a line; ours
_LISTED = 8  # edges that have a line
BARS, ASCII_BARS = "▁▂▃▄▅▆▇█", "_.-=+*%#"


def trend(trends: Sequence[Trend], run: Run, *, ascii_only: bool = False) -> RenderableType:
    """Of a pair a row for each rail and direction, of a cluster one for what moved; of the leading figures."""
    kinds = set(history_trend.leading(each.entry for each in trends))
    leading = [each for each in trends if each.entry.kind in kinds]
    return _bars(leading, ascii_only=ascii_only) if run.of_two else _moves(leading, run)


def _bars(leading: Sequence[Trend], *, ascii_only: bool) -> RenderableType:
    """A row for each rail and direction that was measured: its bandwidth alone, oldest run first.

    A bar is as high as its share of the highest; `?` could not be measured.
    """
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(no_wrap=True, justify="right")
    grid.add_column(overflow="fold")
    for each in sorted(leading, key=lambda each: each.entry.kind):
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


def _moves(leading: Sequence[Trend], run: Run) -> RenderableType:
    """A line for each port or edge that moved, one for all others."""
    ways = [(edge, way) for edge in run.rails for way in (edge.hosts, edge.hosts[::-1])]
    subjects = {(edge.number, *way): _subject(edge) for edge, way in ways}
    moved: dict[str, list[Trend]] = {}
    for each in filter(_moved, leading):
        moved.setdefault(subjects[each.entry.rail, each.entry.sender, each.entry.receiver], []).append(each)
    lines = [f"{subject}: {_together(group)}" for subject, group in moved.items()]
    if len(lines) > _LISTED:
        lines = [*lines[:_LISTED], f"{len(lines) - _LISTED} more edges moved; the report has all of them"]
    return Group(*map(Text, [*lines, *_others([each for each in leading if not _moved(each)])]))


def _subject(edge: Edge) -> str:
    return edge.because or f"rail {edge.number}, {edge.hosts[0]} and {edge.hosts[1]}"


def _moved(each: Trend) -> bool:
    """Whether a figure is below its earlier ones, or not healthy where earlier ones were."""
    if each.percent is not None and each.percent <= -_MOVED:
        return True
    return each.entry.level != "healthy" and bool(each.healthy)


def _together(group: Sequence[Trend]) -> str:
    """How far the figures of one port or edge moved, and what else changed; one by itself in full."""
    if len(group) == 1:
        return group[0].sentence
    below = sorted(-each.percent for each in group if each.percent is not None)
    spread = f"{below[0]:.0f} to {below[-1]:.0f} % below the medians of their healthy runs" if below else "moved"
    if below and round(below[0]) == round(below[-1]):
        spread = f"{below[0]:.0f} % below the medians of their healthy runs"
    since = listed(dict.fromkeys(each.since for each in group if each.since and each.changes))
    return f"{len(group)} figures are {spread}{since and f'; {since}'}"


def _others(rest: Sequence[Trend]) -> list[str]:
    """The figures that did not move, in one line; nothing where there is none."""
    compared = [abs(each.percent) for each in rest if each.percent is not None]
    if not rest:
        return []
    if not compared:
        return [f"{_figures(rest)} too few healthy earlier ones to compare with"]
    within = f"within {max(compared):.1f} % of the median of the earlier ones"
    return [f"{len(compared)} figure{'s are each' if len(compared) > 1 else ' is'} {within}"]


def _figures(rest: Sequence[Trend]) -> str:
    return f"{len(rest)} figures have" if len(rest) > 1 else "1 figure has"
