"""Outputs that a table of models/errors.yaml judges line by line; models/readers.yaml says by which."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from textwrap import shorten
from typing import Any

from sparkrig import signatures
from sparkrig.explain.explanation import Around, Explained, Piece
from sparkrig.signatures import Signature
from sparkrig.text import plain
from sparkrig.verdict import Finding, Verdict

WELL = "well"  # the cause of a row whose words prove that something is in order
# That something failed, without why: said only where nothing says more, and then by the first of these alone.
VAGUE = ("program-error", "traceback", "container", "logged-error", "not-judged")
_MOST = 8  # causes; what one of them starts can log dozens
_WEIGHT = {"fault": 0, "degraded": 1, "unknown": 2, "healthy": 3}


def verdict(row: Signature, words: list[str]) -> Verdict:
    """What a row of models/errors.yaml says of the lines that have its words."""
    times = f" ({len(words)} times)" if len(words) > 1 else ""
    said = f"{row.meaning}{times}: {shorten(words[0], 160, placeholder=' ...')}"
    return Verdict(row.level, "" if row.level == "healthy" else row.cause, said, row.pasted_cure)


def note(row: Signature) -> str:
    """What a line means that is harmless."""
    return row.meaning if row.cure == "nothing" else f"{row.meaning}: {row.cure}"


def explained(of: Mapping[str, Any], piece: Piece, _: Around) -> Explained:
    """What an output means. of: its row of models/readers.yaml."""
    lines = [line for line in piece.lines if line.strip()]
    rows = [row for name in tables(of) for row in signatures.table(name)]
    seen = _in_all(rows, piece.text, of["whole"]) if "whole" in of else signatures.by_line(rows, lines)
    told = first_of_cause(row for row in rows if row in seen and _tells(row))
    told = sorted((row for row in told if row.level != "healthy"), key=lambda row: _WEIGHT[row.level]) or told
    about = _named(of, piece)
    findings = [Finding(about or row.about or of["about"], verdict(row, seen[row])) for row in told[:_MOST]]
    read = f"{len(lines)} line{'' if len(lines) == 1 else 's'}"
    notes = [note(row) for row in seen if not _tells(row)]
    if not findings and (of.get("silent") or not notes):
        findings = [Finding(about or of["about"], _silent(of, read))]
    more = [f"{len(told) - _MOST} more kinds of trouble are in it"] if len(told) > _MOST else []
    return Explained(piece.tool, read, tuple(findings), (*notes, *more))


def first_of_cause(rows: Iterable[Signature]) -> list[Signature]:
    """Without those whose cause an earlier one has told of the same thing."""
    return [*{(row.cause, row.about): row for row in reversed([*rows])}.values()][::-1]


def tables(of: Mapping[str, Any]) -> tuple[str, ...]:
    """The tables that judge it."""
    return tuple(of["table"]) if isinstance(of["table"], list) else (of["table"],)


def _tells(row: Signature) -> bool:
    return row.level != "healthy" or row.cause == WELL


def _in_all(rows: Iterable[Signature], text: str, which: str) -> dict[Signature, list[str]]:
    found = {row: [words.group() for words in re.finditer(row.pattern, text, re.MULTILINE)] for row in rows}
    seen = {row: [", ".join(dict.fromkeys(words[:4]))] for row, words in found.items() if words}
    return seen if which == "each" else dict([*seen.items()][:1])


def _named(of: Mapping[str, Any], piece: Piece) -> str:
    found = re.search(of["named"], f"{piece.command}\n{piece.text}", re.MULTILINE) if "named" in of else None
    return plain(next(filter(None, found.groups()), "")) if found else ""


def _silent(of: Mapping[str, Any], read: str) -> Verdict:
    if of.get("silent"):
        return Verdict("healthy", evidence=f"{of['silent']} in {read}")
    return Verdict("unknown", "no-sign", "nothing in it tells whether all is well", "paste all of it")
