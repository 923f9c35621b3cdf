"""The fabric's NetworkManager profiles: what stands on a host, what may be done, and what to do.

The network that SSH came in on is never touched. `netplan apply` restarts NetworkManager and drops every
link, so it is never called. A modified profile leaves its link as it was, so profile and link are judged
apart. Sources: [@epappas, @netplan-source], and runs on virtual machines with NetworkManager 1.46 and 1.52.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from ipaddress import IPv4Interface
from typing import Any, Literal

from sparkrig.cure import quoted
from sparkrig.network import definitions, handover, links, netplan, profiles
from sparkrig.network.links import Link, Route
from sparkrig.network.profiles import Profile, profile, uuid
from sparkrig.parsing import bounds
from sparkrig.refusal import Refusal
from sparkrig.text import plain
from sparkrig.value import Value

__all__ = ["Change", "Link", "Network", "Plan", "Profile", "Route", "parse", "plan", "profile", "uuid"]


@dataclass(frozen=True)
class Network(Value):
    """Links, routes and definitions of a host.

    ssh: the netdev that the SSH session came in on, None without a session and where it is hidden; reached: the
    host's own address in that session, empty without one; told: the netdev of the setting management_interface.
    """

    running: bool
    ssh: str | None
    links: Mapping[str, Link]
    routes: tuple[Route, ...]
    states: Mapping[str, str]
    active: Mapping[str, str]
    profiles: Mapping[str, Profile]
    netplan: tuple[netplan.File, ...] = ()
    reached: str = ""
    told: str | None = None

    def over(self, netdev: str | None) -> Network:
        """The same host with the netdev that the setting management_interface names."""
        return replace(self, told=netdev)

    @property
    def hidden(self) -> bool:
        """Whether an SSH session is there, and no netdev of this host can be named that carries it."""
        return bool(self.reached) and not self.ssh and not self.told

    @property
    def management(self) -> tuple[str, IPv4Interface] | None:
        """The netdev of the setting and its address, or else of the one that SSH or the default route is on."""
        outward = [route.netdev for route in self.routes if route.outward]
        for name in (self.told, self.ssh, *outward):
            link = self.links.get(name or "")
            usable = [address for address in link.addresses if not address.ip.is_link_local] if link else []
            if link and usable:
                return link.name, usable[0]
        return None

    def carries_ssh(self, netdev: str) -> bool:
        """Whether SSH or the default route is on that netdev, or over it (bond, bridge, VLAN)."""
        outward = [route.netdev for route in self.routes if route.outward]
        pending = [name for name in (self.told, self.ssh, *outward) if name]
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
    entries = bounds.loads(first.get("addr") or "[]")
    addresses = {str(entry["ifname"]): entry for entry in entries if "ifname" in entry}
    reached = first.get("ssh", "").strip()
    ports = {fields[0]: fields[1:] for word, rest in rows if word == "port" and (fields := rest.split(" "))}
    states, active = _parse_devices(rest for word, rest in rows if word == "device")
    return Network(
        running=first.get("nm", "").strip() == "running",
        ssh=_netdev_of(reached, addresses),
        links={name: links.parse_link(entry, ports.get(name, [])) for name, entry in addresses.items()},
        routes=links.parse_routes(bounds.loads(first.get("route") or "[]")),
        states=states,
        active=active,
        profiles=profiles.parse(rows),
        netplan=netplan.parse(rest for word, rest in rows if word == "netplan"),
        reached=reached,
    )


def _netdev_of(address: str, entries: Mapping[str, Mapping[str, Any]]) -> str | None:
    """The netdev that has this address, IPv4 or IPv6; a link-local one says so itself (fe80::1%enP7s7).

    None where no netdev has it, and for `lo`: what ends there is a tunnel, or a jump on the host itself, and came
    in on a netdev that the host cannot name. sshd calls an IPv4 address ::ffff:192.0.2.1 where it listens on IPv6.
    """
    bare, _, scope = address.removeprefix("::ffff:").partition("%")
    if scope:
        return scope if scope in entries else None
    for name, entry in entries.items():
        if bare and name != "lo" and bare in {info.get("local") for info in entry.get("addr_info", [])}:
            return name
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
class Difference:
    """What of a netdev is not as declared.

    kind: `profile` for our profile and its properties, `active` for which profile is active, else what of the live
    link; what: the property, or empty; before, after: in words, before is None where there is nothing.
    """

    kind: Literal["profile", "active", "mtu", "address", "ipv6"]
    what: str
    before: str | None
    after: str


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
    made = _plan(found, fabric, mtu, paired=paired, adopt=adopt or {}, allow_management=allow_management)
    if made and not allow_management:
        _refuse_hidden(found)
    return made


def _plan(
    found: Network,
    fabric: Mapping[str, IPv4Interface],
    mtu: int,
    *,
    paired: bool,
    adopt: Mapping[str, str],
    allow_management: bool,
) -> Plan:
    others = definitions.find(found.links, fabric, found.profiles, found.netplan, found.carries_ssh)
    left = definitions.left_alone(others, adopt)
    if not found.running and not left.issuperset(fabric):
        raise Refusal(
            "NetworkManager does not run, and the fabric needs it", "sudo systemctl start NetworkManager"
        )
    for netdev in fabric:
        _refuse_management(found, netdev, allowed=allow_management)
    ours = [netdev for netdev in fabric if netdev not in left]
    cabled = {
        netdev: address for netdev, address in fabric.items() if _usable(found, netdev, paired=paired, ours=ours)
    }
    concerned = [each for each in others if not cabled.keys().isdisjoint(each.given)]
    settled = definitions.settle(concerned, adopt, fabric, found.profiles, found.netplan)
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
    if not link.carrier:
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
    wanted = profile(netdev, address, mtu)
    differs = differences(found, netdev, address, mtu)
    if not differs:
        return None
    first = differs[0]
    verb = "activate" if first.kind != "profile" else "modify" if uuid(netdev) in found.profiles else "add"
    return Change(netdev, verb, wanted, address, mtu, _why(differs), differs)


def _why(differs: tuple[Difference, ...]) -> str:
    first = differs[0]
    if first.kind == "profile":
        if first.before is None and not first.what:
            return "no profile yet"
        properties = [each.what for each in differs if each.kind == "profile" and each.what]
        return f"profile differs in {', '.join(properties)}" if properties else "profile is only in memory"
    return {
        "active": "profile is not active",
        "mtu": f"link MTU is {first.before}",
        "address": f"link address is {first.before or 'none'}",
        "ipv6": "link has an IPv6 address",
    }[first.kind]


def differences(found: Network, netdev: str, address: IPv4Interface, mtu: int) -> tuple[Difference, ...]:
    """What of a cabled netdev is not as declared, our profile first.

    The live link is judged by itself: nothing says whether a modified profile was ever activated.
    """
    wanted, link = profile(netdev, address, mtu), found.links[netdev]
    known, on = found.profiles.get(uuid(netdev)), found.active.get(netdev, "")
    differs: list[Difference] = []
    if known is None:
        differs.append(Difference("profile", "", None, f"{wanted['connection.id']}: {address}, MTU {mtu}"))
    else:
        differs += [
            Difference("profile", key, known.properties.get(key) or None, value)
            for key, value in wanted.items()
            if known.properties.get(key) != value
        ]
        if not differs and not known.saved:  # by a run that broke off, and about to be rolled back
            differs.append(Difference("profile", "", "only in memory", "saved"))
    if on != uuid(netdev):
        named = found.profiles[on].name if on in found.profiles else on
        differs.append(Difference("active", "", named or None, wanted["connection.id"]))
    if link.mtu != mtu:
        differs.append(Difference("mtu", "", str(link.mtu), str(mtu)))
    if link.addresses != (address,):
        differs.append(Difference("address", "", ", ".join(map(str, link.addresses)) or None, str(address)))
    if link.ipv6:
        differs.append(Difference("ipv6", "", "an IPv6 address", "none"))
    return tuple(differs)
