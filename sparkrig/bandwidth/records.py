"""The last measurement of each rail, kept on both hosts: a deploy measures again what it does not prove.

On a switch a netdev has a rail to each other host, and a record of each.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from sparkrig.bandwidth import bands, measurement
from sparkrig.bandwidth.bands import Expected, Figure
from sparkrig.bandwidth.measurement import End, Measurement, Run, telling
from sparkrig.files import MEASURED, Found
from sparkrig.fleet import Rail
from sparkrig.host.identity import BOOT_ID, Identity
from sparkrig.settings import Settings
from sparkrig.text import listed

_MOST_BYTES = 64 * 1024  # a file of 16 rails has 6 KiB

_Text = Annotated[str, Field(max_length=64)]
_Bytes = Annotated[int, Field(ge=0, le=65536)]
_BootId = Annotated[str, Field(pattern=rf"^({BOOT_ID})?$")]


@dataclass(frozen=True)
class Record:
    """The last measurement of a rail, as kept on both hosts.

    netdev, address, peer, mtu: the rail it was taken on; gbps, path_mtu: with several queue pairs, alone, or
    beside other rails where it was not measured alone; measured_at: UTC, ISO 8601; boot_id, peer_boot_id: the
    kernel's id of the boot that each end was in, empty where an earlier sparkrig wrote the file.
    """

    netdev: _Text
    address: _Text
    peer: _Text
    mtu: _Bytes
    gbps: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    path_mtu: _Bytes
    measured_at: _Text
    boot_id: _BootId = ""
    peer_boot_id: _BootId = ""


@dataclass(frozen=True)
class _File:
    rails: Annotated[list[Record], Field(max_length=64)]


@dataclass(frozen=True)
class Boot:
    """The boot that a host is in. id: the kernel's; empty where it is unreadable, None where no look was taken."""

    host: str
    id: str | None


# absent: there is no record; other: of another rail; boot: of an earlier boot; unread: the boot is unknown;
# poor: its figure is not that of a healthy rail
Kind = Literal["absent", "other", "boot", "unread", "poor"]


@dataclass(frozen=True)
class Complaint:
    """Why a record does not show that a rail is healthy. said: in words; hosts: those whose boot it is about."""

    kind: Kind
    said: str
    hosts: tuple[str, ...] = ()

    @property
    def unknown(self) -> bool:
        """Whether the rail may be as good as its record: it was not measured since a boot.

        After a degraded start-up of the ConnectX-7 a rail comes back at 13 Gb/s [@playbooks-108, @forum-363461].
        """
        return self.kind in ("boot", "unread")


Kept = Mapping[tuple[str, str], Record]
"""The records of a host by its netdev and the peer's address."""


def matched(kept: Kept, rails: Sequence[Rail]) -> list[tuple[Rail, Record | None]]:
    """Each rail of a host with its record, or None.

    A netdev with one rail has one record, whatever address it names: that of the rail before it changed.
    """
    found: list[tuple[Rail, Record | None]] = []
    for rail in rails:
        own = {peer: record for (netdev, peer), record in kept.items() if netdev == rail.netdev}
        only = sum(each.netdev == rail.netdev for each in rails) == 1
        other = next(reversed(own.values()), None) if only else None
        found.append((rail, own.get(str(rail.far.address.ip), other)))
    return found


def of(run: Run, expected: Expected) -> dict[str, dict[tuple[str, str], Record]]:
    """What is kept of a run, by host: the least that each of its rails reached.

    Alone, or beside other rails where that showed as much (sparkrig.bandwidth.bands.alone) or too little. Of a
    rail that is not healthy no good figure is kept: a link that flapped in mid-test is measured again.
    """
    kept: dict[str, dict[tuple[str, str], Record]] = {name: {} for name in run.hosts}
    for edge in run.rails:
        least = _least(measurement.of(edge, run.measurements))
        if least is None:
            continue
        for here, there in (edge.hosts, edge.hosts[::-1]):
            boots = run.hosts[here].boot_id, run.hosts[there].boot_id
            record = _record(edge.ends[here], edge.ends[there], run, least, *boots)
            if edge.verdict.healthy or not bands.judge(_figure(record), expected).healthy:
                kept[here][record.netdev, record.peer] = record
    return kept


