"""The controller of a guarded change (operations/guard.py): which connections it trusts, and for how long."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, cast

import pytest
from pyinfra.api import Host
from pyinfra.api.exceptions import ConnectError
from pyinfra.connectors.util import CommandOutput, OutputLine

from sparkrig.network import guard
from sparkrig.operations import guard as guarded
from sparkrig.operations.guard import Bench, RolledBack
from tests.plan.guarded import COMMIT, GUARDED, LINK, PREPARE, REVERT, START, WAIT

WORDS = {PREPARE: "prepare", START: "start", LINK: "link", COMMIT: "commit", REVERT: "revert", WAIT: "wait"}
OLD = 0


class Door:
    """One connection to a host, as pyinfra's connectors have it."""

    def __init__(self, _state: object, at: Spark) -> None:
        self.at = at
        self.number = len(at.doors)
        at.doors.append(self)

    def connect(self) -> None:
        if self.number != OLD and not self.at.lets_in():
            raise ConnectError("no route to host")


class Spark:
    """A host whose guard answers well; a connection that stands goes on working, whatever happens to new ones."""

    state, connector_cls = None, Door

    def __init__(self, lets_in: Callable[[], bool] = lambda: True) -> None:
        self.name, self.data, self.lets_in = "spark-a", dict[str, Any](), lets_in
        self.doors: list[Door] = []
        self.asked: list[tuple[str, int]] = []
        self.granted: dict[str, float] = {}
        self.connector = Door(None, self)

    def run_shell_command(self, command: Any, _timeout: float, **_: object) -> tuple[bool, CommandOutput]:
        text = command.get_raw_value()
        piece = next(piece for piece in WORDS if piece in text)
        (limit,) = re.findall(r"\btimeout (?:-\S+ \S+ )*(\d+) ", text)[:1]
        assert int(limit) < _timeout, "the host ends it first"
        self.granted[WORDS[piece]] = int(limit)
        self.asked.append((WORDS[piece], self.connector.number))
        return True, CommandOutput([OutputLine("stdout", line) for line in GUARDED[piece]])


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guarded, "APART_S", 0)
    monkeypatch.setattr(guarded, "PAUSE_S", 0)


def changed(spark: Spark, window: int = 90) -> list[str]:
    """What is said while a host is led through a change of so many seconds."""
    said: list[str] = []
    at = cast(Host, spark)
    order = guard.Order("links", window, 5)
    guarded.carry_out(Bench({at.name: at}, {at.name: order}, {}, "/run", 1.0, said.append))
    return said


def test_each_proof_has_a_connection_of_its_own_and_the_commit_that_of_the_second() -> None:
    """An old connection lives on where no new one gets in any more."""
    spark = Spark()
    assert "rollback disarmed" in changed(spark)[-1]
    assert spark.asked == [("start", OLD), ("wait", 1), ("link", OLD), ("wait", 2), ("commit", 2)]
    assert spark.connector is spark.doors[OLD], "the others are for the proofs"


def test_each_question_is_granted_the_way_back_that_it_may_end_in() -> None:
    """A host that is ended in the middle of going back leaves its links as they are just then."""
    spark = Spark()
    guarded.prepare(cast(Host, spark), "another run", 2.0)
    assert spark.granted.pop("prepare") >= 2 * guard.BACK_S
    changed(spark)
    with pytest.raises(RolledBack):
        changed(spark, window=guard.MARGIN_S)
    del spark.granted["link"]
    order = guard.Order("links", guard.MARGIN_S, 5)
    assert spark.granted.keys() == {"start", "wait", "commit", "revert"}
    assert all(limit >= order.limit(word) > guard.BACK_S for word, limit in spark.granted.items())


@pytest.mark.parametrize("proof", [1, 2])
def test_a_host_that_no_new_connection_reaches_is_never_confirmed(proof: int) -> None:
    """The old connection answers well all the time: the proof is that a new one gets in, twice."""
    spark = Spark(lambda: len(spark.doors) - 1 != proof)
    with pytest.raises(RolledBack, match=r"cannot be reached by a new ssh connection .*as it was before"):
        changed(spark)
    asked = [word for word, _ in spark.asked]
    assert asked == ["start", *["wait", "link"][: 2 * (proof - 1)], "revert"]


def test_a_commit_does_not_begin_that_the_window_may_cut_short() -> None:
    spark = Spark()
    with pytest.raises(RolledBack, match=r"only \d s were left to confirm it.*as it was before"):
        changed(spark, window=guard.MARGIN_S)
    assert [word for word, _ in spark.asked] == ["start", "wait", "link", "wait", "revert"]
    changed(Spark(), window=guard.MARGIN_S + 60)
