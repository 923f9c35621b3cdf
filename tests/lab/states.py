"""States of the virtual pair that are made once in a session, whichever folder's tests ask first."""

from __future__ import annotations

from functools import cache

from lab import NODES, pair
from tests.lab.commands import deploy
from tests.lab.guests import Pair

DEPLOYED = "deployed"


@cache
def deploy_once(guests: Pair) -> None:
    """One deploy on factory-fresh hosts, kept as the snapshot `deployed`."""
    pair.reset(NODES)
    for guest in guests:
        assert "590" in guest.output("apt-get -s dist-upgrade | grep ^Inst"), "the fresh guest would take 590"
        assert guest.output("cat /sys/class/net/enp1s0f0np0/mtu") == "1500"
    done = deploy()
    assert done.code == 0, done.stderr[-3000:]
    pair.save(NODES, DEPLOYED)
