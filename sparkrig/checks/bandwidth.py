"""Whether each rail of a pair has a good measurement of what it is now."""

from __future__ import annotations

from collections.abc import Iterator

from sparkrig import bandwidth, records
from sparkrig.check import Check, Subject


def checks(subject: Subject) -> Iterator[Check]:
    mine = subject.settings
    file = subject.found.files.get(records.PATH)
    known = records.load(file.content if file else None)
    for rail in subject.fleet.rails(subject.name):
        id, want = f"bandwidth.{rail.netdev}", "a good measurement of the rail as it is"
        record = known.get(rail.netdev)
        addresses = (rail.address.ip, rail.peer_address.ip)
        poor = records.complaint(record, *addresses, mine.mtu, bandwidth.expected(mine))
        if poor:
            yield Check(id, want, poor, "missing" if record is None else "drift", subject.apply, environment=True)
        elif record:
            yield Check(id, want, f"{record.gbps:g} Gb/s, {record.measured_at}", environment=True)
