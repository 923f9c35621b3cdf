"""T3: one model on three virtual Sparks in a ring, and on four at a switch, by vLLM's own multi-node launch.

No test on `@fake` shows that image and weights reach hosts which have no cable to where they came from, that
docker and systemd start every part with its own rank, and that the head's store is reached by each of them: over
the management network in a ring, where no subnet of the fabric is in common, and over the fabric at a switch.
What answers is lab/standin.py: no model computes here.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from lab import CABLED, pair
from lab.image import Source
from lab.layout import Layout, cluster
from lab.machine import Machine
from lab.standin_image import build, weights
from tests.faults.record import Seen
from tests.lab.commands import CLUSTER, deploy, run
from tests.lab.guests import Guest
from tests.lab.inventories import inventory_with
from tests.lab.serving import DISK, IDS, SETTINGS, TWO, models, planned, serve, unit, until_it_answers, wrong

pytestmark = pytest.mark.exhaustive  # images are made, copied and started under emulation

MASTER = {"ring": "10.0.2.", "switch": "192.168.100."}
SIZES = {"ring": "--pipeline-parallel-size 3", "switch": "--tensor-parallel-size 4"}


def made_ready(wanted: Layout, inventory: str, source: Source) -> list[Guest]:
    """Set up, with a login over the fabric; image and weights on spark-a alone."""
    pair.lay(wanted, source)
    pair.restore(wanted)
    guests = [Guest(node) for node in wanted.nodes]
    done = deploy(inventory=inventory, file=CLUSTER)
    assert done.code == 0, done.stderr[-3000:]
    build(guests[0].node)
    weights(guests[0].node, f"/srv/models/{IDS[TWO]}")
    for guest in guests[1:]:
        guest.output(DISK, timeout=300)
    return guests


def launched(guest: Guest) -> str:
    """The words of what runs in the container."""
    return guest.output("sudo docker exec sparkrig-serve cat /proc/1/cmdline | tr '\\0' ' '")


def assert_each_has_its_part(guests: Sequence[Guest], topology: str) -> None:
    for rank, guest in enumerate(guests):
        end = time.monotonic() + 300
        while "--node-rank" not in (command := launched(guest)):  # start.sh becomes the server
            assert time.monotonic() < end, command
            time.sleep(2)
        assert f"--nnodes {len(guests)} --node-rank {rank} --master-addr {MASTER[topology]}" in command, command
        assert SIZES[topology] in command and ("--headless" in command) == bool(rank), command


@pytest.mark.parametrize(("topology", "count"), [("ring", 3), ("switch", 4)])
def test_a_cluster_serves_as_one_loses_a_part_and_serves_again(
    topology: str, count: int, source: Source, tmp_path: Path, seen: Seen
) -> None:
    wanted = cluster(topology, count)
    inventory = inventory_with(tmp_path, f"'node_ssh': True, {SETTINGS}", f"lab_{topology}")
    guests = made_ready(wanted, inventory, source)
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
    for node in CABLED[2:]:
        Machine(node).stop()
    seen(f"{TWO} by {SIZES[topology]}, a part lost its power, served again, undone")
