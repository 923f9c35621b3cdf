"""The report of a run on more than two hosts as one HTML page that needs nothing else; report.py has a pair's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from sparkrig.bandwidth import history as past
from sparkrig.bandwidth import history_trend
from sparkrig.bandwidth.cluster_run import ClusterRun
from sparkrig.bandwidth.history import Entry, History
from sparkrig.bandwidth.history_trend import Trend
from sparkrig.render import cluster, matrix_svg, plot, report
from sparkrig.render.plot import NARROW, WIDE, Band, Series
from sparkrig.render.report import Plot
from sparkrig.render.templates import template

_PLOTTED, _LISTED = 150, 40  # runs in the picture, and in the table


@dataclass(frozen=True)
class Past:
    """One run of the history: its time, how many of its edges' figures are healthy, and the spread of those."""

    first: Entry
    healthy: int
    count: int
    low: float | None
    middle: float | None
    high: float | None


def html(
    run: ClusterRun,
    history: History,
    drawings: tuple[str, str] | None = None,
    *,
    bands: Sequence[Band] = (),
) -> str:
    """The page.

    history: what was measured before; this run may be in it already; drawings: of the fabric, made by ourselves,
    for a wide page and for a narrow one; bands: what bandwidths mean, empty where they do not apply (soft-RoCE).
    """
    earlier = [entry for entry in history.entries if entry.pair == run.pair and entry.run != run.id]
    both = sorted((*earlier, *past.entries(run)), key=lambda entry: entry.when)
    wrong = cluster.concerns(run)
    headline = report.heaviest(wrong)[0] if wrong else cluster.summary(run)
    return template("cluster.html.j2", typeset=report.typeset, sentence=report.sentence).render(
        run=run,
        when=f"{past.moment(run.started_at):%Y-%m-%d %H:%M} UTC",
        headline=headline,
        summary=cluster.summary(run),
        wrong=wrong,
        others=[*(each for each in wrong if each is not headline), *cluster.remarks(run)],
        matrix=report.drawn_twice(
            *(matrix_svg.svg(run, narrow=narrow, findings=False) for narrow in (False, True)), name="matrix"
        ),
        topology=report.drawn_twice(*drawings, name="topology") if drawings else None,
        trends=sorted(history_trend.trends(earlier, run), key=_order),
        over_time=_over_time(both, bands),
        past=_past(both),
        remark=history.remark,
        amount=history_trend.amount,
        number=history_trend.number,
        unit=lambda entry: history_trend.unit(entry).replace("us", "µs"),
    )


def _order(trend: Trend) -> tuple[bool, int, str, str]:
    """What is not healthy first."""
    entry = trend.entry
    return entry.level == "healthy", entry.rail, entry.sender, entry.receiver


def _runs(rows: Sequence[Entry]) -> list[list[Entry]]:
    """The leading figures of each run: bandwidth alone, at the most queue pairs; else beside others."""
    runs: dict[str, list[Entry]] = {}
    for row in rows:
        if row.test == "ib_write_bw":
            runs.setdefault(row.run, []).append(row)
    return [_leading(each) for each in runs.values()]


def _leading(rows: Sequence[Entry]) -> list[Entry]:
    alone = [row for row in rows if not row.together and row.gbps is not None] or rows
    most = max(row.queue_pairs for row in alone)
    return [row for row in alone if row.queue_pairs == most]


def _past(rows: Sequence[Entry]) -> list[Past]:
    """Newest first."""
    return [_row(each) for each in reversed(_runs(rows))][:_LISTED]


def _row(rows: Sequence[Entry]) -> Past:
    figures = sorted(row.gbps for row in rows if row.gbps is not None)
    spread = (figures[0], median(figures), figures[-1]) if figures else (None, None, None)
    return Past(rows[0], len([row for row in rows if row.level == "healthy"]), len(rows), *spread)


def _over_time(rows: Sequence[Entry], bands: Sequence[Band]) -> Plot | None:
    """The slowest way of each run, and the one in the middle."""
    runs = [sorted(each, key=lambda row: row.gbps or 0.0) for each in _runs(rows)][-_PLOTTED:]
    if len(runs) < 2:
        return None
    series = [
        Series("The slowest way of all edges", [each[0] for each in runs]),
        Series("The way in the middle", [each[len(each) // 2] for each in runs]),
    ]
    wide, narrow = (
        plot.over_time(series, bands, (), unit="Gb/s", width=width, prefix=f"time{index}")
        for index, width in enumerate((WIDE, NARROW))
    )
    return Plot(report.markup(wide), report.markup(narrow))
