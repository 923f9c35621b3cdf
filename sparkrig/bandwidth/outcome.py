"""What a run of the bandwidth check came to, each thing once: for the screen, the page and the log of a deploy."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from sparkrig.bandwidth.measurement import Edge, Run
from sparkrig.text import listed, rails
from sparkrig.verdict import Finding, Verdict, worst


def sentence(edges: Sequence[Edge]) -> str:
    """What the edges of two hosts came to, in one line."""
    one, other = edges[0].hosts
    alike: dict[str, list[int]] = {}
    for edge in edges:
        alike.setdefault(_short(edge.verdict), []).append(edge.number)
    return f"{one} and {other}: {', '.join(f'{rails(numbers)} {short}' for short, numbers in alike.items())}"


def _short(verdict: Verdict) -> str:
    return (verdict.evidence or "healthy") if verdict.healthy else f"{verdict.level} ({verdict.cause})"


def summary(run: Run) -> Finding:
    """All edges in one line: how many are healthy, and what those carry."""
    well = [edge for edge in run.rails if edge.verdict.healthy]
    count = f"{len(well)} of {len(run.rails)} rails between {len(run.hosts)} hosts are healthy"
    figures = sorted(
        measurement.gbps
        for measurement in run.measurements
        if measurement.gbps is not None and measurement.verdict.healthy and measurement.test == "ib_write_bw"
    )
    low, high = (f"{each:.2f}" for each in (figures[0], figures[-1])) if figures else ("", "")
    spread = f", {low} to {high} Gb/s" if low != high else f", {low} Gb/s" if low else ""
    level = "healthy" if len(well) == len(run.rails) else worst(edge.verdict for edge in run.rails).level
    return Finding("pair" if run.of_two else "cluster", Verdict(level, evidence=f"{count}{spread}"))


def concerns(run: Run) -> list[Finding]:
    """What keeps the fabric from being in spec, each once: hosts, ports, then edges that nothing else explains."""
    wrong = [finding for finding in run.findings if not finding.verdict.healthy]
    return [*wrong, *loose(run)]


def remarks(run: Run) -> list[Finding]:
    """What else is worth a line: what is wrong with a host by itself, then notes on what is well."""
    notes = [
        finding for finding in (*run.findings, *run.health) if finding.verdict.healthy and finding.verdict.cause
    ]
    return [*(each for each in run.health if not each.verdict.healthy), *notes]


def well(run: Run) -> list[Finding]:
    """The healthy edges."""
    return _alike([edge for edge in run.rails if edge.verdict.healthy], run)


def loose(run: Run) -> list[Finding]:
    """The edges that are not healthy, and that no other finding explains."""
    return _alike([edge for edge in run.rails if not edge.verdict.healthy and not edge.because], run)


def _alike(edges: Sequence[Edge], run: Run) -> list[Finding]:
    """Edges of two hosts with one verdict in one finding; the hosts are named where the run has more of them."""
    found: dict[tuple[tuple[str, str], Verdict], list[int]] = defaultdict(list)
    for edge in edges:
        found[edge.hosts, edge.verdict].append(edge.number)
    return [
        Finding(f"{rails(numbers)}{'' if run.of_two else f', {listed(hosts)}'}", verdict, tuple(numbers))
        for (hosts, verdict), numbers in found.items()
    ]
