"""What hosts are at while a verb works on them: a line each, as many as a screen has room for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rich.console import Console, ConsoleOptions, RenderResult
from rich.spinner import Spinner
from rich.table import Column, Table
from rich.text import Text

_ROWS = 12  # a live area that fills the screen hides what stands above it
_AROUND = 3  # the title, the count, and the line that the cursor is on
_SHOWN_S = 0.3  # what is over sooner would only flicker


@dataclass
class Busy:
    """What a host is at. All times in seconds of time.monotonic.

    began: when the first of its steps did; since: when this one did; until: when it is given up at the latest, or
    what it counts down to; None where it has no such end. usual: the seconds that the step usually takes, where
    that is known.
    """

    name: str
    step: str
    command: str
    began: float
    since: float
    until: float | None = None
    said: bool = False
    usual: float | None = None

    def words(self, now: float) -> str:
        """The step, and what is left of its time."""
        return self.step if self.until is None else f"{self.step}; {max(0.0, self.until - now):.0f} s left"

    def time(self, now: float) -> str:
        """`17 s of about 30 s`: how long the step has taken, and how long it usually does."""
        return f"{spent(now - self.since)}{f' of about {spent(self.usual)}' if self.usual else ''}"


@dataclass
class Hosts:
    """How far a verb is with its hosts; total: the number of all; done, failed: who is finished."""

    title: str
    total: int
    began: float
    busy: dict[str, Busy] = field(default_factory=dict)
    done: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)


class Lines:
    """All of it on a screen, as it is at one moment: the title, and the busy hosts or the foremost of them."""

    def __init__(self, hosts: Hosts, now: float, spinner: Spinner) -> None:
        self.hosts, self.now, self.spinner = hosts, now, spinner

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self.now - self.hosts.began < _SHOWN_S:
            return
        yield Text(headline(self.hosts, self.now), no_wrap=True, overflow="ellipsis")
        room = max(1, min(_ROWS, console.height - _AROUND))
        shown = foremost(self.hosts.busy, room)
        grid = Table.grid(
            "",
            Column(no_wrap=True, style="bold"),
            Column(no_wrap=True, style="dim", justify="right"),
            "",
            padding=(0, 1),
        )
        for each in shown:
            said = _cropped(f"{each.words(self.now)} ").append(each.command, "dim")
            grid.add_row(self.spinner, each.name, each.time(self.now), said)
        yield grid
        if more := len(self.hosts.busy) - len(shown):
            yield Text(f"  and {more} more", "dim")


def row(spinner: Spinner, step: str, seconds: float) -> Table:
    """A line of its own for something that is no host."""
    grid = Table.grid("", Column(no_wrap=True, style="dim"), "", padding=(0, 1))
    grid.add_row(spinner, spent(seconds), _cropped(step))
    return grid


def _cropped(text: str) -> Text:
    """What gives way on a narrow screen, without a second line."""
    return Text(text, no_wrap=True, overflow="ellipsis")


def spinner(console: Console) -> Spinner:
    """What turns while something is worked on, in characters that the console has."""
    return Spinner("line" if console.options.ascii_only else "dots")


def headline(hosts: Hosts, now: float) -> str:
    """`Looking: 3 of 64 done, 1 failed, 12 s`; what is done with all at once has nothing to count."""
    parts = [f"{len(hosts.done)} of {hosts.total} done"] if hosts.done else []
    parts += [f"{len(hosts.failed)} failed"] if hosts.failed else []
    return f"{hosts.title}: {', '.join([*parts, spent(now - hosts.began)])}"


def foremost(busy: Mapping[str, Busy], room: int) -> list[Busy]:
    """As many of them as there is room for, in their order: who may not come at all, then who is longest at it."""
    kept = {each.name for each in sorted(busy.values(), key=lambda each: (each.until is None, each.since))[:room]}
    return [each for name, each in busy.items() if name in kept]


def spent(seconds: float) -> str:
    """`12 s`, `3 min 20 s`."""
    whole = int(seconds)
    return f"{whole} s" if whole < 120 else f"{whole // 60} min {whole % 60} s"
