"""The fabric's NetworkManager profiles: what stands on a host, what may be done, and what to do.

The network that SSH came in on is never touched. `netplan apply` restarts NetworkManager and drops every
link, so it is never called. A modified profile leaves its link as it was, so profile and link are judged
apart. Sources: spark-domain.md section 4, reliability-notes.md section 1.
"""

from __future__ import annotations

import base64
import fnmatch
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Interface, IPv4Network
from typing import Any
from uuid import UUID, uuid5

import yaml

from sparkrig.refusal import Refusal
from sparkrig.value import Value

_NAMESPACE = UUID("5ac1f0c2-7d0f-4a55-9b1e-2f6d4e0a9c11")  # ours; with the netdev's name it makes a fixed UUID
_PRIORITY = 100  # above every profile that a person or a tool leaves at 0
_GENERATED_PRIORITY = -999  # NetworkManager's own "Wired connection N", made in memory for a bare netdev


@dataclass(frozen=True)
class Link:
    """One netdev as the kernel has it.

    port: the cage (`p0`, `p1`), empty where it is no fabric netdev; master: the bond or bridge it is part
    of; lower: the netdev that a VLAN rides on.
    """

    name: str
    mac: str
    mtu: int
    carrier: bool
    addresses: tuple[IPv4Interface, ...]
    port: str = ""
    master: str = ""
    lower: str = ""
    driver: str = ""


@dataclass(frozen=True)
class Route:
    """One IPv4 route; destination None is the default route."""

    destination: IPv4Network | None
    netdev: str


@dataclass(frozen=True)
class Profile:
    """One NetworkManager connection profile: its nmcli properties by name, and the file it lives in."""

    uuid: str
    filename: str
    properties: Mapping[str, str]

    @property
    def name(self) -> str:
        return self.properties.get("connection.id", self.uuid)

    @property
    def generated(self) -> bool:
        """Made by NetworkManager itself, in memory, and giving way to any other profile."""
        priority = self.properties.get("connection.autoconnect-priority", "0")
        return self.filename.startswith("/run/") and priority == str(_GENERATED_PRIORITY)

    def binds(self, link: Link) -> bool:
        """Whether this profile names that netdev, by name or by MAC address."""
        if self.properties.get("connection.interface-name") == link.name:
            return True
        patterns = self.properties.get("match.interface-name", "").replace(",", " ").split()
        if any(fnmatch.fnmatchcase(link.name, pattern) for pattern in patterns):
            return True
        mac = self.properties.get("802-3-ethernet.mac-address", "")
        return bool(mac) and mac.lower() == link.mac.lower()


@dataclass(frozen=True)
class Netplan:
    """One netplan file that a person or another tool wrote: which netdevs it names."""

    path: str
    names: tuple[str, ...]
    macs: tuple[str, ...]
    drivers: tuple[str, ...] = ()

    def binds(self, link: Link) -> bool:
        named = any(fnmatch.fnmatchcase(link.name, name) for name in self.names)
        driven = any(fnmatch.fnmatchcase(link.driver, driver) for driver in self.drivers if link.driver)
        return named or driven or link.mac.lower() in self.macs


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
    netplan: tuple[Netplan, ...] = ()

    @property
    def management(self) -> tuple[str, IPv4Interface] | None:
        """The netdev and address that SSH came in on, or else those of the default route."""
        outward = [route.netdev for route in self.routes if route.destination is None]
        for name in (self.ssh, *outward):
            link = self.links.get(name or "")
            usable = [address for address in link.addresses if not address.ip.is_link_local] if link else []
            if link and usable:
                return link.name, usable[0]
        return None

    def carries_ssh(self, netdev: str) -> bool:
        """Whether SSH or the default route is on that netdev, or over it (bond, bridge, VLAN)."""
        outward = [route.netdev for route in self.routes if route.destination is None]
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


def uuid(netdev: str) -> str:
    """The fixed UUID of our profile for that netdev."""
    return str(uuid5(_NAMESPACE, netdev))


def profile(netdev: str, address: IPv4Interface, mtu: int) -> dict[str, str]:
    """The nmcli properties of our profile.

    IPv6 is off because a second link-local address moves the GID index; `may-fail no` because an
    activation without its address would else count as success.
    """
    return {
        "connection.id": f"sparkrig-{netdev}",
        "connection.interface-name": netdev,
        "connection.autoconnect": "yes",
        "connection.autoconnect-priority": str(_PRIORITY),
        "802-3-ethernet.mtu": str(mtu),
        "ipv4.method": "manual",
        "ipv4.addresses": str(address),
        "ipv4.never-default": "yes",
        "ipv4.may-fail": "no",
        "ipv6.method": "disabled",
    }


