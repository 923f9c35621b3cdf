"""T2: a guest with a Spark's own architecture, arm64, is set up, proven and taken back, in a lab of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab import SOLO as NODE
from lab import pair
from lab.image import Source
from lab.machine import Machine
from tests.lab.commands import SOLO, assert_state, deploy, planned, run
from tests.lab.guests import Guest

FOLDER = "~/.cache/sparkrig/lab-arm64"  # whose image stays from one run to the next, as that of the lab does


@pytest.fixture
def arm(source: Source, monkeypatch: pytest.MonkeyPatch) -> Iterator[Guest]:
    """The lone Spark as it first booted, and no other guest of that port."""
    Machine(NODE).stop()
    monkeypatch.setenv("SPARKRIG_LAB_ARCH", "arm64")
    monkeypatch.setenv("SPARKRIG_LAB_DIR", str(Path(FOLDER).expanduser()))
    if NODE not in pair.up([NODE], source):
        pair.reset([NODE])
    yield Guest(NODE)
    Machine(NODE).stop()


@pytest.mark.exhaustive
@pytest.mark.timeout(3600)
def test_the_architecture_of_a_spark_is_set_up_proven_and_taken_back(arm: Guest) -> None:
    assert arm.output("uname -m; dpkg --print-architecture").split() == ["aarch64", "arm64"]
    files = "sudo find /etc -xdev -type f -newer /etc/hostname ! -name '*.cache' | sort"
    before = arm.output(files)
    done = deploy(inventory=SOLO)
    assert done.code == 0, done.stderr[-3000:]
    assert planned(SOLO) == {}
    assert_state(SOLO)
    drift = run("sparkrig", "drift", SOLO)
    assert drift.code == 0, drift.stdout
    done = run("sparkrig", "undo", SOLO, "--yes")
    assert done.code == 0, done.stdout + done.stderr
    assert "sparkrig" not in arm.output(files).replace(before, "")
    assert run("sparkrig", "drift", SOLO).code == 2
