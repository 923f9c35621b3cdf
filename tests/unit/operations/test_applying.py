"""What `sparkrig apply` makes of how pyinfra ended."""

from __future__ import annotations

import stat
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from rich.console import Console

from sparkrig.drift.plan import Planned, Step
from sparkrig.operations import applying
from sparkrig.render.progress import Hosts
from sparkrig.runs.applied import Applied, Said
from sparkrig.runs.change import Change
from sparkrig.terminal.progress import Told

MTU = Step("Network | profiles and live links", (Change("mtu", "enp1s0f0np0", "1500", "9000"),))
PLANNED = {"spark-a": Planned((MTU,)), "spark-b": Planned()}
RUN = """\
--> Starting operation: Time | time servers
    [spark-a] No changes
    [spark-b] No changes
--> Starting operation: Driver | hold
    [spark-a] No changes
    [spark-b] No changes
--> Starting operation: Network | profiles and live links
    [spark-a] mtu enp1s0f0np0: 1500 -> 9000
    [spark-b] No changes
    [spark-a] Success
--> Starting operation: close the run
    [spark-a] No changes
    [spark-b] No changes
"""


def ended(
    folder: Path, monkeypatch: pytest.MonkeyPatch, text: str, hosts: Sequence[str] = ("spark-a",)
) -> tuple[int, Applied]:
    """A run of a program that stands in for pyinfra."""
    program = folder / "pyinfra"
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(applying, "program", lambda: str(program))
    return applying.run([], hosts, PLANNED, {"spark-a": 1, "spark-b": 1})


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


@pytest.mark.parametrize("live", [True, False])
def test_a_long_step_is_a_bar_on_a_terminal_and_a_line_for_each_tenth_in_a_pipe(
    live: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    hosts = Hosts("Applying", 1, 0.0)
    told = Told(hosts, Console(width=40, file=sys.stdout), live=live)
    shown = applying._Shown(40, ["spark-a"], {}, {})
    for percent in (0, 4, 9, 43, 100):
        said = Said("spark-a", f"{percent} % of 60.8 GiB, 85 MiB/s, about 9 min left; 3 of 15 files")
        shown.take(told, Applied(), said)
        if live:
            assert hosts.busy["spark-a"].step.startswith(f"{'#' * (percent // 10):.<10} {percent} % of 60.8 GiB")
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines if " % of " in line] == ([] if live else ["0", "43", "100"])
    assert max(map(len, lines), default=0) <= 40


def test_a_step_and_host_is_one_line_and_steps_that_change_nothing_are_folded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    ended(tmp_path, monkeypatch, f"printf '%s' '{RUN}'", [*PLANNED])
    assert capsys.readouterr().err.splitlines() == [
        "· 2 steps changed nothing",
        "✓ Network: profiles and live links (spark-a, 0 s): MTU of enp1s0f0np0: 1500 → 9000",
        "· 1 step changed nothing",
    ]


def test_of_a_fleet_a_step_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ended(tmp_path, monkeypatch, f"printf '%s' '{RUN}'", ["spark-a", *(f"spark-{n}" for n in range(20))])
    assert "✓ Network: profiles and live links (1 of 21 hosts, 0 s)" in capsys.readouterr().err
