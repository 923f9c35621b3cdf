"""The report of a run as one HTML page that needs nothing else: no network, no script, no font."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from sparkrig.bandwidth import history as past
from sparkrig.bandwidth import history_trend
from sparkrig.bandwidth.history import Entry, History, Kind
from sparkrig.bandwidth.history_trend import Mark, Trend
from sparkrig.bandwidth.measurement import Rail, Run
from sparkrig.render import plot
from sparkrig.render.plot import NARROW, WIDE, Band, Series
from sparkrig.render.templates import template
from sparkrig.verdict import Finding, Verdict, worst

_PLOTTED = 150  # runs; beyond, dots merge
_LISTED = 40  # runs in the table


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
    """The history as a table: a column a rail and direction, a row a run, newest first.

    hidden: runs that are left out; each row has its marks' numbers.
    """

    columns: Sequence[Kind]
    rows: Sequence[tuple[Entry, Sequence[Entry | None], Sequence[int]]]
    hidden: int


def html(
    run: Run, history: History, drawings: tuple[str, str] | None = None, *, bands: Sequence[Band] = ()
) -> str:
    """The page.

    history: what was measured before; this run may be in it already; drawings: of the fabric, made by
    ourselves, for a wide page and for a narrow one; bands: what bandwidths mean, empty where they do not apply
    (soft-RoCE).
    """
    earlier = [entry for entry in history.entries if entry.pair == run.pair and entry.run != run.id]
    now = past.entries(run)
    both = sorted((*earlier, *now), key=lambda entry: entry.when)
    trends = history_trend.trends(earlier, run)
    kinds = history_trend.leading(both)
    marks = history_trend.marks(both)
    return template("report.html.j2", typeset=typeset, sentence=sentence).render(
        run=run,
        when=f"{past.moment(run.started_at):%Y-%m-%d %H:%M} UTC",
        headline=headline(run, [trend.entry for trend in trends if trend.entry.kind in kinds]),
        also=concerns(run)[1:],
        cards=[Card(rail, _standing(trends, rail, kinds)) for rail in run.rails],
        trends=trends,
        topology=drawn_twice(*drawings, name="topology") if drawings else None,
        cases=_cases(trends, bands),
        over_time=_over_time(both, kinds, marks, bands),
        latency=_latency(both),
        bands=bands,
        band_name=plot.name,
        endless=float("inf"),
        marks=marks,
        past=_past(both, kinds, marks),
        remark=history.remark,
        amount=history_trend.amount,
        number=history_trend.number,
        unit=lambda entry: history_trend.unit(entry).replace("us", "µs"),
    )


def headline(run: Run, leading: Sequence[Entry]) -> Finding:
    """The first line of the page: the verdict that matters most, with its subject; or that all is well.

    leading: the figures that stand for the rails.
    """
    found = concerns(run)
    if found:
        return found[0]
    figures = sorted(entry.gbps for entry in leading if entry.gbps is not None)
    if not figures:
        return Finding("pair", worst([]))
    low, high = (history_trend.number(each) for each in (figures[0], figures[-1]))
    rails = f"{len(run.rails)} rails carry" if len(run.rails) > 1 else f"Rail {run.rails[0].number} carries"
    each = " each" if len(figures) > 1 else ""
    said = f"{low} Gb/s{each}" if low == high else f"{low} to {high} Gb/s{each}"
    return Finding("pair", Verdict("healthy", evidence=f"{rails} {said}"))


def concerns(run: Run) -> list[Finding]:
    """What keeps the fabric from being in spec, the weightiest first."""
    rails = [Finding(f"rail {rail.number}", rail.verdict) for rail in run.rails]
    return heaviest([each for each in (*rails, *run.findings) if not each.verdict.healthy])


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


def _over_time(
    rows: Sequence[Entry], kinds: Sequence[Kind], marks: Sequence[Mark], bands: Sequence[Band]
) -> Plot | None:
    recent = _recent(rows, _PLOTTED)
    series = [
        Series(plot.way(mine[0]), mine) for kind in kinds if (mine := [row for row in recent if row.kind == kind])
    ]
    return _panels("bandwidth", series, bands, [mark for mark in marks if mark.when >= recent[0].when], "Gb/s")


def _latency(rows: Sequence[Entry]) -> Plot | None:
    recent = [row for row in _recent(rows, _PLOTTED) if row.test == "ib_write_lat"]
    ways = sorted({row.kind for row in recent}, key=_way)
    series = [Series(plot.way(mine[0]), mine) for kind in ways if (mine := [r for r in recent if r.kind == kind])]
    return _panels("latency", series, (), (), "µs")


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


def _past(rows: Sequence[Entry], kinds: Sequence[Kind], marks: Sequence[Mark]) -> Past:
    runs: dict[str, dict[Kind, Entry]] = {}
    for row in rows:
        runs.setdefault(row.run, {})[row.kind] = row
    numbers: dict[str, list[int]] = {}
    for index, mark in enumerate(marks, start=1):
        numbers.setdefault(mark.run, []).append(index)
    table = [
        (next(iter(cells.values())), [cells.get(kind) for kind in kinds], numbers.get(run, []))
        for run, cells in reversed(runs.items())
    ]
    return Past(kinds, table[:_LISTED], max(0, len(table) - _LISTED))


def _recent(rows: Sequence[Entry], count: int) -> list[Entry]:
    runs = list(dict.fromkeys(row.run for row in rows))[-count:]
    return [row for row in rows if row.run in set(runs)]


def _way(kind: Kind) -> tuple[int, str, str]:
    return kind.rail, kind.sender, kind.receiver


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
