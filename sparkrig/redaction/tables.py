"""Secrets in a table: what stands below the name of one, in each row that has as many cells as the header."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from sparkrig.redaction.forms import is_telling
from sparkrig.redaction.secret_names import names_a_secret
from sparkrig.redaction.values import FRONT

Span = tuple[int, int]

_WIDEST = 2000  # characters of a line
_FRONT = re.compile(FRONT)
_HEADING = re.compile(r"[A-Za-z#*][\w.*/-]{0,60}(?: [\w.()*/-]{1,30}){0,3}")
_RULE = re.compile(rf"(?:{FRONT}[|+:=\u2500-\u257f -]{{0,9}}(?=[-=\u2500]{{3}}))?[\s|+:=\u2500-\u257f-]{{3,}}")
_AROUND = " \t\r\"'`"
_EDGES = " \t\r|│┃"
# A row is split at one of these. Only what a line of rules sets apart is a table of bars, for each row may as well
# have a name and its value; and in columns of blanks, only what is no word is a secret.
_BARS = re.compile(r"([^|│┃]+)")
_BLANKS = re.compile(r"(\S+(?: \S+)*)")
_COMMAS = tuple(re.compile(rf'(?:^|{sign})("(?:[^"]|"")*"|[^{sign}]*)') for sign in ("\t", ";", ",", r"\|"))
_SPACED = re.compile(r", | \|")
_PARTED = re.compile(r"[\t;,|│┃]|  ")
_SPLITS = (_BARS, *_COMMAS, _BLANKS)


class Cell(NamedTuple):
    """What stands below a name."""

    name: str
    span: Span


def below(text: str, at: int) -> tuple[list[Cell], int]:
    """The cells below names of secrets, where the line at that place is a header, and where the table ends."""
    start = text.rfind("\n", 0, at) + 1
    line = _line(text, start)
    end = start + len(line)
    for split in _SPLITS if len(line) < _WIDEST and _PARTED.search(line) else ():
        for cells in _rows(split, line):
            names = [line[first:last] for first, last in cells]
            if _is_header(split, names, line[cells[0][0] :] if cells else "", _line(text, end + 1)):
                return _read(text, end + 1, split, names)
    return [], end


def _line(text: str, start: int) -> str:
    end = text.find("\n", start)
    return text[start : end if end >= 0 else len(text)]


def _rows(split: re.Pattern[str], line: str) -> Iterator[list[Span]]:
    """Where each cell is, without quotes and blanks around it; then the same without what a journal has before."""
    front = _FRONT.match(line)
    for skipped in (0, *([front.end()] if front else [])):
        rest = line[skipped:]
        if split not in _COMMAS:
            rest = rest.lstrip(_EDGES)
        first = len(line) - len(rest)
        rest = rest.rstrip(_EDGES if split not in _COMMAS else "\r")
        yield [_bare(line, first + each.start(1), first + each.end(1)) for each in split.finditer(rest)]


def _bare(line: str, start: int, end: int) -> Span:
    written = line[start:end]
    start += len(written) - len(written.lstrip(_AROUND))
    return start, start + len(written.strip(_AROUND))


def _is_heading(name: str) -> bool:
    return bool(_HEADING.fullmatch(name)) and (not is_telling(name) or names_a_secret(name))


def _is_header(split: re.Pattern[str], names: list[str], line: str, following: str) -> bool:
    """Whether a line of words is one, and no sentence and no row."""
    headings = [name for name in names if name]
    if len(headings) < 2 or not all(map(_is_heading, headings)):
        return False
    if split is _BARS:
        return _RULE.fullmatch(following) is not None
    return split is _BLANKS or _SPACED.search(line) is None


def _read(text: str, at: int, split: re.Pattern[str], names: list[str]) -> tuple[list[Cell], int]:
    """All rows, up to a line of another form."""
    which = [place for place, name in enumerate(names) if names_a_secret(name)]
    if split not in _COMMAS or "value" in map(str.lower, names):  # a key is rather a name than a secret
        which = [place for place in which if names[place].lower() != "key"]
    found: list[Cell] = []
    while at < len(text):
        line = _line(text, at)
        if not _RULE.fullmatch(line):
            rows = _rows(split, line) if len(line) < _WIDEST else iter(())
            cells = next((row for row in rows if len(row) == len(names)), None)
            if cells is None:
                break
            for name, (start, end) in ((names[place], cells[place]) for place in which):
                value = line[start:end]
                if value != name and ((split is not _BLANKS and name.lower() != "key") or is_telling(value)):
                    found.append(Cell(name, (at + start, at + end)))
        at += len(line) + 1
    return found, at
