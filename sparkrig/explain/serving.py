"""The log of a served model: vLLM, SGLang, llama.cpp and Ray, by the signs that `sparkrig startup` knows."""

from __future__ import annotations

from collections.abc import Iterator

from sparkrig.explain.by_line import VAGUE
from sparkrig.explain.explanation import Around, Explained, Piece
from sparkrig.signatures import Signature, first_line, table
from sparkrig.verdict import Finding, Verdict

_TABLES = ("serving", "nccl", "any program")


def explained(piece: Piece, _: Around) -> Explained:
    lines = [line for line in piece.lines if line.strip()]
    read = f"{len(lines)} line{'' if len(lines) == 1 else 's'}"
    return Explained(piece.tool, read, (Finding("the server", _judged(lines)),))


def _judged(lines: list[str]) -> Verdict:
    from sparkrig.serving.startup import has_ended  # with pydantic, half a second that no other paste needs
    from sparkrig.serving.trouble import short

    up = any(has_ended("api", line) for line in lines)
    if found := first_line(_signs(warnings=not up), lines):
        row, line = found
        return Verdict(row.level, row.cause, f"{row.meaning}: {short(line)}", row.pasted_cure)
    if up:
        return Verdict("healthy", evidence="its API came up, and no sign of trouble is in the log")
    why = "no sign of trouble that is known is in the log, nor that its API came up"
    return Verdict("unknown", "no-sign", why, "paste its end, from the first error on")


def _signs(*, warnings: bool) -> Iterator[Signature]:
    """What explains most comes first; warnings: whether those count, too, which a model can survive."""
    rows = [row for name in _TABLES for row in table(name) if row.level != "healthy"]
    rows.sort(key=lambda row: row.cause in VAGUE)
    yield from (row for row in rows if not row.warns)
    yield from (row for row in rows if row.warns and warnings)