PROPERTIES = (
    "connection.uuid",
    *profile("x", IPv4Interface("192.0.2.1/24"), 0),
    "802-3-ethernet.mac-address",
    "match.interface-name",
)


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
        links={entry["ifname"]: _parse_link(entry, ports.get(entry["ifname"], [])) for entry in addresses},
        routes=tuple(_parse_route(entry) for entry in json.loads(first.get("route") or "[]")),
        states=states,
        active=active,
        profiles=_parse_profiles(rows),
        netplan=tuple(_parse_netplan(rest) for word, rest in rows if word == "netplan"),
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


def _parse_link(entry: Mapping[str, Any], row: list[str]) -> Link:
    port, carrier, driver, *_ = [*row, "", "", ""]
    return Link(
        name=str(entry["ifname"]),
        mac=str(entry.get("address", "")),
        mtu=int(entry["mtu"]),
        carrier=carrier == "1",
        addresses=tuple(
            IPv4Interface(f"{info['local']}/{info['prefixlen']}")
            for info in entry.get("addr_info", [])
            if info.get("family") == "inet" and "local" in info
        ),
        port="" if port == "-" else port,
        master=str(entry.get("master", "")),
        lower=str(entry.get("link", "")),
        driver=driver,
    )


def _parse_route(entry: dict[str, Any]) -> Route:
    destination = str(entry.get("dst", "default"))
    network = None if destination == "default" else IPv4Network(destination, strict=False)
    return Route(network, str(entry.get("dev", "")))


def _parse_devices(rows: Iterable[str]) -> tuple[dict[str, str], dict[str, str]]:
    """`nmcli -t -f DEVICE,STATE,CON-UUID device` rows -> state and active profile by netdev."""
    states: dict[str, str] = {}
    active: dict[str, str] = {}
    for row in rows:
        device, state, connection = _terse(row, 3)
        states[device] = state
        if connection:
            active[device] = connection
    return states, active


def _parse_profiles(rows: Iterable[tuple[str, str]]) -> dict[str, Profile]:
    files: dict[str, str] = {}
    properties: dict[str, dict[str, str]] = {}
    current: dict[str, str] = {}
    for word, rest in rows:
        if word == "profile":
            identifier, _kind, filename = _terse(rest, 3)
            files[identifier] = filename
        elif word == "property":
            key, value = _terse(rest, 2)
            if key == "connection.uuid":
                current = properties.setdefault(value, {})
            current[key] = value
    return {key: Profile(key, files.get(key, ""), found) for key, found in properties.items()}


def _terse(row: str, count: int) -> list[str]:
    """Split a terse nmcli row at its unescaped colons; the last field may hold more of them."""
    fields = [""]
    characters = iter(row)
    for character in characters:
        if character == "\\":
            fields[-1] += next(characters, "")
        elif character == ":" and len(fields) < count:
            fields.append("")
        else:
            fields[-1] += character
    return [*fields, *[""] * (count - len(fields))]


def _parse_netplan(row: str) -> Netplan:
    path, _, encoded = row.partition(" ")
    text = base64.b64decode(encoded).decode("utf-8", "replace")
    try:
        return _read_netplan(path, yaml.safe_load(text))
    except (yaml.YAMLError, AttributeError, TypeError):
        # Unreadable for us may still be a definition: every word of it counts as a name and as a MAC.
        words = {word.strip(":") for word in re.findall(r"[\w.:*?-]+", text)}
        return Netplan(path, tuple(sorted(words)), tuple(sorted(word.lower() for word in words)))


def _read_netplan(path: str, document: Any) -> Netplan:
    names: list[str] = []
    macs: list[str] = []
    drivers: list[str] = []
    for key, body in (((document or {}).get("network") or {}).get("ethernets") or {}).items():
        match = (body or {}).get("match") or {}
        if "macaddress" in match:
            macs.append(str(match["macaddress"]).lower())
        names += _words(match.get("name", [] if match else key))
        if not {"name", "macaddress"}.intersection(match):
            drivers += _words(match.get("driver", []))
        if (body or {}).get("set-name"):
            names.append(str(body["set-name"]))
    return Netplan(path, tuple(names), tuple(macs), tuple(drivers))


