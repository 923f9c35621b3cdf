"""What the lab shows of a step, on a terminal that can be drawn on and on one that cannot."""

from __future__ import annotations

import io

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
