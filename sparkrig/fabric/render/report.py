"""The report of a run as one HTML page that needs nothing else: no network, no script, no font."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from sparkrig.bandwidth import history as past
from sparkrig.bandwidth import history_trend, outcome
from sparkrig.bandwidth.history import Entry, History
from sparkrig.bandwidth.history_trend import Mark, Trend
from sparkrig.bandwidth.measurement import Run
from sparkrig.bandwidth.render.matrix import Matrix
from sparkrig.bandwidth.render.trend import Trends
from sparkrig.fabric.cabling import Topology
from sparkrig.fabric.render.topology import Drawing
from sparkrig.render.picture import twice
from sparkrig.render.templates import sentence, template
from sparkrig.verdict import Finding, worst

_LISTED = 40  # runs in the table


@dataclass(frozen=True)
class Past:
    """One run of the history: its first entry, how many of its leading figures are healthy, and their spread.

    spread: the lowest, the median and the highest of them; causes: of those that are not; changes: of kernels,
    drivers and firmware before it.
    """

    first: Entry
    healthy: int
    count: int
    spread: tuple[float | None, float | None, float | None]
    causes: Sequence[str]
    changes: Sequence[str]


def html(run: Run, history: History, topology: Topology | None = None) -> str:
    """The page.

    history: what was measured before; this run may be in it already; topology: of the fabric at that time.
    """
    earlier = [entry for entry in history.entries if entry.pair == run.pair and entry.run != run.id]
    rows = sorted((*earlier, *past.entries(run)), key=lambda entry: entry.when)
    trends = history_trend.trends(earlier, run)
    wrong = heaviest(outcome.concerns(run))
    summary = outcome.summary(run)
    headline = wrong[0] if wrong else summary if run.rails else Finding("pair", worst([]))
    return template("report.html.j2", typeset=typeset, sentence=sentence).render(
        run=run,
        when=f"{past.moment(run.started_at):%Y-%m-%d %H:%M} UTC",
        headline=headline,
        subject=_subject(headline, run),
        wrong=wrong,
        summary=summary,
        findings=[*wrong[1:], *outcome.remarks(run), *(outcome.well(run) if run.of_two else [])],
        matrix=None if run.of_two else twice(Matrix.of(run), "Every edge"),
        topology=twice(Drawing(topology, findings=False), "Fabric") if topology else None,
        compared=twice(Trends(trends, run), "Bandwidth over time") if trends else None,
        trends=sorted(trends, key=_order),
        past=_past(rows, history_trend.marks(rows)),
        remark=history.remark,
        amount=history_trend.amount,
        number=history_trend.number,
        unit=lambda entry: history_trend.unit(entry).replace("us", "µs"),
    )


def _subject(headline: Finding, run: Run) -> str:
    """With a capital in front, unless it begins with the name of a host."""
    return headline.subject if headline.subject.startswith(tuple(run.hosts)) else sentence(headline.subject)


def heaviest(left: Iterable[Finding]) -> list[Finding]:
    """Findings, the weightiest first; alike ones as they came."""
    rest, findings = [*left], list[Finding]()
    while rest:
        weightiest = worst(finding.verdict for finding in rest)
        first = next(finding for finding in rest if finding.verdict is weightiest)
        findings.append(first)
        rest.remove(first)
    return findings


def _order(trend: Trend) -> tuple[bool, int, str, str]:
    """What is not healthy first."""
    entry = trend.entry
    return entry.level == "healthy", entry.rail, entry.sender, entry.receiver


def _past(rows: Sequence[Entry], marks: Sequence[Mark]) -> list[Past]:
    """Newest first."""
    changes = {mark.run: [*map(str, mark.changes)] for mark in marks}
    return [_row(each, changes.get(each[0].run, [])) for each in reversed(_leading(rows))][:_LISTED]


def _row(rows: Sequence[Entry], changes: Sequence[str]) -> Past:
    figures = sorted(row.gbps for row in rows if row.gbps is not None)
    spread = (figures[0], median(figures), figures[-1]) if figures else (None, None, None)
    well = len([row for row in rows if row.level == "healthy"])
    causes = [*dict.fromkeys(row.cause for row in rows if row.cause)]
    return Past(rows[0], well, len(rows), spread, causes, changes)


def _leading(rows: Sequence[Entry]) -> list[list[Entry]]:
    """The leading figures of each run: bandwidth alone, at the most queue pairs; else beside others."""
    runs: dict[str, list[Entry]] = {}
    for row in rows:
        if row.test == "ib_write_bw":
            runs.setdefault(row.run, []).append(row)
    return [_most_telling(run) for run in runs.values()]


def _most_telling(rows: Sequence[Entry]) -> list[Entry]:
    alone = [row for row in rows if not row.together and row.gbps is not None] or rows
    most = max(row.queue_pairs for row in alone)
    return [row for row in alone if row.queue_pairs == most]


def typeset(text: str) -> str:
    """What a terminal writes in ASCII, as a page has it."""
    return re.sub(r"(?<=\d) us\b", " µs", text.replace(" -> ", " → "))
