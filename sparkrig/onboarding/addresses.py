"""The fabric addresses of Sparks that are joined: they collide with nothing, and what stands stays if it can."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from typing import Any

from sparkrig import clusters
from sparkrig.fabric.cabling import End
from sparkrig.network import definitions
from sparkrig.network.definitions import ADOPT, LEAVE
from sparkrig.onboarding.joining import Joint
from sparkrig.onboarding.wishes import Addresses
from sparkrig.refusal import Refusal
from sparkrig.resources.state import State
from sparkrig.text import listed

_FIRST = 11  # the last number of the first Spark's addresses, as in inventories/pair.py
_SUBNETS = tuple(IPv4Network(f"192.168.{third}.0/24") for third in range(100, 256))
# what addresses are taken from by the rule: as in inventories/ring.py and inventories/switch.py, or the next free
_NETWORKS = {
    "ring": tuple(IPv4Network(f"192.168.{third}.0/21") for third in range(96, 256, 8)),
    "switch": tuple(IPv4Network(f"192.168.{third}.0/23") for third in range(100, 256, 2)),
}


def of(joint: Joint) -> dict[str, dict[str, Any]]:
    """The settings of each host that give its addresses. Raises Refusal."""
    fresh = joint.lead.group_name is None and not joint.lead.fabric and not joint.own
    if joint.form != "cable" and (joint.lead.fabric_network or fresh):
        return _by_network(joint)
    fabrics = _ring(joint) if joint.form == "ring" else _beside_each_other(joint)
    return {host: as_setting(fabric) for host, fabric in fabrics.items()}


def as_setting(fabric: Addresses) -> dict[str, Any]:
    return {"fabric": {netdev: str(address) for netdev, address in fabric.items()}} if fabric else {}


# --- by the rule


def _by_network(joint: Joint) -> dict[str, dict[str, Any]]:
    """A network that all share, from which the addresses of each are computed."""
    if joint.own:
        raise Refusal(
            f"the addresses of {listed(joint.group)} are taken from a network, and {joint.mine.name} has its own",
            "the same without --fabric; sparkrig docs clusters",
        )
    number = clusters.RING_SUBNETS if joint.form == "ring" else 2
    network = joint.lead.fabric_network
    if network is None or 1 << max(0, clusters.NCCL_BITS - network.prefixlen) < number:
        network = _unused_network(joint)
    found: dict[str, dict[str, Any]] = {host: {"fabric_network": str(network)} for host in joint.names}
    for host in joint.names if joint.form == "switch" else ():
        its = joint.mine.fleet.get(host)
        cage = its.fabric_cage if its and its.fabric_network else joint.cage(host)
        found[host] |= {"fabric_cage": cage} if cage != "p0" else {}
    return found


def _unused_network(joint: Joint) -> IPv4Network:
    used, networks = _used(joint), _NETWORKS[joint.form]
    free = (network for network in networks if not any(network.overlaps(each) for each in used))
    if found := next(free, None):
        return found
    raise Refusal(
        f"every network from {networks[0]} to {networks[-1]} is in use on these Sparks",
        "say in the inventory: fabric_network (sparkrig docs clusters)",
    )


# --- written out


def _beside_each_other(joint: Joint) -> dict[str, Addresses]:
    """Of a pair, or on a switch: what one has stays, and the other goes beside it; else two new subnets."""
    name, first = joint.mine.name, joint.group[0]
    here = joint.own or _standing(joint, name)
    there = joint.lead.fabric or _standing(joint, first)
    if not here and not there:
        netdevs = _netdevs(joint, first)[: len(_twins(joint, name))]
        subnets = _unused_subnets(len(netdevs), _used(joint))
        there = {netdev: _at(net, net[_FIRST]) for netdev, net in zip(netdevs, subnets, strict=True)}
    return {
        **{host: joint.mine.fleet[host].fabric for host in joint.group},
        first: there or _beside(joint, _netdevs(joint, first), here),
        name: here or _beside(joint, _netdevs(joint, name), there),
    }


def _twins(joint: Joint, host: str) -> tuple[str, ...]:
    """The netdevs of the cage of a host that is joined."""
    return joint.lit(host).get(joint.cage(host), ())


def _netdevs(joint: Joint, host: str) -> tuple[str, ...]:
    """Those of every cage of a host that is lit, the joined one's first."""
    joined, lit = joint.cage(host), joint.lit(host)
    return tuple(netdev for cage in sorted(lit, key=lambda cage: cage != joined) for netdev in lit[cage])


def _standing(joint: Joint, host: str) -> dict[str, IPv4Interface]:
    """The addresses that other definitions give the joined cage of a host, where those are to stay."""
    if joint.mine.wishes.adopt not in (ADOPT, LEAVE):
        return {}
    twins = _twins(joint, host)
    given = {
        netdev: given.addresses[0]
        for definition in definitions.find(joint.states[host].network, twins)
        for netdev, given in definition.given.items()
        if len(given.addresses) == 1
    }
    return {netdev: given[netdev] for netdev in twins if netdev in given}


