"""T3: three virtual Sparks in a ring, from out of the box to as declared, and back.

No test on `@fake` shows that NetworkManager takes twelve addresses in six subnets under one guard, that each rail
then carries frames of 9000 bytes over the cable that the survey wants, and that undo gives all three back.
`make faults` has it: a third emulated guest took a tenth of CI, and on a slow day all that was left (2026-11-28).
"""

from __future__ import annotations

import pytest

from lab import CABLED
from tests.faults.record import Seen
from tests.lab.commands import assert_state, deploy, lab, planned, run
from tests.lab.guests import Guest
from tests.lab.links import addresses

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
