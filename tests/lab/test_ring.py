"""T3: three virtual Sparks in a ring, from out of the box to as declared, and back.

No test on `@fake` shows that NetworkManager takes twelve addresses in six subnets under one guard, that each rail
then carries frames of 9000 bytes over the cable that the survey wants, and that undo gives all three back.
`make faults` has it: a third emulated guest took a tenth of CI, and on a slow day all that was left (2026-11-28).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from lab import CABLED, pair
from lab.standin_image import build
from sparkrig.resources.ray import UNIT_FILE
from tests.faults.record import Seen
from tests.lab import ray_cluster
from tests.lab.commands import assert_state, deploy, lab, planned, run
from tests.lab.guests import Guest
from tests.lab.links import addresses
from tests.lab.ray_cluster import carry, until_missing, until_whole
from tests.lab.serving import wrong

RING = "inventories/lab_ring.py"
GUESTS = tuple(Guest(node) for node in CABLED[:3])


@pytest.mark.exhaustive
@pytest.mark.usefixtures("ring")
def test_three_in_a_ring_are_set_up_checked_and_undone_as_one(seen: Seen) -> None:
    before = [addresses(guest) for guest in GUESTS]
    done = deploy(inventory=RING)
    assert done.code == 0, done.stderr[-3000:]
    assert [len(addresses(guest)) for guest in GUESTS] == [4, 4, 4]
    assert planned(RING) == {}
    assert_state(RING)
    found = run("sparkrig", "drift", RING)
    assert found.code == 0, found.stdout
    assert lab("cable", "spark-b", "p0", "unplug").returncode == 0
    out = " ".join(run("sparkrig", "topology", RING).stdout.split())
    assert "neither p0 of spark-b nor p1 of spark-c has a carrier" in out, out
    assert "wanted is" not in out, "the two other cables are right"
    assert lab("cable", "spark-b", "p0", "plug").returncode == 0
    undone = run("sparkrig", "undo", RING, "--yes")
    assert undone.code == 0, undone.stdout + undone.stderr
    assert [addresses(guest) for guest in GUESTS] == before
    assert all(not guest.output("apt-mark showhold") for guest in GUESTS)
    seen("deployed, nothing left to do, tests/state green, drift empty, the cable that was out named, undone")


@pytest.mark.exhaustive
@pytest.mark.usefixtures("ring")
def test_three_in_a_ring_are_one_ray_cluster_over_the_management_network(tmp_path: Path, seen: Seen) -> None:
    """Each node finds the head at an address that only a look at it has, and the head misses whoever is off.

    No subnet of a ring's fabric joins all three, which three real network stacks alone show; a cable that is out
    parts nobody. On the guests that the test above has booted: one deploy, and one boot of the last guest.
    """
    head, *others = GUESTS
    id = build(head.node, engine="ray")
    carry(head, *others)
    inventory = ray_cluster.inventory(tmp_path / "ring", repr(id), name="lab_ring")
    done = deploy(inventory=inventory)
    assert done.code == 0, done.stderr[-3000:]
    management = head.output(f"sed -n 's/.*--env RAY_ADDRESS=\\([0-9.]*\\):.*/\\1/p' {UNIT_FILE}")
    assert management not in {address.split("/")[0] for address in addresses(head)}, "of the fabric"
    for guest in others:
        assert f"start --address={management}:6379 " in guest.output(f"cat {UNIT_FILE}")
    until_whole(inventory)
    assert lab("cable", "spark-b", "p0", "unplug").returncode == 0
    assert not {id for _, id in wrong(inventory)[1] if id == "ray.nodes"}
    assert lab("cable", "spark-b", "p0", "plug").returncode == 0
    pair.power("spark-c", on=False)
    until_missing(inventory, "spark-c")
    pair.power("spark-c", on=True)
    until_whole(inventory)
    seen("three nodes over the management network, a cable out parts none, spark-c was off and joined again")
