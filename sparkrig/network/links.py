"""A host's netdevs and IPv4 routes as the kernel has them.

Sources: `ip -j addr` and `ip -j route show table all` (iproute2); systemd.net-naming-scheme(7) for what a
netdev's name shows of its place on the PCI bus.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Interface, IPv4Network
from itertools import combinations
from typing import Any

from sparkrig.parsing import grammar

_NAME = re.compile(r"en(?:P(?P<domain>\d+))?p(?P<bus>\d+)s(?P<slot>\d+)(?:f(?P<function>\d+))?(?:np\d+)?")
_MAIN = "main"
ROCE_HEADERS = 104  # bytes beside RDMA's path MTU, so that 4096 fits from an MTU of 4200 on
# `local` is the host itself. A throw route sends the packet on to the next table.
_NO_DESTINATION = frozenset({"local", "broadcast", "multicast", "anycast", "throw"})


@dataclass(frozen=True)
class Link:
    """One netdev as the kernel has it.

    port: the cage (`p0`, `p1`), empty where it is no fabric netdev; master: the bond or bridge it is part
    of; lower: the netdev that a VLAN rides on; ipv6: whether it has any IPv6 address; pci: its place on the
    PCI bus, empty for a virtual netdev.
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
    ipv6: bool = False
    pci: str = ""


@dataclass(frozen=True)
class Route:
    """One IPv4 route of any table; destination None is a default route."""

    destination: IPv4Network | None
    netdev: str
    table: str = _MAIN

    @property
    def outward(self) -> bool:
        """Whether it is the way out of this host; those of other tables serve some packets only."""
        return self.destination is None and self.table == _MAIN


def in_one_subnet(fabric: Mapping[str, IPv4Interface]) -> list[str]:
    """Which netdevs of one host share a subnet, as a sentence for each two: NCCL cannot distinguish such twins.

    fabric: netdev -> its address with the prefix length.
    """
    return [
        f"{one} ({a}) and {two} ({b}) share a subnet; NCCL needs each twin in its own"
        for (one, a), (two, b) in combinations(fabric.items(), 2)
        if a.network.overlaps(b.network)
    ]


def parse_link(entry: Mapping[str, Any], row: list[str]) -> Link:
    """A Link from its object in `ip -j addr` and its `port` row (port, carrier, driver, PCI address)."""
    port, carrier, driver, pci, *_ = [*row, "", "", "", ""]
    infos = entry.get("addr_info", [])
    return Link(
        name=grammar.NETDEV.held(str(entry["ifname"])),
        mac=str(entry.get("address", "")),
        mtu=int(entry["mtu"]),
        carrier=carrier == "1",
        addresses=tuple(
            IPv4Interface(f"{info['local']}/{info['prefixlen']}")
            for info in infos
            if info.get("family") == "inet" and "local" in info
        ),
        port="" if port == "-" else port,
        master=str(entry.get("master", "")),
        lower=str(entry.get("link", "")),
        driver=driver,
        ipv6=any(info.get("family") == "inet6" for info in infos),
        pci=pci if grammar.PCI.fits(pci) else "",
    )


def parse_routes(entries: Iterable[Mapping[str, Any]]) -> tuple[Route, ...]:
    """The routes that lead somewhere; the host's own addresses and the like are left out."""
    return tuple(_route(entry) for entry in entries if entry.get("type") not in _NO_DESTINATION)


def _route(entry: Mapping[str, Any]) -> Route:
    destination = str(entry.get("dst", "default"))
    network = None if destination == "default" else IPv4Network(destination, strict=False)
    return Route(network, str(entry.get("dev", "")), str(entry.get("table", _MAIN)))


def pci_of(netdev: str) -> str:
    """The PCI address that a netdev's name stands for (enP2p1s0f0np0 -> 0002:01:00.0), or nothing."""
    parts = _NAME.fullmatch(netdev)
    if parts is None:
        return ""
    domain, bus, slot, function = (int(parts[key] or 0) for key in ("domain", "bus", "slot", "function"))
    return f"{domain:04x}:{bus:02x}:{slot:02x}.{function}"
