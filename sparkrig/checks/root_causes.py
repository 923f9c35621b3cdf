"""Which failed check follows from which: a cable that is out is one fault, and fails a dozen checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sparkrig.fleet import End, Fleet
from sparkrig.resources.check import Check

# What a check of a netdev may follow from, the root first; NETDEV is this host's, PEER the other end's.
_LINK = ("net.manager", "net.NETDEV.others", "net.NETDEV.profile")
_UP = (*_LINK, "net.NETDEV.active")
_USED = (*_UP, "net.NETDEV.mtu", "net.NETDEV.address")
_HERE = ("pair.cabling", "net.NETDEV.carrier", *_USED)
_BOTH = (*_HERE, *(each.replace("NETDEV", "PEER") for each in _HERE if "NETDEV" in each))
_OF_NETDEV = {
    "net.NETDEV.carrier": ("pair.cabling",),
    "net.NETDEV.profile": ("net.manager",),
    "net.NETDEV.active": _LINK,
    "net.NETDEV.mtu": _UP,
    "net.NETDEV.address": _UP,
    "net.NETDEV.ipv6": _UP,
    "rdma.NETDEV.device": _UP,
    "rdma.NETDEV.gid": (*_USED, "rdma.NETDEV.device"),
    "rdma.NETDEV.path-mtu": _USED,
    "pair.NETDEV.mtu": _BOTH,
    "pair.NETDEV.ping": (*_BOTH, "pair.NETDEV.mtu"),
    "bandwidth.NETDEV": _BOTH,
}
_OF_HOST = {
    "time.synchronised": ("host.clock",),
    "containers.runtime": ("containers.docker", "containers.daemon-json"),
    "pair.name": ("environment.container.env",),
    "identity.spark": ("access.sudo",),
}


def roots(found: Mapping[str, Sequence[Check]], fleet: Fleet) -> dict[tuple[str, str], tuple[str, str]]:
    """By host and id of a check that does not hold, those of the one that it most likely follows from."""
    failed = {name: {check.id for check in checks if check.wrong} for name, checks in found.items()}
    return {
        (name, id): root
        for name, ids in failed.items()
        for id in ids
        if (root := next(((at, it) for at, it in _above(name, id, fleet) if it in failed.get(at, ())), None))
    }


def _above(name: str, id: str, fleet: Fleet) -> Iterator[tuple[str, str]]:
    """Host and id of what a check may follow from, the root first."""
    yield from ((name, root) for root in _OF_HOST.get(id, ()))
    for netdev in fleet[name].fabric:
        for pattern, above in _OF_NETDEV.items():
            if id == pattern.replace("NETDEV", netdev):
                ends = [rail.far for rail in fleet.rails(name) if rail.netdev == netdev]
                yield from _placed(name, netdev, above, ends)


def _placed(name: str, netdev: str, above: Sequence[str], ends: Sequence[End]) -> Iterator[tuple[str, str]]:
    """ends: what the netdev reaches."""
    for each in above:
        if "PEER" not in each:
            yield name, each.replace("NETDEV", netdev)
        else:
            yield from ((end.host, each.replace("PEER", end.netdev)) for end in ends)
