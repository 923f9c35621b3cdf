"""Waiting for NetworkManager's start, and what is said of a step that a lost connection cut short."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sparkrig.deploys import spark
from sparkrig.facts.resources import Network
from sparkrig.ssh import remote
from tests.unit import manager
from tests.unit.shells import sh, tool, well
from tests.unit.simulated import SimulatedHost

BUSCTL = """
echo asked >>"{folder}/asked"
[ "$(wc -l <"{folder}/asked")" -gt {fails} ] && cat "{folder}/objects"
"""


def look(folder: Path, *, fails: int, unit: str) -> tuple[str, int]:
    """What the network's script prints where busctl fails so often first, and how often it was asked."""
    tools = folder / "tools"
    tool(tools, "busctl", BUSCTL.format(folder=folder, fails=fails))
    (folder / "objects").write_text(manager.objects([("enP7s7", "connected", "x")]))
    tool(tools, "systemctl", f"echo {unit}")
    tool(tools, "sleep", ":")
    tool(tools, "ip", "echo []")
    done = well(sh(Network.script, path=tools))
    return done.stdout, len((folder / "asked").read_text().splitlines())


def test_a_networkmanager_that_starts_is_waited_for(tmp_path: Path) -> None:
    printed, asked = look(tmp_path, fails=3, unit="activating")
    assert "nm running\ndevice enP7s7:connected:x\n" in printed
    assert asked == 4


@pytest.mark.slow
@pytest.mark.parametrize(("unit", "times"), [("activating", 60), ("active", 3), ("inactive", 1), ("failed", 1)])
def test_one_that_does_not_come_is_not_waited_for_for_ever(tmp_path: Path, unit: str, times: int) -> None:
    printed, asked = look(tmp_path, fails=999, unit=unit)
    assert "nm running" not in printed
    assert asked == times


@pytest.mark.parametrize(
    ("answer", "lines"), [(remote.Lost("spark-b does not answer (x)"), 1), (remote.Failed("rc 1"), 0)]
)
def test_a_step_without_a_connection_is_said_to_be_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: Exception, lines: int
) -> None:
    def shell(*_: Any, **__: Any) -> str:
        raise answer

    monkeypatch.setattr(remote, "shell", shell)
    host: Any = SimulatedHost(tmp_path, "spark-b")
    spark._say_if_lost(host)
    assert len(host.logged) == lines
    for line in host.logged:
        assert (
            "its state is unknown (spark-b does not answer (x)). Try: ssh spark-b true, and run the same" in line
        )
