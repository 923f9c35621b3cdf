"""The signs of errors in a paste that no reader took: what is not read is not passed over."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from functools import cache

from sparkrig.explain.explanation import Explained, Piece
from sparkrig.explain.kernel import verdict
from sparkrig.signatures import Signature, table
from sparkrig.verdict import Finding

# A line that has signs of several counts for the first. Of perftest, whose own lines its reader knows, most words
# may be anybody's, so the rows that say what they are about.
TABLES = ("kernel", "serving", "nccl", "any program", "perftest")
_MOST = 8
_BEGIN = "traceback"  # of what ends with a line that says more, where that is known
_LINE = 4_000  # characters; a longer line is no program's message


def explained(text: str, readers: Mapping[int, tuple[Piece, Explained]]) -> Explained | None:
    """The signs that no reader took; None where there are none.

    readers: by the number of a line, who read it, and what it said.
    """
    bounded = "\n".join(line[:_LINE] for line in text.split("\n"))
    left: dict[Signature, list[str]] = {}
    for number, (row, words) in sorted(_signs(bounded).items()):
        if row.level != "healthy" and not (number in readers and _judged(row, words, *readers[number])):
            left.setdefault(row, []).append(words)
    known = any(not each.verdict.healthy for _, said in readers.values() for each in said.findings)
    left = {row: words for row, words in left.items() if row.cause != _BEGIN or not (known or len(left) > 1)}
    findings = tuple(Finding(row.about or "a line", verdict(row, words)) for row, words in [*left.items()][:_MOST])
    return Explained("elsewhere in the text", "", findings) if findings else None


def _judged(row: Signature, words: str, piece: Piece, said: Explained) -> bool:
    """Whether a reader knows the sign, and did not say that all is well."""
    knows = piece.reader.judges if piece.reader else ()
    return any(not each.verdict.healthy for each in said.findings) and any(
        row in table(name) or any(one.search(words) for one in table(name)) for name in knows
    )


def _signs(text: str) -> dict[int, tuple[Signature, str]]:
    """The first sign of each line that has one, with its words."""
    starts = [0, *(found.end() for found in re.finditer("\n", text))]
    signs: dict[int, tuple[Signature, str]] = {}
    for row, words in _patterns():
        for found in words.finditer(text):
            if found.group():
                signs.setdefault(bisect_right(starts, found.start()) - 1, (row, found.group()))
    return signs


@cache
def _patterns() -> tuple[tuple[Signature, re.Pattern[str]], ...]:
    return tuple(_each())


def _each() -> Iterator[tuple[Signature, re.Pattern[str]]]:
    for name in TABLES:
        for row in table(name):
            if not row.warns and (row.about or name != "perftest"):
                yield row, re.compile(row.pattern, re.MULTILINE)
