"""One command timed, and rounds of several that take turns.

No library does this: hyperfine and pyperf time one command to its end before the next one begins, so that a
machine which is slower for a minute is one contender's bad luck. Statistics are the standard library's.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.contenders import Command, Contender, Work
from benchmarks.hosts import Place
from tests.plan.conftest import ROOT

RUSAGE = Path(__file__).with_name("rusage.py")


class Broken(Exception):
    """A command that did not do its work: its time would mean nothing."""


@dataclass
class Row:
    """What was measured of one contender at one work in one place.

    seconds: wall time of each round; peak_kib: the most memory that its largest process ever had.
    """

    contender: str
    work: str
    place: str
    hosts: int
    round_trip_ms: int
    seconds: list[float] = field(default_factory=list)
    peak_kib: int = 0

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def spread(self) -> float:
        """Largest less smallest, seconds."""
        return max(self.seconds) - min(self.seconds)

    def plain(self) -> dict[str, Any]:
        return asdict(self)


def once(command: Command, log: Path) -> tuple[float, int]:
    """Seconds and peak memory in KiB of one run. Raises Broken where it did not do its work."""
    # empty is unset: Python keeps what it has compiled, as it does for a user, whatever this machine's setting
    env = {**os.environ, "CI": "1", "NO_COLOR": "1", "PYTHONDONTWRITEBYTECODE": "", **command.env}
    used = log.with_suffix(".used")
    with log.open("w") as out:
        subprocess.run(
            [sys.executable, "-I", "-S", str(RUSAGE), str(used), *command.words],
            cwd=ROOT,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            check=True,
        )
    code, took, peak = used.read_text().split()
    if not command.did_it(int(code), log.read_text()):
        raise Broken(f"{' '.join(command.words)} (exit code {code}) did another work; see {log}")
    return float(took), int(peak)


def timed(contender: Contender, work: Work, place: Place, log: Path) -> tuple[float, int]:
    """The same of one contender, which can do the work. Raises Broken."""
    command = contender.command(work, place)
    assert command
    return once(command, log)


def rounds(
    contenders: Sequence[Contender],
    work: Work,
    place: Place,
    count: int,
    folder: Path,
    *,
    seldom: Sequence[Contender] = (),
    before: Callable[[], None] = lambda: None,
    after: Callable[[Contender], None] = lambda _: None,
    said: Callable[[str], None] = print,
) -> list[Row]:
    """Each contender in turn, so many times; every round begins with another one.

    seldom: those that run in the first round alone; before: what is done ahead of each run, unmeasured; after:
    what proves it, unmeasured. Raises Broken.
    """
    rows = {
        each.name: Row(each.name, work, place.name, place.count, place.round_trip_ms)
        for each in contenders
        if each.command(work, place)
    }
    able = [each for each in contenders if each.name in rows]
    for number in range(count):
        first = number % len(able)
        taking_part = [each for each in (*able[first:], *able[:first]) if not number or each not in seldom]
        for contender in taking_part:
            before()
            log = folder / f"{work}-{place.name}-{contender.name}-{number}.log".replace(" ", "_")
            took, peak = timed(contender, work, place, log)
            row = rows[contender.name]
            row.seconds.append(round(took, 3))
            row.peak_kib = max(row.peak_kib, peak)
            said(f"{work}, {place.name}, {place.round_trip_ms} ms, {number + 1}: {contender.name} {took:.1f} s")
            after(contender)
    return list(rows.values())
