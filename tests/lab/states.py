"""States of the virtual Sparks that are made once and gone back to, whichever folder's tests ask first.

A state fits the code and the guests that made it, so `make test-lab` goes on from what `make test` deployed.
"""

from __future__ import annotations

import hashlib
from functools import cache

from lab import NODES, SOLO, pair
from lab.errors import LabError
from lab.paths import home
from tests.lab import commands
from tests.lab.commands import ROOT, deploy
from tests.lab.guests import Pair

DEPLOYED, ALONE = "tests-deployed", "tests-alone"
# what a deploy is made of
PARTS = ("deploys", "facts", "inventories", "operations", "sparkrig", "templates")


@cache
def deploy_once(guests: Pair) -> None:
    """One deploy on factory-fresh hosts, kept as the snapshot `DEPLOYED`, unless this very code made it before."""
    made_by = home() / f"{DEPLOYED}.made-by"
    if made_by.exists() and made_by.read_text() == _code() and _is_kept():
        return
    made_by.unlink(missing_ok=True)
    pair.reset(NODES)
    for guest in guests:
        assert "590" in guest.output("apt-get -s dist-upgrade | grep ^Inst"), "the fresh guest would take 590"
        assert guest.output("cat /sys/class/net/enp1s0f0np0/mtu") == "1500"
    done = deploy()
    assert done.code == 0, done.stderr[-3000:]
    pair.save(NODES, DEPLOYED)
    made_by.write_text(_code())


def deploy_alone() -> None:
    """One deploy on the lone Spark as it first booted, kept as the snapshot `ALONE`."""
    pair.reset([SOLO])
    done = deploy(inventory=commands.SOLO)
    assert done.code == 0, done.stderr[-3000:]
    pair.save([SOLO], ALONE)


def _is_kept() -> bool:
    """Whether both guests have it; an image that was made anew forgets it."""
    try:
        pair.reset(NODES, DEPLOYED)
    except LabError:
        return False
    return True


def _code() -> str:
    """A digest of the code that deploys."""
    files = sorted(file for part in PARTS for file in (ROOT / part).rglob("*") if file.is_file())
    found = hashlib.sha256()
    for file in files:
        if file.suffix != ".pyc" and file.parent.suffix != ".kept":  # nor what a deploy keeps
            found.update(f"{file.relative_to(ROOT)}\0".encode() + file.read_bytes() + b"\0")
    return found.hexdigest()
