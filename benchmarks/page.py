"""docs/performance.md and its picture, made from what was measured."""

from __future__ import annotations

import json
import math
import statistics
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from typing import Any

from benchmarks.contenders import FLOORS, MITOGEN, PIPELINING, SPARKRIG, STOCK, Work, environment
from benchmarks.measure import Row
from tests.plan.conftest import ROOT

HERE = Path(__file__).resolve().parent
PAGE = ROOT / "docs" / "performance.md"
PICTURE = ROOT / "docs" / "performance.svg"
RESULTS = HERE / "results.json"
_COLUMNS = 120
_BEGIN, _END = "<!-- measured: begin (python -m benchmarks) -->", "<!-- measured: end -->"


@dataclass(frozen=True)
class Goal:
    """A ratio that issues 6 and 22 ask for. most: the ratio must not be larger; otherwise not smaller."""

    what: str
    work: str
    hosts: int
    round_trip_ms: int
    slow: str
    fast: str
    ratio: float
    most: bool = False

    @property
    def wanted(self) -> str:
        """The goal in words."""
        return (
            f"at most {self.ratio:g} x {'the ' if self.fast == _FLOOR else ''}{self.fast}"
            if self.most
            else f"{self.ratio:g} x faster than {self.slow}"
        )


_OURS, _FLOOR = SPARKRIG.name, "floor"
_SECONDS, _MIB = 30, 400  # of the controlling machine, for a thousand hosts
_LEVEL = 1.1  # as many times the least cost per host, at most
GOALS = (
    Goal("first converge of the pair", Work.CONVERGE, 0, 0, _OURS, STOCK.name, 1.0, most=True),
    Goal("no-op deploy of the pair", Work.NOOP, 0, 0, _OURS, _FLOOR, 1.5, most=True),
    Goal("no-op deploy of the pair", Work.NOOP, 0, 0, PIPELINING.name, _OURS, 8),
    Goal("no-op deploy of the pair", Work.NOOP, 0, 0, MITOGEN.name, _OURS, 4),
    Goal("drift of the pair", Work.DRIFT, 0, 0, _OURS, _FLOOR, 1.5, most=True),
    Goal("drift of 64 hosts", Work.DRIFT, 64, 0, PIPELINING.name, _OURS, 8),
    Goal("drift of 64 hosts", Work.DRIFT, 64, 0, _OURS, _FLOOR, 1.5, most=True),
    Goal("drift of two hosts 30 ms away", Work.DRIFT, 2, 30, _OURS, _FLOOR, 1.5, most=True),
)


def write(part: str, rows: Sequence[Row], machine: Mapping[str, str]) -> None:
    """Store the results of a part of the benchmark, and make page and picture again from all of them."""
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    kept[part] = {"machine": dict(machine), "rows": [row.plain() for row in rows]}
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n")
    show(kept)


def show(kept: Mapping[str, Any]) -> None:
    """Write the tables into the page, and draw the picture."""
    python = environment() / "bin" / "python"
    subprocess.run([str(python), str(HERE / "plot.py"), str(RESULTS), str(PICTURE)], check=True)
    parts = {name: ([Row(**row) for row in part["rows"]], part["machine"]) for name, part in kept.items()}
    text = PAGE.read_text()
    before, after = text.partition(_BEGIN)[0], text.partition(_END)[2]
    PAGE.write_text(f"{before}{_BEGIN}\n{tables(parts)}\n{_END}{after}")


def tables(parts: Mapping[str, tuple[Sequence[Row], Mapping[str, str]]]) -> str:
    """All results in Markdown. parts: rows and machine of each."""
    rows = [row for found, _ in parts.values() for row in found]
    shown = ["### The goals", goals(rows)]
    if "pair" in parts:
        found, machine = parts["pair"]
        shown += ["### The virtual pair", _times(found, lambda row: row.work), _listed(machine)]
    if "light" in parts:
        found, machine = parts["light"]
        fleets = sorted(found, key=lambda row: row.hosts)
        shown += ["### Fleets of light hosts: drift", _times(fleets, lambda row: f"{row.hosts} hosts")]
        shown += [memory(rows), _listed(machine)]
    if "distance" in parts:
        found, machine = parts["distance"]
        shown += ["### Two light hosts at a distance: drift"]
        shown += [_times(found, lambda row: f"{row.round_trip_ms} ms"), _listed(machine)]
    if "thousand" in parts:
        found, machine = parts["thousand"]
        shown += ["### Fleets that answer from memory: drift", shares(found), _listed(machine)]
    # parts that one machine measured name it once, at their end
    return "\n\n".join(each for place, each in enumerate(shown, 1) if each not in shown[place:])


def _listed(machine: Mapping[str, str]) -> str:
    return fill("; ".join(f"{name}: {value}" for name, value in machine.items()) + ".", _COLUMNS)


def goals(rows: Sequence[Row]) -> str:
    """Each goal with what was reached."""
    lines = ["| work | goal | reached | |", "|---|---|---|---|"]
    for goal in GOALS:
        found = {row.contender: row for row in rows if _of(row, goal)}
        if floors := [row for row in (found.get(each.name) for each in FLOORS) if row]:
            found[_FLOOR] = min(floors, key=lambda row: row.median if row.done else math.inf)
        if goal.slow in found and goal.fast in found:
            lines.append(_goal(goal.what, goal.wanted, *_reached(goal, found[goal.slow], found[goal.fast])))
    lines += _of_memory(_memory(rows))
    if len(fleets := _fleets(rows)) > 1:
        mib, each = per_host_kib(rows) / 1024, [row.median / row.hosts for row in fleets]
        lines.append(_goal("memory per host, 8 to 128 hosts", "under 3 MiB", f"{mib:.2f} MiB", mib < 3))
        reached = " s, ".join(f"{seconds:.2f}" for seconds in each)
        level = each[-1] <= each[0]
        lines.append(_goal("time per host, 8 to 128 hosts", "falls or stays the same", f"{reached} s", level))
    return "\n".join(lines)


