"""Hosts and groups that are to be undone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result

import sparkrig.ssh
from sparkrig.facts.preflight import BARS
from sparkrig.runs import undo as judgement
from sparkrig.runs import undo_outcome
from sparkrig.runs.journal import Journal, Run, Step
from sparkrig.runs.lock import Owner
from sparkrig.runs.undo import Plan
from sparkrig.ssh import remote

NCCL, DAEMON, PIN = (
    "file /etc/nccl.conf",
    "file /etc/docker/daemon.json",
    "file /etc/apt/preferences.d/00-sparkrig.pref",
)


HOLD, TOOLKIT = "hold nvidia-driver-580-open", "package nvidia-container-toolkit"


State = Mapping[str, str]


NOTHING: State = {}


def run(
    at: int,
    before: State,
    after: State | None,
    undoes: str = "",
    guard: str = "",
    hosts: tuple[str, ...] = ("spark-a", "spark-b"),
) -> Run:
    owner = Owner(f"R{at}", "ann@laptop", "pyinfra x.py", undoes=undoes, since=1000 * at, hosts=hosts)
    steps = (Step("one", 1000 * at, 1000 * at + 1, 0),)
    return Run(f"R{at}", owner, steps, before, after, None if after is None else 1000 * at + 2, guard)


def host(*runs: Run, now: State) -> Journal:
    """Runs as they came; the journal has the newest first."""
    return Journal(9000, None, tuple(reversed(runs)), now)


FIRST = {NCCL: "644 a", HOLD: "held", TOOLKIT: "1.17"}


SETTLED = host(run(1, NOTHING, FIRST), now=FIRST)


def typed(
    monkeypatch: pytest.MonkeyPatch,
    pair: str,
    b: Journal | Exception,
    *words: str,
    a: Journal | None = None,
    docker: str = "",
    bars: str = "",
) -> tuple[Result, list[str]]:
    """`sparkrig undo` on hosts that are only made up, and the hosts that something was done to."""
    from sparkrig.cli.undo import undo as verb
    from sparkrig.operations import undo

    touched: list[str] = []
    found = {"spark-a": a or SETTLED, "spark-b": b}

    def ask(hosts: list[str], title: str, question: Callable[[Any], Any]) -> dict[str, Any]:
        if title == "Reading the journals":
            return {name: found[name] for name in hosts}
        return {name: question(SimpleNamespace(name=name)) for name in hosts}

    def carry_out(_: object, hosts: list[str], plans: dict[str, Plan], *__: object, **___: object) -> object:
        touched.extend(hosts)
        told = docker if docker.startswith("failed") else ""
        return {name: undo_outcome.left(plan, told) if plan.docker else plan for name, plan in plans.items()}

    def shell(at: Any, text: str, *words: str, **_: object) -> str:
        if text == BARS:
            assert "/etc/nccl.conf" in words or at.name not in bars
            return bars.partition(" ")[2] if bars.startswith(f"{at.name} ") else ""
        if text == judgement.TEXTS:
            return ""
        assert (text, words) == (judgement.FIT, (KEPT_DAEMON,))
        return docker if at.name == "spark-b" and docker.startswith("unfit") else ""

    # the real one patches the standard library of the whole process
    session = SimpleNamespace(connected=lambda data: nullcontext(dict.fromkeys(data)), ask=ask)
    monkeypatch.setattr(sparkrig.ssh, "session", session, raising=False)
    monkeypatch.setattr(remote, "shell", shell)
    monkeypatch.setattr(remote, "read", lambda *_, **__: SimpleNamespace(running=0))
    monkeypatch.setattr(undo, "carry_out", carry_out)
    return CliRunner().invoke(verb, [pair, *words]), touched


KEPT_DAEMON = "/var/lib/sparkrig/runs/R1/before/files/etc/docker/daemon.json"
