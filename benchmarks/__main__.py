"""Sparkrig beside the others, in one run: python -m benchmarks (make bench).

Writes benchmarks/results.json, and from it docs/performance.md and its picture.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import click

from benchmarks import machine, page
from benchmarks.contenders import ALL, BIN, FLOOR, SPARKRIG, Work
from benchmarks.hosts import LAB, Place, learn, light, pair
from benchmarks.measure import Broken, Row, once, rounds
from lab import NODES
from lab import pair as lab
from lab.image import Source
from lab.mirror import mirror
from tests.plan.conftest import ROOT

SNAPSHOT = "deployed"
SIZES = (8, 32, 64, 128)
ROUND_TRIPS_MS = (0, 10, 30)


def on_the_pair(folder: Path, count: int, converges: int) -> tuple[list[Row], dict[str, Any]]:
    """Every work on the virtual pair, and what a settled Spark of it holds.

    The first converge starts at the pristine snapshot each time, and tests/state judges how it ends.
    """
    lab.up(NODES, Source("trixie", mirror()))
    place = pair(folder)
    settle(place, folder)
    lab.save(NODES, SNAPSHOT)
    known = learn(place)
    found = rounds(
        ALL, Work.CONVERGE, place, converges, folder, before=lambda: lab.reset(NODES), after=lambda _: asserted()
    )
    lab.reset(NODES, SNAPSHOT)
    for work in (Work.NOOP, Work.DRIFT):
        found += rounds(ALL, work, place, count, folder)
    return found, known


def settle(place: Place, folder: Path) -> None:
    """The pair as our deploy leaves it; the others find nothing to change there either."""
    lab.reset(NODES)
    command = SPARKRIG.command(Work.CONVERGE, place)
    assert command
    once(command, folder / "settle.log")


def asserted() -> None:
    """tests/state on the pair. Raises Broken."""
    words = [str(BIN / "pytest"), "-q", "tests/state", "--inventory", str(LAB)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Broken(f"the state was not reached:\n{done.stdout[-3000:]}")


def on_loopback(folder: Path, known: dict[str, Any], count: int) -> list[Row]:
    """Drift of fleets by size, and of one pair by distance. Large fleets are measured once."""
    found: list[Row] = []
    for size in SIZES:
        with light(folder / f"size-{size}", size, known) as place:
            warm(place, folder)
            found += rounds(ALL, Work.DRIFT, place, count if size <= 8 else 1, folder)
    for far in ROUND_TRIPS_MS:
        with light(folder / f"far-{far}", 2, known, far) as place:
            warm(place, folder)
            found += rounds(ALL, Work.DRIFT, place, count, folder)
    return found


def warm(place: Place, folder: Path) -> None:
    """Every contender's files were read once by this machine."""
    for contender in (SPARKRIG, FLOOR):
        command = contender.command(Work.DRIFT, place)
        assert command
        once(command, folder / "warm.log")


@click.command(help=__doc__)
@click.option("--rounds", "count", default=3, show_default=True, help="Of each work but the first converge.")
@click.option("--converges", default=2, show_default=True, help="Rounds of the first converge.")
@click.option("--logs", type=click.Path(path_type=Path), help="Keep each run's output there.")
def main(count: int, converges: int, logs: Path | None) -> None:
    if os.geteuid():
        raise click.ClickException("the light hosts are this machine, read as root. Try: sudo -E make bench")
    with tempfile.TemporaryDirectory(prefix="sr-") as scratch:
        folder = logs or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        try:
            paired, known = on_the_pair(folder / "pair", count, converges)
            found = [*paired, *on_loopback(folder, known, count)]
        except Broken as broken:
            raise click.ClickException(str(broken)) from None
    page.write(found, machine.described())
    click.echo(f"written: {page.PAGE}")


if __name__ == "__main__":
    main(prog_name="python -m benchmarks")
