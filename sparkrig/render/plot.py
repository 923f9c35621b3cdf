"""Plots as SVG that takes its colours from the page around it. Drawn by matplotlib, which loads only here."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from sparkrig.bandwidth import history_trend
from sparkrig.bandwidth.history import Entry
from sparkrig.bandwidth.history_trend import Mark, Trend
from sparkrig.verdict import Level

if TYPE_CHECKING:
    from datetime import datetime

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDE, NARROW = 9.6, 4.3  # inches; a page of 960 px and a phone, at 100 px an inch
_ROW, _HEADING = 0.25, 0.36
_LETTER = 0.078  # inches a letter takes at the size of the labels

# matplotlib knows no CSS, so it gets unlikely colours, which are then replaced by the page's own
_CSS = {
    "#a1b2c0": "currentColor",
    "#a1b2c1": "var(--muted)",
    "#a1b2c2": "var(--line)",
    "#a1b2c3": "var(--healthy)",
    "#a1b2c4": "var(--degraded)",
    "#a1b2c5": "var(--fault)",
    "#a1b2c6": "var(--unknown)",
}
_TEXT, _MUTED, _LINE, *_ = _CSS
_COLOUR: dict[Level, str] = dict(zip(("healthy", "degraded", "fault", "unknown"), list(_CSS)[3:], strict=True))

_STYLE: dict[str, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "sparkrig",  # the same picture is the same text
    "text.parse_math": False,  # a host may be called $1$
    "font.size": 9.5,
    "text.color": _TEXT,
    "axes.edgecolor": _LINE,
    "axes.labelcolor": _MUTED,
    "xtick.color": _LINE,
    "ytick.color": _LINE,
    "xtick.labelcolor": _MUTED,
    "ytick.labelcolor": _TEXT,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


class Band(Protocol):
    """A range of Gb/s from `low` up to below `high` and what it means (sparkrig.bandwidth.bands.BANDS)."""

    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...
    @property
    def level(self) -> Level: ...
    @property
    def cause(self) -> str: ...


@dataclass(frozen=True)
class Series:
    """The figures of one kind over time, oldest first."""

    title: str
    entries: Sequence[Entry]


def name(band: Band) -> str:
    """What a band is called in a picture."""
    return band.cause or band.level


def cases(trends: Sequence[Trend], bands: Sequence[Band], *, width: float, prefix: str) -> str:
    """Each figure of a run against the bands, with the range of its earlier healthy figures behind it.

    width: inches; prefix: makes the ids of this picture its own within a page.
    """
    import matplotlib.style
    from matplotlib.figure import Figure

    groups: dict[str, list[Trend]] = {}
    for trend in trends:
        groups.setdefault(way(trend.entry), []).append(trend)
    height = 0.85 + len(groups) * _HEADING + len(trends) * _ROW
    with matplotlib.style.context(["default", _STYLE]):
        figure = Figure(figsize=(width, height))
        axes = figure.add_axes((1.25 / width, 0.5 / height, 1 - 1.4 / width, 1 - 0.8 / height))
        figures = [each for trend in trends for each in (*trend.healthy, trend.entry.figure) if each is not None]
        end = _end(figures, bands)
        axes.set(xlim=(-end * 0.02, end), xlabel="Gb/s")
        _label_bands(axes, bands, end, width - 1.4)
        depth = _rows(axes, groups, bands, end)
        axes.set_ylim(depth, -0.1)
        _ticks(axes, bands, end, narrow=width <= NARROW)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        return _svg(figure, prefix, "Bandwidth of each rail and case against the bands")


def over_time(
    series: Sequence[Series], bands: Sequence[Band], marks: Sequence[Mark], *, unit: str, width: float, prefix: str
) -> str:
    """A panel for each series over the same time, the marks numbered from 1. Width and prefix as in `cases`."""
    import matplotlib.style
    from matplotlib.figure import Figure

    columns = 1 if width <= NARROW or len(series) == 1 else 2
    lines = -(-len(series) // columns)
    figures = [entry.figure for each in series for entry in each.entries if entry.figure is not None]
    times = [entry.when for each in series for entry in each.entries]
    end = _end(figures, bands)
    with matplotlib.style.context(["default", _STYLE]):
        figure = Figure(figsize=(width, 2.15 * lines), layout="constrained")
        panels = figure.subplots(lines, columns, squeeze=False).flatten()
        for axes, each in zip(panels, series, strict=False):
            _shade(axes, bands, end)
            axes.set(ylim=(-end * 0.03, end), ylabel=unit)
            axes.set_title(each.title, loc="left", fontsize=9.5, pad=16 if marks else 6)
            _points(axes, each.entries, max(times))
            _mark(axes, marks, min(times), max(times))
            _dates(axes, min(times), max(times))
        for axes in panels[len(series) :]:
            axes.set_axis_off()
        return _svg(figure, prefix, f"{unit} over time, for each rail and direction")


def way(entry: Entry) -> str:
    """The rail and direction of an entry, in words."""
    return f"rail {entry.rail} · {_short(entry.sender)} → {_short(entry.receiver)}"


def _short(name: str) -> str:
    """A host's name with room for another beside it; the tables have it whole."""
    return name if len(name) <= 18 else f"{name[:17]}…"


