"""What the edges of a cluster carry while every host sends to the next one, and receives from another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sparkrig import text
from sparkrig.bandwidth import bands
from sparkrig.bandwidth.bands import Expected
from sparkrig.bandwidth.measurement import Edge, Measurement, amount, of
from sparkrig.verdict import Finding, Verdict, worst

# Gb/s of a rail that sends and receives beside another one. 340 over two Sparks on a switch, of both directions,
# were published [@catharsis], which is 85; the limit is ours.
LEAST = 80.0
_NAMED = 4

_CURE = (
    "keep all ports in one bridge with hardware offloading, each at 200 Gb/s, and look at the switch's counters "
    "of drops and pauses; then measure again while all hosts are idle"
)


def judge(
    shares: Sequence[Measurement], edges: Sequence[Edge], expected: Expected
) -> tuple[list[Measurement], list[Finding]]:
    """The shares with their verdicts, and the one finding on all of them.

    An edge that was not healthy in its own round is judged there, and not again.
    """
    well = {
        (each.rail, each.sender, each.receiver)
        for edge in edges
        if edge.verdict.healthy
        for each in of(edge, shares)
    }
    judged = [
        _share(share, expected, healthy=(share.rail, share.sender, share.receiver) in well) for share in shares
    ]
    counted = [each for each in judged if (each.rail, each.sender, each.receiver) in well]
    return judged, [Finding("all at once", _overall(judged, counted))] if counted else []


def _share(share: Measurement, expected: Expected, *, healthy: bool) -> Measurement:
    if share.gbps is None or share.verdict.healthy or not bands.by_figure(share.verdict) or not healthy:
        return share
    least = LEAST if expected.floor is None else expected.floor * LEAST / bands.BANDS[0].low
    if share.gbps >= least:
        return replace(share, verdict=Verdict("healthy", evidence=f"{share.gbps:.2f} Gb/s"))
    said = f"{amount(share)} while all hosts send, at least {least:g} expected, and healthy in its own round"
    return replace(share, verdict=Verdict("degraded", "cluster-reduced", said, _CURE))


def _overall(measured: Sequence[Measurement], shares: Sequence[Measurement]) -> Verdict:
    """The verdict on the shares that count, of all that were measured."""
    figures = sorted(share.gbps for share in shares if share.gbps is not None)
    low, high = (f"{each:.2f}" for each in (figures[0], figures[-1])) if figures else ("", "")
    spread = "no figure" if not figures else f"{low} Gb/s" if low == high else f"{low} to {high} Gb/s"
    which = "each rail" if len(shares) == len(measured) else "the rails that are healthy in their own round"
    senders = len({each.sender for each in measured})
    said = f"{senders} hosts send at once, each to the next one: {spread} on {which}"
    poor = [share for share in shares if not share.verdict.healthy]
    if not poor:
        return Verdict("healthy", "all-at-once", said)
    heaviest = worst(measurement.verdict for measurement in poor)
    where = text.some(
        (f"rail {each.rail}, {each.sender} to {each.receiver} {amount(each)}" for each in poor), _NAMED
    )
    return replace(heaviest, evidence=f"{said}; less than in its own round on {where}")
