"""`make demo`: what is restored before its deploy, and that nothing in it is silent."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lab import NODES, demo, pair
from lab.image import Source
from lab.machine import Machine, State
from tests.tables import each_row


def test_only_guests_that_ran_before_are_reset(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that was just booted or resumed is in that state; to restore it twice took as long again."""
    did: list[Sequence[str]] = []
    monkeypatch.setattr(pair, "reset", did.append)
    monkeypatch.setattr("lab.mirror.mirror", lambda: "http://mirror")

    def row(pristine: list[str], resets: list[Sequence[str]]) -> None:
        monkeypatch.setattr(pair, "up", lambda *_: pristine)
        did.clear()
        demo.boot()
        assert did == resets

    each_row([([*NODES], []), ([*NODES][::-1], []), ([], [NODES]), (["spark-a"], [NODES])], row)


def test_what_was_booted_or_resumed_is_pristine(monkeypatch: pytest.MonkeyPatch, lab_folder: Path) -> None:
    did: list[str] = []
    states = {"spark-a": State.STOPPED, "spark-b": State.RUNNING}
    fitting = {"spark-a", "spark-b"}
    monkeypatch.setattr("lab.host.require_tools", lambda _: None)
    monkeypatch.setattr("lab.host.require_room", lambda *_: None)
    for name in ("require_ports", "stop_miswired"):
        monkeypatch.setattr(pair, name, lambda _: None)
    monkeypatch.setattr(pair, "ready_image", lambda _: lab_folder)
    monkeypatch.setattr("lab.ssh.trust", lambda _: None)
    monkeypatch.setattr("lab.image.publish_facts", lambda _: None)
    monkeypatch.setattr(pair, "plan", lambda node, *_: node)
    monkeypatch.setattr(pair, "fits_plan", lambda node, _: node in fitting)
    monkeypatch.setattr(Machine, "state", lambda self: states[self.node])
    for verb in ("boot", "resume"):
        monkeypatch.setattr(Machine, verb, lambda self, _, verb=verb: did.append(f"{verb} {self.node}"))
    source = Source("trixie", "http://mirror")
    assert pair.up(NODES, source) == ["spark-a"] and did == ["resume spark-a"]
    fitting.clear()
    assert pair.up(NODES, source) == ["spark-a", "spark-b"] and {*did[1:]} == {"boot spark-a", "boot spark-b"}
    fitting |= {*NODES}
    states["spark-a"] = State.RUNNING
    assert pair.up(NODES, source) == []


def test_the_second_deploy_is_waited_for_aloud(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its JSON comes at its end alone."""
    rows = [{"name": "a", "success": [], "error": []}]

    def run(*_: Any, **__: Any) -> SimpleNamespace:
        assert "deploying again ..." in capsys.readouterr().err
        return SimpleNamespace(returncode=0, stdout=json.dumps({"results": {"operations": rows}}), stderr="")

    monkeypatch.setattr(
        demo, "subprocess", SimpleNamespace(run=run, CalledProcessError=subprocess.CalledProcessError)
    )
    monkeypatch.setenv("CI", "1")
    demo.again()
    assert "1 operations on each host, 0 changes" in capsys.readouterr().err
    rows[0]["success"] = ["spark-a"]
    with pytest.raises(subprocess.CalledProcessError):
        demo.again()
