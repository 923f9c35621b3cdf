"""NetworkManager's connection profiles: ours, and how to read any other.

Sources: nm-settings-nmcli(5); nmcli(1) for the terse output.
"""

from __future__ import annotations

import fnmatch
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Interface
from uuid import UUID, uuid5

from sparkrig.network.links import Link
from sparkrig.parsing import grammar

_NAMESPACE = UUID("5ac1f0c2-7d0f-4a55-9b1e-2f6d4e0a9c11")  # ours; with the netdev's name it makes a fixed UUID
_PRIORITY = 100  # above every profile that a person or a tool leaves at 0
_GENERATED_PRIORITY = -999  # NetworkManager's own "Wired connection N", made in memory for a bare netdev


@dataclass(frozen=True)
class Profile:
    """One NetworkManager connection profile: its nmcli properties by name, and the file it lives in."""

    uuid: str
    filename: str
    properties: Mapping[str, str]

    def __post_init__(self) -> None:
        """Raises ValueError where its properties are none of NetworkManager's: here, not where they are used."""
        _ = self.addresses, self.mtu

    @property
    def name(self) -> str:
        return self.properties.get("connection.id", self.uuid)

    @property
    def generated(self) -> bool:
        """Made by NetworkManager itself, in memory, and giving way to any other profile.

        One that a person edits keeps its priority, and is saved.
        """
        priority = self.properties.get("connection.autoconnect-priority", "0")
        return not self.saved and priority == str(_GENERATED_PRIORITY)

    @property
    def saved(self) -> bool:
        """Whether it outlives a reboot: a change under guard is in memory until it is confirmed.

        What netplan's backend saves is a file in /etc/netplan, rendered to one in /run.
        """
        folder, _, name = self.filename.rpartition("/")
        return not folder.startswith("/run/") or name.startswith("netplan-")

    @property
    def addresses(self) -> tuple[IPv4Interface, ...]:
        """The fixed IPv4 addresses that it gives its netdev."""
        listed = self.properties.get("ipv4.addresses", "").split(",")
        return tuple(IPv4Interface(address.strip()) for address in listed if address.strip())

    @property
    def mtu(self) -> int | None:
        """The MTU that it sets, in bytes; None where it leaves that to the driver."""
        said = self.properties.get("802-3-ethernet.mtu", "")
        return int(said) if said.isdecimal() and int(said) else None

    @property
    def dhcp(self) -> bool:
        return self.properties.get("ipv4.method") == "auto"

    def binds(self, link: Link) -> bool:
        """Whether this profile names that netdev, by name or by MAC address."""
        if self.properties.get("connection.interface-name") == link.name:
            return True
        patterns = self.properties.get("match.interface-name", "").replace(",", " ").split()
        if any(fnmatch.fnmatchcase(link.name, pattern) for pattern in patterns):
            return True
        mac = self.properties.get("802-3-ethernet.mac-address", "")
        return bool(mac) and mac.lower() == link.mac.lower()


@lru_cache(maxsize=4096)
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


def parse(rows: Iterable[tuple[str, str]]) -> dict[str, Profile]:
    """The profiles by UUID, from the fact's `profile` (UUID, type, file) and `property` rows.

    Raises ValueError for what is no UUID.
    """
    files: dict[str, str] = {}
    properties: dict[str, dict[str, str]] = {}
    current: dict[str, str] = {}
    for word, rest in rows:
        if word == "profile":
            identifier, _kind, filename = terse(rest, 3)
            files[grammar.UUID.held(identifier)] = filename
        elif word == "property":
            key, value = terse(rest, 2)
            if key == "connection.uuid":
                current = properties.setdefault(grammar.UUID.held(value), {})
            current[sys.intern(key)] = sys.intern(value)  # the hosts of a fleet share nearly all of them
    return {key: Profile(key, files.get(key, ""), found) for key, found in properties.items()}


def terse(row: str, count: int) -> list[str]:
    """Split a terse nmcli row at its unescaped colons; the last field may hold more of them."""
    if "\\" not in row:  # nearly all, of hundreds on each host
        plain = row.split(":", count - 1)
        return [*plain, *[""] * (count - len(plain))]
    fields: list[list[str]] = [[]]
    characters = iter(row)
    for character in characters:
        if character == "\\":
            fields[-1].append(next(characters, ""))
        elif character == ":" and len(fields) < count:
            fields.append([])
        else:
            fields[-1].append(character)
    return [*map("".join, fields), *[""] * (count - len(fields))]
