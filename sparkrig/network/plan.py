"""The fabric's NetworkManager profiles: what stands on a host, what may be done, and what to do.

The network that SSH came in on is never touched. `netplan apply` restarts NetworkManager and drops every
link, so it is never called. A modified profile leaves its link as it was, so profile and link are judged
apart. Sources: [@epappas, @netplan-source], and runs on virtual machines with NetworkManager 1.46 and 1.52.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Interface

from sparkrig.cure import on_host
from sparkrig.network import definitions, handover
from sparkrig.network.differences import Aspect, Declared, differences, settled
from sparkrig.network.links import Link
from sparkrig.network.profiles import profile, uuid
from sparkrig.network.seen import Network
from sparkrig.refusal import Refusal
from sparkrig.text import plain


@dataclass(frozen=True)
class Change:
    """What one netdev needs: `add`, `modify` or `activate` our profile, with its nmcli properties.

    differs: all that is not as declared, which the change mends.
    """

    netdev: str
    verb: str
    properties: Mapping[str, str]
    address: IPv4Interface
    mtu: int
    differs: tuple[Aspect, ...] = ()


@dataclass(frozen=True)
class Plan:
    """What the network of one host needs.

    changes: in rail order; remove: profiles that go, as (uuid, name): our own of netdevs that are no longer
    declared, and other people's that are set aside; uncabled: declared netdevs that a Spark on its own does
    not have just now; move: netplan files that are set aside.
    """

    changes: tuple[Change, ...]
    remove: tuple[tuple[str, str], ...]
    uncabled: tuple[str, ...]
    move: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.changes or self.remove or self.move)


def plan(network: Network, settings: Declared, decided: Mapping[str, str] | None = None) -> Plan:
    """What to do so that each declared netdev has its profile and its live link.

    Raises Refusal, before anything is done, for whatever makes a change unsafe or pointless. decided: the
    setting `adopt` of all hosts, where it is not that of this one alone.
    """
    made = _plan(network, settings, decided)
    if made and not settings.allow_management_interface:
        _refuse_hidden(network)
    return made


def _plan(network: Network, settings: Declared, decided: Mapping[str, str] | None) -> Plan:
    fabric, allowed = settings.fabric, settings.allow_management_interface
    if fabric and not network.running:
        raise Refusal(
            "NetworkManager does not run, and the fabric needs it", on_host("sudo systemctl start NetworkManager")
        )
    for netdev in fabric:
        _refuse_management(network, netdev, allowed=allowed)
    left = definitions.left_alone(definitions.find(network, fabric), settings.adopt)
    ours = [netdev for netdev in fabric if netdev not in left]
    differs = differences(network, settings, decided)
    for netdev in fabric:
        _refuse_unmanaged(network, netdev, ours)
        _refuse(aspect for aspect in differs if aspect.netdev == netdev and aspect.part == "carrier")
    going = settled(network, settings, decided)
    cabled = [netdev for netdev in fabric if network.has_carrier(netdev)]
    for netdev in cabled:
        _refuse_collision(network, netdev, fabric[netdev], fabric)
    _refuse(aspect for aspect in differs if aspect.netdev in left)
    changes = (_change(network, settings, netdev, differs) for netdev in ours if netdev in cabled)
    return Plan(
        changes=tuple(change for change in changes if change),
        remove=tuple(dict.fromkeys([*_stale(network, differs, allowed=allowed), *going.remove])),
        uncabled=tuple(netdev for netdev in fabric if netdev not in cabled),
        move=going.move,
    )


def _refuse(differs: Iterable[Aspect]) -> None:
    """Raises Refusal for the first of those that no deploy mends."""
    for aspect in differs:
        raise Refusal(aspect.found, aspect.cure)


def _stale(network: Network, differs: Sequence[Aspect], *, allowed: bool) -> list[tuple[str, str]]:
    """Our own profiles of netdevs that are no longer declared, as (uuid, name)."""
    stale = [aspect for aspect in differs if aspect.part == "profile" and aspect.status == "extra"]
    for aspect in stale:
        _refuse_management(network, aspect.netdev, allowed=allowed)
    return [(uuid(each.netdev), each.found) for each in stale]


def _refuse_unmanaged(found: Network, netdev: str, ours: Collection[str]) -> None:
    """ours: the declared netdevs that NetworkManager has to manage."""
    if netdev in ours and netdev in found.links and _unmanaged(found, netdev):
        ports = [found.links[name] for name in ours if name in found.links and _unmanaged(found, name)]
        raise handover.refusal(ports, ours, found.links, found.netplan, _beside(found, ours))


def _unmanaged(network: Network, netdev: str) -> bool:
    return network.states.get(netdev) in (None, "unmanaged")


def _beside(found: Network, ours: Collection[str]) -> list[Link]:
    """The other netdevs that NetworkManager does not manage, and that carry SSH or the default route."""
    theirs = [link for name, link in found.links.items() if name not in ours and _unmanaged(found, name)]
    return [link for link in theirs if found.carries_ssh(link.name)]


def _refuse_management(network: Network, netdev: str, *, allowed: bool) -> None:
    if network.carries_ssh(netdev) and not allowed:
        raise Refusal(
            f"{netdev} carries this SSH connection or the default route, and that network is never touched",
            "log in over the management network, and name only QSFP netdevs in the fabric (enp1s0f0np0, ...)",
        )


def _refuse_hidden(found: Network) -> None:
    """No network is changed under an SSH connection that may come in on it; a settled host has nothing to lose."""
    cure = "set management_interface in the inventory to the netdev that SSH packets come in on (ip -br addr)"
    if found.told and found.told not in found.links:
        there = ", ".join(sorted(name for name in found.links if name != "lo")) or "none"
        raise Refusal(f"there is no netdev {found.told}, which management_interface names (found {there})", cure)
    if found.hidden:
        raise Refusal(
            "the netdev that this SSH connection comes in on is not known: it ends at "
            f"{plain(found.reached)[:60]}, on lo or on no netdev of this host, as through a tunnel or a jump, and "
            "may ride on the fabric",
            cure,
        )


def _refuse_collision(found: Network, netdev: str, address: IPv4Interface, fabric: Collection[str]) -> None:
    """Other tables count too: a VPN's routes are in one of its own."""
    ours = {other for other in found.links if uuid(other) in found.profiles} | set(fabric)
    for route in found.routes:
        # a VPN's default route comes as two halves, 0.0.0.0/1 and 128.0.0.0/1
        if route.destination is None or route.destination.prefixlen <= 1 or route.netdev in ours:
            continue
        if route.destination.overlaps(address.network):
            raise Refusal(
                f"{address} on {netdev} collides with the route to {route.destination} over {route.netdev}",
                "choose other fabric subnets in the inventory, on all hosts that share them",
            )


def _change(network: Network, settings: Declared, netdev: str, differs: Sequence[Aspect]) -> Change | None:
    mended = tuple(aspect for aspect in differs if aspect.netdev == netdev and aspect.part != "others")
    if not mended:
        return None
    verb = "activate"
    if any(aspect.part == "profile" for aspect in mended):
        verb = "modify" if uuid(netdev) in network.profiles else "add"
    address = settings.fabric[netdev]
    return Change(netdev, verb, profile(netdev, address, settings.mtu), address, settings.mtu, mended)
