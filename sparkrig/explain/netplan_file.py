"""A file of netplan: what it gives the netdevs of the cages, and what renders them."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from sparkrig.explain import cages
from sparkrig.explain.cages import Netdev
from sparkrig.explain.explanation import Around, Explained, Piece
from sparkrig.network import netplan
from sparkrig.network.netplan import File, Netdef
from sparkrig.verdict import Finding, Verdict

_BEGINS = re.compile(r"\s*network:\s*(?:#.*)?$|\s*network:\s*\{")


def explained(piece: Piece, _: Around) -> Explained:
    files = [netplan.read("/etc/netplan/pasted.yaml", text) for text in _documents(piece.lines)]
    if not files:
        raise ValueError("this is no file of netplan: it has no line network:")
    netdevs = [[*_netdevs(file)] for file in files]
    shown = [row for rows in netdevs for row in rows]
    findings = [
        finding for file, rows in zip(files, netdevs, strict=True) for finding in _findings(file, rows, piece.text)
    ]
    names = [netdef.label for file in files for netdef in file.netdefs]
    read = cages.read(row for row in shown if row.cage) or ", ".join(names) or "no ethernet"
    return Explained(piece.tool, read, tuple(findings), tuple(dict.fromkeys(_notes(files, shown))))


def _documents(lines: Iterable[str]) -> list[str]:
    """The text of each file: from `network:` to the first line that is no deeper than it."""
    documents: list[list[str]] = []
    depth: int | None = None
    for line in lines:
        if _BEGINS.match(line):
            documents.append([line])
            depth = len(line) - len(line.lstrip())
        elif depth is not None and (not line.strip() or len(line) - len(line.lstrip()) > depth):
            documents[-1].append(line)
        elif not line.lstrip().startswith("#"):
            depth = None
    return [textwrap.dedent("\n".join(document)) for document in documents]


def _netdevs(file: File) -> Iterator[Netdev]:
    for netdef in file.netdefs:
        unknown = netdef.dhcp or netdef.link_local or netdef.handover
        for name in netdef.names:
            yield Netdev(
                name,
                addressed=bool(netdef.addresses) or (None if unknown else False),
                addresses=netdef.addresses[:1],
                mtu=netdef.mtu,
            )


def _findings(file: File, rows: Sequence[Netdev], text: str) -> list[Finding]:
    """The cages; one whose twin gets an address is taken to have a cable."""
    used = {row.cage for row in rows if row.addressed}
    names = {row.name for row in rows}
    lit = [Netdev(**{**vars(row), "carrier": True}) if row.cage in used and row.cage else row for row in rows]
    lit += [
        Netdev(row.twin, carrier=True, addressed=False)
        for row in rows
        if row.cage and row.addressed and row.twin not in names
    ]
    findings = cages.judged(lit, state="defined")
    bonds = [other.split()[-1] for other in file.others if other.startswith("bonds ")]
    if bonds and re.search(r"\ben(?:p1|P2p1)s0f[01]", text):
        findings.append(Finding("the fabric", cages.bonded(bonds[0])))
    return [*findings, *(_dhcp(netdef) for netdef in file.netdefs if netdef.dhcp and _of_cage(netdef))]


def _of_cage(netdef: Netdef) -> bool:
    return any(Netdev(name).cage for name in netdef.names)


def _dhcp(netdef: Netdef) -> Finding:
    why = f"{netdef.label} waits for DHCP: a switch may have a server, and on a cable between two Sparks none is"
    return Finding(netdef.label, Verdict("unknown", "dhcp-on-rail", why, cages.OWN_SUBNETS))


def _notes(files: Iterable[File], rows: Sequence[Netdev]) -> Iterator[str]:
    fabric = [row for row in rows if row.cage]
    for file in files:
        named = {file.renderer, *(netdef.renderer for netdef in file.netdefs)}
        if netplan.NETWORKD in named and fabric:
            yield (
                "the renderer is networkd; that of DGX OS is NetworkManager, and a deploy of sparkrig asks to "
                "hand these netdevs to it (sparkrig docs adopting)"
            )
        if any(netdef.link_local and _of_cage(netdef) for netdef in file.netdefs):
            yield "link-local addresses are all of 169.254.0.0/16, and change: fixed ones in subnets do not"
    if fabric and not any(row.mtu for row in fabric):
        yield f"no MTU is given, so it is 1500 where the driver sets none: {cages.MTU} lets RDMA send 4096 bytes"
