"""Shows on standard error what each host is at: live on a terminal, in plain lines elsewhere.

    with progress.hosts(names, "Looking") as told:
        told("spark-a", "connecting")
        told("spark-a", "reading")
        told.done("spark-a", "12 checks")

On a terminal the lines are one area that is redrawn and vanishes at the end: results are what a verb prints to
standard output. In a pipe, and with CI, NO_COLOR or TERM=dumb, an event is a line without control codes, and what
takes less than two seconds is none, failures excepted; of a fleet, a line counts from time to time those that are
done. A verb imports sparkrig.ssh.session before it calls `hosts`: that patches the threads that redraw.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from time import monotonic
from typing import Protocol, TypeVar

from rich.console import Console
from rich.live import Live
from rich.text import Text

from sparkrig.render.findings import ASCII_SIGNS, SIGNS, STYLES
from sparkrig.render.progress import Busy, Hosts, Lines, headline, spent, spinner
from sparkrig.terminal.screen import Screen
from sparkrig.verdict import Level

WORTH_S = 2.0  # what is over sooner needs no line in a log
_TICK_S = 0.25
_MANY = 16  # hosts; of more, a log counts those that are done, and names the ones that take long
_COUNT_EVERY_S = 10.0
_LATE_S = 20.0


class _Named(Protocol):
    @property
    def name(self) -> str: ...


H = TypeVar("H", bound=_Named)
T = TypeVar("T")


def lively(console: Console) -> bool:
    """Whether to draw live: on a terminal that can move its cursor, where plain lines are not asked for."""
    asked = os.environ.get("CI") or os.environ.get("NO_COLOR")
    return console.file.isatty() and console.is_interactive and not asked


class Told:
    """Receives what each host is at; the names are an inventory's, or of anything else that works side by side."""

    def __init__(self, hosts: Hosts, console: Console, *, live: bool) -> None:
        self._hosts, self._console, self.live = hosts, console, live
        self._many = hosts.total > _MANY
        self._counted = hosts.began

    def __call__(
        self, name: str, step: str, command: str = "", *, until: float | None = None, usual: float | None = None
    ) -> None:
        """A host begins a step, in words; the same step once more is no event.

        command: what runs there, where that shows more; until: the time.monotonic() at which the step ends at the
        latest, which is counted down to; usual: the seconds that it usually takes.
        """
        now = monotonic()
        last = self._hosts.busy.get(name)
        if last is None or (last.step, last.command) != (step, command):
            began = last.began if last else now
            self._hosts.busy[name] = last = Busy(name, step, command, began, now)
        last.until, last.usual = until, usual

    def done(self, name: str, text: str = "") -> None:
        """A host is finished. text: the result, where nothing else on the screen shows it."""
        self._hosts.done.add(name)
        self._end(name, "healthy", "done in", text)

    def failed(self, name: str, why: str = "") -> None:
        """A host is given up. why: a sentence, where nothing else on the screen shows it."""
        self._hosts.failed.add(name)
        self._end(name, "fault", "failed after", why)

    def during(self, step: str, ask: Callable[[H], T]) -> Callable[[H], T]:
        """`ask`, with its host shown as at `step` meanwhile, and as done or failed after it."""

        def asked(at: H) -> T:
            self(at.name, step)
            try:
                answer = ask(at)
            except Exception:
                self.failed(at.name)
                raise
            self.done(at.name)
            return answer

        return asked

    def say(self, text: str) -> None:
        """One line that stays, whatever it took."""
        self._print(Text(text))

    def tick(self) -> None:
        """Print for each host the step that it has been at for two seconds; for plain lines.

        Of many hosts, the count of those that are done every ten seconds, and who is at a step for twenty.
        """
        now = monotonic()
        if self._many and now - self._counted >= _COUNT_EVERY_S:
            self._counted = now
            self._print(Text(headline(self._hosts, now)))
        for each in [each for each in self._hosts.busy.values() if not each.said]:
            if now - each.since >= (_LATE_S if self._many else WORTH_S):
                each.said = True
                command = f": {each.command}" if each.command else ""
                usual = f", about {spent(each.usual)}" if each.usual else ""
                self._print(Text(f"{each.name}: {each.words(now)}{command}{usual}{'' if each.until else ' ...'}"))

    def _end(self, name: str, level: Level, how: str, text: str) -> None:
        busy = self._hosts.busy.pop(name, None)
        took = monotonic() - busy.began if busy else 0.0
        worth = bool(busy and busy.said) if self._many else took >= WORTH_S
        if self.live and text:
            sign = (ASCII_SIGNS if self._console.options.ascii_only else SIGNS)[level]
            told = (sign, STYLES[level]), " ", (name, "bold"), f" {text} ", (f"({spent(took)})", "dim")
            self._print(Text.assemble(*told))
        elif not self.live and (worth or (text and level == "fault")):
            self._print(Text(f"{name}: {how} {spent(took)}{f': {text}' if text else ''}"))

    def _print(self, line: Text) -> None:
        self._console.print(line, soft_wrap=True)


@contextmanager
def hosts(names: Collection[str], title: str, console: Console | None = None) -> Iterator[Told]:
    """Show what hosts are at until the block ends. title: what is done to them, such as `Looking`."""
    console = console or Screen(stderr=True)
    state = Hosts(title, len(names), monotonic())
    live = lively(console)
    told = Told(state, console, live=live)
    with _drawn(state, console) if live else _told(told):
        yield told


def _drawn(state: Hosts, console: Console) -> Live:
    turning = spinner(console)
    return Live(
        get_renderable=lambda: Lines(state, monotonic(), turning),
        console=console,
        refresh_per_second=8,
        transient=True,
        redirect_stdout=False,  # it would send what a verb prints to standard error
    )


@contextmanager
def _told(told: Told) -> Iterator[None]:
    over = Event()

    def watch() -> None:
        while not over.wait(_TICK_S):
            told.tick()

    watching = Thread(target=watch, daemon=True)
    watching.start()
    try:
        yield
    finally:
        over.set()
        watching.join()
