"""What one look saw of a host's network: its links, its routes, and all that defines a netdev."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from ipaddress import IPv4Interface, ip_address
from typing import Any

from sparkrig.network import links, netplan, profiles
from sparkrig.network.links import Link, Route
from sparkrig.network.profiles import Profile
from sparkrig.parsing import bounds
from sparkrig.value import Value

_PATH_MTUS = (4096, 2048, 1024)  # of RDMA


def fitting(mtu: int) -> dict[str, int]:
    """The settings of an MTU: itself, and the largest path MTU of RDMA that fits into it."""
    paths = (path for path in _PATH_MTUS if path + links.ROCE_HEADERS <= mtu)
    return {"mtu": mtu, "bandwidth_path_mtu": next(paths, _PATH_MTUS[-1])}


@dataclass(frozen=True)
class Network(Value):
    """Links, routes and definitions of a host.

    ssh: the netdev that the SSH session came in on, None without a session and where it is hidden; reached: the
    host's own address in that session, empty without one; caller, door: the other end's address in it, and the
    host's own port, empty and 0 where they were not told; told: the netdev of the setting management_interface.
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
    caller: str = ""
    door: int = 0
    told: str | None = None

    def over(self, netdev: str | None) -> Network:
        """The same host with the netdev that the setting management_interface names."""
        return replace(self, told=netdev)

    @property
    def fabric(self) -> dict[str, IPv4Interface]:
        """The address of each netdev of a cage that is up; the way in is none of the fabric."""
        ports = [link for link in self.links.values() if link.port and link.carrier and link.addresses]
        return {link.name: link.addresses[0] for link in ports if not self.carries_ssh(link.name)}

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

    def has_carrier(self, netdev: str) -> bool:
        """Whether that netdev is there and its cable leads to a peer that is on."""
        link = self.links.get(netdev)
        return link is not None and link.carrier

    def active_profile(self, netdev: str) -> str:
        """The name of the profile that is active on a netdev, its UUID where that is all there is, or nothing."""
        on = self.active.get(netdev, "")
        return self.profiles[on].name if on in self.profiles else on

    def carries_ssh(self, netdev: str) -> bool:
        """Whether SSH or the default route is on that netdev, or over it (bond, bridge, VLAN)."""
        return netdev in self._outward

    @cached_property
    def _outward(self) -> set[str]:
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
        return seen


def parse(lines: Iterable[str]) -> Network:
    """Read the network fact. Raises ValueError where a row makes no sense."""
    rows = [line.partition(" ")[::2] for line in lines]
    first = dict(rows)
    # ip -j prints an empty object for a netdev that it filters out
    entries = bounds.loads(first.get("addr") or "[]")
    addresses = {str(entry["ifname"]): entry for entry in entries if "ifname" in entry}
    reached, *other = first.get("ssh", "").split() or [""]
    caller, door = _other_end(other)
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
        caller=caller,
        door=door,
    )


def _other_end(words: Sequence[str]) -> tuple[str, int]:
    """Where a session comes from, and the host's port; sshd says UNKNOWN where it has no socket of its own."""
    try:
        address, port = words
        ip_address(address)
        return address, int(port)
    except ValueError:
        return "", 0


def _netdev_of(address: str, entries: Mapping[str, Mapping[str, Any]]) -> str | None:
    """The netdev that has this address, IPv4 or IPv6; a link-local one names it (fe80::1%enP7s7).

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
