"""The GID table as mlnx-tools print it, and whether the index that the environment files carry still fits.

gid.py reads sysfs and chooses the index; it is shipped to the hosts, so what only a person's tools need is here.
Sources: mlnx-tools' show_gids and ibdev2netdev; [@capetron, @nccl-1333, @nccl-2157, @nccl-2183].
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address

from sparkrig.cure import on_host, quoted
from sparkrig.network import environment, gid
from sparkrig.network.gid import Gid
from sparkrig.parsing import grammar
from sparkrig.verdict import Verdict

# show_gids cuts the kernel's names down to these.
_TYPES = {"v1": "IB/RoCE v1", "v2": gid.ROCE_V2}

_HEADER = re.compile(r"\s*DEV\s+PORT\s+INDEX\b")
_RULE = re.compile(r"[\s-]*")
_COUNT = re.compile(r"\s*n_gids_found\s*=\s*(\d+)\s*")
_ROW = re.compile(
    r"\s*(?P<device>\S+)\s+(?P<port>\d+)\s+(?P<index>\d+)\s+(?P<address>[0-9a-fA-F:]+|fe80:[0-9a-fA-FxX*:]+)"
    r"(?:\s+\d+\.\d+\.\d+\.\d+)?\s+(?P<type>[vV][12])(?:\s+(?P<netdev>\S+))?\s*"
)
_HIDDEN = re.compile(r"[xX*]+")  # what owners put into a link-local address, which is made of a MAC address
# With -v the PCI address stands before the device; behind it, in brackets, may stand the serial number.
_ARROW = re.compile(
    r"\s*(?:[0-9a-fA-F]+:\S+\s+(?=\S+\s+\())?(?P<device>[\w.-]+)\s+(?:\(.*?)?"
    r"\bport\s+(?P<port>\d+)\s*+(?:\([^)]{0,40}\)\s*+)?==>"
    r"\s*+(?P<netdev>[^\s(]*+)\s*+\((?P<state>\w+)\s*\)"
)
_WRITTEN = re.compile(r"^[ \t]*(?:export\s+)?NCCL_IB_GID_INDEX[ \t]*=([^#\r\n]*)", re.MULTILINE)
_ROWS = re.compile(r"\s(?=\S+\s+port\s+\d+\s+==>)")


@dataclass(frozen=True)
class Port:
    """One port of an RDMA device, as ibdev2netdev has it. netdev: empty where it has none."""

    device: str
    port: int
    netdev: str
    up: bool


def parse_show_gids(text: str) -> list[Gid]:
    """Read mlnx-tools' show_gids. Types are spelled as in sysfs, and a netdev that is not shown is empty.

    The IPv4 column is passed over: it is empty on IPv6 rows, and repeats the GID on the others. Lines before the
    header are warnings. Raises ValueError for a row that cannot be read, or rows that are not as many as counted.
    """
    lines = [line for line in text.splitlines() if not _RULE.fullmatch(line)]
    header = next((number for number, line in enumerate(lines) if _HEADER.match(line)), -1)
    table, counted = [], []
    for number, line in enumerate(lines[header + 1 :], 1):
        if count := _COUNT.fullmatch(line):
            counted.append(int(count.group(1)))
        elif not _HEADER.match(line):
            table.append(_gid(line, number))
    if counted and sum(counted) != len(table):
        raise ValueError(f"show_gids counted {sum(counted)} GIDs, and {len(table)} rows are here")
    return sorted(table, key=lambda row: (row.device, row.port, row.index))


def _gid(line: str, number: int) -> Gid:
    row = _ROW.fullmatch(line)
    try:
        if row is None:
            raise ValueError
        netdev = row["netdev"] or ""
        if netdev and not grammar.NETDEV.fits(netdev):
            raise ValueError
        address = IPv6Address(_HIDDEN.sub("0", row["address"]))
    except ValueError:
        raise ValueError(f"cannot read row {number} of show_gids' table") from None
    kind = _TYPES[row["type"].lower()]
    return Gid(row["device"], int(row["port"]), int(row["index"]), address, kind, netdev)


def parse_ibdev2netdev(text: str) -> list[Port]:
    """Read ibdev2netdev, plain or with -v, also rows that a web page put into one line; other lines are warnings.

    Raises ValueError for a row that cannot be read, or a text that has words and no row; it repeats neither.
    """
    lines = (_ROWS.split(line) if line.count("==>") > 1 else [line] for line in text.splitlines())
    rows = [row for line in lines for row in line if "==>" in row]
    if text.strip() and not rows:
        raise ValueError("cannot read what ibdev2netdev printed: it has no row with ==>")
    return [_port(line, number) for number, line in enumerate(rows, 1)]


def _port(line: str, number: int) -> Port:
    row = _ARROW.match(line)
    if row is None or (row["netdev"] and not grammar.NETDEV.fits(row["netdev"])):
        raise ValueError(f"cannot read row {number} of ibdev2netdev")
    return Port(row["device"], int(row["port"]), row["netdev"], row["state"] == "Up")


def written_index(text: str) -> int | None:
    """NCCL_IB_GID_INDEX of an environment file; None where it has none, or leaves the choice to NCCL (-1).

    Raises ValueError for what is no number, and for two that differ: NCCL takes the first, docker the last.
    """
    values = {value.strip().strip("'\"") for value in _WRITTEN.findall(text)} - {""}
    if len(values) > 1:
        raise ValueError(f"NCCL_IB_GID_INDEX is set to {' and to '.join(sorted(values))}")
    try:
        index = int(values.pop()) if values else -1
    except ValueError as error:
        raise ValueError(f"NCCL_IB_GID_INDEX is no number ({error})") from None
    return index if index >= 0 else None


def judge(table: Iterable[Gid], netdev: str, address: IPv4Address, written: int | None) -> Verdict:
    """Whether the index that the environment files carry leads to a rail's own RoCE v2 GID.

    netdev, address: the rail's end on this host; written: see written_index. None is healthy wherever the GID is
    there, for the files then name the address family and NCCL looks for itself (gid.Choice).
    """
    rows = sorted(table, key=lambda row: row.index)
    wanted = gid.find(rows, netdev, address)
    if wanted is None:
        return _absent(rows, netdev, address)
    device = [row for row in rows if (row.device, row.port) == (wanted.device, wanted.port)]
    if written is None:
        return Verdict("healthy", evidence=f"{_shown(wanted)}, which NCCL is told to find by address family")
    gids = [row for row in device if row.index == written]
    if any(row.ipv4 == address and row.type == gid.ROCE_V2 for row in gids):
        return Verdict("healthy", evidence=_shown(gids[0]))
    holds = _shown(gids[0]) if gids else f"index {written} of {wanted.device} is empty"
    return _astray(device, wanted, written, f"the files carry index {written}, but {holds}; {_shown(wanted)}")


def _shown(row: Gid) -> str:
    return f"index {row.index} of {row.device} is {row.ipv4 or row.address} ({row.type})"


def _absent(rows: Sequence[Gid], netdev: str, address: IPv4Address) -> Verdict:
    """Why a rail has no RoCE v2 GID at all."""
    here = [row for row in rows if row.netdev == netdev]
    old = next((row for row in here if row.ipv4 == address), None)
    if old:
        return Verdict(
            "fault",
            "gid-type",
            f"{_shown(old)}, and no index has it as RoCE v2",
            f"devlink dev param show tells whether RoCE is on; then: sudo nmcli device reapply {quoted(netdev)}",
        )
    elsewhere = next((row for row in rows if row.ipv4 == address), None)
    others = sorted({str(row.ipv4) for row in here if row.ipv4})
    if elsewhere:
        why, cure = (
            f"{address} has its GID on {elsewhere.netdev}",
            on_host("ip -4 addr", f"; give {address} to {quoted(netdev)}"),
        )
    elif others:
        why = f"{netdev} has GIDs for {', '.join(others)} and none for {address}"
        cure = on_host(f"ip -4 addr show {quoted(netdev)}", "; then run the deploy again")
    elif here:
        why = f"{here[0].device} has no IPv4 GID yet, only IPv6"
        cure = on_host(
            f"ip -4 addr show {quoted(netdev)}", f"; then: sudo nmcli connection up ifname {quoted(netdev)}"
        )
    else:
        why = f"no RDMA device has a GID on {netdev}: it is down, without a cable, or without a device"
        cure = on_host(f"rdma link; ip link show {quoted(netdev)}")
    return Verdict("fault", "gid-missing", why, cure)


def _astray(device: Sequence[Gid], wanted: Gid, written: int, evidence: str) -> Verdict:
    """What is wrong with an index that leads elsewhere: it has moved, or was never right."""
    why = _moved(device, wanted, written)
    same = any(row.index == written and row.ipv4 == wanted.ipv4 for row in device)
    cure = on_host(
        f"sudo python3 {environment.REFRESH} {quoted(wanted.netdev)}", ", then start again what uses NCCL"
    )
    if same or not why:
        return Verdict("fault", "gid-type", evidence, cure)
    return Verdict("fault", "gid-moved", f"{evidence}: {why}", cure)


def _moved(device: Sequence[Gid], wanted: Gid, written: int) -> str:
    """What moved a GID away from the index that was written, as far as the table shows; empty for nothing.

    The first link-local stands before every IPv4 address and always did, unless IPv6 was off.
    """
    if wanted.index < written:
        return "what stood before it is gone"
    between = [row for row in device if written <= row.index < wanted.index]
    first = next((row.address for row in device if _link_local(row)), None)
    newcomer = next((row for row in between if row.address not in (first, wanted.address)), None)
    if newcomer is None:
        empty = len(between) < wanted.index - written
        return "the link came up again and left empty slots before it" if empty else ""
    if newcomer.ipv4:
        return f"a second IPv4 address, {newcomer.ipv4}, stands before it"
    kind = "second IPv6 link-local" if _link_local(newcomer) else "routable IPv6"
    return f"a {kind} address, {newcomer.address}, stands before it"


def _link_local(row: Gid) -> bool:
    return not row.ipv4 and row.address.is_link_local
