"""docs/performance.md and its picture, made from what was measured."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.contenders import FLOOR, MITOGEN, PIPELINING, SPARKRIG, Work, environment
from benchmarks.measure import Row
from tests.plan.conftest import ROOT

HERE = Path(__file__).resolve().parent
PAGE = ROOT / "docs" / "performance.md"
PICTURE = ROOT / "docs" / "performance.svg"
RESULTS = HERE / "results.json"
_BEGIN, _END = "<!-- measured: begin (python -m benchmarks) -->", "<!-- measured: end -->"


@dataclass(frozen=True)
class Goal:
    """A ratio that issue 6 asks for. most: the ratio must not be larger; otherwise not smaller."""

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
            f"at most {self.ratio:g} x the {self.fast}"
            if self.most
            else f"{self.ratio:g} x faster than {self.slow}"
        )


_OURS, _FLOOR = SPARKRIG.name, FLOOR.name
GOALS = (
    Goal("no-op deploy of the pair", Work.NOOP, 0, 0, _OURS, _FLOOR, 1.5, most=True),
    Goal("no-op deploy of the pair", Work.NOOP, 0, 0, PIPELINING.name, _OURS, 8),
    Goal("no-op deploy of the pair", Work.NOOP, 0, 0, MITOGEN.name, _OURS, 4),
    Goal("drift of the pair", Work.DRIFT, 0, 0, _OURS, _FLOOR, 1.5, most=True),
    Goal("drift of 64 hosts", Work.DRIFT, 64, 0, PIPELINING.name, _OURS, 8),
    Goal("drift of two hosts 30 ms away", Work.DRIFT, 2, 30, _OURS, _FLOOR, 2, most=True),
)


def write(part: str, rows: Sequence[Row], machine: Mapping[str, str]) -> None:
    """Store the results of a part, `pair` or `light`, and make page and picture again from both."""
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
        fleets = sorted((row for row in found if row.hosts > 2), key=lambda row: row.hosts)
        shown += [
            "### Fleets of light hosts: drift",
            _times(fleets, lambda row: f"{row.hosts} hosts"),
            memory(rows),
        ]
        far = [row for row in found if row.hosts == 2]
        shown += ["### Two light hosts at a distance: drift"]
        shown += [_times(far, lambda row: f"{row.round_trip_ms} ms"), _listed(machine)]
    return "\n\n".join(shown)


def _listed(machine: Mapping[str, str]) -> str:
    return "; ".join(f"{name}: {value}" for name, value in machine.items()) + "."


def goals(rows: Sequence[Row]) -> str:
    """Each goal with what was reached."""
    lines = ["| work | goal | reached | |", "|---|---|---|---|"]
    for goal in GOALS:
        found = {row.contender: row.median for row in rows if _of(row, goal)}
        if goal.slow in found and goal.fast in found:
            ratio = found[goal.slow] / found[goal.fast]
            held = ratio <= goal.ratio if goal.most else ratio >= goal.ratio
            lines.append(_goal(goal.what, goal.wanted, f"{ratio:.2f} x", held))
    if fleets := _fleets(rows):
        mib, each = per_host_kib(rows) / 1024, [row.median / row.hosts for row in fleets]
        lines.append(_goal("memory per host, 8 to 128 hosts", "under 3 MiB", f"{mib:.2f} MiB", mib < 3))
        reached = " s, ".join(f"{seconds:.2f}" for seconds in each)
        level = each[-1] <= each[0]
        lines.append(_goal("time per host, 8 to 128 hosts", "falls or stays the same", f"{reached} s", level))
    return "\n".join(lines)


def _goal(what: str, wanted: str, reached: str, held: bool) -> str:
    return f"| {what} | {wanted} | {reached} | {'held' if held else '**not held**'} |"


def memory(rows: Sequence[Row]) -> str:
    """The peak memory of sparkrig drift, by size of the fleet."""
    shown = ", ".join(f"{row.peak_kib / 1024:.0f} MiB for {row.hosts}" for row in _fleets(rows))
    more = f"{per_host_kib(rows) / 1024:.2f} MiB for each additional host"
    return f"Peak memory of `sparkrig drift`: {shown}; {more}."


def per_host_kib(rows: Sequence[Row]) -> float:
    """What one additional host costs `sparkrig drift`, KiB."""
    first, *_, last = _fleets(rows)
    return (last.peak_kib - first.peak_kib) / (last.hosts - first.hosts)


def _fleets(rows: Iterable[Row]) -> list[Row]:
    return sorted(
        (row for row in rows if row.contender == SPARKRIG.name and _light(row) and row.hosts > 2),
        key=lambda row: row.hosts,
    )


def _light(row: Row) -> bool:
    return "light" in row.place


def _of(row: Row, goal: Goal) -> bool:
    size = row.hosts == goal.hosts if goal.hosts else not _light(row)
    return (
        row.work == goal.work
        and size
        and row.round_trip_ms == goal.round_trip_ms
        and _light(row) == bool(goal.hosts)
    )


def _times(rows: Sequence[Row], column: Callable[[Row], str]) -> str:
    columns = list(dict.fromkeys(column(row) for row in rows))
    names = list(dict.fromkeys(row.contender for row in rows))
    cells = {(row.contender, column(row)): _cell(row) for row in rows}
    lines = [f"| seconds | {' | '.join(columns)} |", f"|---|{'---|' * len(columns)}"]
    lines += [f"| {name} | {' | '.join(cells.get((name, each), '') for each in columns)} |" for name in names]
    return "\n".join(lines)


def _cell(row: Row) -> str:
    spread = f" ± {row.spread / 2:.1f}" if len(row.seconds) > 1 else ""
    return f"{row.median:.1f}{spread}"