def _reached(goal: Goal, slow: Row, fast: Row) -> tuple[str, bool]:
    """The ratio, and whether the goal is held. Of a slow one that was ended, the least that it can be."""
    if not fast.done or not (slow.done or slow.over):
        return "broke off", False
    if slow.done:
        ratio = slow.median / fast.median
        return f"{ratio:.2f} x", ratio <= goal.ratio if goal.most else ratio >= goal.ratio
    ratio = slow.over / fast.median
    return f"more than {ratio:.2f} x", not goal.most and ratio >= goal.ratio


def _of_memory(rows: Sequence[Row]) -> list[str]:
    """The goals of the controlling machine's own share."""
    if not rows:
        return []
    large, each_ms = rows[-1], [1000 * statistics.median(row.cpu) / row.hosts for row in rows if row.cpu]
    if not all(row.done for row in rows):
        return [_goal("drift of fleets from memory", "each is measured", "broke off", held=False)]
    what, sizes = (
        f"drift of {large.hosts:,} hosts, the controller alone",
        f"{rows[0].hosts} to {large.hosts:,} hosts",
    )
    cpu, mib = statistics.median(large.cpu), large.peak_kib / 1024
    reached = " ms, ".join(f"{ms:.0f}" for ms in each_ms)
    return [
        _goal(what, f"at most {_SECONDS} s", f"{cpu:.1f} s", held=cpu <= _SECONDS),
        _goal(what, f"at most {_MIB} MiB", f"{mib:.0f} MiB", held=mib <= _MIB),
        _goal(f"its cost per host, {sizes}", "level", f"{reached} ms", held=each_ms[-1] <= _LEVEL * min(each_ms)),
    ]


def shares(rows: Sequence[Row]) -> str:
    """What each size took of the controlling machine, and of the hosts."""
    lines = ["| | hosts | seconds | its processor time | per host | the hosts' processor time | peak memory |"]
    lines += ["|---|---|---|---|---|---|---|"]
    for row in sorted(rows, key=lambda row: (row.contender != _OURS, row.contender, row.hosts)):
        cells = [row.contender, f"{row.hosts:,}", _cell(row)]
        if row.done:
            cpu = statistics.median(row.cpu)
            hosts = f"{statistics.median(row.hosts_cpu):.1f} s" if row.hosts_cpu else ""
            mib = f"{row.peak_kib / 1024:.0f} MiB"
            cells += [f"{cpu:.1f} s", f"{1000 * cpu / row.hosts:.0f} ms", hosts, mib]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _goal(what: str, wanted: str, reached: str, held: bool) -> str:
    return f"| {what} | {wanted} | {reached} | {'held' if held else '**not held**'} |"


def memory(rows: Sequence[Row]) -> str:
    """The peak memory of sparkrig drift, by size of the fleet."""
    if len(_fleets(rows)) < 2:
        return "The memory of `sparkrig drift` was not measured."
    shown = ", ".join(f"{row.peak_kib / 1024:.0f} MiB for {row.hosts}" for row in _fleets(rows))
    more = f"{per_host_kib(rows) / 1024:.2f} MiB for each additional host"
    return fill(f"Peak memory of `sparkrig drift`: {shown}; {more}.", _COLUMNS)


def per_host_kib(rows: Sequence[Row]) -> float:
    """What one additional host costs `sparkrig drift`, KiB."""
    first, *_, last = _fleets(rows)
    return (last.peak_kib - first.peak_kib) / (last.hosts - first.hosts)


def _fleets(rows: Iterable[Row]) -> list[Row]:
    return sorted(
        (row for row in rows if row.contender == _OURS and _light(row) and row.hosts > 2 and row.done),
        key=lambda row: row.hosts,
    )


def _memory(rows: Iterable[Row]) -> list[Row]:
    return sorted((row for row in rows if row.contender == _OURS and _remembered(row)), key=lambda row: row.hosts)


def _light(row: Row) -> bool:
    return "light" in row.place


def _remembered(row: Row) -> bool:
    return "memory" in row.place


def _of(row: Row, goal: Goal) -> bool:
    of_the_pair = not _light(row) and not _remembered(row)
    size = _light(row) and row.hosts == goal.hosts if goal.hosts else of_the_pair
    return row.work == goal.work and size and row.round_trip_ms == goal.round_trip_ms


def _times(rows: Sequence[Row], column: Callable[[Row], str]) -> str:
    columns = list(dict.fromkeys(column(row) for row in rows))
    names = list(dict.fromkeys(row.contender for row in rows))
    cells = {(row.contender, column(row)): _cell(row) for row in rows}
    lines = [f"| seconds | {' | '.join(columns)} |", f"|---|{'---|' * len(columns)}"]
    lines += [f"| {name} | {' | '.join(cells.get((name, each), '') for each in columns)} |" for name in names]
    return "\n".join(lines)


def _cell(row: Row) -> str:
    if not row.done:
        return f"more than {row.over:.0f}" if row.over else "broke off"
    spread = f" ± {row.spread / 2:.1f}" if len(row.seconds) > 1 else ""
    return f"{row.median:.1f}{spread}"
