"""Netplan's YAML files: which netdevs each one defines, what it gives them, and what renders them.

Sources: netplan(5); netplan-generate(8) for which file counts: one in /run/netplan replaces the one of the
same name in /etc/netplan, and that one the one in /lib/netplan.
"""

from __future__ import annotations

import base64
import fnmatch
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from ipaddress import IPv4Interface
from pathlib import PurePosixPath
from typing import Any

import yaml

from sparkrig.network.links import Link
from sparkrig.parsing import encoding, rows, safe_yaml
from sparkrig.text import plain

FOLDERS = ("/run/netplan", "/etc/netplan", "/lib/netplan")  # the first one that has a name wins
MOVABLE = "/etc/netplan"
NETWORK_MANAGER, NETWORKD = "NetworkManager", "networkd"
_NETWORKMANAGERS = "90-NM-"  # the file that Ubuntu's NetworkManager keeps a profile in
_NO_DEFINITIONS = frozenset({"version", "renderer", "ethernets", "openvswitch"})


_LONGEST = 65_536  # characters of a file that is read as YAML; NVIDIA's have a few hundred
_DEEPEST = 32  # netplan(5) nests eight levels


class _Loader(yaml.BaseLoader):
    """Netplan takes every scalar as text; typed, an unquoted MAC address of digits is a number to base 60.

    An alias is not followed, for few of them stand for more than there is memory; such a file is not understood.
    """

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self._depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent) or self._depth >= _DEEPEST:
            raise yaml.YAMLError("an alias, or too deep")
        self._depth += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self._depth -= 1


@dataclass(frozen=True)
class Netdef:
    """One ethernet of a file; netplan merges those of one label over all files.

    renderer: its own, empty where it takes the default; dhcp: IPv4's; link_local: whether it takes an IPv4 address
    of its own (RFC 3927); handover: whether it has nothing but that NetworkManager renders the netdev.
    """

    label: str
    names: tuple[str, ...]
    macs: tuple[str, ...] = ()
    drivers: tuple[str, ...] = ()
    addresses: tuple[IPv4Interface, ...] = ()
    mtu: int | None = None
    dhcp: bool = False
    renderer: str = ""
    handover: bool = False
    link_local: bool = False

    def binds(self, link: Link) -> bool:
        """Whether it defines that netdev, by name, MAC address or driver."""
        named = any(fnmatch.fnmatchcase(link.name, name) for name in self.names)
        driven = any(fnmatch.fnmatchcase(link.driver, driver) for driver in self.drivers if link.driver)
        return named or driven or link.mac.lower() in self.macs


@dataclass(frozen=True)
class File:
    """One netplan file.

    others: what it defines beside ethernets (`bonds bond0`); renderer: the default that it sets for all
    files; readable: whether it is understood; fault: why its bytes are no text, or empty; shadowed: whether
    another of the same name replaces it.
    """

    path: str
    netdefs: tuple[Netdef, ...]
    others: tuple[str, ...] = ()
    renderer: str = ""
    readable: bool = True
    fault: str = ""
    shadowed: bool = False

    @property
    def name(self) -> str:
        return PurePosixPath(self.path).name

    @property
    def shown(self) -> str:
        """Its path as a person is shown it; a name may hold control characters."""
        return plain(self.path)

    @property
    def borrows(self) -> bool:
        """Whether something in it is rendered by whatever the default is."""
        return bool(self.others) or any(not netdef.renderer for netdef in self.netdefs)


def parse(lines: Iterable[str]) -> tuple[File, ...]:
    """Every file, in netplan's own order, from rows of path and base64 text. Raises ValueError."""
    files = sorted((_parse(line) for line in lines), key=_precedence)
    seen: set[str] = set()
    marked = []
    for file in files:
        marked.append(replace(file, shadowed=file.name in seen))
        seen.add(file.name)
    return tuple(sorted(marked, key=lambda file: file.name))


def default_renderer(files: Iterable[File]) -> str:
    """What renders a definition that names no renderer: by the last file that names one, else networkd."""
    said = [file.renderer for file in files if file.renderer and not file.shadowed]
    return said[-1] if said else NETWORKD


