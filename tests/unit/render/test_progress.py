"""What is seen while a verb works on hosts: live lines that fit a screen, plain ones in a log, results apart."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from rich.console import Console

from sparkrig.render.progress import Busy, Hosts, Lines, spent, spinner
from sparkrig.terminal import progress
from sparkrig.terminal.progress import Told


def screen(hosts: Hosts, now: float, *, width: int = 80, height: int = 24, encoding: str = "utf-8") -> list[str]:
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    console = Console(
        file=file, width=width, height=height, force_terminal=True, color_system=None, legacy_windows=False
    )
    with console.capture() as shown:
        console.print(Lines(hosts, now, spinner(console)))
    return [line.rstrip() for line in shown.get().splitlines()]


def fleet(count: int) -> Hosts:
    """They began one second after the other, and read since."""
    busy = {f"spark-{n:02}": Busy(f"spark-{n:02}", "reading", "", n, n) for n in range(count)}
    return Hosts("Looking", count, 0, busy)


def test_each_host_has_a_line_with_its_step_and_what_runs_there() -> None:
    hosts = fleet(2)
    hosts.busy["spark-01"] = Busy("spark-01", "may be rebooting (refused)", "", 1, 60, until=100)
    hosts.busy["b"] = Busy("b", "measuring", "ib_write_bw -d rocep1s0f0", 0, 69)
    assert [line[1:] for line in screen(hosts, 72.9)] == [
        "ooking: 72 s",
        " spark-00 72 s reading",
        " spark-01 12 s may be rebooting (refused); 27 s left",
        " b         3 s measuring ib_write_bw -d rocep1s0f0",
    ]


def test_a_step_that_is_known_is_shown_with_how_long_it_usually_takes() -> None:
    hosts = Hosts("Applying", 1, 0, {"b": Busy("b", "Network: profiles and live links", "", 0, 0, usual=30)})
    assert screen(hosts, 17)[1][1:] == " b 17 s of about 30 s Network: profiles and live links"


@pytest.mark.parametrize("height", [6, 24, 80])
def test_a_large_fleet_leaves_room_on_the_screen(height: int) -> None:
    shown = screen(fleet(64), 70, height=height)
    assert len(shown) < min(height, 16)
    assert shown[0] == "Looking: 70 s"
    assert "spark-00" in shown[1]
    assert shown[-1] == f"  and {64 - len(shown) + 2} more"


def test_who_may_not_come_at_all_is_among_those_that_are_shown() -> None:
    hosts = fleet(64)
    hosts.busy["spark-63"].until = 100
    assert "spark-63" in screen(hosts, 70, height=8)[-2]


def test_finished_hosts_are_counted_and_gone() -> None:
    hosts = fleet(2)
    hosts.total, hosts.done, hosts.failed = 64, {"x", "y"}, {"z"}
    assert screen(hosts, 5)[0] == "Looking: 2 of 64 done, 1 failed, 5 s"
    assert screen(Hosts("Looking", 1, 0), 5) == ["Looking: 5 s"]


def test_what_is_over_at_once_does_not_flicker() -> None:
    assert screen(fleet(2), 0.1) == []


def test_no_line_is_wider_than_the_screen_and_a_terminal_without_utf_8_gets_ascii() -> None:
    hosts = fleet(1)
    hosts.busy["spark-00"].command = "command " * 20
    assert max(map(len, screen(hosts, 5, width=40))) <= 40
    assert all(line.isascii() for line in screen(fleet(9), 5, encoding="ascii"))


@pytest.mark.parametrize(("seconds", "said"), [(0.9, "0 s"), (119.9, "119 s"), (200, "3 min 20 s")])
def test_how_long_it_took(seconds: float, said: str) -> None:
    assert spent(seconds) == said


# plain lines, with a clock that is set by hand


@dataclass
class Clock:
    now: float = 100.0

    def __call__(self) -> float:
        return self.now


Script = Callable[[Told, Callable[[float], None]], None]


def fails(told: Told, after: Callable[[float], None]) -> None:
    def ask(_: Any) -> None:
        after(1)
        raise OSError("x")

    with pytest.raises(OSError, match="x"):
        told.during("reading", ask)(Busy("a", "", "", 0, 0))


def quick(told: Told, after: Callable[[float], None]) -> None:
    told("a", "connecting")
    after(1.9)
    told("a", "reading")
    after(0.05)
    told.done("a", "12 checks")


def slow(told: Told, after: Callable[[float], None]) -> None:
    told("a", "connecting")
    after(1)
    told("a", "reading", "sh -c x")
    for _ in range(9):
        after(1)
        told("a", "reading", "sh -c x")  # the same again is no event
    told.done("a", "12 checks")
    told.done("b")


def waiting(told: Told, after: Callable[[float], None]) -> None:
    told("a", "waiting", until=190)
    after(3)
    told.failed("a")
    told("b", "connecting")
    told.failed("b", "no route to host")
    told("c", "reading")
    told.failed("c")
    told.say("rollback armed")


PLAIN: dict[str, tuple[Script, list[str]]] = {
    "nothing of what takes less than two seconds": (quick, []),
    "a line when a step is slow, and one at the end": (
        slow,
        ["a: reading: sh -c x ...", "a: done in 10 s: 12 checks"],
    ),
    "failures always": (
        waiting,
        [
            "a: waiting; 87 s left",
            "a: failed after 3 s",
            "b: failed after 0 s: no route to host",
            "rollback armed",
        ],
    ),
    "a quick failure that the result shows": (fails, []),
}


@pytest.mark.parametrize(("script", "lines"), PLAIN.values(), ids=PLAIN)
def test_a_log_gets_lines(monkeypatch: pytest.MonkeyPatch, script: Script, lines: list[str]) -> None:
    clock, file = Clock(), io.StringIO()
    monkeypatch.setattr(progress, "monotonic", clock)
    hosts = Hosts("Looking", 2, clock.now)
    told = Told(hosts, Console(file=file, width=20), live=False)

    def after(seconds: float) -> None:
        clock.now += seconds
        told.tick()

    script(told, after)
    assert file.getvalue().splitlines() == lines
    assert hosts.busy == {}


def test_a_log_of_a_fleet_is_counted_and_names_who_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand hosts, each two seconds or more at it, were as many lines."""
    clock, file = Clock(), io.StringIO()
    monkeypatch.setattr(progress, "monotonic", clock)
    told = Told(Hosts("Looking", 40, clock.now), Console(file=file, width=20), live=False)
    told("late", "reading")
    for number in range(12):
        told(f"spark-{number}", "reading")
        clock.now += 2
        told.tick()
        told.failed(f"spark-{number}") if number == 11 else told.done(f"spark-{number}")
    told.done("late")
    assert file.getvalue().splitlines() == [
        "Looking: 4 of 40 done, 10 s",
        "Looking: 9 of 40 done, 20 s",
        "late: reading ...",
        "late: done in 24 s",
    ]


