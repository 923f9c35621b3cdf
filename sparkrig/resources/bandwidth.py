"""Whether each rail has a good measurement of what it is now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from sparkrig.bandwidth import records
from sparkrig.bandwidth.records import Complaint, Kind, Record
from sparkrig.cure import over_ssh, verb
from sparkrig.files import MEASURED, Managed
from sparkrig.resources import kind
from sparkrig.resources.check import Check, Status, Subject
from sparkrig.resources.resource import Resource
from sparkrig.text import listed


class RailRecords(Resource[None]):
    """Whether each rail has a good measurement of what it is now."""

    name = "bandwidth"
    files = (Managed(MEASURED),)
    kinds = (
        kind.Kind(
            "bandwidth.NETDEV",
            "cluster",
            "the rail was measured in this boot of its hosts, and was good",
            "it was never measured, or was changed or slow when it was, or a host was booted since",
            "docs/fabric.md#after-a-reboot",
        ),
    )

    def checks(self, subject: Subject) -> Iterator[Check]:
        """One for each netdev; on a switch it has a rail to each other host."""
        here = records.boot(subject.name, subject.found.identity)
        rails = subject.fleet.rails(subject.name)
        known: dict[str, list[_Rail]] = {}
        for rail, record in records.matched(records.found(subject.found.files), rails):
            far = subject.peers.get(rail.far.host)
            there = records.boot(rail.far.host, far.identity if far else None)
            poor = records.complaint(record, rail, subject.settings, here, there)
            known.setdefault(rail.netdev, []).append(_Rail(rail.far.host, record, poor))
        for netdev, found in known.items():
            yield _check(f"bandwidth.{netdev}", found, subject)


BANDWIDTH = RailRecords()

_STATUS: Mapping[Kind, Status] = {
    "absent": "missing",
    "other": "drift",
    "boot": "unknown",
    "unread": "unknown",
    "poor": "drift",
}
# of the rails of one netdev, what is known to be wrong comes before what is not known
_HEAVIEST: tuple[Kind, ...] = ("poor", "other", "absent", "boot", "unread")


class _Rail(NamedTuple):
    peer: str
    record: Record | None
    poor: Complaint | None


def _check(id: str, found: Sequence[_Rail], subject: Subject) -> Check:
    want = "a good measurement of the rail as it is"
    poor = [each.poor for each in found if each.poor]
    if poor:
        first = min(poor, key=lambda complaint: _HEAVIEST.index(complaint.kind))
        return Check(id, want, _said(found), _STATUS[first.kind], _cure(first, subject), environment=True)
    good = min((rail.record for rail in found if rail.record), key=lambda record: record.gbps)
    return Check(id, want, f"{good.gbps:g} Gb/s, {good.measured_at}", environment=True)


def _said(rails: Sequence[_Rail]) -> str:
    """What is wrong, with its peers where the netdev has more than one."""
    alike: dict[str, list[str]] = {}
    for rail in rails:
        if rail.poor:
            alike.setdefault(rail.poor.said, []).append(rail.peer)
    if len(rails) == 1:
        return next(iter(alike))
    return "; ".join(f"{said} (to {listed(peers)})" for said, peers in alike.items())


def _cure(poor: Complaint, subject: Subject) -> str:
    if poor.kind == "unread":
        return over_ssh(poor.hosts[0], "cat /proc/sys/kernel/random/boot_id")
    if poor.kind == "poor":  # a deploy measures it once more, and stops there; this verb separates cause and cure
        shown = verb("bandwidth")
        return shown.then(f", which shows why; once that is mended: {subject.probe}")
    return subject.probe if poor.kind == "boot" else subject.apply
