"""What was found, how bad it is, on what evidence, and what to do: the one form of every judgement."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Level = Literal["healthy", "unknown", "degraded", "fault"]
_BY_WEIGHT: tuple[Level, ...] = ("healthy", "unknown", "degraded", "fault")


@dataclass(frozen=True)
class Verdict:
    """One judgement of one subject.

    level: healthy, degraded (works, less well than it should), fault, or unknown;
    cause: a stable id in kebab-case ("slow-start", "path-mtu"), empty where healthy;
    evidence: one sentence without a full stop: what was seen, with figures and units;
    cure: one thing to do, empty where there is nothing to do.
    """

    level: Level
    cause: str = ""
    evidence: str = ""
    cure: str = ""

    @property
    def healthy(self) -> bool:
        return self.level == "healthy"


@dataclass(frozen=True)
class Finding:
    """A verdict and what it is about, where that is no figure.

    subject: what it is about, in words ("spark-a", "rail 1", "pair"); rails: the numbers of the rails that
    cannot be right because of it, where it is about rails.
    """

    subject: str
    verdict: Verdict
    rails: tuple[int, ...] = ()


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The one that matters most; the first of equals; unknown where there is none at all.

    A known fault outweighs something unknown.
    """
    return max(
        verdicts, key=lambda verdict: _BY_WEIGHT.index(verdict.level), default=Verdict("unknown", "not-judged")
    )


def exit_code(verdicts: Iterable[Verdict]) -> int:
    """0 all healthy, 2 something is degraded or at fault, 3 something is unknown (which wins)."""
    levels = {verdict.level for verdict in verdicts}
    if not levels or "unknown" in levels:
        return 3
    return 0 if levels == {"healthy"} else 2
