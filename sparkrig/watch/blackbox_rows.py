"""Reads what a host prints of its black box: the rows that templates/watch/blackbox.py wrote."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, groupby, pairwise
from typing import Any, TypeVar

from sparkrig.host.blackbox import Act, BlackBox, Lines, Process, Reset, Step, Zone
from sparkrig.host.nvidia_smi import from_fields
from sparkrig.parsing import bounds
from sparkrig.parsing.rows import told
from sparkrig.text import plain

T = TypeVar("T")

_AT_UPTIME = re.compile(r"@(\d{1,10}(?:\.\d)?)/([0-9a-f]{8})")
_LARGEST = 1e15
_OFFSETS = 32  # more than a host prints; each time that is shown is compared with each
_ZONE = re.compile(r"([+-])(0\d|1[0-4])([0-5]\d)")


@dataclass(frozen=True)
class _Clock:
    """The host's, in seconds since 1970; its uptime, and its boot. Both are missing in answers of before."""

    now: float
    up: float = 0
    boot: str = ""

    def placed(self, at: float, up: float | None, boot: str) -> float:
        """When something was that was noted for `at`: in this boot by the uptime, for clocks are set."""
        return max(0, self.now - (self.up - up)) if up is not None and boot and boot == self.boot else at


def parse(lines: Iterable[str]) -> BlackBox:
    """Read `now SECONDS ZONE`, `up SECONDS BOOT`, `runs`, and of what is kept `row ...` and `act ...`.

    `zone SECONDS ZONE` is of another moment. What is no row is left out.

    Raises ValueError or LookupError where the others make none.
    """
    rows = told(lines, "now", "up", "runs", "zone", "row", "act")
    first = dict(reversed(rows))
    kept = [rest for word, rest in rows if word == "row"]
    clock = _clock(_seconds(first["now"].partition(" ")[0]), first.get("up", ""))
    acts = _each(lambda row: _act(row, clock), [rest for word, rest in rows if word == "act"])
    zone = Zone(_each(_offset, [first["now"], *(rest for word, rest in rows if word == "zone")][:_OFFSETS]))
    steps = _in_order(_steps(kept))
    booted = [rest for word, _, rest in (row.partition(" ") for row in kept) if word == "booted"]
    reset = Reset(steps, _booted(booted[-1], clock), zone, _asked(kept)) if steps and booted else None
    return BlackBox("runs" in first, clock.now, reset, zone, acts)


def _clock(now: float, rest: str) -> _Clock:
    """rest: `SECONDS BOOT`, empty where the host does not say."""
    up, _, boot = rest.partition(" ")
    return _Clock(now, _seconds(up), plain(boot)) if rest else _Clock(now)


def _booted(rest: str, clock: _Clock) -> float:
    """`TIME BOOT`: when that boot began, of which the uptime was 0."""
    at, boot = [*rest.split(" "), ""][:2]
    return clock.placed(_seconds(at), 0, boot)


def _steps(kept: Iterable[str]) -> list[tuple[Step, float | None]]:
    """Each step with its uptime, where it is known. A deploy, too, stops the black box and starts it anew."""
    found, resumed = [], False
    for row in kept:
        if _kind(row) == "stop":
            resumed = True
        for step, up in _each(_step, [row]):
            found.append((replace(step, resumed=resumed), up))
            resumed = False
    return found


def _asked(kept: Iterable[str]) -> tuple[str, ...]:
    """The boots whose last row says that they were asked to end."""
    last = {row.split(" ")[2]: kind for row in kept if (kind := _kind(row)) in ("step", "stop")}
    return tuple(boot for boot, kind in last.items() if kind == "stop")


def _kind(row: str) -> str:
    """The second word of a row that has a boot, too."""
    words = row.split(" ", 3)
    return words[1] if len(words) > 2 else ""


def _in_order(rows: Iterable[tuple[Step, float | None]]) -> tuple[Step, ...]:
    """Steps with their uptime, where it is known, on one line of time, oldest first.

    Within a boot the uptime counts, back from the clock of the last row: that one had most time to be set. An
    earlier boot that was later by its own clock has no place on that line, and is left out.
    """
    boots = [[*each] for _, each in groupby(rows, lambda row: row[0].boot)]
    found: list[list[Step]] = []
    for boot in reversed(boots):
        steps = _of_one_boot(boot)
        if not found or steps[-1].at <= found[-1][0].at:
            found.append(steps)
    return tuple(chain.from_iterable(reversed(found)))


