"""The report of a run as one HTML page that needs nothing else: no network, no script, no font.

A pair has a card for each rail, a cluster a matrix of its edges; all else is the same page.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from markupsafe import Markup

from sparkrig.bandwidth import history as past
from sparkrig.bandwidth import history_trend, outcome
from sparkrig.bandwidth.history import Entry, History, Kind
from sparkrig.bandwidth.history_trend import Mark, Trend
from sparkrig.bandwidth.measurement import Rail, Run
from sparkrig.render import matrix_svg, plot
from sparkrig.render.plot import NARROW, WIDE, Band, Series
from sparkrig.render.templates import template
from sparkrig.verdict import Finding, worst

_PLOTTED = 150  # runs; beyond, dots merge
_LISTED = 40  # runs in the table
# parts that one kind of page alone has
_NEITHER: dict[str, Any] = {"cards": (), "matrix": None, "cases": None, "latency": None}


@dataclass(frozen=True)
class Card:
    """A rail with the trends that stand for it: its bandwidth alone in each direction, and its latency."""

    rail: Rail
    trends: Sequence[Trend]

    @property
    def since(self) -> list[str]:
        """What else changed, each sentence once."""
        return list(dict.fromkeys(trend.since for trend in self.trends if trend.since))


@dataclass(frozen=True)
class Plot:
    """One picture, drawn for a wide page and for a narrow one."""

    wide: Markup
    narrow: Markup


@dataclass(frozen=True)
class Past:
    """One run of the history: its first entry, how many of its leading figures are healthy, and their spread.

    causes: of those that are not; marks: the numbers of what changed before it.
    """

    first: Entry
    healthy: int
    count: int
    low: float | None
    middle: float | None
    high: float | None
    causes: Sequence[str]
    marks: Sequence[int]


def html(
    run: Run, history: History, drawings: tuple[str, str] | None = None, *, bands: Sequence[Band] = ()
) -> str:
    """The page.

    history: what was measured before; this run may be in it already; drawings: of the fabric, made by
    ourselves, for a wide page and for a narrow one; bands: what bandwidths mean, empty where they do not apply
    (soft-RoCE).
    """
    earlier = [entry for entry in history.entries if entry.pair == run.pair and entry.run != run.id]
    rows = _recent(sorted((*earlier, *past.entries(run)), key=lambda entry: entry.when))
    trends = history_trend.trends(earlier, run)
    marks = history_trend.marks(rows)
    wrong = heaviest(outcome.concerns(run))
    summary = outcome.summary(run)
    headline = wrong[0] if wrong else summary if run.rails else Finding("pair", worst([]))
    return template("report.html.j2", typeset=typeset, sentence=sentence).render(
        run=run,
        when=f"{past.moment(run.started_at):%Y-%m-%d %H:%M} UTC",
        headline=headline,
        subject=_subject(headline, run),
        summary=summary,
        wrong=wrong,
        topology=drawn_twice(*drawings, name="topology") if drawings else None,
        bands=bands,
        band_name=plot.name,
        endless=float("inf"),
        marks=marks,
        past=_past(rows, marks),
        remark=history.remark,
        amount=history_trend.amount,
        number=history_trend.number,
        unit=lambda entry: history_trend.unit(entry).replace("us", "µs"),
        **_NEITHER | (_of_a_pair if run.of_two else _of_a_cluster)(run, rows, trends, bands),
    )


def _of_a_pair(run: Run, rows: Sequence[Entry], trends: Sequence[Trend], bands: Sequence[Band]) -> dict[str, Any]:
    """What is told rail by rail: a card for each, every case, and each way over time."""
    kinds, marks = history_trend.leading(rows), history_trend.marks(rows)
    latency = sorted({row.kind for row in rows if row.test == "ib_write_lat"}, key=_way)
    return {
        "cards": [Card(rail, _standing(trends, rail, kinds)) for rail in run.rails],
        "findings": [*run.findings, *run.health],
        "trends": trends,
        "cases": _cases(trends, bands),
        "over_time": _panels("bandwidth", _series(rows, kinds), bands, marks, "Gb/s"),
        "latency": _panels("latency", _series(rows, latency), (), (), "µs"),
    }


def _of_a_cluster(
    run: Run, rows: Sequence[Entry], trends: Sequence[Trend], bands: Sequence[Band]
) -> dict[str, Any]:
    """What many edges come to: their matrix, and the slowest and the middle one over time."""
    drawings = (matrix_svg.svg(run, narrow=narrow, findings=False) for narrow in (False, True))
    return {
        "matrix": drawn_twice(*drawings, name="matrix"),
        "findings": [*heaviest(outcome.concerns(run))[1:], *outcome.remarks(run)],
        "trends": sorted(trends, key=_order),
        "over_time": _panels("bandwidth", _extremes(rows), bands, history_trend.marks(rows), "Gb/s"),
    }


def _subject(headline: Finding, run: Run) -> str:
    """With a capital in front, unless it begins with the name of a host."""
    return headline.subject if headline.subject.startswith(tuple(run.hosts)) else sentence(headline.subject)


def heaviest(left: Iterable[Finding]) -> list[Finding]:
    """Findings, the weightiest first; alike ones as they came."""
    rest, found = [*left], list[Finding]()
    while rest:
        weightiest = worst(each.verdict for each in rest)
        first = next(each for each in rest if each.verdict is weightiest)
        found.append(first)
        rest.remove(first)
    return found


def _standing(trends: Sequence[Trend], rail: Rail, kinds: Sequence[Kind]) -> list[Trend]:
    """The trends on a rail's card."""
    mine = [trend for trend in trends if trend.entry.rail == rail.number]
    latency = [trend for trend in mine if trend.entry.test == "ib_write_lat"]
    return [trend for trend in mine if trend.entry.kind in kinds] + latency


