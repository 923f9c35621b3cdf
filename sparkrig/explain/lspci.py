"""lspci -vv: the PCIe link of the ConnectX-7."""

from __future__ import annotations

import re

from sparkrig.explain.explanation import Around, Explained, Piece, Reader, sign
from sparkrig.host import nic
from sparkrig.text import listed
from sparkrig.verdict import Finding, Verdict

_CONNECTX = re.compile(r"0000:01:00\.[01]|0002:01:00\.[01]")


def explained(piece: Piece, _: Around) -> Explained:
    links = nic.parse_lspci(piece.text)
    ours = [link for link in links if _connectx(link, piece.command)]
    if not ours:
        nameless = not any(link.address for link in links)
        read = f"{len(links)} {'links' if nameless else 'devices'}"
        return Explained(piece.tool, read, (Finding("ConnectX-7", _no_connectx(nameless=nameless)),))
    names = [link.address or f"link {number}" for number, link in enumerate(ours, 1)]
    findings = [Finding("ConnectX-7", _pcie(link, name)) for link, name in zip(ours, names, strict=True)]
    return Explained(piece.tool, f"PCIe link of {listed(names)}", tuple(findings))


def _pcie(link: nic.Pcie, name: str) -> Verdict:
    if link.address and not _CONNECTX.fullmatch(link.address):
        why = f"{name} is not where a Spark has its ConnectX-7, so its PCIe link cannot be judged by a Spark's"
        return Verdict(
            "unknown", "other-hardware", why, "lspci -D -d 15b3: names a Spark's: 0000:01:00.0, 0002:01:00.0"
        )
    return nic.pcie_link(link, name)


def _connectx(link: nic.Pcie, command: str) -> bool:
    if link.name:
        return bool(re.search(r"ConnectX-7|MT2910|15b3:1021", link.name))
    if link.address:
        return bool(_CONNECTX.fullmatch(link.address))
    return "15b3" in command


def _no_connectx(*, nameless: bool) -> Verdict:
    if nameless:
        why = "these links have no device: another one's width would pass for the NIC's"
        return Verdict("unknown", "device-unnamed", why, "sudo lspci -vv -d 15b3:, without grep")
    why = "no ConnectX-7 is among them: without a cable it leaves the PCI bus"
    return Verdict("unknown", "no-connectx", why, "plug the cable in on both ends, then: lspci -d 15b3:")


READERS = (
    Reader(
        "lspci",
        explained,
        "lspci -vv",
        "lspci",
        re.compile(r"\blspci\b"),
        (
            sign("device", r"[ \t]*(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7][ \t]+[A-Z0-9][^(=\n]*?: ?\S"),
            sign("link", r"(?>[^\n]*?\bLnk(?:Cap|Sta):)[^\n]*\bWidth x\d"),
        ),
        install="sudo apt-get install pciutils",
    ),
)
