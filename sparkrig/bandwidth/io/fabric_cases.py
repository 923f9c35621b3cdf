"""Every case of a check measured, with what one leaves open: a rail alone, or once more beside the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from sparkrig.bandwidth import bands
from sparkrig.bandwidth.bands import Expected
from sparkrig.bandwidth.io import measure
from sparkrig.bandwidth.io.measure import Bench
from sparkrig.bandwidth.measurement import Case, Measurement
from sparkrig.verdict import Finding

# what a better figure in a second test does not take back
_STAYS = frozenset({"path-mtu", "link-flap", "impossible"})


class Receiver(Protocol):
    """Receives how far the measurements are."""

    def added(self, cases: Sequence[Case]) -> None:
        """These are measured as well, for a case left open whether their rails are healthy."""

    def started(self, case: Case) -> None:
        """A case begins."""

    def finished(self, measured: Sequence[Measurement]) -> None:
        """What the case came to."""


def all_measured(
    bench: Bench, cases: Sequence[Case], progress: Receiver
) -> tuple[list[Measurement], list[Finding]]:
    """Each case measured, and what rails reach together where each by itself is healthy."""
    measured: list[Measurement] = []
    sums: list[Finding] = []
    for case in cases:
        shares = (
            _together(bench, case, measured, progress)
            if case.together
            else _alone(bench, case, measured, progress)
        )
        measured += shares
        sums += _sum(case, shares, bench.expected)
    if any(not measurement.verdict.healthy for measurement in measured if measurement.gbps is not None):
        sums = []  # a rail's own verdict shows it already
    return measured, sums


def _alone(bench: Bench, case: Case, before: Sequence[Measurement], progress: Receiver) -> list[Measurement]:
    """A rail alone; on soft-RoCE once more where it got too little, unless it did so before.

    Soft-RoCE may do so for as long as a short test lasts: 0.00 Gb/s, and 0.09 in the next test (2026-11-22).
    """
    progress.started(case)
    shares = measure.run(bench, case)
    unwell = {each.rail for each in before if not each.verdict.healthy}
    if bench.pace.virtual and any(_too_little(share) for share in shares if share.rail not in unwell):
        shares = measure.run(bench, case)
    progress.finished(shares)
    return shares


def _together(bench: Bench, case: Case, before: Sequence[Measurement], progress: Receiver) -> list[Measurement]:
    """Rails at once, and alone those of them that have to be; once more where one that is healthy alone starved.

    They compete, and one may lose for as long as a short test lasts: 0.00 beside 0.23 Gb/s on the virtual pair.
    Twice is a limit that they share.
    """
    shares = _at_once(bench, case, before, progress)
    known = {each.rail for each in before}
    open_ = [each for each in bands.alone(case, shares, bench.expected) if each.rails[0] not in known]
    if open_:
        progress.added(open_)
    lone = [share for each in open_ for share in _alone(bench, each, shares, progress)]
    if _least_alone([*before, *lone]).keys() & {each.rail for each in shares if _too_little(each)}:
        again = _at_once(bench, case, [*before, *lone], progress)
        stays = [_stays(each) for each in shares]
        shares = [first if kept else now for kept, first, now in zip(stays, shares, again, strict=True)]
    return [*lone, *shares]


def _at_once(bench: Bench, case: Case, before: Sequence[Measurement], progress: Receiver) -> list[Measurement]:
    progress.started(case)
    alone = _least_alone(before)
    shares = [_shared(share, alone) for share in measure.run(bench, case)]
    progress.finished(shares)
    return shares


def _least_alone(measured: Sequence[Measurement]) -> dict[int, float]:
    """The least that each rail reached alone, in Gb/s, of those that were healthy alone each time."""
    lone = [each for each in measured if not each.together]
    unwell = {each.rail for each in lone if not each.verdict.healthy}
    found: dict[int, float] = {}
    for each in lone:
        if each.gbps is not None and each.rail not in unwell:
            found[each.rail] = min(found.get(each.rail, each.gbps), each.gbps)
    return found


def _shared(share: Measurement, alone: Mapping[int, float]) -> Measurement:
    """A share with its verdict, once it is known what its rail reaches alone.

    What explains a figure by the host (a narrow PCIe link, a busy processor) stays: it is known, and named.
    """
    if share.rail not in alone or not _too_little(share) or not bands.by_figure(share.verdict):
        return share
    return replace(share, verdict=bands.judge_shared(share, alone[share.rail]))


def _too_little(share: Measurement) -> bool:
    """Whether a rail carried less than it should, as may be by chance."""
    return share.gbps is not None and not share.verdict.healthy and not _stays(share)


def _stays(share: Measurement) -> bool:
    """Whether what a test showed holds whatever a second one reaches, as of a server that was killed."""
    ended = share.gbps is None and share.verdict.level == "fault"
    return ended or share.verdict.cause in _STAYS


def _sum(case: Case, shares: Sequence[Measurement], expected: Expected) -> list[Finding]:
    """What several rails at once came to together; nothing where one of them has no figure."""
    figures = [share.gbps for share in shares if share.together and share.gbps is not None]
    if not case.together or len(figures) < len(case.rails):
        return []
    subject = f"rails {' and '.join(map(str, case.rails))}, {case.sender} to {case.receiver}"
    return [Finding(subject, bands.judge_pair(sum(figures), len(figures), expected))]