def _order(trend: Trend) -> tuple[bool, int, str, str]:
    """What is not healthy first."""
    entry = trend.entry
    return entry.level == "healthy", entry.rail, entry.sender, entry.receiver


def _cases(trends: Sequence[Trend], bands: Sequence[Band]) -> Plot | None:
    shown = sorted(
        (trend for trend in trends if trend.entry.test == "ib_write_bw"),
        key=lambda trend: (*_way(trend.entry.kind), trend.entry.together, trend.entry.queue_pairs),
    )
    if not shown:
        return None
    wide, narrow = (
        markup(plot.cases(shown, bands, width=width, prefix=f"cases{index}"))
        for index, width in enumerate((WIDE, NARROW))
    )
    return Plot(wide, narrow)


# --- over time


def _recent(rows: Sequence[Entry]) -> list[Entry]:
    runs = list(dict.fromkeys(row.run for row in rows))[-_PLOTTED:]
    return [row for row in rows if row.run in set(runs)]


def _way(kind: Kind) -> tuple[int, str, str]:
    return kind.rail, kind.sender, kind.receiver


def _series(rows: Sequence[Entry], kinds: Iterable[Kind]) -> list[Series]:
    """One for each kind of figure."""
    found = ([row for row in rows if row.kind == kind] for kind in kinds)
    return [Series(plot.way(mine[0]), mine) for mine in found]


def _extremes(rows: Sequence[Entry]) -> list[Series]:
    """The slowest way of each run, and the one in the middle."""
    runs = [sorted(each, key=lambda row: row.gbps or 0.0) for each in _leading(rows)]
    return [
        Series("The slowest way of all edges", [each[0] for each in runs]),
        Series("The way in the middle", [each[len(each) // 2] for each in runs]),
    ]


def _panels(
    prefix: str, series: Sequence[Series], bands: Sequence[Band], marks: Sequence[Mark], unit: str
) -> Plot | None:
    """None where there is no time to show: fewer than two runs."""
    if len({entry.when for each in series for entry in each.entries}) < 2:
        return None
    wide, narrow = (
        markup(plot.over_time(series, bands, marks, unit=unit, width=width, prefix=f"{prefix}{index}"))
        for index, width in enumerate((WIDE, NARROW))
    )
    return Plot(wide, narrow)


def _past(rows: Sequence[Entry], marks: Sequence[Mark]) -> list[Past]:
    """Newest first."""
    numbers: dict[str, list[int]] = {}
    for index, mark in enumerate(marks, start=1):
        numbers.setdefault(mark.run, []).append(index)
    return [_row(each, numbers.get(each[0].run, [])) for each in reversed(_leading(rows))][:_LISTED]


def _row(rows: Sequence[Entry], marks: Sequence[int]) -> Past:
    figures = sorted(row.gbps for row in rows if row.gbps is not None)
    low, middle, high = (figures[0], median(figures), figures[-1]) if figures else (None, None, None)
    well = len([row for row in rows if row.level == "healthy"])
    causes = [*dict.fromkeys(row.cause for row in rows if row.cause)]
    return Past(rows[0], well, len(rows), low, middle, high, causes, marks)


def _leading(rows: Sequence[Entry]) -> list[list[Entry]]:
    """The leading figures of each run: bandwidth alone, at the most queue pairs; else beside others."""
    runs: dict[str, list[Entry]] = {}
    for row in rows:
        if row.test == "ib_write_bw":
            runs.setdefault(row.run, []).append(row)
    return [_most_telling(each) for each in runs.values()]


def _most_telling(rows: Sequence[Entry]) -> list[Entry]:
    alone = [row for row in rows if not row.together and row.gbps is not None] or rows
    most = max(row.queue_pairs for row in alone)
    return [row for row in alone if row.queue_pairs == most]


# --- parts of a page


def drawn_twice(wide: str, narrow: str, *, name: str) -> Plot:
    """A drawing of ours for both kinds of page. name: of it within the page."""
    return Plot(markup(plot.inline(wide, name)), markup(plot.inline(narrow, f"{name}1")))


def markup(svg: str) -> Markup:
    """An SVG of ours, whose maker has escaped what others wrote."""
    return Markup(svg)  # noqa: S704


def sentence(text: str) -> str:
    """With a capital in front; a name keeps the rest of its spelling."""
    return text[:1].upper() + text[1:]


def typeset(text: str) -> str:
    """What a terminal writes in ASCII, as a page has it."""
    return re.sub(r"(?<=\d) us\b", " µs", text.replace(" -> ", " → "))
