"""The report of a run as one HTML page that needs nothing else: no network, no script, no font."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import get_args

from sparkrig.bandwidth import outcome
from sparkrig.bandwidth.history import Comparison, History, compared, entry, lines, moment
from sparkrig.bandwidth.measurement import Run, figure
from sparkrig.bandwidth.render.matrix import Matrix
from sparkrig.fabric.cabling import Topology
from sparkrig.fabric.render.topology import Listing
from sparkrig.render.picture import twice
from sparkrig.render.templates import sentence, template
from sparkrig.verdict import Finding, Level, worst

_LISTED = 40  # runs in the table


def html(run: Run, history: History, topology: Topology | None = None) -> str:
    """The page.

    history: what was measured before; this run may be in it already; topology: of the fabric at that time.
    """
    earlier = history.before(run)
    comparisons = compared(earlier, run)
    wrong = heaviest(outcome.concerns(run))
    summary = outcome.summary(run)
    headline = wrong[0] if wrong else summary if run.rails else Finding("pair", worst([]))
    return template("report.html.j2", typeset=typeset, sentence=sentence).render(
        run=run,
        when=f"{moment(run.started_at):%Y-%m-%d %H:%M} UTC",
        headline=headline,
        subject=_subject(headline, run),
        wrong=wrong,
        summary=summary,
        findings=[*wrong[1:], *outcome.remarks(run), *(outcome.well(run) if run.of_two else [])],
        matrix=None if run.of_two else twice(Matrix.of(run), "Every edge"),
        topology=twice(Listing(topology, findings=False), "Fabric") if topology else None,
        moved=[*lines(comparisons)],
        comparisons=sorted(comparisons, key=_order),
        past=[entry(run), *reversed(earlier)][:_LISTED],
        remark=history.remark,
        figure_of=figure,
    )


def _subject(headline: Finding, run: Run) -> str:
    """With a capital in front, unless it begins with the name of a host."""
    return headline.subject if headline.subject.startswith(tuple(run.hosts)) else sentence(headline.subject)


def heaviest(left: Iterable[Finding]) -> list[Finding]:
    """Findings, the weightiest first; alike ones as they came."""
    return sorted(left, key=lambda finding: -get_args(Level).index(finding.verdict.level))


def _order(comparison: Comparison) -> tuple[bool, int, str, str]:
    """What is not healthy first."""
    now = comparison.now
    return now.verdict.healthy, now.rail, now.sender, now.receiver


def typeset(text: str) -> str:
    """What a terminal writes in ASCII, as a page has it."""
    return re.sub(r"(?<=\d) us\b", " µs", text.replace(" -> ", " → "))
