"""The signs of errors in a paste that no reader took: what is not read is not passed over."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import cache

from sparkrig.explain.by_line import VAGUE, WELL, first_of_cause, note, verdict
from sparkrig.explain.explanation import Explained, Piece, line_numbers
from sparkrig.signatures import Signature, table
from sparkrig.verdict import Finding, Verdict

# A line that has signs of several counts for the first. Of tools whose own lines a reader knows, most words may be
# anybody's, so the rows that say what they are about.
_OWN_WORDS = ("ping", "perftest", "nvidia-smi")
TABLES = ("kernel", "serving", "nccl", "another host", "any program", "state", *_OWN_WORDS, "anything")
_MOST = 8
_NOT_JUDGED = VAGUE[-2:]  # words that anybody uses, so a reader that took their line knows better
_LINE = 4_000  # characters; a longer line is no program's message


# it keeps memory for a kexec handover, which the NIC cannot register [@forum-383254]
_KHO = re.compile(r"(?<![\w.-])7\.0\.\d{1,3}-\d{1,5}-nvidia")


def explained(
    text: str, readers: Mapping[int, tuple[Piece, Explained]], unread: Collection[int]
) -> tuple[Explained | None, set[int]]:
    """The signs that no reader took, None where there are none, and the numbers of all lines with a known sign.

    readers: by the number of a line, who read it, and what it said; unread: the lines that nothing read.
    """
    bounded = "\n".join(line[:_LINE] for line in text.split("\n"))
    signs = {
        number: sign
        for number, sign in sorted(_signs(bounded).items())
        if sign[0].cause not in _NOT_JUDGED or number in unread
    }
    left: dict[Signature, list[str]] = {}
    for number, (row, words) in signs.items():
        if not (number in readers and _judged(row, words, *readers[number])):
            left.setdefault(row, []).append(words)
    well = [row for row in left if row.level == "healthy"]
    outputs = {id(said): said for _, said in readers.values()}.values()  # each stands behind all of its lines
    told = {finding.verdict.cause for said in outputs for finding in said.findings}
    rows = [row for row in _telling(left, known=bool(told - {""})) if row.cause not in told][:_MOST]
    findings = [Finding(row.about or "a program", _with_kernel(verdict(row, left[row]), text)) for row in rows]
    if not readers and not findings:
        findings, well = [Finding(row.about, _in_order(row, left[row])) for row in well], []
    elsewhere = Explained("elsewhere in the text", "", tuple(findings), tuple(map(note, well)))
    known = {number for number, (row, _) in signs.items() if row.cause not in _NOT_JUDGED}
    return (elsewhere if findings or well else None), known


def _in_order(row: Signature, lines: list[str]) -> Verdict:
    return verdict(row, lines) if row.cause == WELL else Verdict("healthy", evidence=note(row))


def _telling(left: Collection[Signature], *, known: bool) -> Iterator[Signature]:
    """Of the rows of one cause the first of the table, and what is vague only where nothing else is known."""
    rows = first_of_cause(row for row, _ in _patterns() if row in left and row.level != "healthy")
    clear = [row for row in rows if row.cause not in VAGUE]
    yield from clear
    if not (clear or known):
        yield from sorted(rows, key=lambda row: VAGUE.index(row.cause))[:1]


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
    return tuple(sorted(_each(), key=lambda each: each[0].cause in VAGUE))


def _each() -> Iterator[tuple[Signature, re.Pattern[str]]]:
    for name in TABLES:
        for row in table(name):
            if not row.warns and (row.about or name not in _OWN_WORDS):
                yield row, re.compile(row.pattern, re.MULTILINE)