def _of_one_boot(rows: Sequence[tuple[Step, float | None]]) -> list[Step]:
    steps, ups = [step for step, _ in rows], [up for _, up in rows if up is not None]
    if len(ups) < len(steps) or any(after < before for before, after in pairwise(ups)):
        return steps  # of a program that did not write it
    return [replace(step, at=max(0, steps[-1].at - (ups[-1] - up))) for step, up in zip(steps, ups, strict=True)]


def _each(read: Callable[[str], T], rows: Iterable[str]) -> tuple[T, ...]:
    """What each row is; one that is none is skipped."""
    found: list[T] = []
    for row in rows:
        with suppress(ValueError):
            found.append(read(row))
    return tuple(found)


def _act(row: str, clock: _Clock) -> Act:
    """`TIME @UPTIME/BOOT DONE: SEEN`; the second word is missing where an earlier program wrote it."""
    at, _, text = row.partition(" ")
    word, _, rest = text.partition(" ")
    known = _AT_UPTIME.fullmatch(word)
    if not known:
        return Act(_seconds(at), plain(text))
    return Act(clock.placed(_seconds(at), float(known[1]), known[2]), plain(rest))


def _offset(row: str) -> tuple[float, int]:
    """`SECONDS ZONE`: a moment, and the minutes by which the clock was ahead of UTC then."""
    seconds, _, zone = row.partition(" ")
    return _seconds(seconds), _ahead(zone)


def _ahead(zone: str) -> int:
    """`+0130` in minutes; 0 for what is none."""
    found = _ZONE.fullmatch(zone)
    return int(f"{found[1]}1") * (int(found[2]) * 60 + int(found[3])) if found else 0


def _seconds(text: str) -> float:
    """Raises ValueError for a time that no date can have."""
    found = bounds.finite(text)
    if not 0 <= found < 2**35:
        raise ValueError(f"{text[:20]} is no time")
    return found


def _step(row: str) -> tuple[Step, float | None]:
    """`NUMBER KIND BOOT TIME JSON`, and its uptime. Raises ValueError for what is no step."""
    _, kind, boot, at, text = [*row.split(" ", 4), "", "", "", ""][:5]
    found = bounds.loads(text)
    if kind != "step" or not isinstance(found, dict):
        raise ValueError("it is no step")
    gpu = _mapping(found.get("gpu"))
    up = _numbers({"up": found.get("up")}).get("up")
    step = Step(
        at=_seconds(at),
        boot=plain(boot[:8]),
        memory=_numbers(found.get("memory")),
        pressure=_numbers(found.get("pressure")),
        gpu=_numbers(gpu),
        reasons=from_fields({"clocks_event_reasons.active": str(gpu.get("reasons", ""))}).reasons,
        zones=_numbers(found.get("zones")),
        down=_numbers(found.get("down")),
        rdma=_numbers(found.get("rdma")),
        top=tuple(_process(each) for each in _rows(found.get("top")) if _is_whole(each)),
        log={plain(kind): _lines(each) for kind, each in _mapping(found.get("log")).items() if _is_counted(each)},
    )
    return step, up if up is not None and 0 <= up < 2**35 else None


def _mapping(found: Any) -> Mapping[str, Any]:
    if not isinstance(found, dict | None):
        raise ValueError("a mapping is expected")  # noqa: TRY004 - parsers raise ValueError
    return found or {}


def _numbers(found: Any) -> dict[str, float]:
    """The figures of it by name; whatever else it has is left out."""
    return {plain(name): value for name, value in _mapping(found).items() if _is_figure(value)}


def _is_figure(value: Any) -> bool:
    """Whether the program writes such a one; of a larger one no page could be drawn."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _LARGEST


def _rows(found: Any) -> Sequence[Any]:
    if not isinstance(found, list | None):
        raise ValueError("a list is expected")  # noqa: TRY004 - parsers raise ValueError
    return found or ()


def _is_whole(found: Any) -> bool:
    """Whether no value of a list is absent; an absent list is not whole."""
    return found is not None and None not in _rows(found)


def _is_counted(found: Any) -> bool:
    return found is not None and _is_whole(_rows(found)[:1])


def _process(found: Any) -> Process:
    name, pid, kb = _rows(found)
    return Process(plain(str(name)), _count(pid), _count(kb))


def _lines(found: Any) -> Lines:
    count, *first = _rows(found)
    return Lines(_count(count), tuple(plain(str(line)) for line in first if line is not None))


def _count(found: Any) -> int:
    if not _is_figure(found) or found < 0:
        raise ValueError("a count is expected")
    return int(found)
