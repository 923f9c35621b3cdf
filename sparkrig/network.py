"""The fabric's NetworkManager profiles: what stands on a host, what may be done, and what to do.

The network that SSH came in on is never touched. `netplan apply` restarts NetworkManager and drops every
link, so it is never called. A modified profile leaves its link as it was, so profile and link are judged
apart. Sources: [@epappas, @netplan-source], and runs on virtual machines with NetworkManager 1.46 and 1.52.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Interface
from typing import Any

from sparkrig import definitions, links, netplan, profiles
from sparkrig.links import Link, Route
from sparkrig.profiles import Profile, profile, uuid
from sparkrig.refusal import Refusal
from sparkrig.value import Value

__all__ = ["Change", "Link", "Network", "Plan", "Profile", "Route", "parse", "plan", "profile", "uuid"]


@dataclass(frozen=True)
class Network(Value):
    """Links, routes and definitions of a host; `ssh` is the netdev that the SSH session came in on."""

    running: bool
    ssh: str | None
    links: Mapping[str, Link]
    routes: tuple[Route, ...]
    states: Mapping[str, str]
    active: Mapping[str, str]
    profiles: Mapping[str, Profile]
    netplan: tuple[netplan.File, ...] = ()

    @property
    def management(self) -> tuple[str, IPv4Interface] | None:
        """The netdev and address that SSH came in on, or else those of the default route."""
        outward = [route.netdev for route in self.routes if route.outward]
        for name in (self.ssh, *outward):
            link = self.links.get(name or "")
            usable = [address for address in link.addresses if not address.ip.is_link_local] if link else []
            if link and usable:
                return link.name, usable[0]
        return None

    def carries_ssh(self, netdev: str) -> bool:
        """Whether SSH or the default route is on that netdev, or over it (bond, bridge, VLAN)."""
        outward = [route.netdev for route in self.routes if route.outward]
        pending = [name for name in (self.ssh, *outward) if name]
        seen: set[str] = set()
        while pending:
            name = pending.pop()
            seen.add(name)
            below = {link.name for link in self.links.values() if link.master == name}
            if name in self.links and self.links[name].lower:
                below.add(self.links[name].lower)
            pending += below - seen
        return netdev in seen


def parse(lines: Iterable[str]) -> Network:
    """Read the network fact. Raises ValueError where a row makes no sense."""
    rows = [line.partition(" ")[::2] for line in lines]
    first = dict(rows)
    # ip -j prints an empty object for a netdev that it filters out
    addresses = [entry for entry in json.loads(first.get("addr") or "[]") if "ifname" in entry]
    ports = {fields[0]: fields[1:] for word, rest in rows if word == "port" and (fields := rest.split(" "))}
    states, active = _parse_devices(rest for word, rest in rows if word == "device")
    return Network(
        running=first.get("nm", "").strip() == "running",
        ssh=_netdev_of(first.get("ssh", "").strip(), addresses),
        links={entry["ifname"]: links.parse_link(entry, ports.get(entry["ifname"], [])) for entry in addresses},
        routes=links.parse_routes(json.loads(first.get("route") or "[]")),
        states=states,
        active=active,
        profiles=profiles.parse(rows),
        netplan=netplan.parse(rest for word, rest in rows if word == "netplan"),
    )


def _netdev_of(address: str, entries: Iterable[Mapping[str, Any]]) -> str | None:
    """The netdev that has this address, IPv4 or IPv6; a link-local one says so itself (fe80::1%enP7s7)."""
    bare, _, scope = address.partition("%")
    if scope:
        return scope
    for entry in entries:
        if bare and bare in {info.get("local") for info in entry.get("addr_info", [])}:
            return str(entry["ifname"])
    return None


def _parse_devices(rows: Iterable[str]) -> tuple[dict[str, str], dict[str, str]]:
    """`nmcli -t -f DEVICE,STATE,CON-UUID device` rows -> state and active profile by netdev."""
    states: dict[str, str] = {}
    active: dict[str, str] = {}
    for row in rows:
        device, state, connection = profiles.terse(row, 3)
        states[device] = state
        if connection:
            active[device] = connection
    return states, active


@dataclass(frozen=True)
class Change:
    """What one netdev needs: `add`, `modify` or `activate` our profile, with its nmcli properties."""

    netdev: str
    verb: str
    properties: Mapping[str, str]
    address: IPv4Interface
    mtu: int
    why: str


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


def plan(
    found: Network,
    fabric: Mapping[str, IPv4Interface],
    mtu: int,
    *,
    paired: bool,
    adopt: Mapping[str, str] | None = None,
    allow_management: bool = False,
) -> Plan:
    """What to do so that each declared netdev has its profile and its live link.

    adopt: what becomes of other people's definitions of those netdevs (the setting of that name);
    allow_management: whether a netdev that SSH or the default route is on may be changed.

    Raises Refusal, before anything is done, for whatever makes a change unsafe or pointless.
    """
    words = adopt or {}
    others = definitions.find(found.links, fabric, found.profiles, found.netplan, found.carries_ssh)
    left = definitions.left_alone(others, words)
    if not found.running and not left.issuperset(fabric):
        raise Refusal(
            "NetworkManager does not run, and the fabric needs it", "sudo systemctl start NetworkManager"
        )
    for netdev in fabric:
        _refuse_management(found, netdev, allowed=allow_management)
    cabled = {
        netdev: address
        for netdev, address in fabric.items()
        if _usable(found, netdev, paired=paired, managed=netdev not in left)
    }
    concerned = [each for each in others if not cabled.keys().isdisjoint(each.given)]
    settled = definitions.settle(concerned, words, fabric, found.profiles, found.netplan)
    for netdev, address in cabled.items():
        _refuse_collision(found, netdev, address, fabric)
    for netdev in left.intersection(cabled):
        _refuse_another_link(found.links[netdev], fabric[netdev], mtu)
    changes = (_change(found, netdev, address, mtu) for netdev, address in cabled.items() if netdev not in left)
    return Plan(
        changes=tuple(change for change in changes if change),
        remove=tuple(dict.fromkeys([*_stale(found, fabric, allowed=allow_management), *settled.remove])),
        uncabled=tuple(netdev for netdev in fabric if netdev not in cabled),
        move=settled.move,
        left=tuple(netdev for netdev in cabled if netdev in left),
    )


def _stale(found: Network, fabric: Collection[str], *, allowed: bool) -> list[tuple[str, str]]:
    """Our own profiles of netdevs that are no longer declared, as (uuid, name)."""
    ours = {uuid(netdev) for netdev in fabric}
    stale = [
        (known.uuid, known.name, netdev)
        for known in found.profiles.values()
        if known.uuid not in ours
        and known.uuid == uuid(netdev := known.properties.get("connection.interface-name", ""))
    ]
    for _, _, netdev in stale:
        _refuse_management(found, netdev, allowed=allowed)
    return [(identifier, name) for identifier, name, _ in stale]


def _usable(found: Network, netdev: str, *, paired: bool, managed: bool) -> bool:
    """Whether a declared netdev can be used now; False is an uncabled Spark on its own.

    managed: whether NetworkManager has to manage it.
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
    if managed and found.states.get(netdev) in (None, "unmanaged"):
        raise Refusal(
            f"NetworkManager does not manage {netdev}",
            f"sudo nmcli device set {netdev} managed yes, then look for it in /etc/netplan",
        )
    if not link.carrier:
        if not paired:
            return False
        raise Refusal(
            f"{netdev} has no carrier", "seat the QSFP cable on both Sparks, and check that the peer is on"
        )
    return True


