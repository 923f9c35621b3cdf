"""What `sparkrig blackbox` prints for programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from sparkrig.host.blackbox import BlackBox, Sign, Step
from sparkrig.value import Unread


@dataclass(frozen=True)
class Ended:
    """An end that was not asked for.

    at: the last row that reached the disk; booted: when the host came back, both ISO 8601 by its own clock;
    sentence: what matters most of it; signs: what stood out, the weightiest first; steps: the rows before it.
    """

    at: str
    booted: str
    sentence: str
    signs: list[Sign]
    steps: list[Step]


@dataclass(frozen=True)
class Guarded:
    """at: ISO 8601 by the host's own clock; done: what the guard did, and why."""

    at: str
    done: str


@dataclass(frozen=True)
class Box:
    """The black box of a host.

    runs: whether it does; reset: the last that it saw, null for none; guard: what its guard did, oldest first.
    """

    runs: bool
    reset: Ended | None
    guard: list[Guarded]


@dataclass(frozen=True, kw_only=True)
class Report:
    """What preceded the last reset of each host."""

    schema: Literal["sparkrig.blackbox/1"] = "sparkrig.blackbox/1"
    hosts: Mapping[str, Box | Unread]


def box(found: BlackBox, seconds: float) -> Box:
    """The document of one black box. seconds: how much of the time before the reset is in it."""
    reset, guard = found.reset, [Guarded(act.when(found).isoformat(), act.text) for act in found.acts]
    if reset is None:
        return Box(found.runs, None, guard)
    at, booted = reset.when(reset.at).isoformat(), reset.when(reset.booted).isoformat()
    return Box(found.runs, Ended(at, booted, reset.sentence, reset.signs, reset.last(seconds)), guard)
