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
from time import monotonic
from typing import Any, NamedTuple

from benchmarks.contenders import Command, Contender, Work
from benchmarks.hosts import Place
from tests.plan.conftest import ROOT

RUSAGE = Path(__file__).with_name("rusage.py")
TIMED_OUT = 124  # the exit code that RUSAGE writes then
SLOW_S = 30  # whatever takes longer has one round
_LEAST_S = 5  # a run that has less time left is not begun


class Broken(Exception):
    """A command that did not do its work: its time would mean nothing."""


class Late(Exception):
    """A command that took more than its time, which the message is in seconds: it needs longer than that."""


class Used(NamedTuple):
    """What one run took: wall and processor time in seconds, and the peak memory of its largest process."""

    seconds: float
    cpu: float
    peak_kib: int


@dataclass
class Row:
    """What was measured of one contender at one work in one place.

    seconds: wall time of each round; peak_kib: the most memory that its largest process ever had; cpu: processor
    time of each round; hosts_cpu: that of the hosts meanwhile, where they are a process of their own; broken: why
    it has no more rounds, or none; over: the seconds after which a run was ended that had not done its work.
    """

    contender: str
    work: str
    place: str
    hosts: int
    round_trip_ms: int
    seconds: list[float] = field(default_factory=list)
    peak_kib: int = 0
    cpu: list[float] = field(default_factory=list)
    hosts_cpu: list[float] = field(default_factory=list)
    broken: str = ""
    over: float = 0

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def spread(self) -> float:
        """Largest less smallest, seconds."""
        return max(self.seconds) - min(self.seconds)

    @property
    def done(self) -> bool:
        """Whether there is a time."""
        return bool(self.seconds)

    def add(self, used: Used) -> None:
        self.seconds.append(round(used.seconds, 3))
        self.cpu.append(round(used.cpu, 3))
        self.peak_kib = max(self.peak_kib, used.peak_kib)

    def plain(self) -> dict[str, Any]:
        return asdict(self)


def once(command: Command, log: Path, limit_s: float = 3600) -> Used:
    """What one run took. Raises Broken where it did not do its work, Late where it was ended after limit_s."""
    # empty is unset: Python keeps what it has compiled, as it does for a user, whatever this machine's setting
    env = {**os.environ, "CI": "1", "NO_COLOR": "1", "PYTHONDONTWRITEBYTECODE": "", **command.env}
    used = log.with_suffix(".used")
    with log.open("w") as out:
        subprocess.run(
            [sys.executable, "-I", "-S", str(RUSAGE), str(used), str(limit_s), *command.words],
            cwd=ROOT,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            check=True,
        )
    code, took, cpu, peak = used.read_text().split()
    if int(code) == TIMED_OUT:
        raise Late(f"{limit_s:.0f}")
    if not command.did_it(int(code), log.read_text(errors="replace")):
        raise Broken(f"{' '.join(command.words)} (exit code {code}) did another work; see {log}")
    return Used(float(took), float(cpu), int(peak))


def timed(contender: Contender, work: Work, place: Place, log: Path, limit_s: float = 3600) -> Used:
    """The same of one contender, which can do the work. Raises Broken or Late."""
    command = contender.command(work, place)
    assert command
    return once(command, log, limit_s)


def rounds(
    contenders: Sequence[Contender],
    work: Work,
    place: Place,
    count: int,
    folder: Path,
    *,
    within_s: float = 3600,
    slow_s: float = SLOW_S,
    before: Callable[[], None] = lambda: None,
    after: Callable[[Contender], None] = lambda _: None,
    mend: Callable[[], None] = lambda: None,
    said: Callable[[str], None] = print,
) -> list[Row]:
    """Each contender in turn, so many times; every round begins with another one.

    One that breaks off, is slow, or takes more than what is left of the time has no further round; the others go
    on. within_s: the time of all of it; slow_s: what takes longer is slow; before: what is done ahead of each run,
    unmeasured; after: what proves it, and raises Broken; mend: what is done after a run that broke off.
    """
    end = monotonic() + within_s

    def going_on() -> list[Row]:
        return [row for row in rows.values() if not row.broken and row.done and row.seconds[0] <= slow_s]

    able = [each for each in contenders if each.command(work, place)]
    rows = {each.name: Row(each.name, work, place.name, place.count, place.round_trip_ms) for each in able}

    def run(contender: Contender, number: int) -> None:
        row = rows[contender.name]
        what = f"{work}, {place.name}, {place.round_trip_ms} ms, {number + 1}: {contender.name}"
        log = folder / f"{work}-{place.name}-{contender.name}-{number}.log".replace(" ", "_")
        try:
            before()
            if (left := end - monotonic()) < _LEAST_S:
                raise Broken("no time was left")
            row.add(timed(contender, work, place, log, left))
            after(contender)
            said(f"{what} {row.seconds[-1]:.1f} s")
            return
        except Late as late:
            row.over, row.broken = float(str(late)), f"it took more than {late} s"
        except (Broken, OSError) as broken:  # a contender that is not there breaks off, too
            row.broken = str(broken)
            row.seconds = row.seconds[:number]  # a run that is not proved has no time
        said(f"{what} broke off: {row.broken}")
        mend()

    for number in range(count):
        if number and monotonic() > end - 2 * sum(row.seconds[-1] for row in going_on()):
            break
        first = number % len(able)
        for contender in (*able[first:], *able[:first]):
            if not number or rows[contender.name] in going_on():
                run(contender, number)
    return list(rows.values())
