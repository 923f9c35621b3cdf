"""A guarded change that goes back unless it is confirmed, as templates/programs/runs/armed.sh prints it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sparkrig.cure import deploy, verb
from sparkrig.parsing import grammar
from sparkrig.refusal import Refusal
from sparkrig.value import Value

_HOLDERS = {"alive": True, "dead": False, "unknown": None}


@dataclass(frozen=True)
class Armed(Value):
    """One that is not confirmed yet.

    run: which made it; left: seconds until it goes back, by the host's own clock, 0 where that time is over;
    alive: whether the run is still at work, None where that is unknown; part: what it changes.
    """

    run: str
    left: int
    alive: bool | None
    part: str = "network"

    @property
    def sentence(self) -> str:
        """What awaits the host."""
        when = f"in {self.left} s" if self.left else "now"
        if self.alive is False:
            return f"run {self.run} broke off in the middle of its {self.part} change, which goes back {when}"
        return f"run {self.run} changes the {self.part}, which goes back {when} unless that run confirms it"


def parse(row: str) -> Armed:
    """One row, without its first word. Raises ValueError or LookupError where it makes no sense."""
    run, left, holder, *part = row.split(" ")
    [name] = map(grammar.RUN.held, part or ["network"])
    return Armed(grammar.RUN.held(run), int(left), _HOLDERS[holder], name)


def awaited(changes: Collection[Armed]) -> str:
    """What awaits a host, in one sentence."""
    return "; ".join(armed.sentence for armed in changes)


def refusals(found: Collection[Armed]) -> list[Refusal]:
    """Why a host cannot be judged: what it is set to now is not what it will be."""
    return [Refusal(each.sentence, deploy() if each.alive is False else verb("status")) for each in found]
