"""ibstat, ibstatus, ibv_devinfo, ibv_devices and rdma link: the RDMA devices, and whether their ports are up.

Sources: infiniband-diags (src/ibstat.c), rdma-core (libibverbs/examples/devinfo.c), iproute2 (rdma/link.c).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from sparkrig.explain import cages
from sparkrig.explain.cages import Netdev
from sparkrig.explain.explanation import CAGE, Around, Explained, Piece
from sparkrig.text import listed
from sparkrig.verdict import Finding, Verdict

_BEGINS = re.compile(r"\s*(?:CA\s+'|Infiniband device\s+'|hca_id:\s*)(?P<name>[\w.-]{1,40})")
_STATE = re.compile(r"\s*state:\s*(?:PORT_|\d:\s*)?(?P<state>\w+)", re.I)
_RATE = re.compile(r"\s*rate:\s*(?P<gbps>\d+)(?:\s|$)", re.I)
_PATH_MTU = re.compile(r"\s*active_mtu:\s*(?P<bytes>\d{3,4})\b")
_LINK = re.compile(
    r"\s*(?:\d+/\d+:|link)\s+(?P<name>[\w.-]{1,40})/\d+:?\s(?:.*?\s)?state\s+(?P<state>\w+)"
    r"(?:\s.*?\bnetdev\s+(?P<netdev>[\w.-]{1,15}))?"
)
_DEVICE = re.compile(r"\s+(?P<name>(?:roce|mlx5_|ib)[\w.-]{1,40})\s+[0-9a-f]{16}\s*$")


def explained(piece: Piece, _: Around) -> Explained:
    rows = list(_links(piece.lines)) or list(_ports(piece.lines))
    if not rows:
        return _names(piece)
    if all(row.carrier is None for row, _ in rows):
        raise ValueError(f"{piece.tool} shows the state of no port")
    shown = [replace(row, name=name) for row, name in rows]
    own = [row for row, _ in rows if row.cage]
    findings = [*cages.judged(own, whole=False), *_foreign([row for row, _ in rows if not row.cage])]
    return Explained(piece.tool, cages.read(shown), tuple(findings), tuple(cages.notes(own)))


def _links(lines: Iterable[str]) -> Iterator[tuple[Netdev, str]]:
    """The rows of `rdma link`: the netdev tells the cage, whatever the device is called."""
    for line in lines:
        if row := _LINK.match(line):
            netdev = row["netdev"] or ""
            carrier = row["state"] == "ACTIVE"
            yield Netdev(netdev if CAGE.fullmatch(netdev) else row["name"], carrier=carrier), row["name"]


def _ports(lines: Iterable[str]) -> Iterator[tuple[Netdev, str]]:
    """The port of each device of ibstat, ibstatus and ibv_devinfo."""
    port: Netdev | None = None
    for line in lines:
        if begins := _BEGINS.match(line):
            if port is not None:
                yield port, port.name
            port = Netdev(begins["name"])
        if port is None:
            continue
        if state := _STATE.match(line):
            port = replace(port, carrier=state["state"].upper() == "ACTIVE")
        elif rate := _RATE.match(line):
            port = replace(port, speed_mbps=int(rate["gbps"]) * 1000)
        elif mtu := _PATH_MTU.match(line):
            port = replace(port, path_mtu=int(mtu["bytes"]))
    if port is not None:
        yield port, port.name


def _foreign(rows: Iterable[Netdev]) -> Iterator[Finding]:
    """Devices with a name that no cage of a Spark has."""
    names = [row.name for row in rows]
    if bonds := [name for name in names if "bond" in name]:
        yield Finding("the fabric", cages.bonded(bonds[0]))
    elif names:
        why = f"{listed(names)} is no name that a Spark's devices have (rocep1s0f0, ...)"
        yield Finding(
            "the devices", Verdict("unknown", "other-hardware", why, "rdma link, which names the netdevs")
        )


def _names(piece: Piece) -> Explained:
    """ibv_devices, which prints names alone."""
    names = [row["name"] for line in piece.lines if (row := _DEVICE.match(line))]
    if not names:
        raise ValueError(f"{piece.tool} names no RDMA device")
    return Explained(piece.tool, listed(names), notes=("rdma link tells which of them are up",))
