"""What was measured before, one JSON line a measurement.

A figure is compared (history_trend.py) with those of its own kind only: same pair or cluster, rail, direction,
test, queue pairs, and whether other rails were busy.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache
from typing import NamedTuple

from pydantic import ConfigDict, TypeAdapter, ValidationError

from sparkrig.bandwidth.bands import QUEUE_PAIRS
from sparkrig.bandwidth.measurement import End, Host, Measurement, Run, Test, of
from sparkrig.verdict import Level

VERSION = 1

# What may explain a moved figure: attribute of a host or an end, and its word.
WORDS = {
    "boot_id": "rebooted",
    "kernel": "kernel",
    "driver": "driver",
    "firmware": "firmware",
    "perftest": "perftest",
    "device": "device",
    "gid_index": "GID index",
}


class Kind(NamedTuple):
    """What makes two figures comparable."""

    pair: str
    rail: int
    sender: str
    receiver: str
    test: Test
    queue_pairs: int
    together: bool


@dataclass(frozen=True)
class Entry:
    """One measurement with what it was taken on: one line of the history file.

    time: when its run started, UTC, ISO 8601; gbps: Gb/s, latency_us: microseconds, path_mtu: bytes, each
    None where it was not learnt; level, cause, evidence: its verdict. What is empty or None was not known.
    """

    __pydantic_config__ = ConfigDict(strict=True, allow_inf_nan=False)

    time: str
    run: str
    pair: str
    rail: int
    sender: str
    receiver: str
    test: Test
    queue_pairs: int
    together: bool
    mtu: int
    level: Level
    cause: str = ""
    evidence: str = ""
    gbps: float | None = None
    latency_us: float | None = None
    path_mtu: int | None = None
    sender_device: str = ""
    sender_netdev: str = ""
    sender_gid_index: int | None = None
    sender_boot_id: str = ""
    sender_kernel: str = ""
    sender_driver: str = ""
    sender_firmware: str = ""
    sender_perftest: str = ""
    receiver_device: str = ""
    receiver_netdev: str = ""
    receiver_gid_index: int | None = None
    receiver_boot_id: str = ""
    receiver_kernel: str = ""
    receiver_driver: str = ""
    receiver_firmware: str = ""
    receiver_perftest: str = ""
    version: int = VERSION

    @property
    def kind(self) -> Kind:
        return Kind(self.pair, self.rail, self.sender, self.receiver, self.test, self.queue_pairs, self.together)

    @property
    def when(self) -> datetime:
        """The time, comparable."""
        return moment(self.time)

    @property
    def figure(self) -> float | None:
        """Gb/s or microseconds, as the test has it."""
        return self.latency_us if self.test == "ib_write_lat" else self.gbps


@dataclass(frozen=True)
class History:
    """What a history file holds, oldest first.

    broken: lines that are not ours to understand; newer: lines of a later sparkrig. Both stay in the file.
    """

    entries: tuple[Entry, ...] = ()
    broken: int = 0
    newer: int = 0

    @property
    def remark(self) -> str:
        """What was left out, as one sentence without a full stop; empty where nothing was."""
        parts = []
        if self.broken:
            parts.append(f"{_count(self.broken, 'line')} could not be read")
        if self.newer:
            parts.append(f"{_count(self.newer, 'line')} of a newer sparkrig: update this one to see them")
        return f"history: {', '.join(parts)}; all stay in the file" if parts else ""


def entries(run: Run) -> list[Entry]:
    """The lines of a run: one a measurement, and one for each rail that could not be measured at all."""
    return [_entry(run, measurement) for measurement in (*run.measurements, *_unmeasured(run))]


def dumps(rows: Iterable[Entry]) -> str:
    """JSON lines, each with its version and a newline."""
    return "".join(json.dumps(asdict(row), separators=(",", ":"), allow_nan=False) + "\n" for row in rows)


def loads(text: str) -> History:
    """Read a history file. Lines that cannot be read are counted and never raise."""
    found: list[Entry] = []
    broken = newer = 0
    for line in filter(None, map(str.strip, text.split("\n"))):
        entry = _load(line)
        if entry is not None:
            found.append(entry)
        elif _version(line) > VERSION:
            newer += 1
        else:
            broken += 1
    return History(tuple(sorted(found, key=lambda entry: entry.when)), broken, newer)


def moment(time: str) -> datetime:
    """An ISO 8601 time; UTC where it names no zone. Raises ValueError for what is none."""
    found = datetime.fromisoformat(time)
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


def _entry(run: Run, measured: Measurement) -> Entry:
    rail = next((edge for edge in run.rails if of(edge, [measured])), None)
    known: dict[str, object] = {}
    for role, name in (("sender", measured.sender), ("receiver", measured.receiver)):
        known |= _side(role, run.hosts.get(name), rail.ends.get(name) if rail else None)
    return Entry(
        time=run.started_at,
        run=run.id,
        pair=run.pair,
        rail=measured.rail,
        sender=measured.sender,
        receiver=measured.receiver,
        test=measured.test,
        queue_pairs=measured.queue_pairs,
        together=measured.together,
        mtu=run.mtu,
        level=measured.verdict.level,
        cause=measured.verdict.cause,
        evidence=measured.verdict.evidence,
        gbps=measured.gbps,
        latency_us=measured.latency_us,
        path_mtu=measured.path_mtu,
        **known,  # type: ignore[arg-type]
    )


def _side(role: str, host: Host | None, end: End | None) -> dict[str, object]:
    """The fields of one end; the address is left out, since the history may be shown to others."""
    found: Mapping[str, object] = asdict(host) if host else {}
    if end:
        found = {**found, "device": end.device, "netdev": end.netdev, "gid_index": end.gid_index}
    return {f"{role}_{name}": value for name, value in found.items()}


def _unmeasured(run: Run) -> list[Measurement]:
    """Entries for the rails without a figure, so that the history separates a dead rail from an idle month."""
    tested = [measurement.queue_pairs for measurement in run.measurements if measurement.test == "ib_write_bw"]
    pairs = max(tested, default=QUEUE_PAIRS)
    return [
        Measurement("ib_write_bw", rail.number, *rail.hosts, pairs, together=False, verdict=rail.verdict)
        for rail in run.rails
        if not of(rail, run.measurements)
    ]


@cache
def _adapter() -> TypeAdapter[Entry]:
    return TypeAdapter(Entry)


def _load(line: str) -> Entry | None:
    try:
        entry = _adapter().validate_json(line)
        moment(entry.time)
    except (ValidationError, ValueError):
        return None
    return entry if entry.version == VERSION else None


def _version(line: str) -> int:
    """The version that a line claims; 0 where it claims none."""
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        return 0
    found = document.get("version") if isinstance(document, dict) else None
    return found if isinstance(found, int) else 0


def _count(size: int, noun: str) -> str:
    return f"{size} {noun}" if size == 1 else f"{size} {noun}s"
