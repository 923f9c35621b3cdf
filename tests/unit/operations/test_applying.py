"""What `sparkrig apply` makes of how pyinfra ended."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from sparkrig.operations import applying
from sparkrig.runs.applied import Applied


def ended(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> tuple[int, Applied]:
    """A run of a program that stands in for pyinfra."""
    program = folder / "pyinfra"
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(applying, "program", lambda: str(program))
    return applying.run([], ["spark-a"], [])


def test_pyinfra_that_ctrl_c_ended_did_not_get_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says `Exiting upon user request!`, and ends with 0."""
    code, applied = ended(tmp_path, monkeypatch, "echo Exiting upon user request!; kill -INT $PPID")
    assert (code, applied.interrupted, applied.whole) == (0, True, False)


def test_a_step_that_failed_is_no_end_whatever_the_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = "--> Starting operation: Driver | hold\n    [spark-a] Error: executed 0 commands"
    code, applied = ended(tmp_path, monkeypatch, f"printf '%s\\n' '{lines}'")
    assert (code, applied.interrupted, applied.whole) == (0, False, False), applied


def test_one_that_got_to_its_end_did(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, applied = ended(tmp_path, monkeypatch, "exit 0")
    assert (code, applied.whole) == (0, True)
