"""The fabric's NetworkManager profiles: what stands on a host, what may be done, and what to do.

The network that SSH came in on is never touched. `netplan apply` restarts NetworkManager and drops every
link, so it is never called. A modified profile leaves its link as it was, so profile and link are judged
apart. Sources: [@epappas, @netplan-source], and runs on virtual machines with NetworkManager 1.46 and 1.52.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Interface

from sparkrig.cure import on_host, quoted
from sparkrig.network import definitions, handover, links
from sparkrig.network.differences import Declared, Difference, differences, of_netdev
from sparkrig.network.links import Link
from sparkrig.network.profiles import profile, uuid
from sparkrig.network.seen import Network
from sparkrig.refusal import Refusal
from sparkrig.text import plain

_OF_PROFILE = frozenset({"profile", "property", "unsaved"})
_MENDED = _OF_PROFILE | {"active", "mtu", "address", "extra address", "ipv6"}  # by our profile and its activation


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
    why: str
    differs: tuple[Difference, ...] = ()


@dataclass(frozen=True)
class Plan:
    """What the network of one host needs.

    changes: in rail order; remove: profiles that go, as (uuid, name): our own of netdevs that are no longer
    declared, and other people's that are set aside; uncabled: declared netdevs that a Spark on its own does
    not have just now; move: netplan files that are set aside; left: netdevs that another definition is in
    charge of, by the setting `adopt`.
    """

    changes: tuple[Change, ...]
    remove: tuple[tuple[str, str], ...]
    uncabled: tuple[str, ...]
    move: tuple[str, ...] = ()
    left: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.changes or self.remove or self.move)


def plan(found: Network, settings: Declared, decided: Mapping[str, str] | None = None) -> Plan:
    """What to do so that each declared netdev has its profile and its live link.

    Raises Refusal, before anything is done, for whatever makes a change unsafe or pointless. decided: the
    setting `adopt` of all hosts, where it is not that of this one alone.
    """
    made = _plan(found, settings, decided)
    if made and not settings.allow_management_interface:
        _refuse_hidden(found)
    return made


def _plan(found: Network, settings: Declared, decided: Mapping[str, str] | None) -> Plan:
    fabric, adopt, allowed = settings.fabric, settings.adopt, settings.allow_management_interface
    differs = differences(found, settings)
    others = definitions.find(found, fabric)
    left = definitions.left_alone(others, adopt)
    if any(each.what == "manager" for each in differs):
        raise Refusal(
            "NetworkManager does not run, and the fabric needs it", on_host("sudo systemctl start NetworkManager")
        )
    for netdev in fabric:
        _refuse_management(found, netdev, allowed=allowed)
    ours = [netdev for netdev in fabric if netdev not in left]
    cabled = [
        netdev for netdev in fabric if _usable(found, netdev, paired=settings.group_name is not None, ours=ours)
    ]
    concerned = [each for each in others if not each.given.keys().isdisjoint(cabled)]
    settled = definitions.settle(
        concerned, adopt, fabric, found.profiles, found.netplan, adopt if decided is None else decided
    )
    for netdev in cabled:
        _refuse_collision(found, netdev, fabric[netdev], fabric)
    for netdev in left.intersection(cabled):
        if of_netdev(differs, netdev):
            _refuse_another_link(found.links[netdev], fabric[netdev], settings.mtu)
    changes = (_change(found, settings, netdev, differs) for netdev in ours if netdev in cabled)
    return Plan(
        changes=tuple(change for change in changes if change),
        remove=tuple(dict.fromkeys([*_stale(found, differs, allowed=allowed), *settled.remove])),
        uncabled=tuple(netdev for netdev in fabric if netdev not in cabled),
        move=settled.move,
        left=tuple(netdev for netdev in cabled if netdev in left),
    )


def _stale(found: Network, differs: Sequence[Difference], *, allowed: bool) -> list[tuple[str, str]]:
    """Our own profiles of netdevs that are no longer declared, as (uuid, name)."""
    stale = [each for each in differs if each.what == "undeclared"]
    for each in stale:
        _refuse_management(found, each.netdev, allowed=allowed)
    return [(uuid(each.netdev), each.found or "") for each in stale]


def _usable(found: Network, netdev: str, *, paired: bool, ours: Collection[str]) -> bool:
    """Whether a declared netdev can be used now; False is an uncabled Spark on its own.

    ours: the declared netdevs that NetworkManager has to manage.
    """
    link = found.links.get(netdev)
    if link is None:
        _refuse_renamed(found, netdev)
        if not paired:
            return False
        there = (
            ", ".join(sorted(name for name, known in found.links.items() if known.port))
            or "no fabric netdev at all"
        )
        raise Refusal(
            f"there is no netdev {netdev} (found {there}); an uncabled ConnectX-7 leaves the PCI bus",
            "seat the QSFP cable on both Sparks, then: ip link",
        )
    if netdev in ours and _unmanaged(found, netdev):
        ports = [found.links[name] for name in ours if name in found.links and _unmanaged(found, name)]
        raise handover.refusal(ports, ours, found.links, found.netplan, _beside(found, ours))
    if not found.has_carrier(netdev):
        if not paired:
            return False
        raise Refusal(
            f"{netdev} has no carrier", "seat the QSFP cable on both Sparks, and check that the peer is on"
        )
    return True


def _unmanaged(found: Network, netdev: str) -> bool:
    return found.states.get(netdev) in (None, "unmanaged")


def _beside(found: Network, ours: Collection[str]) -> list[Link]:
    """The other netdevs that NetworkManager does not manage, and that carry SSH or the default route."""
    theirs = [link for name, link in found.links.items() if name not in ours and _unmanaged(found, name)]
    return [link for link in theirs if found.carries_ssh(link.name)]


def _refuse_renamed(found: Network, netdev: str) -> None:
    """A netdev that is not there under its name may be there under another."""
    place = links.pci_of(netdev)
    other = next((link.name for link in found.links.values() if place and link.pci == place), None)
    if other:
        raise Refusal(
            f"expected {netdev} at {place}, found {other} there",
            f"look at what renames it: udevadm test-builtin net_setup_link {quoted(f'/sys/class/net/{other}')}, "
            "ls /etc/systemd/network /etc/udev/rules.d",
        )


def _refuse_management(found: Network, netdev: str, *, allowed: bool) -> None:
    if found.carries_ssh(netdev) and not allowed:
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


def _refuse_another_link(link: Link, address: IPv4Interface, mtu: int) -> None:
    """Where another definition is left in charge, nothing can be done but look."""
    there = ", ".join(map(str, link.addresses)) or "no address"
    raise Refusal(
        f"the definition that is left in charge of {link.name} gives its link {there} and MTU {link.mtu}, "
        f"and the inventory says {address} and MTU {mtu}",
        f"change one of the two, or give {link.name} to sparkrig (sparkrig docs adopting)",
    )


def _change(found: Network, settings: Declared, netdev: str, differs: Sequence[Difference]) -> Change | None:
    mended = tuple(each for each in of_netdev(differs, netdev) if each.what in _MENDED)
    if not mended:
        return None
    verb = "activate"
    if mended[0].what in _OF_PROFILE:
        verb = "modify" if uuid(netdev) in found.profiles else "add"
    address = settings.fabric[netdev]
    properties = profile(netdev, address, settings.mtu)
    return Change(netdev, verb, properties, address, settings.mtu, _why(mended), mended)


def _why(differs: tuple[Difference, ...]) -> str:
    first = differs[0]
    match first.what:
        case "profile":
            return "no profile yet"
        case "property":
            return f"profile differs in {', '.join(each.property for each in differs if each.property)}"
        case "unsaved":
            return "profile is only in memory"
        case "active":
            return "profile is not active"
        case "mtu":
            return f"link MTU is {first.found}"
        case "ipv6":
            return "link has an IPv6 address"
        case _:
            return f"link address is {first.found or 'none'}"
