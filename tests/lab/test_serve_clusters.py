"""T3: one model on three virtual Sparks in a ring, and on four at a switch, by vLLM's own multi-node launch.

No test on `@fake` shows that image and weights reach hosts which have no cable to where they came from, that
docker and systemd start every part with its own rank, and that the head's store is reached by each of them: over
the management network in a ring, where no subnet of the fabric is in common, and over the fabric at a switch.
What answers is lab/standin.py: no model computes here.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from lab import pair
from lab.image import Source
from lab.layout import cluster
from lab.waiting import wait_until
from tests.faults.record import Seen
from tests.lab.commands import run
from tests.lab.guests import Guest
from tests.lab.inventories import inventory_with
from tests.lab.serving import SETTINGS, TWO, models, planned, prepare, serve, unit, until_it_answers, wrong

pytestmark = pytest.mark.exhaustive  # images are made, copied and started under emulation

MASTER = {"ring": "10.0.2.", "switch": "192.168.100."}
SIZES = {"ring": "--pipeline-parallel-size 3", "switch": "--tensor-parallel-size 4"}


def launched(guest: Guest) -> str:
    """The words of the server in the container, once start.sh has become it."""

    def words() -> str:
        return guest.output("sudo docker exec sparkrig-serve cat /proc/1/cmdline | tr '\\0' ' '")

    wait_until(
        lambda: "--node-rank" in words(),
        300,
        happened=f"{guest.node} starts no server",
        attempt=f"docker logs sparkrig-serve on {guest.node}",
    )
    return words()


def assert_each_has_its_part(guests: Sequence[Guest], topology: str) -> None:
    for rank, guest in enumerate(guests):
        command = launched(guest)
        assert f"--nnodes {len(guests)} --node-rank {rank} --master-addr {MASTER[topology]}" in command, command
        assert SIZES[topology] in command and ("--headless" in command) == bool(rank), command


@pytest.mark.usefixtures("pair_again")
@pytest.mark.parametrize(("topology", "count"), [("ring", 3), ("switch", 4)])
def test_a_cluster_serves_as_one_loses_a_part_and_serves_again(
    topology: str, count: int, source: Source, tmp_path: Path, seen: Seen
) -> None:
    wanted = cluster(topology, count)
    pair.lay(wanted, source)
    pair.restore(wanted)
    inventory = inventory_with(tmp_path, f"'node_ssh': True, {SETTINGS}", f"lab_{topology}")
    guests = [Guest(node) for node in wanted.nodes]
    prepare(guests, inventory)
    head, last = guests[0], guests[-1]
    done = serve(inventory, TWO, "--data", f"serve_nodes={count}")
    assert done.code == 0, done.stderr[-3000:]
    assert TWO in models(head) and [unit(guest) for guest in guests] == ["active"] * count
    assert_each_has_its_part(guests, topology)
    assert planned(inventory) == {} and wrong(inventory) == (0, set())

    pair.cut_power(last.node)
    until_it_answers(head)
    assert [unit(guest) for guest in guests] == ["active"] * count
    assert_each_has_its_part(guests, topology)
    for _ in range(2):
        undone = run("sparkrig", "undo", inventory, "--yes")
        assert undone.code == 0, undone.stdout + undone.stderr
    assert [unit(guest) for guest in guests] == ["inactive"] * count
    seen(f"{TWO} by {SIZES[topology]}, a part lost its power, served again, undone")