def case(entry: Entry) -> str:
    """What distinguishes an entry from the others of its way."""
    return f"{'together' if entry.together else 'alone'}, {entry.queue_pairs} QP"


def _rows(axes: Axes, groups: dict[str, list[Trend]], bands: Sequence[Band], end: float) -> float:
    """Draw the groups from the top down, each on bands of its own. Gives the depth that was reached."""
    depth, places, labels = 0.0, [], []
    for title, trends in groups.items():
        depth += _HEADING / _ROW
        axes.annotate(
            title,
            (0, depth - 0.75),
            xytext=(-1.15 * 72, 0),
            textcoords="offset points",
            va="center",
            weight="bold",
        )
        for band in bands:
            if band.low < end:
                edges = [band.low, min(band.high, end)]
                axes.fill_between(
                    edges,
                    depth - 0.3,
                    depth + len(trends) - 0.4,
                    color=_COLOUR[band.level],
                    alpha=0.13,
                    linewidth=0,
                )
        for trend in trends:
            _row(axes, trend, depth + 0.15, end)
            places.append(depth + 0.15)
            labels.append(case(trend.entry))
            depth += 1
    axes.set_yticks(places, labels)
    return depth


def _row(axes: Axes, trend: Trend, place: float, end: float) -> None:
    entry, usual = trend.entry, trend.healthy
    if usual:
        axes.plot(
            [usual[0], usual[-1]], [place, place], color=_TEXT, alpha=0.3, linewidth=12, solid_capstyle="butt"
        )
    at = entry.figure or 0.0
    axes.plot(
        [at], [place], _marker(entry), color=_COLOUR[entry.level], markersize=7, markeredgewidth=2, clip_on=False
    )
    right = at < end * 0.75
    # past the bar where that lies in the way
    beside = [at, *(each for each in usual if abs(each - at) < end * 0.1)]
    axes.annotate(
        history_trend.number(entry.figure) if entry.figure is not None else "not measured",
        (max(beside) if right else min(beside), place),
        xytext=(9 if right else -9, 0),
        textcoords="offset points",
        va="center",
        ha="left" if right else "right",
    )


def _points(axes: Axes, entries: Sequence[Entry], last: datetime) -> None:
    measured = [(entry.when, entry.figure) for entry in entries if entry.figure is not None]
    axes.plot([_day(when) for when, _ in measured], [figure for _, figure in measured], color=_MUTED, linewidth=1)
    for entry in entries:
        size = 8 if entry.when == last else 5
        axes.plot(
            [_day(entry.when)],
            [entry.figure or 0.0],
            _marker(entry),
            color=_COLOUR[entry.level],
            markersize=size,
            markeredgewidth=1.5,
            clip_on=False,
        )


