"""show_gids and ibdev2netdev: which GID index carries IPv4, and which port is which netdev."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from ipaddress import IPv4Address, IPv4Interface

from sparkrig.cure import quoted
from sparkrig.explain import cages
from sparkrig.explain.cages import Netdev
from sparkrig.explain.explanation import CAGE, Around, Explained, Piece
from sparkrig.network import gid, gid_table
from sparkrig.text import listed
from sparkrig.verdict import Finding, Verdict


def show_gids(piece: Piece, around: Around) -> Explained:
    if not piece.signs:
        raise ValueError("show_gids printed no table")
    table = gid_table.parse_show_gids("\n".join(line for line in piece.lines if _GID_LINE.match(line)))
    if not table:
        cure = "ibdev2netdev; a port without a cable or an address has no GID"
        return Explained(
            piece.tool,
            "no GID at all",
            (Finding("the host", Verdict("fault", "gid-missing", "no GID is in use", cure)),),
        )
    ports = {(row.device, row.port, row.netdev): None for row in table}
    own = {port: [row for row in table if (row.device, row.port, row.netdev) == port] for port in ports}
    usable = {
        port: rows for port, rows in own.items() if any(row.ipv4 and row.type == gid.ROCE_V2 for row in rows)
    }
    findings = [
        Finding(port[0], _gid(rows, around.written)) for port, rows in own.items() if port in usable or not usable
    ]
    without = sorted({port[0] for port in own if port not in usable}) if usable else []
    shared = [Finding("the fabric", verdict) for verdict in _subnets(table, around.prefixes)]
    read = (
        f"{len(table)} GID{'' if len(table) == 1 else 's'} of {listed(dict.fromkeys(port[0] for port in ports))}"
    )
    return Explained(piece.tool, read, (*findings, *shared), tuple(_gid_notes(table, without)))


def _subnets(table: Iterable[gid.Gid], prefixes: Mapping[str, str]) -> list[Verdict]:
    """A verdict for each two of a Spark's netdevs in one subnet, by the judgement of the deploy's settings."""
    fabric = {
        row.netdev or row.device: IPv4Interface(f"{row.ipv4}/{prefixes.get(str(row.ipv4)) or _usual(row.ipv4)}")
        for row in table
        if row.ipv4 and (CAGE.fullmatch(row.netdev) or CAGE.fullmatch(row.device))
    }
    guessed = not {str(each.ip) for each in fabric.values()} <= prefixes.keys()
    how = " (the prefix length is the usual one, for show_gids prints none)" if guessed else ""
    return cages.one_subnet(fabric, how)


def _usual(address: IPv4Address) -> int:
    """The prefix length that an address of the fabric mostly has: that of RFC 3927, or of NVIDIA's playbooks."""
    return 16 if address.is_link_local else 24


_GID_LINE = re.compile(
    r"\s*+(?:DEV\s+PORT\s+INDEX|(?<=\s)$|-[-\s]*+$|n_gids_found|[\w.-]+\s+\d+\s+\d+\s+[0-9a-fA-F:]{4,})"
)


def _gid(rows: Sequence[gid.Gid], written: int | None) -> Verdict:
    """Which index of a device carries IPv4 over RoCE v2, and whether it is the written one."""
    netdev, device = rows[0].netdev, rows[0].device
    addresses = {row.ipv4 for row in rows if row.ipv4}
    found = {row.ipv4: row.index for row in rows if row.ipv4 and row.type == gid.ROCE_V2}
    if not addresses:
        show = f"ip -4 addr show {quoted(netdev)}" if netdev else "ip -4 addr show"
        return Verdict(
            "fault", "gid-missing", f"{device} has no IPv4 GID, only IPv6, so NCCL finds none to use", show
        )
    if written is not None or not found:
        verdicts = [gid_table.judge(rows, netdev, address, written) for address in sorted(found or addresses)]
        return next((verdict for verdict in verdicts if verdict.healthy), verdicts[0])
    said = [f"index {index} is {address} (RoCE v2)" for address, index in found.items()]
    return Verdict("healthy", evidence="; ".join(said))


def _gid_notes(table: Sequence[gid.Gid], without: Sequence[str]) -> Iterable[str]:
    first: dict[str, int] = {}
    for row in table:
        if row.ipv4 and row.type == gid.ROCE_V2:
            first.setdefault(row.device, row.index)
    if len({*first.values()}) > 1:
        yield (
            "the index differs by device, so no one NCCL_IB_GID_INDEX fits: leave it out, and set "
            "NCCL_IB_ROCE_VERSION_NUM=2 and NCCL_IB_ADDR_FAMILY=AF_INET"
        )
    for device in without:
        twin = next((other for other in first if Netdev(other).netdev == Netdev(device).twin), "")
        behind = f", though its twin {twin} has one: each needs its own, in a subnet of its own" if twin else ""
        yield f"{device} has no IPv4 address{behind}"


def ibdev2netdev(piece: Piece, _: Around) -> Explained:
    ports = gid_table.parse_ibdev2netdev(piece.text)
    rows = [Netdev(port.netdev if CAGE.fullmatch(port.netdev) else port.device, carrier=port.up) for port in ports]
    findings = cages.judged(rows)
    if bond := next((port.netdev for port in ports if port.netdev.startswith("bond")), ""):
        findings.append(Finding("the fabric", cages.bonded(bond)))
    elif not findings:
        findings = [
            Finding(port.device, Verdict("healthy", evidence=f"{port.netdev}, up")) for port in ports if port.up
        ]
        findings = findings or [Finding("the cages", cages.no_cable(rows))]
    told = [f"{port.device} = {port.netdev or 'no netdev'} ({'up' if port.up else 'down'})" for port in ports]
    return Explained(piece.tool, ", ".join(told), tuple(findings), tuple(cages.notes(rows)))
