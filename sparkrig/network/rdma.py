"""The RDMA devices of a host: which netdev each sits on, its path MTU, its GID table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Interface

from sparkrig.cure import on_host
from sparkrig.network import gid
from sparkrig.parsing import bounds, grammar
from sparkrig.refusal import Refusal
from sparkrig.value import Value


@dataclass(frozen=True)
class Device:
    """One RDMA device (rocep1s0f0): its netdev, `rdma link` state, and active path MTU in bytes (0: unknown)."""

    name: str
    netdev: str
    state: str
    active_mtu: int = 0


@dataclass(frozen=True)
class Rdma(Value):
    """Everything RDMA; a Spark without a cable has no device at all, and that is normal."""

    devices: tuple[Device, ...] = ()
    gids: tuple[gid.Gid, ...] = ()

    def on(self, netdev: str) -> Device | None:
        """The device that sits on a netdev."""
        return next((device for device in self.devices if device.netdev == netdev), None)


def no_device(found: Rdma, rails: Iterable[str]) -> Refusal | None:
    """Why rails cannot be used that have no device."""
    bare = [netdev for netdev in rails if found.on(netdev) is None]
    if not bare:
        return None
    cure = on_host("sudo modprobe mlx5_ib", "; the device is then in: rdma link")
    return Refusal(f"no RDMA device sits on {', '.join(bare)}", cure)


def no_gid(rdma: Rdma, rails: Mapping[str, IPv4Interface]) -> Refusal | None:
    """Why rails cannot be used whose address has no GID."""
    absent = gid.missing(rdma.gids, rails)
    if not absent:
        return None
    return Refusal(f"no RoCE v2 GID for {', '.join(absent)}", on_host("ip -4 addr", "; show_gids; rdma link"))


def parse(lines: Iterable[str]) -> Rdma:
    """Read the rdma fact: `links JSON` (of `rdma -j link`), `mtu DEVICE BYTES`, and the GID rows."""
    rows = list(lines)
    mtus: dict[str, int] = {}
    links: list[dict[str, object]] = []
    for row in rows:
        word, _, rest = row.partition(" ")
        if word == "links" and rest.strip():
            links = bounds.loads(rest)
        elif word == "mtu":
            device, _, size = rest.partition(" ")
            mtus[device] = int(size)
    devices = tuple(
        Device(
            name=str(link["ifname"]),
            netdev=_netdev(str(link.get("netdev", ""))),
            state=str(link.get("state", "")),
            active_mtu=mtus.get(str(link["ifname"]), 0),
        )
        for link in links
    )
    table = tuple(gid.parse(rows))
    for each in table:
        _netdev(each.netdev)
    return Rdma(devices, table)


def _netdev(name: str) -> str:
    """The name of a netdev, or nothing. Raises ValueError."""
    return grammar.NETDEV.held(name) if name else ""
