"""lspci -vv: the PCIe link of the ConnectX-7."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace

from sparkrig.explain import cages
from sparkrig.explain.explanation import Around, Explained, Piece
from sparkrig.host import nic
from sparkrig.text import listed
from sparkrig.verdict import Finding, Verdict

# the functions of a Spark's ConnectX-7, and the root ports that they hang on
_CONNECTX = re.compile(r"0000:01:00\.[01]|0002:01:00\.[01]")
_UNTOLD = "a Spark has four functions; this list does not tell their links: sudo lspci -vv -d 15b3:"
_ROOT_PORT = re.compile(r"000[02]:00:00\.0")


_OTHER = Verdict(
    "unknown",
    "other-hardware",
    "this is another device, and only the PCIe link of a ConnectX-7 is judged",
    "sudo lspci -vv -d 15b3:",
)


def explained(piece: Piece, around: Around) -> Explained:
    links = _links(piece)
    ours = [link for link in links if _connectx(link, piece.command)]
    if not ours:
        nameless = not any(link.address for link in links)
        read = f"{len(links)} {'link' if nameless else 'device'}{'' if len(links) == 1 else 's'}"
        verdict = _OTHER if re.search(r"\s-s\b", piece.command) else _no_connectx(nameless=nameless)
        return Explained(piece.tool, read, (Finding("ConnectX-7", verdict),))
    names = [link.address or f"link {number}" for number, link in enumerate(ours, 1)]
    if not around.linked and not any(link.width or link.speed for link in ours):
        return Explained(piece.tool, f"ConnectX-7 at {listed(names)}", notes=(_UNTOLD,))
    findings = [Finding("ConnectX-7", _pcie(link, name, around)) for link, name in zip(ours, names, strict=True)]
    return Explained(piece.tool, f"PCIe link of {listed(names)}", tuple(findings))


def _links(piece: Piece) -> list[nic.Pcie]:
    """Its links; the one of `lspci -s ADDRESS` whose own line grep took has that address."""
    links = [*nic.parse_lspci(piece.text)]
    asked = re.search(r"\s-s\s*(?:([0-9a-f]{4}):)?([0-9a-f]{2}:[0-9a-f]{2}\.[0-7])\b", piece.command)
    if asked and len(links) == 1 and not links[0].address:
        return [replace(links[0], address=f"{asked[1] or '0000'}:{asked[2]}")]
    return links


def linked(pieces: Iterable[Piece]) -> frozenset[str]:
    """The PCI domains of a ConnectX-7 whose link is healthy."""
    domains = set[str]()
    for piece in pieces:
        with suppress(ValueError):
            links = [link for link in _links(piece) if _connectx(link, piece.command)]
            domains |= {link.address[:4] for link in links if nic.pcie_link(link, "").healthy}
    return frozenset(domains)


def _pcie(link: nic.Pcie, name: str, around: Around) -> Verdict:
    if link.address[:4] in around.linked and link.width is None:
        return Verdict("healthy", evidence=f"{name} is there, and its link is judged by itself")
    if link.address and not (_CONNECTX.fullmatch(link.address) or _ROOT_PORT.fullmatch(link.address)):
        why = f"{name} is not where a Spark has its ConnectX-7, so its PCIe link cannot be judged by a Spark's"
        return Verdict(
            "unknown", "other-hardware", why, "lspci -D -d 15b3: names a Spark's: 0000:01:00.0, 0002:01:00.0"
        )
    return nic.pcie_link(link, name)


def _connectx(link: nic.Pcie, command: str) -> bool:
    if link.name:
        return bool(re.search(r"ConnectX-7|MT2910|15b3:1021", link.name))
    if link.address:
        return bool(_CONNECTX.fullmatch(link.address) or _ROOT_PORT.fullmatch(link.address))
    return "15b3" in command


def _no_connectx(*, nameless: bool) -> Verdict:
    if nameless:
        why = "these links have no device: another one's width would pass for the NIC's"
        return Verdict("unknown", "device-unnamed", why, "sudo lspci -vv -d 15b3:, without grep")
    return cages.no_connectx()
