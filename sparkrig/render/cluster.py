"""What `sparkrig bandwidth` shows of more than two hosts under the matrix: what is wrong, and the trend."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from sparkrig.bandwidth import history_trend, ports
from sparkrig.bandwidth.cluster_run import ClusterRun, Edge
from sparkrig.bandwidth.history_trend import Trend
from sparkrig.render.findings import Findings
from sparkrig.text import listed, rails
from sparkrig.verdict import Finding, Verdict, worst

_MOVED = 5.0  # percent below the median of a figure's earlier ones, from which on it is worth a line; ours
_LISTED = 8  # edges that have a line


def sentence(found: Sequence[Edge]) -> str:
    """What the edges of two hosts came to, in one line."""
    one, other = found[0].hosts
    alike: dict[str, list[int]] = {}
    for edge in found:
        alike.setdefault(_short(edge.verdict), []).append(edge.number)
    return f"{one} and {other}: {', '.join(f'{rails(numbers)} {short}' for short, numbers in alike.items())}"


def _short(verdict: Verdict) -> str:
    return (verdict.evidence or "healthy") if verdict.healthy else f"{verdict.level} ({verdict.cause})"


def summary(run: ClusterRun) -> Finding:
    """All edges in one line: how many are healthy, and what those carry."""
    well = [edge for edge in run.rails if edge.verdict.healthy]
    count = f"{len(well)} of {len(run.rails)} rails between {len(run.hosts)} hosts are healthy"
    figures = sorted(
        each.gbps
        for each in run.measurements
        if each.gbps is not None and each.verdict.healthy and each.test == "ib_write_bw"
    )
    low, high = (history_trend.number(each) for each in (figures[0], figures[-1])) if figures else ("", "")
    spread = f", {low} to {high} Gb/s" if low != high else f", {low} Gb/s" if low else ""
    level = "healthy" if len(well) == len(run.rails) else worst(edge.verdict for edge in run.rails).level
    return Finding("cluster", Verdict(level, evidence=f"{count}{spread}"))


def concerns(run: ClusterRun) -> list[Finding]:
    """What keeps the fabric from being in spec, each once: hosts, ports, then edges that nothing else explains."""
    wrong = [each for each in run.findings if not each.verdict.healthy]
    return [*wrong, *ports.loose(run.rails)]


def remarks(run: ClusterRun) -> list[Finding]:
    """What else is worth a line: what is wrong with a host by itself, then notes on what is well."""
    notes = [each for each in (*run.findings, *run.health) if each.verdict.healthy and each.verdict.cause]
    return [*(each for each in run.health if not each.verdict.healthy), *notes]


def verdicts(run: ClusterRun) -> RenderableType:
    """All edges in a line, what is wrong, and all else that is worth a line."""
    return Findings([summary(run), *concerns(run), *remarks(run)])


def trend(trends: Sequence[Trend], run: ClusterRun) -> RenderableType:
    """How the figures compare with earlier ones: a line for each port or edge that moved, one for all others."""
    kinds = set(history_trend.leading(each.entry for each in trends))
    leading = [each for each in trends if each.entry.kind in kinds]
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
