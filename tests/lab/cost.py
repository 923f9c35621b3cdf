"""What each test on the virtual Sparks costs, as a table after the run: pytest -p tests.lab.cost (pyproject.toml).

wall        seconds from the test's set-up to its end
guests      processor seconds of all guests (their qemu), of the switch and of the LAN
controller  processor seconds of pytest and of what it started
waiting     seconds in which the whole machine was nearly idle: a time-out, a pause, a fixed wait
"""

from __future__ import annotations

import os
import resource
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path

import pytest

from lab.nodes import ALL, LAN, SWITCH

EVERY_S = 0.5
IDLE = 0.9  # of all processors
_TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Cost:
    """Seconds, as the columns of the table."""

    wall: float = 0
    guests: float = 0
    controller: float = 0
    waiting: float = 0

    def __sub__(self, earlier: Cost) -> Cost:
        return Cost(*(getattr(self, each.name) - getattr(earlier, each.name) for each in fields(Cost)))


class Meter:
    """Sums up what is used from now on; twice a second, for a guest that ends takes its figures along."""

    def __init__(self) -> None:
        self._guests: dict[int, float] = {}
        self._waiting = 0.0
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def read(self) -> Cost:
        """All of it since the beginning."""
        self._look()
        used = [resource.getrusage(each) for each in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        controller = sum(each.ru_utime + each.ru_stime for each in used)
        return Cost(time.monotonic(), sum(self._guests.values()), controller, self._waiting)

    def stop(self) -> None:
        """End the looking."""
        self._ends.set()
        self._thread.join()

    def _watch(self) -> None:
        idle, when = _idle_s(), time.monotonic()
        while not self._ends.wait(EVERY_S):
            self._look()
            idle_now, now = _idle_s(), time.monotonic()
            if idle_now - idle > IDLE * (now - when) * (os.cpu_count() or 1):
                self._waiting += now - when
            idle, when = idle_now, now

    def _look(self) -> None:
        from lab.process import Process

        for pid in filter(None, (Process(node).pid() for node in (*ALL, SWITCH, LAN))):
            try:
                words = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
            except OSError:
                continue  # it has just ended; what it had used until half a second ago is kept
            self._guests[pid] = (int(words[11]) + int(words[12])) / _TICK


def _idle_s() -> float:
    """Seconds that all processors together were idle since the boot."""
    words = Path("/proc/stat").read_text(encoding="ascii").split()
    return (int(words[4]) + int(words[5])) / _TICK


_meter: Meter | None = None
_costs: dict[str, Cost] = {}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Measure a test of the lab, its set-up included."""
    global _meter
    if item.get_closest_marker("lab") is None:
        return (yield)
    _meter = _meter or Meter()
    before = _meter.read()
    try:
        return (yield)
    finally:
        _costs[item.nodeid] = _meter.read() - before


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the table, the dearest first."""
    if not _costs or _meter is None:
        return
    _meter.stop()
    terminalreporter.section("what the virtual Sparks cost, in seconds")
    terminalreporter.line("".join(f"{each.name:>12}" for each in fields(Cost)))
    total = Cost()
    for name, cost in sorted(_costs.items(), key=lambda row: -row[1].wall):
        terminalreporter.line(f"{_row(cost)}  {name}")
        total = total - (Cost() - cost)
    terminalreporter.line(f"{_row(total)}  in all")


def _row(cost: Cost) -> str:
    return "".join(f"{getattr(cost, each.name):12.1f}" for each in fields(Cost))
