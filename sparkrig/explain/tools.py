"""What the pasted output of a tool means: what was read, the verdict, and the cure.

The verdicts are those of the modules that judge a Spark itself. What they do not fit (other hardware, short
messages, a figure without a unit) is reported as unknown, for a wrong verdict is worse than none. Serial numbers
and UUIDs are dropped before anything is read (section.plain), and secrets are masked.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from sparkrig.explain import hosts, leftover, lone_figure, lspci
from sparkrig.explain.explanation import CAGE, Around, Explained, Piece
from sparkrig.explain.pieces import Splitter
from sparkrig.explain.readers import READERS
from sparkrig.host.identity import GB10_NAME
from sparkrig.network import gid_table
from sparkrig.parsing import section
from sparkrig.redaction.credentials import masked
from sparkrig.verdict import Finding, Verdict, worst

SPLITTER = Splitter(READERS)


@dataclass(frozen=True)
class Reading:
    """What a pasted text means. unread: the lines that nothing read, without secrets."""

    explained: tuple[Explained, ...]
    unread: tuple[str, ...]


def read(text: str) -> Reading:
    """What a pasted text means; nothing is explained where nothing in it can be read."""
    bare = masked(section.plain(text))
    everything = SPLITTER.pieces(bare)
    pieces = [piece for piece in everything if piece.printed]
    if not pieces and (figure := lone_figure.explained(bare)):
        return Reading(tuple(figure), ())
    unread = [number for piece in everything for number in piece.unread]
    around = _around(bare, pieces, prose=bool(unread))
    told = [_explained(piece, around) for piece in pieces]
    takers = {number: pair for pair in zip(pieces, told, strict=True) for number in pair[0].numbers}
    left, signed = leftover.explained(bare, takers, {*unread})
    if len({piece.host for piece in pieces if piece.host}) > 1:
        told = [replace(one, host=piece.host) for one, piece in zip(told, pieces, strict=True)]
    told = [one for one, piece in zip(told, pieces, strict=True) if not _instead(one, signed & {*piece.numbers})]
    lines = bare.split("\n")
    shown = (*told, *filter(None, (hosts.compared(pieces), left)))
    return Reading(shown, tuple(lines[number] for number in sorted({*unread} - signed)))


def explain(text: str) -> list[Explained]:
    """Each tool's output in a pasted text, in its order, and the signs that none of them has."""
    return [*read(text).explained]


def _around(bare: str, pieces: Sequence[Piece], *, prose: bool) -> Around:
    links = [piece for piece in pieces if piece.tool == "lspci"]
    return Around(
        suspects=tuple(finding.verdict for piece in links for finding in _explained(piece, Around()).findings),
        written=_written(bare),
        devices=_on_cages(bare),
        prefixes=dict(re.findall(r"\b(\d{1,3}(?:\.\d{1,3}){3})/(\d|[12]\d|3[0-2])(?!\d)", bare)),
        prose=prose,
        linked=lspci.linked(links),
        foreign=_foreign(bare),
    )


def exit_code(explained: Iterable[Explained]) -> int:
    """0 all that was judged is healthy, 2 something is degraded or at fault, 3 unknown, or nothing was judged."""
    verdicts = [finding.verdict for each in explained for finding in each.findings]
    return {"healthy": 0, "unknown": 3}.get(worst(verdicts).level, 2)


def _explained(piece: Piece, around: Around) -> Explained:
    try:
        return piece.reader.explained(piece, around) if piece.reader else Explained("", "")
    except ValueError as error:
        return Explained(piece.tool, "", (Finding("the output", _unread(piece, str(error))),))


def _unread(piece: Piece, why: str) -> Verdict:
    """Why a tool's output has no meaning: it is cut or mixed up, or the tool had no answer."""
    if piece.signs and "sudo" not in why:
        return Verdict("unknown", "unreadable", why, "paste it whole, from the command to the next prompt")
    install = piece.reader.install if piece.reader else ""
    if install and re.search(r"\bnot found\b", piece.text):
        return Verdict("unknown", "not-installed", f"{piece.tool.split()[0]} is not installed there", install)
    return Verdict("unknown", "no-answer", why, "run it again with sudo")


def _instead(one: Explained, signed: Collection[int]) -> bool:
    """Whether another program failed where the tool was to answer, as docker does that was to start it."""
    return bool(signed) and [finding.verdict.cause for finding in one.findings] == ["no-answer"]


def _foreign(text: str) -> str:
    gpu = re.search(r"\bNVIDIA (?!GB10)(?:[A-Z]{1,2}\d{2,4}|GeForce|RTX)\b[\w -]{0,20}", text)
    return gpu[0].strip() if gpu and GB10_NAME not in text else ""


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
