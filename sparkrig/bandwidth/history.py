"""What was measured before, one JSON line a run, and how a figure compares with the earlier ones of its kind.

Figures of one kind have the same sender, receiver, rail, test and queue pairs, and other rails were busy or not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from statistics import median
from typing import Literal

from pydantic import TypeAdapter

from sparkrig.bandwidth import measurement, outcome
from sparkrig.bandwidth.bands import QUEUE_PAIRS
from sparkrig.bandwidth.measurement import Host, Measurement, Run, amount, of
from sparkrig.text import listed
from sparkrig.verdict import Verdict

VERSION = 2
ENOUGH = 3  # healthy runs that make a median worth its name; ours
MOVED = 5.0  # percent below the median, from which on a figure is worth a line; ours
_LISTED = 8  # lines of a run

# What may explain a moved figure: the attribute of a host, and its word.
_WORDS = {"kernel": "kernel", "driver": "driver", "firmware": "firmware", "perftest": "perftest"}


class LaterVersion(Exception):
    """A history that a later sparkrig wrote. version: that of one of its lines."""

    def __init__(self, version: int) -> None:
        super().__init__(f"it has lines of version {version}, and this sparkrig reads up to version {VERSION}")


@dataclass(frozen=True)
class Entry:
    """One run: a line of the history file.

    time: when it started, UTC, ISO 8601; mtu: bytes; measurements: also one without a figure for each rail that
    could not be measured; verdict: on all rails together.
    """

    run: str
    time: str
    pair: str
    mtu: int
    hosts: dict[str, Host]
    measurements: tuple[Measurement, ...]
    verdict: Verdict
    version: int = VERSION

    @property
    def when(self) -> datetime:
        """The time, comparable."""
        return moment(self.time)


@dataclass(frozen=True)
class History:
    """What a history file holds, oldest first.

    broken: lines that cannot be read; earlier: lines that an earlier sparkrig wrote. Both stay in the file.
    """

    entries: tuple[Entry, ...] = ()
    broken: int = 0
    earlier: int = 0

    def before(self, run: Run) -> list[Entry]:
        """The earlier runs of a run's hosts; its own line may be in the file already."""
        now = moment(run.started_at)
        return [each for each in self.entries if each.pair == run.pair and each.run != run.id and each.when <= now]

    @property
    def remark(self) -> str:
        """What was left out, as one sentence without a full stop; empty where nothing was."""
        counts = {"that cannot be read": self.broken, "of an earlier sparkrig": self.earlier}
        said = listed(f"{count} {what}" for what, count in counts.items() if count)
        return f"history: lines that are left out, and stay in the file: {said}" if said else ""


@dataclass(frozen=True)
class Comparison:
    """One figure beside the earlier healthy ones of its kind.

    healthy: those, lowest first; since: what else has changed since the last of them, with its day; empty where
    there is none.
    """

    now: Measurement
    healthy: tuple[float, ...] = ()
    since: str = ""

    @property
    def percent(self) -> float | None:
        """How far the figure is from the median; None where either is missing."""
        figure = measurement.figure(self.now)
        middle = median(self.healthy) if len(self.healthy) >= ENOUGH else None
        return None if figure is None or not middle else (figure / middle - 1) * 100

    @property
    def moved(self) -> bool:
        """Whether the figure is below the earlier ones, or not healthy where earlier ones were."""
        if not self.now.verdict.healthy:
            return bool(self.healthy)
        return self.percent is not None and self.percent <= -MOVED

    @property
    def sentence(self) -> str:
        """The figure, how it compares, and what else changed; without a full stop."""
        spread = f"{self.healthy[0]:.2f} to {self.healthy[-1]:.2f} in {len(self.healthy)} healthy runs before"
        distance = "" if self.percent is None else f", {abs(self.percent):.0f} % below their median"
        return f"{measurement.way(self.now)}: {amount(self.now)}, {spread}{distance}; {self.since}"


def entry(run: Run) -> Entry:
    """The line of a run. It has no address."""
    figures = (*run.measurements, *_unmeasured(run))
    verdict = outcome.summary(run).verdict
    return Entry(run.id, run.started_at, run.pair, run.mtu, dict(run.hosts), figures, verdict)


def dumps(rows: Iterable[Entry]) -> str:
    """JSON lines, each with its version and a newline."""
    return "".join(f"{_adapter().dump_json(row).decode()}\n" for row in rows)


def loads(text: str) -> History:
    """Read a history file. Lines that are not compared are counted; one of a later version raises LaterVersion."""
    read = [_load(line) for line in filter(None, map(str.strip, text.split("\n")))]
    rows = sorted((row for row in read if isinstance(row, Entry)), key=lambda row: row.when)
    return History(tuple(rows), read.count("broken"), read.count("earlier"))