# a real terminal, and everything that is none

PROGRAM = """if True:
    from threading import Event
    from time import monotonic
    from sparkrig.terminal import progress
    progress.WORTH_S, progress._TICK_S = 0.2, 0.05
    with progress.hosts(["spark-a", "spark-b"], "Looking") as told:
        told("spark-a", "reading"), told("spark-b", "waiting", until=monotonic() + 99)
        Event().wait(0.7)
        told.done("spark-a", "12 checks")
        told.failed("spark-b", "no route to host")
        print("a result", flush=True)
"""


def on_terminal(**environment: str) -> tuple[str, str]:
    """Standard output, which is a pipe, and what a terminal got, which is standard error."""
    outer, inner = pty.openpty()
    plain = {
        "PATH": os.environ["PATH"],
        "TERM": "xterm-256color",
        "COLUMNS": "80",
        "LINES": "24",
        "LANG": "C.UTF-8",
    }
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        env={**plain, **environment},
        stdout=subprocess.PIPE,
        stderr=inner,
        text=True,
    ) as running:
        os.close(inner)
        shown = b""
        while chunk := read(outer):
            shown += chunk
        out = running.stdout.read() if running.stdout else ""
    os.close(outer)
    return out, shown.decode()


def read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # nobody writes to it any more
        return b""


LINES = r"""spark-a: reading ...
spark-b: waiting; 9\d s left
spark-a: done in \d s: 12 checks
spark-b: failed after \d s: no route to host
"""


@pytest.mark.slow
def test_a_terminal_is_drawn_on_and_results_go_to_standard_output() -> None:
    out, shown = on_terminal()
    assert out == "a result\n"
    assert "a result" not in shown
    assert re.search(r"Looking: \d s", shown)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)
    assert re.search(r"spark-a +\d s reading", text)
    assert re.search(r"✓ spark-a 12 checks \(\d s\)", text)
    assert re.search(r"✗ spark-b no route to host \(\d s\)", text)
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l"), "the cursor is shown again"


@pytest.mark.slow  # a process for each row
@pytest.mark.parametrize("environment", [{"CI": "1"}, {"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
def test_whoever_asks_for_plain_lines_gets_them_on_a_terminal_too(environment: dict[str, str]) -> None:
    out, shown = on_terminal(**environment)
    assert (out, "\x1b" in shown) == ("a result\n", False)
    assert re.fullmatch(LINES, shown.replace("\r", ""))


@pytest.mark.slow
def test_a_pipe_gets_plain_lines_whatever_forces_colour() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={"PATH": os.environ["PATH"], "FORCE_COLOR": "1", "TERM": "xterm"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, "\x1b" in done.stderr) == ("a result\n", False)
    assert re.fullmatch(LINES, done.stderr)
