"""A settled host is asked once, on one connection, whatever is run: it counts, as does the way to it.

What a first converge asks is bounded, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import warm
from tests.plan import fleet
from tests.plan.conftest import Deploy, well
from tests.plan.desk import write
from tests.plan.distance import Way, further
from tests.plan.states import applied

CLUSTER = "deploys/cluster.py"
# paramiko's: banner and algorithms, key exchange, service, key, channel, command, and the first of its output
TURNS = 8
# From the look to the last file, and after the measurement; what that asks depends on its rails. On an emulated
# host each costs a session, sudo and a shell (docs/performance.md).
BEFORE_IT, AFTER_IT = 23, 2


@dataclass(frozen=True)
class Settled:
    """A settled pair behind an sshd on loopback."""

    folder: Path
    ways: dict[int, Way]

    @property
    def inventory(self) -> Path:
        return self.folder / "sparks.py"


@pytest.fixture(scope="module")
def settled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settled]:
    folder = tmp_path_factory.mktemp("execs")
    with (
        fleet.served(folder / "hosts", 2) as entries,
        further(folder / "hosts" / "known", [data["ssh_port"] for _, data in entries]) as ways,
    ):
        moved = [(name, {**data, "ssh_port": port}) for port, (name, data) in zip(ways, entries, strict=True)]
        write(folder, moved)
        yield Settled(folder, ways)


@pytest.mark.parametrize(
    "words",
    [
        ["sparkrig", "drift", "INVENTORY"],
        ["sparkrig", "status", "INVENTORY"],
        ["pyinfra", "--dry", "INVENTORY", CLUSTER],
        ["pyinfra", "-y", "INVENTORY", CLUSTER],
    ],
    ids=" ".join,
)
def test_a_settled_host_is_asked_once(settled: Settled, words: list[str]) -> None:
    fleet.asked(settled.folder / "hosts")
    for way in settled.ways.values():
        way.turns.clear()
    program, *rest = [str(settled.inventory) if word == "INVENTORY" else word for word in words]
    done = warm.run(program, *rest, env={"XDG_STATE_HOME": str(settled.folder / "state")})
    assert done.returncode == 0, done.stdout + done.stderr
    assert fleet.asked(settled.folder / "hosts") == [1, 1]
    for way in settled.ways.values():
        (turns,) = way.turns  # one connection
        assert turns <= TURNS


def test_a_first_converge_asks_each_host_no_more_than_it_has_to(deploy: Deploy) -> None:
    run = well(deploy(applied(), "-y"))
    for name in ("spark-a", "spark-b"):
        mine = [command for host, command in run.sent if host == name]
        begun = next(at for at, command in enumerate(mine) if "begun 'Bandwidth |" in command)
        ended = next(at for at, command in enumerate(mine) if "'ended 0' 'Bandwidth |" in command)
        assert (begun, len(mine) - ended - 1) == (BEFORE_IT, AFTER_IT), mine
