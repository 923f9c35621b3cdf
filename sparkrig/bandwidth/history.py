"""What was measured before, one JSON line a measurement, and how a figure compares with it.

A figure is compared with those of its own kind only: same pair, rail, direction, test, queue pairs, and
whether other rails were busy.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cache
from statistics import median
from typing import NamedTuple

from pydantic import ConfigDict, TypeAdapter, ValidationError

from sparkrig.bandwidth.bands import QUEUE_PAIRS
from sparkrig.bandwidth.measurement import End, Host, Measurement, Run, Test
from sparkrig.text import listed
from sparkrig.verdict import Level

VERSION = 1
ENOUGH = 3  # healthy runs that make a median worth its name; ours

# What may explain a moved figure: attribute of a host or an end, and its word.
_WORDS = {
    "boot_id": "rebooted",
    "kernel": "kernel",
    "driver": "driver",
    "firmware": "firmware",
    "perftest": "perftest",
    "device": "device",
    "gid_index": "GID index",
}
# Those that are marked in a picture over months; a reboot is too frequent for that.
_MARKED = ("kernel", "driver", "firmware")


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


@dataclass(frozen=True)
class Change:
    """Something that is not as it was. hosts: where, empty for the pair; before and after: empty for a reboot."""

    what: str
    hosts: tuple[str, ...] = ()
    before: str = ""
    after: str = ""

    def __str__(self) -> str:
        where = "both" if len(self.hosts) == 2 else listed(self.hosts)
        if not self.after:
            return f"{where} {self.what}"
        return f"{self.what} {self.before} -> {self.after}" + (f" on {where}" if where else "")


@dataclass(frozen=True)
class Mark:
    """A run before which a kernel, driver or firmware had changed."""

    run: str
    when: datetime
    changes: tuple[Change, ...]


@dataclass(frozen=True)
class Trend:
    """One figure beside the earlier ones of its kind.

    earlier: all of them, oldest first; reference: the one that it is compared with (the last healthy one for
    a figure that is not, else the last); changes: what else is not as it was then.
    """

    entry: Entry
    earlier: tuple[Entry, ...] = ()
    reference: Entry | None = None
    changes: tuple[Change, ...] = field(default=())

    @property
    def healthy(self) -> list[float]:
        """The earlier healthy figures, lowest first."""
        return sorted(each.figure for each in self.earlier if each.level == "healthy" and each.figure is not None)

    @property
    def median(self) -> float | None:
        """Of the earlier healthy figures; None where they are too few."""
        return median(self.healthy) if len(self.healthy) >= ENOUGH else None

    @property
    def percent(self) -> float | None:
        """How far the figure is from the median; None where either is missing."""
        middle, figure = self.median, self.entry.figure
        return None if figure is None or not middle else (figure / middle - 1) * 100

    @property
    def compared(self) -> str:
        """How the figure compares with the earlier ones; without a full stop."""
        if not self.earlier:
            return "the first of its kind"
        digits = [number(each) for each in self.healthy]
        if not digits:
            count = len(self.earlier)
            return (
                "the only earlier run was not healthy"
                if count == 1
                else f"none of {count} earlier runs was healthy"
            )
        if self.median is None:
            return f"too few healthy runs to compare with ({listed(digits)})"
        spread = f"the median of {len(digits)} healthy runs ({digits[0]} to {digits[-1]})"
        return f"{self._distance()} {spread}"

    @property
    def since(self) -> str:
        """What else is not as it was at the reference; empty where there is nothing to say."""
        if self.reference is None:
            return ""
        comparable = _known(self.reference).keys() & _known(self.entry).keys()
        if not self.changes and (self.entry.level == "healthy" or not comparable):
            return ""
        known = "healthy run" if self.reference.level == "healthy" else "run"
        changed = ", ".join(map(str, self.changes)) or "nothing that is recorded has changed"
        return f"since the last {known} ({self.reference.when:%Y-%m-%d}): {changed}"

    @property
    def sentence(self) -> str:
        """The figure, how it compares, and what else changed; without a full stop."""
        said = f"{amount(self.entry)}, {self.compared}"
        return f"{said}; {self.since}" if self.since else said

    def _distance(self) -> str:
        if self.percent is None:
            return "against"
        size = abs(self.percent)
        if size < 0.05:
            return "level with"
        return f"{size:.{0 if size >= 10 else 1}f} % {'above' if self.percent > 0 else 'below'}"


def entries(run: Run) -> list[Entry]:
    """The lines of a run: one a measurement, and one for each rail that could not be measured at all."""
    measured = {each.rail for each in run.measurements}
    return [_entry(run, each) for each in (*run.measurements, *_unmeasured(run, measured))]


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


def trend(history: Iterable[Entry], entry: Entry) -> Trend:
    """One figure beside the earlier ones of its kind; the run's own lines may already be in the history."""
    earlier = sorted(
        (
            each
            for each in history
            if each.kind == entry.kind and each.run != entry.run and each.when <= entry.when
        ),
        key=lambda each: each.when,
    )
    healthy = [each for each in earlier if each.level == "healthy"]
    compared = healthy if healthy and entry.level != "healthy" else earlier
    reference = compared[-1] if compared else None
    return Trend(entry, tuple(earlier), reference, changes(reference, entry) if reference else ())


