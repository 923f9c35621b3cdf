"""Whether each rail of a pair has a good measurement of what it is now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sparkrig.bandwidth import records
from sparkrig.bandwidth.records import Complaint, Kind
from sparkrig.checks import kind
from sparkrig.checks.check import Check, Status, Subject
from sparkrig.cure import over_ssh, verb

KINDS = (
    kind.Kind(
        "bandwidth.NETDEV",
        "pair",
        "the rail was measured in this boot of both hosts, and was good",
        "it was never measured, or was changed or slow when it was, or a host was booted since",
        "docs/fabric.md#after-a-reboot",
    ),
)

_STATUS: Mapping[Kind, Status] = {
    "absent": "missing",
    "other": "drift",
    "boot": "unknown",
    "unread": "unknown",
    "poor": "drift",
}


def checks(subject: Subject) -> Iterator[Check]:
    if subject.fleet.many(subject.name):
        for netdev in subject.settings.fabric:
            want = "a good measurement of the rail as it is"
            yield Check(f"bandwidth.{netdev}", want, records.UNMEASURED, "skipped", environment=True)
        return
    known = records.found(subject.found.files)
    here = records.boot(subject.name, subject.found.identity)
    for rail in subject.fleet.rails(subject.name):
        id, want = f"bandwidth.{rail.netdev}", "a good measurement of the rail as it is"
        record = known.get(rail.netdev)
        far = subject.peers.get(rail.far.host)
        there = records.boot(rail.far.host, far.identity if far else None)
        poor = records.complaint(record, rail, subject.settings, here, there)
        if poor:
            yield Check(id, want, poor.said, _STATUS[poor.kind], _cure(poor, subject), environment=True)
        elif record:
            yield Check(id, want, f"{record.gbps:g} Gb/s, {record.measured_at}", environment=True)


def _cure(poor: Complaint, subject: Subject) -> str:
    if poor.kind == "unread":
        return over_ssh(poor.hosts[0], "cat /proc/sys/kernel/random/boot_id")
    if poor.kind == "poor":  # a deploy measures it once more, and stops there; this verb separates cause and cure
        shown = verb("bandwidth", inventory=subject.inventory)
        return shown.then(f", which shows why; once that is mended: {subject.probe}")
    return subject.probe if poor.kind == "boot" else subject.apply
