"""Hosts as the programs of the lock leave them, and every order in which controllers come to them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from greenlet import getcurrent, greenlet  # type: ignore[import-untyped]

from sparkrig.runs import journal as scripts
from sparkrig.runs import lock

World = TypeVar("World", bound="tuple[Sequence[Machine], Sequence[Callable[[], None]]]")


@dataclass
class Machine:
    """A host as its scripts leave it: whose its lock is, and which runs have a folder there."""

    identity: str
    owner: str = ""
    runs: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class Half:
    """A machine as one controller's inventory calls it."""

    name: str
    machine: Machine
    data: Mapping[str, Any] = field(default_factory=dict)


def shell(at: Half, text: str, *words: str) -> str:
    """What the scripts do, each alone on its host (`alone` of sparkrig.runs.lock); others may come before it."""
    if text == lock.IDENTITY:
        return at.machine.identity
    getcurrent().parent.switch()
    if text == scripts.BEGIN:
        run, owner, _ = words[:3]
        if at.machine.owner not in ("", run):
            since = {"by": json.loads(lock.given(at.machine.owner, "ann@x", at.machine.owner, "0"))}
            return "lock held " + json.dumps({**since, "since": 1, "boot": "", "from": ""})
        at.machine.owner = run
        at.machine.runs.add(run)
        assert json.loads(owner)["run"] == run
        return "lock free"
    assert text == scripts.ABANDON
    if at.machine.owner == words[0]:
        at.machine.owner = ""
    at.machine.runs.discard(words[0])
    return ""


def every_order(make: Callable[[], World]) -> Iterator[tuple[str, World]]:
    """Each end that some order of the controllers' steps comes to, with that order."""
    open_orders: list[list[int]] = [[]]
    while open_orders:
        order = open_orders.pop()
        world = make()
        running = dict(enumerate(greenlet(each) for each in world[1]))
        steps: list[int] = []
        while running:
            if len(steps) == len(order):
                first, *others = sorted(running)
                open_orders += [[*steps, other] for other in others]
                order = [*order, first]
            chosen = order[len(steps)]
            steps.append(chosen)
            running[chosen].switch()
            if running[chosen].dead:
                del running[chosen]
        yield "".join(map(str, steps)), world
