"""Looking up the GID of each rail: nothing is changed, but a rail without one stops the run."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Interface

from pyinfra import host, state
from pyinfra.api import operation

from sparkrig.facts.resources import of_resource
from sparkrig.network import gid, rdma
from sparkrig.operations.again import again
from sparkrig.operations.refusal import Commands, refusing
from sparkrig.resources.rdma import RDMA


@operation()
@refusing
def discover(seen: rdma.Rdma, rails: Mapping[str, IPv4Interface], moving: bool) -> Commands:
    """Find the RoCE v2 index of each rail's declared IPv4 on its device.

    + seen: RDMA as the facts of this run saw it
    + rails: address of each cabled fabric netdev, rail 0 first
    + moving: whether this run changes the network, so that only a fresh look counts
    """
    if moving and not state.is_executing:
        return
    found = again(of_resource(RDMA)) if moving else seen
    if absent := rdma.no_gid(found, rails):
        raise absent
    slots = [gid.find(found.gids, netdev, address.ip) for netdev, address in rails.items()]
    told = ", ".join(f"{slot.device} at {slot.index}" for slot in slots if slot)
    if moving and told:
        host.log(f"RoCE v2 index: {told}")
    host.noop(told or "no rail on this host")
    yield from ()