def _marker(entry: Entry) -> str:
    return "x" if entry.figure is None else "o"


def _mark(axes: Axes, marks: Sequence[Mark], first: datetime, last: datetime) -> None:
    """Number the changes; those too close to be read apart share one label."""
    apart = (last - first) * 0.06
    groups: list[tuple[datetime, list[str]]] = []
    for index, mark in enumerate(marks, start=1):
        axes.axvline(_day(mark.when), color=_TEXT, linewidth=0.8, linestyle=(0, (3, 3)))
        if groups and mark.when - groups[-1][0] < apart:
            groups[-1][1].append(str(index))
        else:
            groups.append((mark.when, [str(index)]))
    for when, labels in groups:
        axes.annotate(
            ",".join(labels),
            (_day(when), 1),
            xycoords=axes.get_xaxis_transform(),
            xytext=(0, 3),
            textcoords="offset points",
            ha="center",
            weight="bold",
        )


def _dates(axes: Axes, first: datetime, last: datetime) -> None:
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    locator = AutoDateLocator(minticks=3, maxticks=6)  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    pad = (last - first) * 0.03
    axes.set_xlim(_day(first - pad), _day(last + pad))


def _day(when: datetime) -> float:
    """A time as matplotlib counts it."""
    from matplotlib.dates import date2num

    return float(date2num(when))  # type: ignore[no-untyped-call]


def _shade(axes: Axes, bands: Sequence[Band], end: float) -> None:
    for band in bands:
        if band.low < end:
            axes.axhspan(band.low, min(band.high, end), color=_COLOUR[band.level], alpha=0.13, linewidth=0)
            axes.axhline(band.low, color=_LINE, linewidth=0.6)


def _label_bands(axes: Axes, bands: Sequence[Band], end: float, inches: float) -> None:
    for band in bands:
        high = min(band.high, end)
        if (high - band.low) / end * inches > len(name(band)) * _LETTER:
            axes.annotate(
                name(band),
                ((band.low + high) / 2, 1),
                xycoords=axes.get_xaxis_transform(),
                xytext=(0, 4),
                textcoords="offset points",
                ha="center",
                color=_COLOUR[band.level],
            )


def _ticks(axes: Axes, bands: Sequence[Band], end: float, *, narrow: bool) -> None:
    """Where the bands meet, and at their end; matplotlib's own choice where there are none."""
    edges = sorted({band.low for band in bands if band.low < end})
    if edges:
        axes.set_xticks(edges, [f"{edge:g}" for edge in edges])
    elif narrow:
        axes.locator_params(axis="x", nbins=4)


def _end(figures: Sequence[float], bands: Sequence[Band]) -> float:
    """Where the axis ends: beyond every figure, and some way into the highest band."""
    top = max((band.low for band in bands), default=0.0)
    return max([*figures, top]) * 1.15 or 1.0


def _svg(figure: Figure, prefix: str, label: str) -> str:
    text = io.StringIO()
    blank = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(text, format="svg", transparent=True, metadata=blank)
    svg = inline(text.getvalue(), prefix)
    for colour, css in _CSS.items():
        svg = svg.replace(colour, css)
    # the page's style sets the size; a style of the picture's own would be the whole page's
    svg = re.sub(r"<style\b(?:(?!<style\b).)*?</style>", "", svg, count=1, flags=re.DOTALL)
    svg = re.sub(r'(<svg\b[^<>]*?) width="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg\b[^<>]*?) height="[^"]*"', r"\1", svg, count=1)
    return svg.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)


def inline(svg: str, prefix: str) -> str:
    """An SVG document as part of a page: no prolog, and ids that are its own."""
    body = svg[svg.index("<svg") :]
    body = re.sub(r'(\sid=["\'])', rf"\g<1>{prefix}-", body)
    body = re.sub(r'(href=["\']#)', rf"\g<1>{prefix}-", body)
    return re.sub(r"(url\(#)", rf"\g<1>{prefix}-", body)
