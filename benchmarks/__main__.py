"""Sparkrig beside the others, in one run of at most 40 minutes: python -m benchmarks (make bench).

Writes benchmarks/results.json after each part, and from it docs/performance.md and its picture. A contender that
breaks off, or takes more than its time, loses itself and not the run.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import click

from benchmarks import machine, page, thousand
from benchmarks.contenders import ALL, BIN, FLOORS, MITOGEN, PIPELINING, SPARKRIG, STOCK, Contender, Work
from benchmarks.hosts import LAB, Place, learn, light, pair
from benchmarks.measure import Broken, Late, Row, rounds, timed
from lab import NODES
from lab import pair as lab
from lab.image import Source
from lab.mirror import mirror
from tests.plan.conftest import ROOT

SNAPSHOT = "deployed"
ROUND_TRIPS_MS = (0, 10, 30)
QUICK = (SPARKRIG, *FLOORS, STOCK)
# who takes part in a fleet of so many light hosts, and the seconds of all rounds together. Ansible's figures at 8
# hosts and those of the goal, at 64, are enough: its time grows with the hosts
FLEETS: dict[int, tuple[tuple[Contender, ...], float]] = {
    8: (ALL, 100),
    32: (QUICK, 60),
    64: ((*QUICK, PIPELINING), 400),
    128: (QUICK, 150),
}
FAR_S = 50
SETTLE_S, NOOP_S, DRIFT_S, CONVERGE_S = 290, 360, 240, 420
# in this order each round begins: whoever is slow comes last, where what is left of the time ends it
ORDER = (SPARKRIG, *FLOORS, STOCK, MITOGEN, PIPELINING)


def on_the_pair(folder: Path, count: int) -> list[Row]:
    """Every work on the virtual pair, which sparkrig settles: its first converge is that.

    The first converge of the others starts at the pristine snapshot, and tests/state judges how each ends.
    """
    place, first, _ = settled(folder)
    found = [first]
    for work, seconds in ((Work.NOOP, NOOP_S), (Work.DRIFT, DRIFT_S)):
        found += rounds(ORDER, work, place, count, folder, within_s=seconds, mend=back)
    others = [each for each in ORDER if each is not SPARKRIG]
    found += rounds(
        others,
        Work.CONVERGE,
        place,
        1,
        folder,
        within_s=CONVERGE_S,
        before=lambda: lab.reset(NODES),
        after=lambda _: asserted(),
    )
    back()
    return found


@cache
def settled(folder: Path) -> tuple[Place, Row, dict[str, Any]]:
    """The pair as our deploy leaves it, what the deploy took, and what one of its hosts holds.

    The others can reach it, and find nothing to change there either. Raises Broken.
    """
    lab.up(NODES, Source("trixie", mirror()))
    place = pair(folder / "pair")
    lab.reset(NODES)
    row = Row(SPARKRIG.name, Work.CONVERGE, place.name, place.count, 0)
    try:
        row.add(timed(SPARKRIG, Work.CONVERGE, place, folder / "settle.log", SETTLE_S))
    except Late as late:
        raise Broken(f"the first deploy of the pair takes more than {late} s") from None
    asserted()
    lab.save(NODES, SNAPSHOT)
    return place, row, learn(place)


def known(folder: Path) -> dict[str, Any]:
    """What a settled host of the pair holds, for the other contenders."""
    return settled(folder)[2]


def back() -> None:
    """The pair as it was settled."""
    lab.reset(NODES, SNAPSHOT)


def asserted() -> None:
    """tests/state on the pair. Raises Broken."""
    words = [str(BIN / "pytest"), "-q", "tests/state", "--inventory", str(LAB)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Broken(f"the state was not reached:\n{done.stdout[-3000:]}")


def on_loopback(folder: Path, count: int) -> list[Row]:
    """Drift of fleets of light hosts by size."""
    found: list[Row] = []
    for size, (able, seconds) in FLEETS.items():
        with light(folder / f"size-{size}", size, known(folder)) as place:
            if not found:
                warm(place, folder)
            found += rounds(able, Work.DRIFT, place, count, folder, within_s=seconds)
    return found


def far_away(folder: Path, count: int) -> list[Row]:
    """Drift of two light hosts by distance."""
    found: list[Row] = []
    for far in ROUND_TRIPS_MS:
        with light(folder / f"far-{far}", 2, known(folder), far) as place:
            warm(place, folder)
            found += rounds(ORDER, Work.DRIFT, place, 2 * count, folder, within_s=FAR_S)
    return found


def of_memory(folder: Path, _: int) -> list[Row]:
    """Drift of fleets that answer from memory, by size."""
    return thousand.on_memory(folder / "memory")


def warm(place: Place, folder: Path) -> None:
    """The files of each are read once by this machine. One that breaks off does so again where it counts."""
    rounds((SPARKRIG, *FLOORS), Work.DRIFT, place, 1, folder, within_s=60, said=lambda _: None)


PARTS: dict[str, Callable[[Path, int], list[Row]]] = {
    "pair": on_the_pair,
    "light": on_loopback,
    "distance": far_away,
    "thousand": of_memory,
}


@click.command(help=__doc__)
@click.option("--rounds", "count", default=3, show_default=True, help="At most, of what is not slow.")
@click.option(
    "--part",
    "parts",
    type=click.Choice([*PARTS]),
    multiple=True,
    help="Measure this part alone; may be repeated. All but `thousand` need the virtual pair.",
)
@click.option("--logs", type=click.Path(path_type=Path), help="Keep each run's output there.")
def main(count: int, parts: tuple[str, ...], logs: Path | None) -> None:
    if os.geteuid():
        raise click.ClickException("the light hosts are this machine, read as root. Try: sudo -E make bench")
    lost: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="sr-") as scratch:
        folder = logs or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for part in parts or PARTS:
            try:
                page.write(part, PARTS[part](folder, count), machine.described())
            except Broken as broken:
                lost[part] = str(broken)
                click.echo(f"the part {part} broke off, and its old figures stay: {broken}")
    click.echo(f"written: {page.PAGE}")
    if lost:
        raise click.ClickException(f"not measured: {', '.join(lost)}")


if __name__ == "__main__":
    main(prog_name="python -m benchmarks")