def moment(time: str) -> datetime:
    """An ISO 8601 time; UTC where it names no zone. Raises ValueError for what is none."""
    at = datetime.fromisoformat(time)
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def compared(earlier: Sequence[Entry], run: Run) -> list[Comparison]:
    """Every figure of a run, in the order of its measurements, beside the earlier runs of its hosts."""
    return [_compared(earlier, run, now) for now in (*run.measurements, *_unmeasured(run))]


def lines(comparisons: Iterable[Comparison]) -> Iterator[str]:
    """What moved among the figures that stand for their rail and direction, for people."""
    ways: dict[tuple[int, str, str], list[Comparison]] = {}
    for each in comparisons:
        if each.now.test == "ib_write_bw":
            ways.setdefault((each.now.rail, each.now.sender, each.now.receiver), []).append(each)
    leading = [_leading(ways[way]) for way in sorted(ways)]
    moved = sorted((each for each in leading if each.moved), key=lambda each: each.percent or 0.0)
    yield from (each.sentence for each in moved[:_LISTED])
    if len(moved) > _LISTED:
        yield f"{len(moved) - _LISTED} more figures moved; the report has all of them"
    known = [abs(each.percent) for each in leading if each.percent is not None and not each.moved]
    if known:
        verb = "s are each" if len(known) > 1 else " is"
        yield f"{len(known)} figure{verb} within {max(known):.1f} % of the median of the earlier ones"


def _leading(comparisons: Sequence[Comparison]) -> Comparison:
    """What has earlier figures, of one rail and direction: alone before together, at the most queue pairs."""
    return max(comparisons, key=lambda each: (bool(each.healthy), not each.now.together, each.now.queue_pairs))


def _compared(earlier: Sequence[Entry], run: Run, now: Measurement) -> Comparison:
    healthy: list[float] = []
    last = None
    for before in earlier:
        for each in before.measurements:
            figure = measurement.figure(each)
            if _kind(each) == _kind(now) and each.verdict.healthy and figure is not None:
                healthy.append(figure)
                last = before
    return Comparison(now, tuple(sorted(healthy)), _since(last, run, now) if last else "")


def _kind(measured: Measurement) -> tuple[object, ...]:
    """What makes two figures comparable."""
    kind = measured.rail, measured.sender, measured.receiver
    return *kind, measured.test, measured.queue_pairs, measured.together


def _since(before: Entry, run: Run, now: Measurement) -> str:
    """What is not as it was; what either run does not know is no change."""
    parts = [f"MTU {before.mtu} -> {run.mtu}"] if before.mtu != run.mtu else []
    steps: dict[str, list[str]] = {}
    for name in (now.sender, now.receiver):
        old, new = before.hosts.get(name, Host()), run.hosts.get(name, Host())
        if old.boot_id and new.boot_id and old.boot_id != new.boot_id:
            steps.setdefault("a reboot", []).append(name)
        for field, word in _WORDS.items():
            was, is_now = getattr(old, field), getattr(new, field)
            if was and is_now and was != is_now:
                steps.setdefault(f"{word} {was} -> {is_now}", []).append(name)
    parts += [f"{step} on {listed(names)}" for step, names in steps.items()]
    return f"since {before.when:%Y-%m-%d}: {', '.join(parts) or 'nothing that is recorded has changed'}"


def _unmeasured(run: Run) -> list[Measurement]:
    """Measurements without a figure for the rails that have none: a dead rail is not an idle month."""
    tested = [measured.queue_pairs for measured in run.measurements if measured.test == "ib_write_bw"]
    pairs = max(tested, default=QUEUE_PAIRS)
    return [
        Measurement("ib_write_bw", rail.number, *rail.hosts, pairs, together=False, verdict=rail.verdict)
        for rail in run.rails
        if not of(rail, run.measurements)
    ]


@cache
def _adapter() -> TypeAdapter[Entry]:
    return TypeAdapter(Entry)


@cache
def _versions() -> TypeAdapter[dict[str, object]]:
    return TypeAdapter(dict[str, object])


def _load(line: str) -> Entry | Literal["broken", "earlier"]:
    try:
        version = _versions().validate_json(line).get("version")
        if isinstance(version, int) and version > VERSION:
            raise LaterVersion(version)
        if isinstance(version, int) and version < VERSION:
            return "earlier"
        row = _adapter().validate_json(line, strict=True)
        moment(row.time)
    except ValueError:  # pydantic's ValidationError is one
        return "broken"
    return row
