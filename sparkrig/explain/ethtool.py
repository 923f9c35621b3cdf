"""ethtool, with -i and -m: the speed of a link, its driver, its cable."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from sparkrig.explain import cages
from sparkrig.explain.explanation import CAGE, CAGE_GBPS, Around, Explained, Piece
from sparkrig.fabric.cabling import CAGE_SPEED_MBPS
from sparkrig.host import nic
from sparkrig.verdict import Finding, Verdict


def link(piece: Piece, _: Around) -> Explained:
    links = _named(nic.parse_ethtool(piece.text), piece.command)
    findings = [Finding(link.netdev or "the link", _verdict(link)) for link in links]
    return Explained(piece.tool, ", ".join(_link_shown(link) for link in links), tuple(findings))


def _named(links: Sequence[nic.Link], command: str) -> list[nic.Link]:
    """The links; where grep removed ethtool's line with the name, with the netdevs of the command line."""
    cages = [word for word in re.findall(r"[\w.-]+", command) if CAGE.fullmatch(word)]  # of a loop over $IF
    typed = re.findall(r"\bethtool\s+['\"]?([A-Za-z][\w.-]*)", command) or cages
    names = iter(typed if len(typed) == sum(not link.netdev for link in links) else ())
    return [link if link.netdev else replace(link, netdev=next(names, "")) for link in links]


def _link_shown(link: nic.Link) -> str:
    speed = "speed unknown" if link.speed_mbps is None else f"{link.speed_mbps / 1000:g} Gb/s"
    state = "" if link.up is None else " up," if link.up else " down,"
    return f"{link.netdev or 'the link'}{state} {speed}"


def _verdict(link: nic.Link) -> Verdict:
    if link.up is False or (link.speed_mbps is None and link.up is None):
        cure = "plug the cable in on both ends; without one this is as it should be"
        return Verdict("unknown", "no-carrier", "has no link", cure)
    if link.speed_mbps is None:
        return Verdict("unknown", "speed-unknown", "is up, and ethtool does not tell its speed", "ethtool as root")
    said = f"{link.speed_mbps / 1000:g} Gb/s"
    if link.netdev and not CAGE.fullmatch(link.netdev):
        return Verdict("healthy", evidence=f"{said}, and no QSFP cage by its name")
    if link.speed_mbps < CAGE_SPEED_MBPS and not link.netdev:
        why = f"{said} of a netdev without a name: on a QSFP cage {CAGE_GBPS:g} are expected"
        return Verdict("unknown", "device-unnamed", why, "ethtool NETDEV, with the command line or without grep")
    if link.speed_mbps < CAGE_SPEED_MBPS:
        return cages.speed_low(link.netdev, link.speed_mbps)
    return Verdict("healthy", evidence=f"{said}; the link speed does not show a slow start, ib_write_bw does")


def driver(piece: Piece, _: Around) -> Explained:
    found = nic.parse_ethtool_driver(piece.text)
    parts = [
        found.driver,
        f"firmware {found.firmware or 'not told'}",
        f"at {found.address}" if found.address else "",
    ]
    return Explained(piece.tool, ", ".join(part for part in parts if part))


def module(piece: Piece, _: Around) -> Explained:
    found = nic.parse_ethtool_module(piece.text)
    read = f"{found.vendor or 'vendor not told'}, {found.part or 'part not told'}"
    note = (
        f"it calls itself {found.kind}, as cables for {CAGE_GBPS:g} Gb/s do, too; ethtool NETDEV tells the speed"
    )
    return Explained(piece.tool, read, notes=(note,) if found.kind else ())
