"""pyinfra as a process of its own: how it is started, shown on our own screen, and asked how it ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from time import monotonic
from typing import TYPE_CHECKING, Any

import click

from sparkrig.cure import assigned
from sparkrig.drift.plan import Planned
from sparkrig.drift.render.plan import of_step
from sparkrig.render.folded import wrapped
from sparkrig.render.progress import spent
from sparkrig.runs import change
from sparkrig.runs.applied import PROGRESS, Applied, Said
from sparkrig.runs.change import few
from sparkrig.text import plain

if TYPE_CHECKING:
    from sparkrig.terminal.progress import Told

_EACH = 8  # hosts, as many as a cluster has; of more a step is one line for all


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


def run(
    words: Sequence[str],
    hosts: Collection[str],
    planned: Mapping[str, Planned] = {},
    patience: Mapping[str, float] = {},
) -> tuple[int, Applied]:
    """Run pyinfra and show on standard error what it does, wrapped: its exit code, and what was read.

    words: what is typed after `pyinfra`; hosts: the names of those that it is about; planned: what the plan, which
    is on the screen already, said of them; patience: the factor on all times of each.
    """
    from sparkrig.terminal import progress
    from sparkrig.terminal.screen import Screen

    console = Screen(stderr=True)
    applied, shown = Applied(), _Shown(max(20, console.width), list(hosts), planned, patience)
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
        shown.fold(told)
    applied.interrupted = interrupted.is_set()
    return child.returncode, applied


class _Shown:
    """What of a run is on the screen already. idle: the steps in a row that changed nothing."""

    def __init__(
        self, width: int, hosts: list[str], planned: Mapping[str, Planned], patience: Mapping[str, float]
    ) -> None:
        self.width, self.hosts, self.patience = width, hosts, patience
        self.known = {plain(line).strip() for each in planned.values() for line in change.lines(each.changes)}
        self.steps = {(name, step.title): step for name, each in planned.items() for step in each.steps}
        self.stage, self.step, self.began, self.idle, self.tenth = "", "", monotonic(), 0, -1

    def take(self, told: Told, applied: Applied, said: Said | None) -> None:
        if applied.step != self.step:
            self.step_ends(told, applied)
            self.step, self.began = applied.step, monotonic()
        if applied.stage != self.stage:
            self.stage = applied.stage
            for name in self.hosts:
                if name not in applied.failed and name not in applied.sentences:
                    told(name, self.stage, usual=self._usual(name))
        if said and said.done and len(self.hosts) <= _EACH and self.step in applied.changed.get(said.host, ()):
            self._changed(told, said.host)
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
        """Count a step that changed nothing; of a fleet, say on how many hosts one changed something."""
        changed = [name for name in self.hosts if self.step in applied.changed.get(name, ())]
        if changed and len(self.hosts) > _EACH:
            self._changed(told, f"{len(changed)} of {len(self.hosts)} hosts")
        elif self.step and not changed:
            self.idle += 1

    def fold(self, told: Told) -> None:
        """One line for all steps since the last that changed something."""
        if self.idle:
            self._say(told, f"· {self.idle} step{'s' * (self.idle > 1)} changed nothing", "  ")
        self.idle = 0

    def _changed(self, told: Told, where: str) -> None:
        """The line of a step on a host, or on several: how long it took, and what it changed."""
        self.fold(told)
        step = self.steps.get((where, self.step))
        what = f": {'; '.join(few(of_step(step, brief=True)))}" if step and step.changes else ""
        on = "" if self.hosts == [where] else f"{where}, "
        self._say(told, f"✓ {self.step} ({on}{spent(monotonic() - self.began)}){what}", "  ")

    def _usual(self, name: str) -> float | None:
        step = self.steps.get((name, self.stage))
        return step.seconds * self.patience[name] if step else None

    def _say(self, told: Told, text: str, hanging: str) -> None:
        for line in wrapped(text, self.width, "", hanging):
            told.say(line)
