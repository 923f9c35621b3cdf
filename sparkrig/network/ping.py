"""Whether frames cross a rail: pings of full size and of small size, from one netdev to its peer's address.

A ping of MTU - 28 bytes that must not be cut proves the path of large frames [@eugr].
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address

from sparkrig.value import Value

COUNT = 5
REPLY_S = 5  # how long the last reply may take; an emulated host is slow
SMALL = 56  # bytes, as of a ping that names no size
HEADERS = 28  # IPv4 and ICMP
NOT_INSTALLED = "it is not installed"


@dataclass(frozen=True)
class Target:
    """What is pinged: a peer's address over one netdev, with so many bytes."""

    netdev: str
    address: IPv4Address
    size: int


@dataclass(frozen=True)
class Ping(Value):
    """How a ping of one netdev and size went.

    sent: 0 where none went out; said: ping's first complaint; address: whom it was for, empty where an older
    version asked.
    """

    netdev: str
    size: int
    sent: int = 0
    received: int = 0
    said: str = ""
    address: str = ""

    @property
    def crosses(self) -> bool:
        """Whether the path is there; a busy link may lose one."""
        return 2 * self.received >= max(self.sent, 1)

    def __str__(self) -> str:
        back = f"{self.received} of {self.sent or 'no'} pings of {self.size} bytes came back"
        return f"{back} ({self.said})" if self.said and not self.crosses else back


def targets(netdev: str, address: IPv4Address, mtu: int) -> tuple[Target, Target]:
    """A frame as large as the MTU, and a small one that shows whether the size matters."""
    return Target(netdev, address, mtu - HEADERS), Target(netdev, address, SMALL)


def parse(lines: Iterable[str]) -> dict[str, tuple[Ping, ...]]:
    """Read `ping NETDEV SIZE@ADDRESS SENT RECEIVED SAID` rows, by netdev, the largest first.

    `-` in place of a count: ping printed none. Older versions wrote no @ADDRESS.

    Raises ValueError for a row that makes no sense.
    """
    found: dict[str, list[Ping]] = {}
    for line in lines:
        word, _, rest = line.partition(" ")
        if word != "ping":
            continue
        netdev, size, sent, received, said = [*rest.split(" ", 4), ""][:5]
        size, _, address = size.partition("@")
        ping = Ping(netdev, int(size), _count(sent), _count(received), said.strip(), address)
        found.setdefault(netdev, []).append(ping)
    return {
        netdev: tuple(sorted(pings, key=lambda ping: ping.size, reverse=True)) for netdev, pings in found.items()
    }


def _count(text: str) -> int:
    return 0 if text == "-" else int(text)