def _refuse_renamed(found: Network, netdev: str) -> None:
    """A netdev that is not there under its name may be there under another."""
    place = links.pci_of(netdev)
    other = next((link.name for link in found.links.values() if place and link.pci == place), None)
    if other:
        raise Refusal(
            f"expected {netdev} at {place}, found {other} there",
            f"look at what renames it: udevadm test-builtin net_setup_link /sys/class/net/{other}, "
            "ls /etc/systemd/network /etc/udev/rules.d",
        )


def _refuse_management(found: Network, netdev: str, *, allowed: bool) -> None:
    if found.carries_ssh(netdev) and not allowed:
        raise Refusal(
            f"{netdev} carries this SSH connection or the default route, and that network is never touched",
            "log in over the management network, and name only QSFP netdevs in the fabric (enp1s0f0np0, ...)",
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
                "choose other fabric subnets in the inventory, on both hosts",
            )


def _refuse_another_link(link: Link, address: IPv4Interface, mtu: int) -> None:
    """Where another definition is left in charge, nothing can be done but look."""
    if address not in link.addresses or link.mtu != mtu:
        there = ", ".join(map(str, link.addresses)) or "no address"
        raise Refusal(
            f"the definition that is left in charge of {link.name} gives its link {there} and MTU {link.mtu}, "
            f"and the inventory says {address} and MTU {mtu}",
            f"change one of the two, or give {link.name} to sparkrig (docs/adopting.md)",
        )


def _change(found: Network, netdev: str, address: IPv4Interface, mtu: int) -> Change | None:
    """The live link is judged by itself: nothing says whether a modified profile was ever activated."""
    wanted = profile(netdev, address, mtu)
    known = found.profiles.get(uuid(netdev))
    if known is None:
        return Change(netdev, "add", wanted, address, mtu, "no profile yet")
    differs = [key for key, value in wanted.items() if known.properties.get(key) != value]
    if differs:
        return Change(netdev, "modify", wanted, address, mtu, f"profile differs in {', '.join(differs)}")
    if not known.saved:  # by a run that broke off, and about to be rolled back
        return Change(netdev, "modify", wanted, address, mtu, "profile is only in memory")
    link = found.links[netdev]
    if found.active.get(netdev) != known.uuid:
        return Change(netdev, "activate", wanted, address, mtu, "profile is not active")
    if link.mtu != mtu:
        return Change(netdev, "activate", wanted, address, mtu, f"link MTU is {link.mtu}")
    if link.addresses != (address,):
        there = ", ".join(map(str, link.addresses)) or "none"
        return Change(netdev, "activate", wanted, address, mtu, f"link address is {there}")
    if link.ipv6:
        return Change(netdev, "activate", wanted, address, mtu, "link has an IPv6 address")
    return None