def _least(measured: Iterable[Measurement]) -> Measurement | None:
    several = [each for each in measured if each.gbps is not None and each.queue_pairs > 1]
    poor = [each for each in several if each.together and not each.verdict.healthy]
    return min([*telling(several), *poor], key=lambda each: each.gbps or 0.0, default=None)


def _record(here: End, there: End, done: Run, least: Measurement, boot: str, peer_boot: str) -> Record:
    gbps, path_mtu = round(least.gbps or 0.0, 2), least.path_mtu or 0
    rail = here.netdev, here.address, there.address, done.mtu
    return Record(*rail, gbps, path_mtu, done.started_at, boot, peer_boot)


def _figure(record: Record) -> Figure:
    return Figure(record.gbps, record.path_mtu)


def boot(name: str, seen: Identity | None) -> Boot:
    """The boot of the host of that name. seen: what it is, None where it was not looked at."""
    return Boot(name, seen.boot_id if seen else None)


def complaint(record: Record | None, rail: Rail, settings: Settings, here: Boot, there: Boot) -> Complaint | None:
    """Why a record does not show that a rail is healthy now, or None where it does.

    settings: the settings of the host whose record it is; here, there: the boots that it and its peer are in. A
    peer that was not looked at is not compared.
    """
    if record is None:
        return Complaint("absent", "not measured")
    if (record.address, record.peer, record.mtu) != (str(rail.address.ip), str(rail.far.address.ip), settings.mtu):
        said = f"measured as {record.address} to {record.peer} at MTU {record.mtu}, not as declared"
        return Complaint("other", said)
    if since := _since(record, here, there):
        return since
    verdict = bands.judge(_figure(record), bands.expected(settings))
    return None if verdict.healthy else Complaint("poor", verdict.evidence)


def _since(record: Record, here: Boot, there: Boot) -> Complaint | None:
    """Whether a host was booted since a record was taken: its figure, good or bad, is of the boot before."""
    ends = ((here, record.boot_id), (there, record.peer_boot_id))
    hidden = tuple(boot.host for boot, _ in ends if boot.id == "")
    if hidden:
        return Complaint(
            "unread", f"the boot of {listed(hidden)} cannot be told, and it may be a later one", hidden
        )
    later = tuple(boot.host for boot, measured in ends if boot.id is not None and boot.id != measured)
    return Complaint("boot", f"not measured since the boot of {listed(later)}", later) if later else None


def age(record: Record, now: datetime) -> str:
    """How long ago a record was taken, in words; empty where it has no valid time."""
    try:
        days = (now - datetime.fromisoformat(record.measured_at)).days
    except (TypeError, ValueError):
        return ""
    return f"measured {days} day{'s' if days != 1 else ''} ago" if days > 0 else "measured within a day"


def found(files: Mapping[str, Found]) -> Kept:
    """The records of a host, from the files of ours that stand there."""
    file = files.get(MEASURED)
    return load(file.content if file else None)


def load(text: str | None) -> Kept:
    """The records of a host; none where the file is absent or not ours to understand."""
    if not text or len(text) > _MOST_BYTES:
        return {}
    try:
        read = _file().validate_json(text, strict=True).rails
    except ValueError:
        return {}
    return {(record.netdev, record.peer): record for record in read}


@cache
def _file() -> TypeAdapter[_File]:
    return TypeAdapter(_File)


def dump(records: Iterable[Record]) -> str:
    """The text of the file."""
    document: dict[str, Any] = {"rails": [asdict(record) for record in records]}
    return json.dumps(document, indent=2) + "\n"
