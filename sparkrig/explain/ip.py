"""ip addr and ip link, long, brief (-br), in one line (-o) and as JSON (-j), and ifconfig: the netdevs of a host.

Sources: iproute2 (ip/ipaddress.c), net-tools (lib/interface.c).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from ipaddress import IPv4Interface
from typing import Any

from sparkrig.explain import cages
from sparkrig.explain.cages import Netdev
from sparkrig.explain.explanation import Around, Explained, Piece
from sparkrig.parsing import bounds
from sparkrig.parsing.grammar import NETDEV as _NETDEV
from sparkrig.verdict import Finding, Verdict

_NAME = r"(?P<name>[A-Za-z][\w.-]{0,14})(?:@[\w.-]{1,15})?"
_LONG = re.compile(rf"\s*\d+:\s+{_NAME}:\s+<(?P<flags>[A-Z0-9_,-]*)>(?:.*?\bmtu\s+(?P<mtu>\d{{2,6}}))?")
_ONE_LINE = re.compile(rf"\s*\d+:\s+{_NAME}\s+inet6?\s")
_BRIEF = re.compile(rf"\s*{_NAME}\s+(?P<state>UP|DOWN|UNKNOWN|LOWERLAYERDOWN|DORMANT)(?P<rest>\s.*)?")
_IFCONFIG = re.compile(rf"\s*{_NAME}:\s+flags=\d+<(?P<flags>[A-Z0-9_,]*)>\s+mtu\s+(?P<mtu>\d{{2,6}})")
_MASTER = re.compile(r"\bmaster\s+([\w.-]{1,15})")
# a forum's marks of emphasis may stand around an address
_INET = re.compile(
    r"\binet\s+\*{0,2}(\d{1,3}(?:\.\d{1,3}){3})\*{0,2}(?:/(\d{1,2})\b|\s+netmask\s+(\d{1,3}(?:\.\d{1,3}){3}))?"
)
_ADDRESS = re.compile(r"(?<![\w.:])(\d{1,3}(?:\.\d{1,3}){3}/\d{1,2})(?![\w.])")
_ASKS_ADDRESSES = re.compile(r"\bip\b[^|;]{0,60}?\sa(?:d(?:d(?:r(?:ess)?)?)?)?\b|\bifconfig\b")


def explained(piece: Piece, _: Around) -> Explained:
    rows = _objects(piece.text) or list(_rows(piece.lines))
    if not rows:
        raise ValueError(f"{piece.tool} names no netdev")
    hosts = [_known(host, piece.command) for host in _hosts(rows)]
    rows = [row for host in hosts for row in host]
    shown = [row for row in rows if row.cage or row.master.startswith("bond")] or rows
    findings = [
        finding
        for host in hosts
        for finding in cages.judged([*host, *_unlisted(host, piece.command)], whole=_whole(host))
    ]
    findings = findings or [*_others(rows)]
    return Explained(piece.tool, cages.read(shown), tuple(findings), tuple(dict.fromkeys(cages.notes(rows))))


def _objects(text: str) -> list[Netdev]:
    """The netdevs of `ip -j`, none where the text is no list of JSON."""
    begins = re.search(r"\[\s*\{", text)
    if begins is None:
        return []
    try:
        return [_object(entry) for entry in bounds.first(text, begins.start())[0] if entry]
    except (LookupError, TypeError, AttributeError):
        raise ValueError("this is no list of netdevs as ip -j prints it") from None


def _object(entry: Any) -> Netdev:
    flags = entry.get("flags", [])
    infos = [info for info in entry.get("addr_info", []) if info.get("family", "inet") == "inet"]
    found = (_interface(f"{info['local']}/{info['prefixlen']}") for info in infos)
    return Netdev(
        _NETDEV.held(entry["ifname"]),
        "UP" in flags if flags else None,
        "LOWER_UP" in flags if flags else None,
        addresses=tuple(filter(None, found)),
        mtu=int(entry["mtu"]) if "mtu" in entry else None,
        master=_NETDEV.held(entry["master"]) if "master" in entry else "",
    )


def _hosts(rows: Iterable[Netdev]) -> Iterator[list[Netdev]]:
    """The netdevs of each host: a name that comes again begins the next one, unless it tells the other half."""
    host: dict[str, Netdev] = {}
    for row in rows:
        before = host.get(row.name)
        if before is not None and before.mtu is None and not row.addresses:
            host[row.name] = replace(row, addresses=before.addresses)
        elif before is not None and row.mtu is None and not before.addresses:
            host[row.name] = replace(before, addresses=row.addresses)
        elif before is not None:
            yield [*host.values()]
            host = {row.name: row}
        else:
            host[row.name] = row
    yield [*host.values()]


def _known(host: Iterable[Netdev], command: str) -> list[Netdev]:
    """The same, with whether each has an address where any address is shown, or was asked for."""
    rows = list(host)
    known = any(row.addresses for row in rows) or bool(_ASKS_ADDRESSES.search(command))
    return [replace(row, addressed=bool(row.addresses) if known else None) for row in rows]


def _whole(host: Iterable[Netdev]) -> bool:
    """Whether all netdevs of a host are listed; with -4 those without an address are not."""
    rows = list(host)
    return any(row.name == "lo" for row in rows) and any(not row.addresses for row in rows)


def _unlisted(host: Iterable[Netdev], command: str) -> Iterator[Netdev]:
    """The twins that `ip -4 addr` leaves out, since they have no IPv4 address."""
    names = {row.name: row for row in host}
    if "lo" in names and {"ip", "-4"} <= {*command.split()}:
        for row in names.values():
            if row.cage and row.carrier and row.twin not in names:
                yield Netdev(row.twin, carrier=True, addressed=False)


def _others(rows: Sequence[Netdev]) -> Iterator[Finding]:
    """Netdevs of no cage, where nothing else is shown; beside the RJ45 port of a Spark its cages would stand."""
    if len(rows) > 1 and any(row.name == "enP7s7" for row in rows):
        yield Finding("the cages", cages.no_connectx())
        return
    for row in rows:
        if (row.carrier or row.addresses) and row.name != "lo":
            yield Finding(row.name, Verdict("healthy", evidence=f"{row.shown}, and no QSFP cage by its name"))


def _rows(lines: Iterable[str]) -> Iterator[Netdev]:
    """Each netdev with its addresses, in the order of the lines."""
    current: Netdev | None = None
    for line in lines:
        begun = _begun(line)
        again = begun is not None and current is not None and begun.name == current.name
        if begun is not None and not (again and "inet" in line.split()[:3]):
            if current is not None:
                yield current
            current = begun
        if current is not None:
            current = replace(current, addresses=(*current.addresses, *_inet(line)))
    if current is not None:
        yield current


def _begun(line: str) -> Netdev | None:
    """The netdev whose first line this is."""
    row = _LONG.match(line) or _IFCONFIG.match(line)
    if row:
        flags = {*row["flags"].split(",")}
        linked = bool({"LOWER_UP", "RUNNING"} & flags) and "NO-CARRIER" not in flags
        master = _MASTER.search(line)
        mtu = int(row["mtu"]) if row["mtu"] else None
        return Netdev(row["name"], "UP" in flags, linked, mtu=mtu, master=master[1] if master else "")
    if row := _BRIEF.match(line):
        rest = row["rest"] or ""
        enabled = None if "<" not in rest else "UP" in re.findall(r"[A-Z]+(?:[_-][A-Z]+)*", rest.partition("<")[2])
        carrier = {"UP": True, "UNKNOWN": None}.get(row["state"], False)
        addresses = tuple(filter(None, map(_interface, _ADDRESS.findall(rest))))
        return Netdev(row["name"], enabled, carrier, addresses=addresses)
    if row := _ONE_LINE.match(line):
        return Netdev(row["name"])
    words = line.split()
    named = words[:1] == ["inet"] and "scope" in words and words[-2] != "scope" and _NETDEV.fits(words[-1])
    return Netdev(words[-1]) if named else None


def _inet(line: str) -> Iterator[IPv4Interface]:
    """The IPv4 address of a line `inet ...`."""
    if found := _INET.search(line):
        address = _interface(f"{found[1]}/{found[2] or found[3] or 32}")
        yield from [address] if address else []


def _interface(text: str) -> IPv4Interface | None:
    try:
        return IPv4Interface(text)
    except ValueError:
        return None
