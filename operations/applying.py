"""pyinfra as a process of its own: how it is started, shown on our own screen, and asked how it ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from time import monotonic
from typing import TYPE_CHECKING, Any

import click

from sparkrig.cure import assigned
from sparkrig.runs.applied import PROGRESS, Applied, Said

if TYPE_CHECKING:
    from sparkrig.terminal.progress import Told


def program() -> str:
    """pyinfra's own command, of this environment."""
    return str(Path(sys.executable).with_name("pyinfra"))


def environment() -> dict[str, str]:
    """What pyinfra is started with: its spinner can deadlock [@pyinfra-1526]."""
    return {**os.environ, "PYINFRA_PROGRESS": "off"}


def data(given: Mapping[str, Any]) -> list[str]:
    """Settings for one run alone, as they are typed after `pyinfra`."""
    return [word for name, value in given.items() for word in ("--data", assigned(name, value))]


def now() -> str:
    """This moment, as the id of a run begins with it."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}"


@contextmanager
def interruptible() -> Iterator[Event]:
    """Ctrl-C reaches pyinfra, too, which ends its step; a signal that is caught here is not ignored there.

    What is given is set once the signal came: pyinfra itself ends with exit code 0 then.
    """
    came = Event()
    before = signal.signal(signal.SIGINT, lambda *_: came.set())
    try:
        yield came
    finally:
        signal.signal(signal.SIGINT, before)


def rolled_back(data: Mapping[str, Mapping[str, Any]], began: str) -> bool:
    """Whether a run that began then took its own network change back. data: of the hosts that are asked."""
    from sparkrig.ssh import session  # isort: skip - it patches the standard library before pyinfra is loaded
    from sparkrig.operations import journal
    from sparkrig.runs.journal import outcome

    answers = session.asked(data, "Reading the journals", journal.look)
    return any(
        outcome(run, told) == "rolled back"
        for told in answers.values()
        if not isinstance(told, Exception)
        for run in told.runs
        if run.id >= began
    )


def run(words: Sequence[str], hosts: Collection[str], known: Collection[str]) -> tuple[int, Applied]:
    """Run pyinfra and show on standard error what it does, wrapped: its exit code, and what was read.

    words: what is typed after `pyinfra`; hosts: the names of those that it is about; known: lines that the plan
    showed already.
    """
    from sparkrig.render.progress import spent
    from sparkrig.terminal import progress
    from sparkrig.terminal.screen import Screen

    console = Screen(stderr=True)
    applied, shown = Applied(), _Shown(console.width, list(hosts), set(known), spent)
    with (
        interruptible() as interrupted,
        progress.hosts(hosts, "Applying") as told,
        subprocess.Popen(
            [program(), *words],
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as child,
    ):
        for name in hosts:
            told(name, applied.stage)
        for line in child.stdout or ():
            shown.take(told, applied, applied.read(click.unstyle(line)))
        shown.step_ends(told, applied)
    applied.interrupted = interrupted.is_set()
    return child.returncode, applied


class _Shown:
    """What of a run is on the screen already."""

    def __init__(self, width: int, hosts: list[str], known: set[str], spent: Callable[[float], str]) -> None:
        self.width, self.hosts, self.known, self.spent = width, hosts, known, spent
        self.stage, self.step, self.began, self.tenth = "", "", monotonic(), -1

    def take(self, told: Told, applied: Applied, said: Said | None) -> None:
        if applied.step != self.step:
            self.step_ends(told, applied)
            self.step, self.began = applied.step, monotonic()
        if applied.stage != self.stage:
            self.stage = applied.stage
            for name in self.hosts:
                if name not in applied.failed and name not in applied.sentences:
                    told(name, self.stage)
        if said and (found := PROGRESS.match(said.text)):
            self._far(told, said, int(found[1]))
        elif said and said.text and not said.wrong and said.text.strip() not in self.known:
            self._say(told, f"  {said.host}: {said.text}", "    ")  # why one is refused stands at the end

    def _far(self, told: Told, said: Said, percent: int) -> None:
        """A bar where lines are drawn anew, and elsewhere a line for each tenth."""
        if told.live:
            told(said.host, f"{'#' * (percent // 10):.<10} {said.text}")
        elif percent // 10 != self.tenth:
            self.tenth = percent // 10
            self._say(told, f"  {said.host}: {said.text}", "    ")

    def step_ends(self, told: Told, applied: Applied) -> None:
        """One line for a step that changed something."""
        changed = [name for name in self.hosts if self.step in applied.changed.get(name, ())]
        if self.step and changed:
            where = "" if len(changed) == len(self.hosts) else f"{', '.join(changed)}; "
            self._say(told, f"✓ {self.step} ({where}{self.spent(monotonic() - self.began)})", "  ")

    def _say(self, told: Told, text: str, hanging: str) -> None:
        from sparkrig.drift.render.plan import wrapped

        for line in wrapped(text, max(20, self.width), "", hanging):
            told.say(line)
