"""A deploy under way, which a fault is to hit at one of its steps."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from lab import ssh
from lab.errors import LabError
from lab.waiting import wait_until
from tests.lab.commands import BIN, CLUSTER, LAB, ROOT, STATE

START_S = 240  # for a step to begin: the whole deploy takes 80 here
# every command that changes something is `timeout -k 5 ...`; a line each time that one runs
WATCH = "timeout 300 sh -c 'while sleep 0.1; do pgrep -f \"^timeout -k 5 \" >/dev/null && echo; done'"


class Deploying:
    """One run of pyinfra, read as it prints."""

    def __init__(self, *flags: str, inventory: str | Path = LAB, file: str = CLUSTER) -> None:
        self.lines: list[str] = []
        self._process = subprocess.Popen(
            [BIN / "pyinfra", "-y", *flags, str(inventory), file],
            cwd=ROOT,
            env={**os.environ, "PYINFRA_PROGRESS": "off", "NO_COLOR": "1", "XDG_STATE_HOME": STATE},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            self.lines.append(line.rstrip())

    @property
    def steps(self) -> list[str]:
        """The steps that have begun, in order."""
        found = (re.match(r"--> Starting operation: (.+?)\s*$", line) for line in list(self.lines))
        return [match[1] for match in found if match]

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    @property
    def code(self) -> int | None:
        return self._process.poll()

    @property
    def said(self) -> str:
        return "\n".join(self.lines)

    def until(self, words: str) -> None:
        """Waits until it prints these words."""
        self._wait(lambda: self.ended or words in self.said, f"{words!r} was never printed")
        assert words in self.said, self.said[-2000:]

    def in_step(self, step: str, node: str) -> str:
        """Waits until a step runs a command on that host, or is over; returns which of them it was, in words.

        LabError where the deploy never comes to that step.
        """
        with _watching(node) as runs:
            self._wait(lambda: self.ended or step in self.steps, f"{step} never began")
            if step not in self.steps:
                raise LabError(f"the deploy ended before {step}", expected="that step", attempt=self.said[-2000:])
            seen = len(runs)
            self._wait(lambda: self.ended or self.steps[-1] != step or len(runs) > seen, f"{step} has no end")
            return f"while its command ran on {node}" if len(runs) > seen else "as it ended"

    @staticmethod
    def _wait(condition: Callable[[], bool], happened: str) -> None:
        wait_until(
            condition, START_S, happened=happened, attempt="pyinfra -y inventories/lab.py deploys/cluster.py"
        )

    def wait(self, seconds: float) -> bool:
        """Whether the run ended by itself within that time."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        self._reader.join(10)
        return True

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def kill(self) -> None:
        """kill -9, and the end of its connections with it."""
        self._process.kill()
        self._process.wait(10)
        self._reader.join(10)


@contextmanager
def deploying(*flags: str, inventory: str | Path = LAB, file: str = CLUSTER) -> Iterator[Deploying]:
    """A deploy that does not outlive its test."""
    running = Deploying(*flags, inventory=inventory, file=file)
    try:
        yield running
    finally:
        if not running.ended:
            running.kill()


@contextmanager
def _watching(node: str) -> Iterator[list[str]]:
    """Grows while a command of ours runs on a host."""
    lines: list[str] = []
    with subprocess.Popen(
        ssh.command(node, WATCH), stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True
    ) as watch:
        stdout = watch.stdout
        assert stdout
        thread = threading.Thread(target=lambda: lines.extend(stdout), daemon=True)
        thread.start()
        try:
            yield lines
        finally:
            watch.kill()