def trends(history: Sequence[Entry], run: Run) -> list[Trend]:
    """Every figure of a run, in the order of its measurements."""
    return [trend(history, entry) for entry in entries(run)]


def leading(rows: Iterable[Entry]) -> list[Kind]:
    """The kinds that stand for their rail and direction: its bandwidth alone, as it was last measured, at
    the most queue pairs of that run.
    """
    found: dict[tuple[int, str, str], Entry] = {}
    for row in rows:
        if row.test == "ib_write_bw" and not row.together:
            way = (row.rail, row.sender, row.receiver)
            found[way] = max(found.get(way, row), row, key=lambda each: (each.when, each.queue_pairs))
    return [found[way].kind for way in sorted(found)]


def changes(before: Entry, after: Entry) -> tuple[Change, ...]:
    """What is not as it was between two measurements of one kind; what either does not know is no change."""
    moved: list[Change] = []
    for what in ("mtu", "path_mtu"):
        old, new = getattr(before, what), getattr(after, what)
        if old and new and old != new:
            moved.append(Change(what.replace("_", " ").replace("mtu", "MTU"), (), str(old), str(new)))
    was, now = _known(before), _known(after)
    steps = [(key, was[key], now[key]) for key in now if key in was and was[key] != now[key]]
    return (*moved, *_merged(steps))


def marks(rows: Iterable[Entry]) -> list[Mark]:
    """The runs before which kernel, driver or firmware of a host had changed, oldest first."""
    last: dict[tuple[str, str], str] = {}
    found: dict[str, tuple[datetime, dict[tuple[str, str], tuple[str, str]]]] = {}
    for row in sorted(rows, key=lambda row: row.when):
        for key, value in _known(row).items():
            if key[0] in _MARKED and last.setdefault(key, value) != value:
                found.setdefault(row.run, (row.when, {}))[1][key] = (last[key], value)
                last[key] = value
    return [
        Mark(run, when, tuple(_merged([(key, *values) for key, values in steps.items()])))
        for run, (when, steps) in found.items()
    ]


def amount(entry: Entry) -> str:
    """The figure with its unit."""
    return "not measured" if entry.figure is None else f"{number(entry.figure)} {unit(entry)}"


def unit(entry: Entry) -> str:
    return "us" if entry.test == "ib_write_lat" else "Gb/s"


def number(figure: float) -> str:
    """The digits alone: hundredths, as ib_write_lat prints them, so that figures can be compared by eye."""
    return f"{figure:.2f}"


def moment(time: str) -> datetime:
    """An ISO 8601 time; UTC where it names no zone. Raises ValueError for what is none."""
    found = datetime.fromisoformat(time)
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


def _entry(run: Run, measured: Measurement) -> Entry:
    rail = next((each for each in run.rails if each.number == measured.rail), None)
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


def _unmeasured(run: Run, measured: set[int]) -> list[Measurement]:
    """Stand-ins for the rails without a figure, so that the history tells a dead rail from an idle month."""
    if len(run.hosts) != 2:
        return []
    sender, receiver = run.hosts
    tested = [each.queue_pairs for each in run.measurements if each.test == "ib_write_bw"]
    pairs = max(tested, default=QUEUE_PAIRS)
    return [
        Measurement("ib_write_bw", rail.number, sender, receiver, pairs, together=False, verdict=rail.verdict)
        for rail in run.rails
        if rail.number not in measured
    ]


def _known(entry: Entry) -> dict[tuple[str, str], str]:
    """What is known of both ends, by what and host."""
    found = {}
    for what in _WORDS:
        for role in ("sender", "receiver"):
            value = getattr(entry, f"{role}_{what}")
            if value not in ("", None):
                found[what, getattr(entry, role)] = str(value)
    return found


def _merged(steps: Iterable[tuple[tuple[str, str], str, str]]) -> list[Change]:
    """One change where both hosts went the same way. A boot ID is a UUID, and is never shown."""
    grouped: dict[tuple[str, str, str], list[str]] = {}
    for (what, host), before, after in steps:
        key = (what, "", "") if what == "boot_id" else (what, before, after)
        grouped.setdefault(key, []).append(host)
    return [
        Change(_WORDS[what], tuple(sorted(hosts)), before, after)
        for (what, before, after), hosts in grouped.items()
    ]


@cache
def _adapter() -> TypeAdapter[Entry]:
    return TypeAdapter(Entry)


def _load(line: str) -> Entry | None:
    try:
        found = _adapter().validate_json(line)
        moment(found.time)
    except (ValidationError, ValueError):
        return None
    return found if found.version == VERSION else None


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
