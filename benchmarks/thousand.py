"""The part `thousand`: what the controlling machine itself does for a fleet, apart from the hosts.

The hosts answer from memory (memory_hosts.py), in one process, with what a Spark in spec was recorded to print.
Their processor time is measured beside that of the contender.
"""

from __future__ import annotations

import getpass
import math
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import wanted
from benchmarks.contenders import FLOOR, HERE, SPARKRIG, Contender, Work, environment
from benchmarks.hosts import Place, prepared
from benchmarks.measure import Row, rounds
from tests.plan import fleet
from tests.plan.conftest import converged
from tests.plan.desk import write
from tests.unit.sshd import keygen

SIZES = (100, 250, 500, 1000)
CONTENDERS = (SPARKRIG, FLOOR)
_SHARES = {SPARKRIG.name: 0.75, FLOOR.name: 0.25}  # of the time: the floor takes a quarter of ours on two cores
_ROUNDS = 2  # the second finds the report of the first, as all but the first of a user's do
_TICK = os.sysconf("SC_CLK_TCK")


def within_s(size: int) -> float:
    """The time of all rounds of one size."""
    return 16 + 0.07 * size


@dataclass(frozen=True)
class Memory:
    """Hosts that answer from memory. entries: of an inventory; pid: of their process."""

    entries: list[tuple[str, dict[str, Any]]]
    pid: int

    def cpu_s(self) -> float:
        """The processor time that they took so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICK


def on_memory(folder: Path, sizes: tuple[int, ...] = SIZES) -> list[Row]:
    """Drift of fleets by size."""
    found: list[Row] = []
    with remembering(folder, max(sizes)) as memory:
        for size in sizes:
            place = place_of(memory, folder / f"size-{size}", size)
            for contender in CONTENDERS:
                found.append(_measured(contender, place, folder, memory))
    return found


def _measured(contender: Contender, place: Place, folder: Path, memory: Memory) -> Row:
    marks: list[float] = []

    def mark(_: object = None) -> None:
        marks.append(memory.cpu_s())

    seconds = within_s(place.count) * _SHARES[contender.name]
    (row,) = rounds(
        [contender], Work.DRIFT, place, _ROUNDS, folder, within_s=seconds, slow_s=math.inf, before=mark, after=mark
    )
    row.hosts_cpu = [round(end - start, 2) for start, end in zip(marks[::2], marks[1::2], strict=False)]
    return row


def place_of(memory: Memory, folder: Path, size: int) -> Place:
    """The first so many of them, as each contender reaches them."""
    file = write(folder, memory.entries[:size])
    place = prepared(f"{size} hosts from memory", folder, file, settled=True)
    place.hosts.write_text(wanted.dump({name: wanted.login(data) for name, data in memory.entries[:size]}))
    return place


@contextmanager
def remembering(folder: Path, count: int, python: Path | None = None) -> Iterator[Memory]:
    """So many hosts, pairs in spec. python: that has asyncssh, by default that of the benchmark's environment."""
    (folder / "answers").mkdir(parents=True)
    for key in ("host", "user"):
        keygen(folder / key)
    names = fleet.names(count)
    for place, (name, number, letter) in enumerate(names):
        (folder / "answers" / str(place)).write_text(converged(letter, name, number))
    program = [str(python or environment() / "bin" / "python"), str(HERE / "memory_hosts.py")]
    with subprocess.Popen(
        [*program, str(folder), str(count)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout
            places = [process.stdout.readline().split() for _ in range(count)]
            yield Memory(_entries(folder, names, places), process.pid)
        finally:
            process.terminate()


def _entries(
    folder: Path, names: list[tuple[str, int, str]], places: list[list[str]]
) -> list[tuple[str, dict[str, Any]]]:
    public = " ".join((folder / "host.pub").read_text().split()[:2])
    (folder / "known").write_text("".join(f"[{address}]:{port} {public}\n" for address, port in places))
    login = {
        "ssh_user": getpass.getuser(),
        "ssh_key": str(folder / "user"),
        "ssh_known_hosts_file": str(folder / "known"),
        "ssh_strict_host_key_checking": "yes",
        "_sudo": True,
    }
    return [
        (name, {**fleet.settings(number, letter), **login, "ssh_hostname": address, "ssh_port": int(port)})
        for (name, number, letter), (address, port) in zip(names, places, strict=True)
    ]
