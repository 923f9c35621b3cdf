"""The last measurement of each rail, kept on both hosts: a deploy measures again what it does not prove."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from ipaddress import IPv4Address
from typing import Any

from sparkrig import bandwidth
from sparkrig.bandwidth import Expected, Figure
from sparkrig.measurement import End, Measurement, Run

PATH = "/var/lib/sparkrig/bandwidth.json"


@dataclass(frozen=True)
class Record:
    """The last measurement of a rail, as kept on both hosts.

    netdev, address, peer, mtu: the rail it was taken on; gbps, path_mtu: alone, with several queue pairs;
    measured_at: UTC, ISO 8601.
    """

    netdev: str
    address: str
    peer: str
    mtu: int
    gbps: float
    path_mtu: int
    measured_at: str


def of(done: Run, one: str, other: str) -> tuple[dict[str, Record], dict[str, Record]]:
    """What is kept of a run on its two hosts, by netdev: the least that a rail reached alone."""
    own: dict[str, Record] = {}
    mirrored: dict[str, Record] = {}
    for rail in done.rails:
        alone = [
            each
            for each in done.measurements
            if each.rail == rail.number and each.gbps is not None and each.queue_pairs > 1 and not each.together
        ]
        if alone:
            least = min(alone, key=lambda each: each.gbps or 0.0)
            near, far = rail.ends[one], rail.ends[other]
            own[near.netdev] = _record(near, far, done, least)
            mirrored[far.netdev] = _record(far, near, done, least)
    return own, mirrored


def _record(here: End, there: End, done: Run, least: Measurement) -> Record:
    gbps, path_mtu = round(least.gbps or 0.0, 2), least.path_mtu or 0
    return Record(here.netdev, here.address, there.address, done.mtu, gbps, path_mtu, done.started_at)


def complaint(
    record: Record | None, address: IPv4Address, peer: IPv4Address, mtu: int, expected: Expected
) -> str | None:
    """Why a record does not show that the rail of that address, peer and MTU is healthy, in words, or None."""
    if record is None:
        return "not measured"
    if (record.address, record.peer, record.mtu) != (str(address), str(peer), mtu):
        return f"measured as {record.address} to {record.peer} at MTU {record.mtu}, not as declared"
    verdict = bandwidth.judge(Figure(record.gbps, record.path_mtu), expected)
    return None if verdict.healthy else verdict.evidence


def age(record: Record, now: datetime) -> str:
    """How long ago a record was taken, in words; empty where it does not say."""
    try:
        days = (now - datetime.fromisoformat(record.measured_at)).days
    except (TypeError, ValueError):
        return ""
    return f"measured {days} day{'s' if days != 1 else ''} ago" if days > 0 else "measured within a day"


def load(text: str | None) -> dict[str, Record]:
    """The records of a host by netdev; none where the file is absent or not ours to understand."""
    try:
        document = json.loads(text) if text else {}
        return {row["netdev"]: Record(**row) for row in document.get("rails", [])}
    except (ValueError, TypeError, KeyError, AttributeError):
        return {}


def dump(records: Mapping[str, Record]) -> str:
    """The text of the file."""
    document: dict[str, Any] = {"rails": [asdict(record) for record in records.values()]}
    return json.dumps(document, indent=2) + "\n"
