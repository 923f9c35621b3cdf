"""What keeps the locks of runs, as their connections start it: lock.HOLD, for real, in a test's own folder."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

from sparkrig.runs import lock


class Holders:
    """The processes that keep locks. text: a script as it is meant in the folder of the test."""

    def __init__(self, text: Callable[[str], str]) -> None:
        self._text = text
        self.connections: list[subprocess.Popen[str]] = []

    def start(self, run: str) -> subprocess.Popen[str]:
        script = self._text(lock.HOLD.replace(f"sleep {lock.TICK_S} ", "sleep 0.02 "))
        words = ["sh", "-c", script, "sparkrig", run]
        self.connections.append(subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        return self.connections[-1]

    def cut(self) -> None:
        """End all connections as a controller's death does: their output is closed, and that is all."""
        for each in self.connections:
            assert each.stdout and each.stderr
            each.stdout.close()
            each.stderr.close()
            each.wait(timeout=20)
        self.connections.clear()
