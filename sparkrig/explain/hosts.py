"""What differs between the hosts that the prompts of a paste name, and has to be the same on all."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sparkrig.explain.explanation import Explained, Piece
from sparkrig.text import listed
from sparkrig.verdict import Finding, Verdict

# what: its words, of which the first group is the value; how it is made the same
_FACTS = {
    "driver": (
        re.compile(r"\bDriver Version *: *(\d[\d.]+)"),
        "bring both to one driver: sudo apt full-upgrade on the older one, and reboot",
    ),
    "kernel": (
        re.compile(r"(?<![\w.-])(\d+\.\d+\.\d+-\d+-nvidia(?:-64k)?)(?![\w.-])"),
        "boot one kernel on both: sudo apt full-upgrade on the older one, and reboot",
    ),
    "MTU of a cage's netdev": (
        re.compile(r"\b(?:en|roce)(?:p1|P2p1)s0f[01]\S{0,40} [^\n]{0,200}\bmtu (\d+)"),
        "sudo ip link set NETDEV mtu 9000 on both, and in netplan or the profile",
    ),
    "GID index of IPv4 with RoCE v2": (
        re.compile(
            r"^[ \t]*\S+[ \t]+\d+[ \t]+(\d+)[ \t]+(?:0000:){5}ffff:\S+[ \t]+[\d.]+[ \t]+(?:RoCE )?v2\b", re.M
        ),
        "leave NCCL_IB_GID_INDEX out, and set NCCL_IB_ROCE_VERSION_NUM=2",
    ),
}


def compared(pieces: Iterable[Piece]) -> Explained | None:
    """The facts that differ between hosts; None where fewer than two have any of them."""
    texts: dict[str, str] = {}
    for piece in pieces:
        if piece.host:
            texts[piece.host] = texts.get(piece.host, "") + piece.text
    findings, same = [], []
    for what, (words, cure) in _FACTS.items():
        values = {host: sorted({*words.findall(text)}) for host, text in texts.items()}
        values = {host: each for host, each in values.items() if each}
        if len(values) < 2:
            continue
        if len({*map(tuple, values.values())}) == 1:
            same.append(what)
        else:
            why = ", ".join(f"{', '.join(each)} on {host}" for host, each in values.items())
            findings.append(Finding(what, Verdict("degraded", "hosts-differ", f"it differs: {why}", cure)))
    if not findings and not same:
        return None
    alike = f"; the same on all: {listed(same)}" if same else ""
    return Explained("the hosts", f"{len(texts)} hosts{alike}", tuple(findings))
