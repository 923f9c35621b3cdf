"""What a person sees while the lab works."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

PULSE_S = 30.0


def console() -> Console:
    """Standard error, with colour and movement only where a person watches."""
    plain = bool(os.environ.get("CI") or os.environ.get("NO_COLOR"))
    return Console(stderr=True, highlight=False, force_terminal=False if plain else None)


@contextmanager
def step(doing: str, done: str) -> Iterator[None]:
    """Shows `doing` with a clock while the block runs, and `done` with the seconds it took when it has."""
    screen, began = console(), time.monotonic()
    if screen.is_interactive:  # a terminal that can move its cursor
        columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        with Progress(*columns, console=screen, transient=True) as progress:
            progress.add_task(doing, total=None)
            yield
    else:
        screen.print(f"{doing} ...", soft_wrap=True)
        with _pulse(screen, doing, began):
            yield
    screen.print(f"[green]✓[/green] {done} [dim]({time.monotonic() - began:.1f} s)[/dim]", soft_wrap=True)


@contextmanager
def _pulse(screen: Console, doing: str, began: float) -> Iterator[None]:
    """A line every PULSE_S seconds, so that a boot of three minutes in a log is no hang."""
    over = Event()

    def pulse() -> None:
        while not over.wait(PULSE_S):
            screen.print(f"{doing} ... [dim]{time.monotonic() - began:.0f} s[/dim]", soft_wrap=True)

    thread = Thread(target=pulse, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def say(line: str) -> None:
    """One line about something that took no time."""
    console().print(line, soft_wrap=True)
