"""Reads what a host prints of its black box: the rows that templates/watch/blackbox.py wrote."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from sparkrig.host.blackbox import Act, BlackBox, Lines, Process, Reset, Step
from sparkrig.host.nvidia_smi import from_fields
from sparkrig.parsing import bounds
from sparkrig.text import plain

T = TypeVar("T")

_ZONE = re.compile(r"([+-])(0\d|1[0-4])([0-5]\d)")


def parse(lines: Iterable[str]) -> BlackBox:
    """Read `now SECONDS ZONE`, `runs`, and of what is kept `row ...` and `act ...`, less what is none.

    Raises ValueError or LookupError where the others make none.
    """
    rows = [(word, rest) for word, _, rest in (line.partition(" ") for line in lines)]
    first = dict(reversed(rows))
    if unknown := first.keys() - {"now", "runs", "row", "act"}:
        raise ValueError(f"no row begins with {min(unknown)[:60]!r}")
    kept = [rest for word, rest in rows if word == "row"]
    acts = _each(_act, [rest for word, rest in rows if word == "act"])
    seconds, _, zone = first["now"].partition(" ")
    now, ahead = _seconds(seconds), _ahead(zone)
    steps = _each(_step, kept)
    booted = [rest for word, _, rest in (row.partition(" ") for row in kept) if word == "booted"]
    reset = Reset(steps, _seconds(booted[-1].split(" ")[0]), ahead) if steps and booted else None
    return BlackBox("runs" in first, now, reset, ahead, acts)


def _each(read: Callable[[str], T], rows: Iterable[str]) -> tuple[T, ...]:
    """What each row is; one that is none is skipped."""
    found: list[T] = []
    for row in rows:
        with suppress(ValueError):
            found.append(read(row))
    return tuple(found)


def _act(row: str) -> Act:
    """`TIME DONE: SEEN`."""
    at, _, text = row.partition(" ")
    return Act(_seconds(at), plain(text))


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


def _step(row: str) -> Step:
    """`NUMBER KIND BOOT TIME JSON`. Raises ValueError for what is no step."""
    _, kind, boot, at, text = [*row.split(" ", 4), "", "", "", ""][:5]
    found = bounds.loads(text)
    if kind != "step" or not isinstance(found, dict):
        raise ValueError("it is no step")
    gpu = _mapping(found.get("gpu"))
    return Step(
        at=_seconds(at),
        boot=plain(boot[:8]),
        memory=_numbers(found.get("memory")),
        pressure=_numbers(found.get("pressure")),
        gpu=_numbers(gpu),
        reasons=from_fields({"clocks_event_reasons.active": str(gpu.get("reasons", ""))}).reasons,
        zones=_numbers(found.get("zones")),
        down=_numbers(found.get("down")),
        rdma=_numbers(found.get("rdma")),
        top=tuple(_process(each) for each in _rows(found.get("top"))),
        log={plain(kind): _lines(each) for kind, each in _mapping(found.get("log")).items()},
    )


def _mapping(found: Any) -> Mapping[str, Any]:
    if not isinstance(found, dict | None):
        raise ValueError("a mapping is expected")  # noqa: TRY004 - parsers raise ValueError
    return found or {}


def _numbers(found: Any) -> dict[str, float]:
    """The figures of it by name; whatever else it has is left out."""
    return {plain(name): value for name, value in _mapping(found).items() if isinstance(value, int | float)}


def _rows(found: Any) -> Sequence[Any]:
    if not isinstance(found, list | None):
        raise ValueError("a list is expected")  # noqa: TRY004 - parsers raise ValueError
    return found or ()


def _process(found: Any) -> Process:
    name, pid, kb = _rows(found)
    return Process(plain(str(name)), int(pid), int(kb))


def _lines(found: Any) -> Lines:
    count, *first = _rows(found)
    return Lines(int(count), tuple(plain(str(line)) for line in first))
