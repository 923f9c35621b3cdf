"""Whether an earlier process of this machine is dead: said by the kernel, whatever became of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sparkrig.onboarding.io import run_claims

RUN = "20261121T031500Z-ab12"
CLAIM = (
    "import sys; from sparkrig.onboarding.io import run_claims; "
    "run_claims.claim(sys.argv[1]); print(flush=True); input()"
)


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path


def claimed(run: str = RUN) -> subprocess.Popen[str]:
    """Another process of this machine, at work on a run."""
    process = subprocess.Popen(
        [sys.executable, "-c", CLAIM, run], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout and process.stdout.readline() == "\n"
    return process


def test_a_process_that_lives_is_not_dead_and_one_that_was_killed_is() -> None:
    with claimed() as process:
        assert not run_claims.dead(RUN)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert run_claims.dead(RUN)


def test_one_that_ended_well_has_given_it_up(state: Path) -> None:
    with claimed() as process:
        process.communicate("\n")
    assert not run_claims.dead(RUN)
    assert [*(state / "sparkrig/runs").iterdir()] == []


@pytest.mark.parametrize("run", ["", "20261121T031500Z-0000", "../runs"], ids=["none", "another's", "no name"])
def test_what_this_machine_never_held_is_nothing_it_can_say(run: str) -> None:
    assert not run_claims.dead(run)


def test_its_own_run_is_not_dead() -> None:
    run_claims.claim(RUN)
    run_claims.claim(RUN)
    assert not run_claims.dead(RUN)


def test_old_ones_are_forgotten(state: Path) -> None:
    with claimed() as process:
        process.kill()
    file = state / "sparkrig/runs" / RUN
    os.utime(file, (0, 0))
    run_claims.claim("20261121T041500Z-cd34")
    assert not file.exists()
