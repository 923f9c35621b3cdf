"""A host as the network fact prints it, for the tests of the modules that judge it."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Interface
from typing import Any

from sparkrig.network.plan import Plan, plan
from sparkrig.network.profiles import profile, uuid
from sparkrig.network.seen import Network, parse

A, B = "enp1s0f0np0", "enP2p1s0f0np0"
A1, B1 = "enp1s0f1np1", "enP2p1s0f1np1"
FABRIC = {A: IPv4Interface("192.168.100.11/24"), B: IPv4Interface("192.168.101.11/24")}
MANAGEMENT = "enP7s7"
LINK_LOCAL = {"family": "inet6", "local": "fe80::1", "prefixlen": 64, "scope": "link"}
WIRED = "0f1b5a5e-6d35-3c8f-9a4b-0123456789ab"


@dataclass(frozen=True)
class Declared:
    """What an inventory declares of a network, also where the settings would not let it pass."""

    fabric: Mapping[str, IPv4Interface]
    mtu: int = 9000
    group_name: str | None = "p"
    adopt: Mapping[str, str] = field(default_factory=dict)
    allow_management_interface: bool = False


class Host:
    """What the network fact prints of a Spark: management up, cage 0 cabled, no profile of ours yet."""

    def __init__(self) -> None:
        self.ssh = "192.168.1.20"
        self.nm = "running"
        self.addr = [
            {"ifindex": 1, "ifname": "lo", "mtu": 65536, "address": "00:00:00:00:00:00", **v4("127.0.0.1/8")},
            link(MANAGEMENT, "4c:bb:47:00:00:07", 1500, "192.168.1.20/24"),
            *(link(name, f"4c:bb:47:00:00:1{n}", 1500) for n, name in enumerate((A, A1, B, B1))),
            {},
        ]
        self.ports = {
            "lo": "- 1  device",
            MANAGEMENT: "- 1 r8127 0007:01:00.0",
            A: "p0 1 mlx5_core 0000:01:00.0",
            A1: "p1 0 mlx5_core 0000:01:00.1",
            B: "p0 1 mlx5_core 0002:01:00.0",
            B1: "p1 0 mlx5_core 0002:01:00.1",
        }
        self.routes: list[dict[str, Any]] = [
            {"dst": "default", "gateway": "192.168.1.1", "dev": MANAGEMENT, "metric": 100, "flags": []},
            {"dst": "192.168.1.0/24", "dev": MANAGEMENT, "protocol": "kernel", "scope": "link", "flags": []},
        ]
        self.devices = {
            MANAGEMENT: ("connected", WIRED),
            "lo": ("connected (externally)", "11111111-2222-3333-4444-555555555555"),
            **dict.fromkeys((A, B), ("disconnected", "")),
            **dict.fromkeys((A1, B1), ("unavailable", "")),
        }
        self.profiles: list[tuple[str, str, dict[str, str]]] = []
        file = "/run/NetworkManager/system-connections/netplan-enP7s7.nmconnection"
        self.foreign(WIRED, file, "netplan-enP7s7", **{"connection.interface-name": MANAGEMENT})
        self.netplan: dict[str, str] = {}

    def foreign(self, identifier: str, file: str, name: str, **properties: str) -> None:
        self.profiles.append((identifier, file, {"connection.id": name, **properties}))

    def ours(self, netdev: str, address: str | None = None, **more: str) -> None:
        """Our profile of a netdev, active, and its link as it should be."""
        ip = IPv4Interface(address or FABRIC[netdev])
        values = {**profile(netdev, ip, 9000), **more}
        self.profiles.append((uuid(netdev), f"/etc/netplan/90-NM-{uuid(netdev)}.yaml", values))
        self.devices[netdev] = ("connected", uuid(netdev))
        self.entry(netdev).update(mtu=9000, **v4(str(ip)))
        self.routes.append({"dst": str(ip.network), "dev": netdev, "protocol": "kernel", "flags": []})

    def entry(self, netdev: str) -> dict[str, Any]:
        return next(entry for entry in self.addr if entry.get("ifname") == netdev)

    def unplug(self, *netdevs: str) -> None:
        """An uncabled ConnectX-7 leaves the PCI bus."""
        self.addr = [entry for entry in self.addr if entry.get("ifname") not in netdevs]
        for netdev in netdevs:
            self.devices.pop(netdev)

    def lines(self) -> list[str]:
        rows = [
            f"ssh {self.ssh}",
            f"addr {json.dumps(self.addr)}",
            f"route {json.dumps(self.routes)}",
            *(f"port {name} {rest}" for name, rest in self.ports.items()),
            f"nm {self.nm}",
        ]
        rows += [f"device {name}:{state}:{active}" for name, (state, active) in self.devices.items()]
        rows += [f"profile {identifier}:802-3-ethernet:{file}" for identifier, file, _ in self.profiles]
        for identifier, _, values in self.profiles:
            rows.append(f"property connection.uuid:{identifier}")
            rows += [f"property {key}:" + value.replace(":", "\\:") for key, value in values.items()]
        rows += [
            f"netplan {_path_word(path)} {base64.b64encode(text.encode()).decode()}"
            for path, text in self.netplan.items()
        ]
        return rows

    def found(self) -> Network:
        return parse(self.lines())

    def plan(
        self,
        fabric: dict[str, IPv4Interface] | None = None,
        *,
        paired: bool = True,
        mtu: int = 9000,
        adopt: dict[str, str] | None = None,
        told: str | None = None,
        allowed: bool = False,
    ) -> Plan:
        declared = FABRIC if fabric is None else fabric
        found = self.found().over(told)
        return plan(found, Declared(declared, mtu, "p" if paired else None, adopt or {}, allowed))


def _path_word(path: str) -> str:
    """As the script prints it (sparkrig.facts.noun)."""
    if re.fullmatch(r"[A-Za-z0-9/._@:+~-]*", path):
        return path
    return base64.b64encode(path.encode(errors="surrogateescape")).decode()


def v4(*addresses: str) -> dict[str, Any]:
    split = [address.split("/") for address in addresses]
    return {
        "addr_info": [
            {"family": "inet", "local": ip, "prefixlen": int(size), "scope": "global"} for ip, size in split
        ]
    }


def link(name: str, mac: str, mtu: int, *addresses: str, **more: Any) -> dict[str, Any]:
    info = [*v4(*addresses)["addr_info"], LINK_LOCAL]
    return {"ifname": name, "address": mac, "mtu": mtu, "operstate": "UP", "addr_info": info, **more}
