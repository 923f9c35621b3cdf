"""What the lab shows of a step, on a terminal that can be drawn on and on one that cannot."""

from __future__ import annotations

import io
from threading import Event

import pytest
from rich.console import Console

from lab import progress


@pytest.mark.parametrize(("terminal", "drawn"), [("xterm", True), ("dumb", False)])
def test_a_step_is_drawn_or_said(monkeypatch: pytest.MonkeyPatch, terminal: str, drawn: bool) -> None:
    monkeypatch.setenv("TERM", terminal)
    screen = io.StringIO()
    monkeypatch.setattr(progress, "console", lambda: Console(file=screen, force_terminal=True))
    with progress.step("Booting", "booted"):
        pass
    assert ("Booting ...\n" in screen.getvalue()) is not drawn
    assert "booted" in screen.getvalue()


def test_a_long_step_is_not_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """`make demo` in a log had 195 s without a line, at a boot."""
    shown = io.StringIO()
    again = Event()

    class Watched(Console):
        def print(self, *what: object, **how: object) -> None:
            super().print(*what, **how)  # type: ignore[arg-type]
            if shown.getvalue().count("Booting") > 2:
                again.set()

    monkeypatch.setattr(progress, "PULSE_S", 0.001)
    monkeypatch.setattr(progress, "console", lambda: Watched(file=shown))
    with progress.step("Booting", "booted"):
        assert again.wait(10)
    assert shown.getvalue().splitlines()[1] == "Booting ... 0 s"
