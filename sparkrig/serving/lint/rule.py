"""One thing that a launch should be, and the rules of one topic with what judges them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal, get_args

from sparkrig.serving.lint.case import Case, Hit, Severity
from sparkrig.serving.lint.claims import Claim
from sparkrig.serving.lint.version import Version

Topic = Literal[
    "memory", "quantization", "kernels", "weights", "nodes", "container", "environment", "serving", "input"
]
TOPICS: tuple[Topic, ...] = get_args(Topic)
Judge = Callable[[Case], Iterable[Hit]]


@dataclass(frozen=True)
class Rule:
    """One thing that a launch should be.

    id: stable; meaning: what holds where the rule is kept; reasons: who asks for it and why; against: claims of
    the opposite, empty where there are none; holds: versions in words; since, before: the same of vLLM for a
    comparison, empty where they are not known; undated: whether a rule that has ended is asked of an image whose
    version is not known; better: a setting to try; composed: the same in a compose file, where it differs.
    """

    id: str
    severity: Severity
    topic: Topic
    meaning: str
    reasons: tuple[Claim, ...]
    better: str
    composed: str = ""
    holds: str = "any version"
    against: tuple[Claim, ...] = ()
    since: Version = ()
    before: Version = ()
    undated: bool = False

    def concerns(self, version: Version | None) -> bool:
        """Whether the rule holds for a version of vLLM; None: not known, so only what has not ended may."""
        if version is None:
            return not self.before or self.undated
        return (not self.since or version >= self.since) and (not self.before or version < self.before)

    @property
    def contested(self) -> bool:
        """Whether a source found the opposite: then a launch that breaks the rule can be right."""
        return self.severity == "warning" and bool(self.against)

    @property
    def newest(self) -> str:
        """The day of its newest source."""
        return max(claim.date for claim in (*self.reasons, *self.against))

    def old(self, today: date) -> bool:
        """Whether no source of the last year speaks of it."""
        last_year = f"{today.replace(year=today.year - 1, day=min(today.day, 28))}"
        return self.newest < last_year[: len(self.newest)]  # a date may be a month


class Rules:
    """The rules of one topic in the order in which they are written, each with what judges it."""

    def __init__(self, topic: Topic) -> None:
        self._topic = topic
        self.judges: dict[Rule, Judge] = {}

    def rule(
        self, id: str, severity: Severity, meaning: str, reasons: tuple[Claim, ...], better: str, **more: Any
    ) -> Callable[[Judge], Judge]:
        """Add a rule, judged by the function below. more: as Rule has it."""
        made = Rule(id, severity, self._topic, meaning, reasons, better, **more)

        def add(judge: Judge) -> Judge:
            self.judges[made] = judge
            return judge

        return add