def _ring(joint: Joint) -> dict[str, Addresses]:
    """The pair's two subnets stay where they fit a ring; each other cable gets two new ones."""
    fabrics: dict[str, dict[str, IPv4Interface]] = {host: {} for host in joint.names}
    edges = joint.edges()
    used = _used(joint) + [each.network for each in joint.own.values()]
    subnets = iter(_unused_subnets(2 * sum(not _kept(joint, ends) for ends in edges), used))
    for ends in edges:
        for end, addresses in zip(ends, _edge(joint, ends, subnets), strict=True):
            fabrics[end.host] |= addresses
    return {**fabrics}


def _edge(joint: Joint, ends: tuple[End, End], subnets: Iterator[IPv4Network]) -> tuple[Addresses, Addresses]:
    """The addresses at both ends of a cable."""
    here, there = _at_cage(joint, ends[0]), _at_cage(joint, ends[1])
    if _kept(joint, ends):
        return here, there
    if there and ends[1].host == joint.mine.name:  # given by an option
        return _beside(joint, _twins_of_ring(joint, ends[0]), there), there
    both = next(subnets), next(subnets)
    one, other = (
        {
            netdev: _at(subnet, subnet[_FIRST + joint.names.index(end.host)])
            for netdev, subnet in zip(_twins_of_ring(joint, end), both, strict=True)
        }
        for end in ends
    )
    return one, other


def _kept(joint: Joint, ends: tuple[End, End]) -> bool:
    """Whether the addresses at both ends of a cable can stay: two subnets that NCCL tells apart."""
    here, there = ({address.network for address in _at_cage(joint, end).values()} for end in ends)
    apart = {clusters.nccl(IPv4Interface(str(network))) for network in here}
    return here == there and len(here) == len(apart) == 2 and all(net.prefixlen >= 24 for net in here)


def _at_cage(joint: Joint, end: End) -> dict[str, IPv4Interface]:
    """The addresses that a host has at a cage."""
    own = joint.own if end.host == joint.mine.name else joint.mine.fleet[end.host].fabric
    return {netdev: address for netdev, address in own.items() if clusters.cage_of(netdev) == end.cage}


def _twins_of_ring(joint: Joint, end: End) -> tuple[str, ...]:
    """The netdevs of a cage. Raises Refusal where it has no carrier."""
    twins = joint.lit(end.host).get(end.cage, ())
    if len(twins) != 2:
        raise Refusal(
            f"{end} has no carrier, and a ring has a cable between each two of {listed(joint.names)}",
            "seat the QSFP plug there, or the same with --topology switch",
        )
    return twins


# --- what is free


def _used(joint: Joint) -> list[IPv4Network]:
    """Networks that an address of a new fabric must not be in: those of the inventory, and what Sparks reach."""
    own = [address.network for host in joint.mine.fleet.values() for address in host.fabric.values()]
    return own + [network for state in joint.states.values() for network in _reached(state)]


def _reached(seen: State) -> list[IPv4Network]:
    """Where a host already gets to something else: by a route of any table, or by an address of its own."""
    routed = [route.destination for route in seen.network.routes if route.destination]
    own = [address.network for link in seen.network.links.values() for address in link.addresses]
    return [network for network in routed if network.prefixlen > 1] + own  # a VPN's default comes as two halves


def _unused_subnets(number: int, used: Sequence[IPv4Network]) -> Sequence[IPv4Network]:
    """So many subnets in a row that overlap with none of `used`. Raises Refusal."""
    for first in range(0, len(_SUBNETS) - number + 1, min(number, 2)):
        subnets = _SUBNETS[first : first + number]
        if not any(subnet.overlaps(each) for subnet in subnets for each in used):
            return subnets
    raise Refusal(
        f"every subnet from {_SUBNETS[0]} to {_SUBNETS[-1]} is in use on these Sparks",
        "--fabric NETDEV=ADDRESS/PREFIX, once for each netdev",
    )


def _beside(joint: Joint, netdevs: Sequence[str], peer: Addresses) -> dict[str, IPv4Interface]:
    """The next free number in each subnet of the peer, by the same step in all. Raises Refusal."""
    taken = {address.ip for host in joint.mine.fleet.values() for address in host.fabric.values()}
    ends = list(peer.values())
    if len(netdevs) < len(ends):
        raise Refusal(
            f"one host has {len(ends)} fabric netdevs, and the other {len(netdevs)} behind a cage with a carrier",
            "seat the other cable, too",
        )
    for step in (*range(1, 255), *range(-1, -255, -1)):  # within a /24
        free = [_at(end.network, end.ip + step) for end in ends if _free(end.ip + step, end.network, taken)]
        if len(free) == len(ends):
            return dict(zip(netdevs, free, strict=False))
    raise Refusal(
        f"no address is left in {listed(str(end.network) for end in ends)}", "--fabric NETDEV=ADDRESS/PREFIX"
    )


def _free(address: IPv4Address, network: IPv4Network, taken: set[IPv4Address]) -> bool:
    ends = (network.network_address, network.broadcast_address) if network.prefixlen < 31 else ()
    return address in network and address not in ends and address not in taken


def _at(network: IPv4Network, address: IPv4Address) -> IPv4Interface:
    return IPv4Interface(f"{address}/{network.prefixlen}")
