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
from benchmarks.contenders import ALL, BIN, FLOOR, MITOGEN, PIPELINING, SPARKRIG, Work
from benchmarks.hosts import LAB, Place, learn, light, pair
from benchmarks.measure import Broken, Row, rounds, timed
from lab import NODES
from lab import pair as lab
from lab.image import Source
from lab.mirror import mirror
from tests.plan.conftest import ROOT

SNAPSHOT = "deployed"
SIZES = (8, 32, 64, 128)
ROUND_TRIPS_MS = (0, 10, 30)
SLOW = (PIPELINING, MITOGEN)


def on_the_pair(place: Place, folder: Path, count: int, converges: int) -> list[Row]:
    """Every work on the virtual pair, which sparkrig has settled.

    The first converge starts at the pristine snapshot each time, and tests/state judges how it ends.
    """
    lab.save(NODES, SNAPSHOT)
    found = rounds(
        ALL, Work.CONVERGE, place, converges, folder, before=lambda: lab.reset(NODES), after=lambda _: asserted()
    )
    lab.reset(NODES, SNAPSHOT)
    for work in (Work.NOOP, Work.DRIFT):
        found += rounds(ALL, work, place, count, folder)
    return found


def settle(place: Place, folder: Path) -> None:
    """The pair as our deploy leaves it; the others find nothing to change there either."""
    lab.reset(NODES)
    timed(SPARKRIG, Work.CONVERGE, place, folder / "settle.log")


def asserted() -> None:
    """tests/state on the pair. Raises Broken."""
    words = [str(BIN / "pytest"), "-q", "tests/state", "--inventory", str(LAB)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Broken(f"the state was not reached:\n{done.stdout[-3000:]}")


def on_loopback(folder: Path, known: dict[str, Any], count: int) -> list[Row]:
    """Drift of fleets by size, and of one pair by distance.

    Ansible has one round only where a fleet is large or far, and none beyond 64 hosts, where it would take longer
    than all the rest together.
    """
    found: list[Row] = []
    for size in SIZES:
        able = [each for each in ALL if size <= 64 or each not in SLOW]
        with light(folder / f"size-{size}", size, known) as place:
            warm(place, folder)
            found += rounds(able, Work.DRIFT, place, count, folder, seldom=SLOW if size > 8 else ())
    for far in ROUND_TRIPS_MS:
        with light(folder / f"far-{far}", 2, known, far) as place:
            warm(place, folder)
            found += rounds(ALL, Work.DRIFT, place, 2 * count, folder, seldom=SLOW)
    return found


def warm(place: Place, folder: Path) -> None:
    """Every contender's files were read once by this machine."""
    for contender in (SPARKRIG, FLOOR):
        timed(contender, Work.DRIFT, place, folder / "warm.log")


@click.command(help=__doc__)
@click.option("--rounds", "count", default=3, show_default=True, help="Of each work but the first converge.")
@click.option("--converges", default=2, show_default=True, help="Rounds of the first converge.")
@click.option("--part", type=click.Choice(["pair", "light"]), help="Measure the pair alone, or the light hosts.")
@click.option("--logs", type=click.Path(path_type=Path), help="Keep each run's output there.")
def main(count: int, converges: int, part: str | None, logs: Path | None) -> None:
    if os.geteuid():
        raise click.ClickException("the light hosts are this machine, read as root. Try: sudo -E make bench")
    with tempfile.TemporaryDirectory(prefix="sr-") as scratch:
        folder = logs or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        lab.up(NODES, Source("trixie", mirror()))
        place = pair(folder / "pair")
        try:
            settle(place, folder)
            known = learn(place)
            if part != "light":
                page.write("pair", on_the_pair(place, folder, count, converges), machine.described())
            if part != "pair":
                page.write("light", on_loopback(folder, known, count), machine.described())
        except Broken as broken:
            raise click.ClickException(str(broken)) from None
    click.echo(f"written: {page.PAGE}")


if __name__ == "__main__":
    main(prog_name="python -m benchmarks")
