"""Which of two updates is kept where two controllers begin at the same moment: every order of their steps."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from greenlet import getcurrent  # type: ignore[import-untyped]

import sparkrig.operations
import sparkrig.ssh
from sparkrig.host.update_record import Done, Record, Standing
from sparkrig.host.upgrade import Move
from sparkrig.operations import journal, update
from sparkrig.refusal import Refusal
from sparkrig.runs import journal as scripts
from sparkrig.runs import lock
from sparkrig.ssh import remote
from sparkrig.ssh.remote import Failed
from tests.tables import each_row
from tests.unit.runs import machines
from tests.unit.runs.machines import every_order
from tests.unit.turns import in_turn

NONE = Standing("boot", "kernel")
RECORD = Record("R", "goal", "typed", Move("", ""), Move("", ""))


@dataclass
class Spark(machines.Machine):
    """A host as the programs leave it: whose its lock is, and its update."""

    standing: Standing = NONE


@dataclass
class Controller:
    """A process that begins an update on some hosts, and notes a step on each."""

    id: str
    sparks: Mapping[str, Spark]
    refused: list[str] = field(default_factory=list)

    def __call__(self) -> None:
        fleet: Any = dict.fromkeys(self.sparks, SimpleNamespace(patience=1))
        data: Any = self.sparks
        record = replace(RECORD, id=self.id)
        try:
            updating().Updating(Path("pair.py"), fleet, data).begin(
                dict.fromkeys(self.sparks, record),
                dict.fromkeys(self.sparks, ""),
                dict.fromkeys(self.sparks, NONE),
            )
        except Refusal as refusal:
            self.refused.append(refusal.what)
            return
        for spark in self.sparks.values():
            switch()
            noted = Done(self.id.lower(), 1, "boot")
            spark.standing = replace(spark.standing, steps=(*spark.standing.steps, noted))


def updating() -> Any:
    """The module, which the fixture below has loaded."""
    return sys.modules["sparkrig.operations.updating"]


def switch() -> None:
    """Let the other controllers come before the next step."""
    getcurrent().parent.switch()


def shell(at: Any, text: str, *words: str) -> str:
    """The lock's programs, as machines.py has them."""
    if text == lock.LOCK:
        return machines.shell(at, scripts.BEGIN, *words)
    return machines.shell(at, scripts.ABANDON if text == lock.RELEASE else text, *words)


def look(at: Any, patience: float) -> Standing:
    found: Standing = at.machine.standing
    return found


def begin(at: Any, record: Record, limits: str, patience: float) -> None:
    """The worst that a program may do: its check, what it erases and what it writes are apart."""
    switch()
    if at.machine.standing.record:
        raise Failed("another update is open here")
    switch()
    at.machine.standing = replace(at.machine.standing, steps=())
    switch()
    at.machine.standing = replace(at.machine.standing, record=record)


def close(at: Any, patience: float, only: str = "") -> None:
    switch()
    found = at.machine.standing.record
    if found and (not only or found.id == only):
        at.machine.standing = NONE


@contextmanager
def staying(data: Mapping[str, Spark], *_: Any, **__: Any) -> Iterator[tuple[dict[str, None], dict[str, Any]]]:
    yield dict.fromkeys(data), {name: machines.Half(name, spark) for name, spark in data.items()}


@pytest.fixture(autouse=True)
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The connections of a verb are a stand-in: the real ones patch the standard library for each later test."""
    connections: Any = ModuleType("sparkrig.ssh.session")
    connections.staying = staying
    monkeypatch.setitem(sys.modules, connections.__name__, connections)
    monkeypatch.setattr(sparkrig.ssh, "session", connections, raising=False)
    import_module("sparkrig.operations.updating")
    monkeypatch.setattr(journal, "spawn", lambda *_: None)
    monkeypatch.setattr(journal, "_shell", shell)
    monkeypatch.setattr(journal, "_claim", lambda run, hosts: None)
    monkeypatch.setattr(remote, "each", in_turn)
    for each in (look, begin, close):
        monkeypatch.setattr(update, each.__name__, each)
    yield
    del sys.modules["sparkrig.operations.updating"]  # it has the stand-in
    delattr(sparkrig.operations, "updating")


def two(*wanted: str) -> Callable[[], Any]:
    """Controllers that want hosts, in the order of their own inventories."""

    def make() -> Any:
        sparks = {name: Spark(name) for name in "ab"}
        made = [Controller(f"R{at}", {name: sparks[name] for name in names}) for at, names in enumerate(wanted)]
        return [*sparks.values()], made

    return make


def _of(world: Any) -> tuple[list[Spark], list[Controller]]:
    return world  # type: ignore[no-any-return]


def test_of_two_updates_that_begin_at_once_one_is_kept_whole_in_every_order() -> None:
    def holds(make: Callable[[], Any]) -> None:
        ends = 0
        for order, world in every_order(make):
            sparks, made = _of(world)
            ends += 1
            (winner,) = [each for each in made if not each.refused]
            for spark in sparks:
                mine = spark in winner.sparks.values()
                record = spark.standing.record
                assert (record.id if record else "") == (winner.id if mine else ""), order
                assert [step.name for step in spark.standing.steps] == ([winner.id.lower()] if mine else []), order
                assert spark.owner == "", order
        assert ends > 20

    each_row({"the same two": two("ab", "ba"), "one of them": two("b", "b")}, holds)
