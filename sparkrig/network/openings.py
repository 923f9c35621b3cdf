"""What a firewall lets in: the entries of the setting firewall_allow."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Literal, get_args

from sparkrig.text import nearest
from sparkrig.value import Value

Named = Literal["ssh", "serve", "metrics"]
NAMES: tuple[Named, ...] = get_args(Named)
_ENTRY = re.compile(
    r"(?:(?P<name>[a-z]+)|(?P<port>[0-9]{1,9})(?P<protocol>/udp|/tcp)?)?(?: ?\bfrom (?P<source>\S+))?"
)
_EXPECTED = '8000, "51820/udp", "ssh", "9100 from 192.168.1.0/24" or "from 192.168.1.20"'


@dataclass(frozen=True)
class Opening(Value):
    """One entry.

    what: a name of NAMES, the number of a port, or empty for every port; udp: whether it is one of UDP, and not of
    TCP; source: the network that it is open to, None for every one.
    """

    what: Named | int | Literal[""]
    udp: bool = False
    source: IPv4Network | IPv6Network | None = None

    def admits(self, address: str) -> bool:
        """Whether it is open to an address, which may name its netdev (fe80::1%enP7s7)."""
        return self.source is None or ip_address(address.partition("%")[0]) in self.source


def parse(entry: str) -> Opening:
    """Read an entry. Raises ValueError with what is expected."""
    words = _ENTRY.fullmatch(" ".join(entry.split()))
    if words is None or not (words["name"] or words["port"] or words["source"]):
        raise ValueError(f"{entry[:60]!r} is no entry of a firewall; such as {_EXPECTED} is expected")
    what = _port(words["port"]) if words["port"] else _name(words["name"] or "")
    return Opening(what, words["protocol"] == "/udp", _network(words["source"]))


def _name(word: str) -> Named | Literal[""]:
    for name in NAMES:
        if word == name:
            return name
    if word:
        near = nearest(word, NAMES)
        hint = f"did you mean {near}?" if near else f"a number or {', '.join(NAMES)} is expected"
        raise ValueError(f"{word[:60]!r} is no name of a port; {hint}")
    return ""


def _port(word: str) -> int:
    if not 1 <= int(word) <= 65535:
        raise ValueError(f"{word} is no port; 1 to 65535 is expected")
    return int(word)


def _network(text: str | None) -> IPv4Network | IPv6Network | None:
    if text is None:
        return None
    try:
        return ip_network(text)
    except ValueError:
        raise ValueError(
            f"{text[:60]!r} is no network; ADDRESS or ADDRESS/PREFIX is expected, such as 192.168.1.0/24"
        ) from None