def renderer(files: Iterable[File], link: Link) -> str | None:
    """What renders a netdev; None where no file defines it. A later file overrides an earlier one."""
    files = tuple(files)
    own = [netdef.renderer for _, netdef in defining(files, link)]
    return next(filter(None, reversed(own)), default_renderer(files)) if own else None


def defining(files: Iterable[File], link: Link) -> list[tuple[File, Netdef]]:
    """What netplan's files contain of a netdev, in its own order."""
    return [(file, netdef) for file in files if not file.shadowed for netdef in file.netdefs if netdef.binds(link)]


def _precedence(file: File) -> int:
    folder = str(PurePosixPath(file.path).parent)
    return FOLDERS.index(folder) if folder in FOLDERS else len(FOLDERS)


def _parse(row: str) -> File:
    word, _, encoded = row.partition(" ")
    path = rows.path(word)
    content = base64.b64decode(encoded)
    text, fault = content.decode("utf-8", "replace"), encoding.fault(content)
    try:
        if fault:
            raise ValueError(fault)
        if len(text) > _LONGEST:
            raise ValueError(f"{len(text)} characters are too many for a netplan file")
        return read(path, text)
    except ValueError:
        # Unreadable for us may still be a definition: every word of it counts as a name and as a MAC.
        words = {word.strip(":") for word in re.findall(r"[\w.:*?-]+", text)}
        lowered = tuple(sorted(word.lower() for word in words))
        return File(path, (Netdef(path, tuple(sorted(words)), lowered),), readable=False, fault=fault)


def read(path: str, text: str) -> File:
    """What one file defines. Raises ValueError where it is not understood."""
    try:
        return _read(path, safe_yaml.load(text, _Loader))
    except (yaml.YAMLError, AttributeError, TypeError) as error:
        raise ValueError(f"it is no YAML of netplan's ({type(error).__name__})") from error


def _read(path: str, document: Any) -> File:
    network = (document or {}).get("network") or {}
    # What NetworkManager keeps in its own files is seen as its profiles; the rest are edits of other files.
    own = "NM-" if PurePosixPath(path).name.startswith(_NETWORKMANAGERS) else None
    netdefs = [_netdef(label, body or {}) for label, body in (network.get("ethernets") or {}).items()]
    others = [
        (kind, label)
        for kind, bodies in network.items()
        if kind not in _NO_DEFINITIONS
        for label in (bodies or {}).keys()  # noqa: SIM118 - whatever has no keys is not understood
    ]
    return File(
        path,
        tuple(netdef for netdef in netdefs if own is None or not netdef.label.startswith(own)),
        tuple(f"{kind} {label}" for kind, label in others if own is None or not label.startswith(own)),
        str(network.get("renderer") or ""),
    )


def _netdef(label: str, body: Mapping[str, Any]) -> Netdef:
    match = body.get("match") or {}
    names = _words(match.get("name", [] if match else label))
    by_driver = not {"name", "macaddress"}.intersection(match)
    mtu = str(body.get("mtu", ""))
    return Netdef(
        label=label,
        names=tuple(names + [name for name in _words(body.get("set-name", [])) if name]),
        macs=tuple(mac.lower() for mac in _words(match.get("macaddress", []))),
        drivers=tuple(_words(match.get("driver", []))) if by_driver else (),
        addresses=tuple(_addresses(body.get("addresses") or [])),
        mtu=int(mtu) if mtu.isdecimal() and len(mtu) < 10 else None,
        dhcp=str(body.get("dhcp4", "")).lower() in ("true", "yes", "on", "y"),
        renderer=str(body.get("renderer") or ""),
        handover=dict(body) == {"renderer": NETWORK_MANAGER},
        link_local="ipv4" in _words(body.get("link-local") or []),
    )


def _addresses(listed: Any) -> Iterable[IPv4Interface]:
    """The IPv4 addresses; one with options is a mapping of its own."""
    for entry in listed if isinstance(listed, list) else [listed]:
        for word in entry if isinstance(entry, dict) else [entry]:
            try:
                yield IPv4Interface(str(word))
            except ValueError:
                continue  # IPv6, or what netplan itself refuses


def _words(value: Any) -> list[str]:
    return [str(word) for word in (value if isinstance(value, list) else [value])]
