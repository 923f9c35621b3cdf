"""The signs of errors in a paste that no reader took: what is not read is not passed over."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache

from sparkrig.explain.by_line import note, verdict
from sparkrig.explain.explanation import Explained, Piece, line_numbers
from sparkrig.signatures import Signature, table
from sparkrig.verdict import Finding, Verdict

# A line that has signs of several counts for the first. Of tools whose own lines a reader knows, most words may be
# anybody's, so the rows that say what they are about.
TABLES = ("kernel", "serving", "nccl", "another host", "ping", "any program", "perftest", "nvidia-smi")
_OWN_WORDS = ("ping", "perftest", "nvidia-smi")
_MOST = 8
_BEGIN = "traceback"  # of what ends with a line that says more, where that is known
_LINE = 4_000  # characters; a longer line is no program's message


# it keeps memory for a kexec handover, which the NIC cannot register [@forum-383254]
_KHO = re.compile(r"(?<![\w.-])7\.0\.\d{1,3}-\d{1,5}-nvidia")


def explained(text: str, readers: Mapping[int, tuple[Piece, Explained]]) -> tuple[Explained | None, set[int]]:
    """The signs that no reader took, None where there are none, and the numbers of all lines that have a sign.

    readers: by the number of a line, who read it, and what it said.
    """
    bounded = "\n".join(line[:_LINE] for line in text.split("\n"))
    signs = _signs(bounded)
    left: dict[Signature, list[str]] = {}
    for number, (row, words) in sorted(signs.items()):
        if not (number in readers and _judged(row, words, *readers[number])):
            left.setdefault(row, []).append(words)
    notes = tuple(note(row) for row in left if row.level == "healthy")
    left = {row: words for row, words in left.items() if row.level != "healthy"}
    known = any(not finding.verdict.healthy for _, said in readers.values() for finding in said.findings)
    left = {row: words for row, words in left.items() if row.cause != _BEGIN or not (known or len(left) > 1)}
    findings = tuple(
        Finding(row.about or "the text", _with_kernel(verdict(row, words), text))
        for row, words in [*left.items()][:_MOST]
    )
    elsewhere = Explained("elsewhere in the text", "", findings, notes) if findings or notes else None
    return elsewhere, {*signs}


def _with_kernel(one: Verdict, text: str) -> Verdict:
    kernel = _KHO.search(text) if one.cause == "memory-registration" else None
    if not kernel:
        return one
    return replace(one, evidence=f"{one.evidence}; the text names kernel {kernel[0]}, whose KHO does that")


def _judged(row: Signature, words: str, piece: Piece, said: Explained) -> bool:
    """Whether a reader knows the sign, and did not say that all is well."""
    rows = [each for name in (piece.reader.judges if piece.reader else ()) for each in table(name)]
    well = row.level != "healthy" and all(finding.verdict.healthy for finding in said.findings)
    return not well and (row in rows or any(signature.pattern and signature.search(words) for signature in rows))


def _signs(text: str) -> dict[int, tuple[Signature, str]]:
    """The first sign of each line that has one, with that line."""
    lines, number_at = text.split("\n"), line_numbers(text)
    signs: dict[int, tuple[Signature, str]] = {}
    for row, words in _patterns():
        for found in words.finditer(text):
            number = number_at(found.start())
            if found.group() and number not in signs:
                signs[number] = (row, lines[number].strip())
    return signs


@cache
def _patterns() -> tuple[tuple[Signature, re.Pattern[str]], ...]:
    return tuple(_each())


def _each() -> Iterator[tuple[Signature, re.Pattern[str]]]:
    for name in TABLES:
        for row in table(name):
            if not row.warns and (row.about or name not in _OWN_WORDS):
                yield row, re.compile(row.pattern, re.MULTILINE)
