"""The nodes of the lab, and which network devices each guest has."""

from __future__ import annotations

import os
from dataclasses import dataclass

from lab.errors import LabError

PAIR = ("spark-a", "spark-b")
CABLED = (*PAIR, "spark-c", "spark-d")
SOLO = "spark-s"
ALL = (*CABLED, SOLO)
SWITCH = "switch"
LAN = "lan"
# What a Spark calls itself out of the box is no name of the inventory: these are recorded ones, two of NVIDIA's
# own units [@nvidia-two-sparks] and three of ASUS [@gx10-cluster].
FACTORY_NAMES = {
    "spark-a": "spark-1b3b",
    "spark-b": "spark-1d84",
    "spark-c": "gx10-9641",
    "spark-d": "gx10-4a97",
    "spark-s": "gx10-94e2",
}

MANAGEMENT = "enP7s7"
# Behind each cage sit two netdevs, the twins.
CAGES = {"p0": ("enp1s0f0np0", "enP2p1s0f0np0"), "p1": ("enp1s0f1np1", "enP2p1s0f1np1")}
FABRIC = tuple(twin for twins in CAGES.values() for twin in twins)

DEFAULT_PORT = 2201


@dataclass(frozen=True)
class Nic:
    """One network device of one guest; `speed` in Mb/s is what ethtool shows there."""

    netdev: str
    mac: str
    mtu: int
    speed: int


def check(node: str) -> str:
    """`node` if it is a Spark of the lab; LabError otherwise."""
    if node == SWITCH:
        raise LabError(
            "the switch is no Spark", expected=f"one of {', '.join(ALL)}", attempt="sparkrig lab port spark-a"
        )
    if node not in ALL:
        raise LabError(
            f"the lab has no node {node!r}",
            expected=f"one of {', '.join(ALL)}",
            attempt="sparkrig lab status",
        )
    return node


def ssh_port(node: str) -> int:
    """The port on 127.0.0.1 which leads to the guest's sshd: `SPARKRIG_LAB_PORT` (2201) and the ones after it."""
    first = os.environ.get("SPARKRIG_LAB_PORT") or str(DEFAULT_PORT)
    if not first.isdigit() or not 1024 <= int(first) <= 65535 - len(ALL):
        raise LabError(
            f"SPARKRIG_LAB_PORT is {first!r}",
            expected=f"a free port from 1024 up, the first of {len(ALL)}",
            attempt=f"SPARKRIG_LAB_PORT={DEFAULT_PORT} sparkrig lab up",
        )
    return int(first) + ALL.index(check(node))


def nics(node: str) -> list[Nic]:
    """Management first, then the fabric; a solo Spark has no fabric, since an uncabled ConnectX-7 is no device."""
    management = Nic(MANAGEMENT, mac(node, MANAGEMENT), mtu=1500, speed=10_000)
    return [management, *(Nic(name, mac(node, name), 9000, 200_000) for name in fabric(node))]


def fabric(node: str) -> tuple[str, ...]:
    """The fabric netdevs of `node`."""
    return FABRIC if node in CABLED else ()


def mac(node: str, netdev: str) -> str:
    """A locally administered address that identifies node and netdev."""
    return f"52:54:00:1b:{ALL.index(node):02x}:{(MANAGEMENT, *FABRIC).index(netdev):02x}"


def link_files() -> dict[str, str]:
    """systemd.link files, by path, that give the netdevs of every node their Spark names."""
    return {
        f"etc/systemd/network/10-{netdev}.link": "[Match]\n"
        f"MACAddress={' '.join(mac(node, netdev) for node in ALL)}\n\n[Link]\nName={netdev}\n"
        for netdev in (MANAGEMENT, *FABRIC)
    }
