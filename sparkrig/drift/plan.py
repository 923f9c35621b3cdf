"""What the deploy would do to each host: what its steps change, what breaks off meanwhile, how long it takes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from sparkrig.refusal import Refusal, Refused
from sparkrig.runs.change import KINDS, Change
from sparkrig.text import step as titled

_STEP_S = 2
_AROUND_S = 15  # the look, the journal's begin and its end


@dataclass(frozen=True)
class Step:
    """An operation that would change a host, by its name, and what it reported of that."""

    name: str
    changes: tuple[Change, ...] = ()

    @property
    def title(self) -> str:
        """Its name for people."""
        return titled(self.name)

    @property
    def seconds(self) -> int:
        """Roughly how long it takes, before `patience`."""
        return _STEP_S + max((KINDS[change.kind][1] for change in self.changes), default=0)


@dataclass(frozen=True)
class Planned:
    """What the deploy would do to one host.

    steps: in their order; refusals: why it would do nothing there; unread: why the host could not be read, with
    what to try; held_up: the hosts of its cluster for whose sake nothing is done here either.
    """

    steps: tuple[Step, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    unread: Refusal | None = None
    held_up: tuple[str, ...] = ()

    @property
    def due(self) -> bool:
        """Whether a run would change this host."""
        return bool(self.steps) and not self.stands

    @property
    def stands(self) -> bool:
        """Whether nothing can be done to it as it is now."""
        return bool(self.refusals or self.unread or self.held_up)

    @property
    def changes(self) -> tuple[Change, ...]:
        return tuple(change for step in self.steps for change in step.changes)

    @property
    def count(self) -> int:
        """How many things change; a step that reports nothing counts as one."""
        return sum(len(step.changes) or 1 for step in self.steps)

    @property
    def interrupted(self) -> tuple[str, ...]:
        """What breaks off while it is done, each once."""
        return tuple(dict.fromkeys(change.interrupts for change in self.changes if change.interrupts))

    @property
    def exit(self) -> int:
        if self.unread:
            return 3
        return 2 if self.steps or self.refusals else 0

    def seconds(self, patience: float) -> int:
        """Roughly how long a run takes; 0 where there is nothing to do. patience: factor on all times."""
        if not self.steps:
            return 0
        return round((_AROUND_S + sum(step.seconds for step in self.steps)) * patience)


def with_own(planned: Planned, own: Sequence[str] | Refusal) -> Planned:
    """The same with an owner's own steps, by their names, or why they cannot be asked."""
    if isinstance(own, Refusal):
        return replace(planned, refusals=(*planned.refusals, own))
    return replace(planned, steps=(*planned.steps, *map(Step, own)))


def held_up(made: Mapping[str, Planned], peers: Mapping[str, Sequence[str]]) -> dict[str, Planned]:
    """The same, where a host is left out with peers that nothing can be done to. peers: of each host, by name."""
    held = {
        name: tuple(each for each in others if each in made and made[each].stands)
        for name, others in peers.items()
    }
    return {
        name: planned if planned.stands or not held.get(name) else Planned(planned.steps, held_up=held[name])
        for name, planned in made.items()
    }


def roughly(seconds: float) -> str:
    """`less than a minute`, `about 3 min`."""
    return "less than a minute" if seconds < 50 else f"about {max(1, round(seconds / 60))} min"


def code(made: Collection[Planned]) -> int:
    """The exit code of a plan; the most severe host wins."""
    return max((planned.exit for planned in made), default=0)


# --- for programs


@dataclass(frozen=True)
class PlannedHost:
    """One host.

    refusals: why the deploy would do nothing to it; unread: why it could not be read; held_up_by: the first host
    of its cluster for whose sake nothing is done here either; interrupts: what breaks off meanwhile; seconds:
    roughly how long it takes; exit_code: of this host alone.
    """

    name: str
    steps: tuple[Step, ...]
    refusals: list[Refused]
    unread: str | None
    held_up_by: str | None
    interrupts: tuple[str, ...]
    seconds: int
    exit_code: int


@dataclass(frozen=True, kw_only=True)
class Planning:
    """What the deploy would change on each host of an inventory."""

    schema: Literal["sparkrig.plan/1"] = "sparkrig.plan/1"
    inventory: str
    deploy: str
    hosts: list[PlannedHost]
    exit_code: int


@dataclass(frozen=True, kw_only=True)
class Applying:
    """What was planned, and what came of it. outcome: in words; plan: as `sparkrig plan --json` prints it."""

    schema: Literal["sparkrig.apply/1"] = "sparkrig.apply/1"
    plan: Planning
    outcome: str
    exit_code: int


def planned_host(name: str, planned: Planned, patience: float) -> PlannedHost:
    """The document of one host."""
    return PlannedHost(
        name=name,
        steps=planned.steps,
        refusals=[refusal.of(name).told for refusal in planned.refusals],
        unread=planned.unread.what if planned.unread else None,
        held_up_by=next(iter(planned.held_up), None),
        interrupts=planned.interrupted,
        seconds=planned.seconds(patience),
        exit_code=planned.exit,
    )