def _words(value: Any) -> list[str]:
    return [str(word) for word in (value if isinstance(value, list) else [value])]


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
    allow_management: bool = False,
) -> Plan:
    """What to do so that each declared netdev has its profile and its live link.

    allow_management: whether a netdev that SSH or the default route is on may be changed.

    Raises Refusal, before anything is done, for whatever makes a change unsafe or pointless.
    """
    if fabric and not found.running:
        raise Refusal(
            "NetworkManager does not run, and the fabric needs it", "sudo systemctl start NetworkManager"
        )
    cabled = {
        netdev: address
        for netdev, address in fabric.items()
        if _usable(found, netdev, paired=paired, allowed=allow_management)
    }
    for netdev, address in cabled.items():
        _refuse_second_definition(found, found.links[netdev])
        _refuse_collision(found, netdev, address)
    wanted = {netdev: profile(netdev, address, mtu) for netdev, address in cabled.items()}
    changes = [
        change
        for netdev, address in cabled.items()
        if (change := _change(found, netdev, address, mtu, wanted[netdev]))
    ]
    ours = {uuid(netdev) for netdev in fabric}
    remove = [
        (known.uuid, known.name)
        for known in found.profiles.values()
        if known.uuid not in ours and known.uuid == uuid(known.properties.get("connection.interface-name", ""))
    ]
    for known_uuid, _ in remove:
        netdev = found.profiles[known_uuid].properties["connection.interface-name"]
        _refuse_management(found, netdev, allowed=allow_management)
    return Plan(tuple(changes), tuple(remove), tuple(netdev for netdev in fabric if netdev not in cabled))


def _usable(found: Network, netdev: str, *, paired: bool, allowed: bool) -> bool:
    """Whether a declared netdev can be set up now; False is an uncabled Spark on its own."""
    _refuse_management(found, netdev, allowed=allowed)
    link = found.links.get(netdev)
    if link is None:
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
    if found.states.get(netdev) in (None, "unmanaged"):
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


def _refuse_management(found: Network, netdev: str, *, allowed: bool) -> None:
    if found.carries_ssh(netdev) and not allowed:
        raise Refusal(
            f"{netdev} carries this SSH connection or the default route, and that network is never touched",
            "log in over the management network, and name only QSFP netdevs in the fabric (enp1s0f0np0, ...)",
        )


def _refuse_second_definition(found: Network, link: Link) -> None:
    # netplan first: NetworkManager shows its files as profiles too, and deleting one of those edits the file
    for file in found.netplan:
        if file.binds(link):
            raise Refusal(
                f"{link.name} has a second definition: netplan file {file.path}",
                f"look at it, then: sudo mv {file.path} {file.path}.set-aside && sudo netplan generate "
                "&& sudo nmcli connection reload",
            )
    for known in found.profiles.values():
        if known.uuid != uuid(link.name) and known.binds(link) and not known.generated:
            raise Refusal(
                f"{link.name} has a second definition: NetworkManager profile {known.name!r} ({known.filename})",
                f"look at it, then: sudo nmcli connection delete {known.uuid}",
            )


def _refuse_collision(found: Network, netdev: str, address: IPv4Interface) -> None:
    ours = {other for other in found.links if uuid(other) in found.profiles} | {netdev}
    for route in found.routes:
        # a VPN's default route comes as two halves, 0.0.0.0/1 and 128.0.0.0/1
        if route.destination is None or route.destination.prefixlen <= 1 or route.netdev in ours:
            continue
        if route.destination.overlaps(address.network):
            raise Refusal(
                f"{address} on {netdev} collides with the route to {route.destination} over {route.netdev}",
                "choose other fabric subnets in the inventory, on both hosts",
            )


def _change(
    found: Network, netdev: str, address: IPv4Interface, mtu: int, wanted: Mapping[str, str]
) -> Change | None:
    known = found.profiles.get(uuid(netdev))
    if known is None:
        return Change(netdev, "add", wanted, address, mtu, "no profile yet")
    differs = [key for key, value in wanted.items() if known.properties.get(key) != value]
    if differs:
        return Change(netdev, "modify", wanted, address, mtu, f"profile differs in {', '.join(differs)}")
    link = found.links[netdev]
    if found.active.get(netdev) != known.uuid:
        return Change(netdev, "activate", wanted, address, mtu, "profile is not active")
    if link.mtu != mtu:
        return Change(netdev, "activate", wanted, address, mtu, f"link MTU is {link.mtu}")
    if link.addresses != (address,):
        there = ", ".join(map(str, link.addresses)) or "none"
        return Change(netdev, "activate", wanted, address, mtu, f"link address is {there}")
    return None
