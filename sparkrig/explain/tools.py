"""What the pasted output of a tool means: what was read, the verdict, and the cure.

The verdicts are those of the modules that judge a Spark itself. What they do not fit (other hardware, short
messages, a figure without a unit) is reported as unknown, for a wrong verdict is worse than none. Serial numbers
and UUIDs are dropped before anything is read (section.plain), and secrets are masked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from sparkrig.explain import ethtool, gids, lone_figure, lspci, nccl, nvidia_smi, package_list, perftest
from sparkrig.explain.explanation import CAGE, Around, Explained
from sparkrig.parsing import section
from sparkrig.parsing.section import Piece
from sparkrig.rdma import gid_table
from sparkrig.redaction.credentials import masked
from sparkrig.verdict import Finding, Verdict, worst

READABLE = (
    "ib_write_bw, ib_read_bw, ib_send_bw, ib_write_lat and their like: table, JSON report, or error",
    "show_gids; ibdev2netdev, also with -v",
    "ethtool NETDEV, ethtool -i, ethtool -m",
    "lspci -vv",
    "nvidia-smi, also with -q, -L, or --query-gpu=... --format=csv",
    "the log of NCCL (NCCL_DEBUG=INFO), and nccl-tests",
    "dpkg -l, dpkg-query -W, apt list --installed, or NAME,VERSION lines",
)


def explain(text: str) -> list[Explained]:
    """Each tool's output in a pasted text, in its order; empty where nothing in it can be read."""
    bare = masked(section.plain(text))
    told = section.pieces(bare)
    if not told:
        return lone_figure.explained(bare)
    links = [_explained(piece, Around()) for piece in told if piece.tool == section.LSPCI]
    around = Around(
        suspects=tuple(finding.verdict for each in links for finding in each.findings),
        written=_written(bare),
        devices=_on_cages(bare),
        prefixes=dict(re.findall(r"\b(\d{1,3}(?:\.\d{1,3}){3})/(\d|[12]\d|3[0-2])(?!\d)", bare)),
        prose=_filled(bare.split("\n")) > sum(_filled([piece.command, *piece.lines]) for piece in told),
    )
    return [_explained(piece, around) for piece in told]


def _filled(lines: Iterable[str]) -> int:
    return sum(1 for line in lines if line.strip())


def exit_code(explained: Iterable[Explained]) -> int:
    """0 all healthy or merely informative, 2 something is degraded or at fault, 3 nothing worse than unknown."""
    verdicts = [finding.verdict for each in explained for finding in each.findings]
    return {"healthy": 0, "unknown": 3}.get(worst(verdicts).level, 2) if verdicts else 0


def _explained(piece: Piece, around: Around) -> Explained:
    try:
        return _READERS[piece.tool](piece, around)
    except ValueError as error:
        return Explained(piece.tool, "", (Finding("the output", _unread(piece, str(error))),))


_INSTALL = {
    section.SHOW_GIDS: "sparkrig topology INVENTORY shows the GIDs without it",
    section.IBDEV2NETDEV: "sparkrig topology INVENTORY shows the devices without it",
    section.LSPCI: "sudo apt-get install pciutils",
}


def _unread(piece: Piece, why: str) -> Verdict:
    """Why a tool's output has no meaning: it is cut or mixed up, or the tool had no answer."""
    if piece.signs and "sudo" not in why:
        return Verdict("unknown", "unreadable", why, "paste it whole, from the command to the next prompt")
    if re.search(r"\bnot found\b", piece.text):
        cure = _INSTALL.get(piece.tool, "sudo apt-get install ethtool")
        return Verdict("unknown", "not-installed", f"{piece.tool.split()[0]} is not installed there", cure)
    return Verdict("unknown", "no-answer", why, "run it again with sudo")


def _written(text: str) -> int | None:
    try:
        return gid_table.written_index(text)
    except ValueError:
        return None


def _on_cages(text: str) -> frozenset[str]:
    """The devices called mlx5_N beside a cage's netdev, in a line of ibdev2netdev, show_gids or rdma."""
    lines = (re.findall(r"[\w.-]+", line) for line in text.splitlines() if "mlx5_" in line)
    return frozenset(
        word
        for words in lines
        if any(CAGE.fullmatch(each) for each in words)
        for word in words
        if re.fullmatch(r"mlx5_\d+", word)
    )


_READERS: dict[str, Callable[[Piece, Around], Explained]] = {
    section.PERFTEST: perftest.explained,
    section.SHOW_GIDS: gids.show_gids,
    section.IBDEV2NETDEV: gids.ibdev2netdev,
    section.ETHTOOL: ethtool.link,
    section.ETHTOOL_DRIVER: ethtool.driver,
    section.ETHTOOL_MODULE: ethtool.module,
    section.LSPCI: lspci.explained,
    **dict.fromkeys((section.SMI, section.SMI_QUERY, section.SMI_LIST, section.SMI_CSV), nvidia_smi.explained),
    section.NCCL: nccl.explained,
    section.PACKAGES: package_list.explained,
}
