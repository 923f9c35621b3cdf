"""A trial whose session broke off: what is asked again, and what is said of it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from sparkrig.bandwidth.bands import Expected
from sparkrig.bandwidth.io import measure
from sparkrig.bandwidth.io.measure import Bench
from sparkrig.bandwidth.measurement import Case
from sparkrig.bandwidth.perftest_run import Pace, Trial
from sparkrig.ssh import remote
from sparkrig.ssh.remote import Lost

CASE = Case("ib_write_bw", (0,), "spark-a", "spark-b", 1)
INACTIVE = "spark-b does not answer (SSH session not active)"


class Pair:
    """Two hosts: how each trial ends, whether a new connection gets in, and whether the old one still answers."""

    def __init__(self, patch: pytest.MonkeyPatch, *trials: str, renewed: str = "", old: str = "") -> None:
        self.trials, self.renewed, self.old, self.connected = [*trials], renewed, old, list[str]()
        hosts: Any = {name: SimpleNamespace(name=name, connector="old") for name in ("spark-a", "spark-b")}
        ends: Any = {0: dict.fromkeys(hosts)}
        self.bench = Bench(hosts, ends, {0: ()}, Expected(), Pace(5, 1.0, False), "r", renews=True)
        self.acts = list[str]()
        patch.setattr(measure, "_trial", self.trial)
        patch.setattr(measure, "_stop", self.stop)
        patch.setattr(remote, "connection", self.connection)
        patch.setattr(remote, "shell", self.shell)

    def trial(self, _: Bench, case: Case) -> Trial:
        self.acts.append("trial")
        return Trial(case, lost=self.trials.pop(0))

    def stop(self, _: Bench, done: Trial, far: Any) -> Trial:
        self.acts.append("stop")
        return done

    def connection(self, at: Any) -> str:
        if self.renewed and at.name == "spark-b":
            raise Lost(self.renewed)
        self.connected.append(at.name)
        return "new"

    def shell(self, at: Any, *_: Any, **__: Any) -> str:
        if self.old and at.connector == "old":
            raise Lost(self.old)
        return ""

    def verdict(self) -> tuple[str, str | None, str]:
        (made,) = measure.run(self.bench, CASE)
        return made.verdict.level, made.verdict.cause, made.verdict.evidence


def test_a_session_that_broke_off_is_asked_again_over_a_new_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = Pair(monkeypatch, INACTIVE, "")
    assert pair.verdict()[1] != "host-lost" and not pair.trials
    assert sorted(pair.connected) == ["spark-a", "spark-b"]
    assert pair.acts == ["trial", "stop", "trial"], "servers of the first would share the rail with the second"


def test_a_busy_host_is_told_from_a_dead_one_and_neither_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    busy = Pair(monkeypatch, INACTIVE, INACTIVE).verdict()
    assert busy[:2] == ("unknown", "host-lost")
    assert "twice, although both hosts answer over a new connection" in busy[2]
    dead = Pair(monkeypatch, INACTIVE, renewed="no route to host").verdict()
    assert dead == ("unknown", "host-lost", "spark-b was lost (no route to host)")


def test_a_run_that_holds_locks_by_its_session_makes_no_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    pair = Pair(monkeypatch, INACTIVE, old="SSH session not active")
    pair.bench = replace(pair.bench, renews=False)
    assert pair.verdict()[:2] == ("unknown", "host-lost") and not pair.connected
