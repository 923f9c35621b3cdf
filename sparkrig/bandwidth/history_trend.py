"""How a figure compares with the earlier ones of its kind, and what else has changed since."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from statistics import median

from sparkrig.bandwidth.history import WORDS, Entry, Kind, entries
from sparkrig.bandwidth.measurement import Run
from sparkrig.text import listed

ENOUGH = 3  # healthy runs that make a median worth its name; ours

# Those that are marked in a picture over months; a reboot is too frequent for that.
_MARKED = ("kernel", "driver", "firmware")


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
        """What else has changed since the reference; empty where there is nothing to report."""
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
    """The kinds that stand for their rail and direction.

    Its bandwidth alone, as it was last measured, at the most queue pairs of that run.
    """
    found: dict[tuple[int, str, str], Entry] = {}
    for row in rows:
        if row.test == "ib_write_bw" and not row.together:
            way = (row.rail, row.sender, row.receiver)
            found[way] = max(found.get(way, row), row, key=lambda entry: (entry.when, entry.queue_pairs))
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


def _known(entry: Entry) -> dict[tuple[str, str], str]:
    """What is known of both ends, by what and host."""
    found = {}
    for what in WORDS:
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
        Change(WORDS[what], tuple(sorted(hosts)), before, after)
        for (what, before, after), hosts in grouped.items()
    ]
