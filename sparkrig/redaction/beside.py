"""What belongs to a name by where it stands: the next cell, element or field, and the mapping around it."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from itertools import islice

from sparkrig.redaction.values import FRONT, NEWLINE, QUOTE

Span = tuple[int, int]

IS = rf"{QUOTE}?[ \t]{{0,40}}[:=][ \t]{{0,40}}"
_IS_VALUE = re.compile(rf"(?i)(?<![\w.-]){QUOTE}?(?:value|content|default|(?:string)?data){IS}")
_VALUES = re.compile("(?i)value|content|default|data")
_EDGE = re.compile(r"[{}<>]|\n[ \t\r]*\n|(?:^|\n|\]:? | \| )[ \t]{0,80}-(?:--|[ \t])")
_AROUND = 240  # characters that are looked at on each side of a label
_CLOSES = {"{": "}", "<": ">"}
# the value of a field of a form, as multipart/form-data has it
_FIELD = re.compile(
    rf"\"?[^\n]{{0,200}}{NEWLINE}(?:[ \t]{{0,20}}[A-Za-z-]{{1,40}}:[^\n]{{0,200}}{NEWLINE}){{0,4}}{NEWLINE}"
    r"[ \t]{0,20}([^\n\r]+)"
)
_TELLING = r"(?=[a-zA-Z_-]{0,99}\d)(?=[\d_-]{0,99}[a-zA-Z])"
_GAP_OF_TAGS = rf"(?:{NEWLINE})?[ \t]{{0,80}}"
_ELEMENT = re.compile(
    rf"(?:[\"']?(?:[ \t][^<>\n]{{0,80}})?|</\w{{1,20}}>{_GAP_OF_TAGS}<\w[^<>\n]{{0,80}})>{_GAP_OF_TAGS}"
    rf"(?:<!\[CDATA\[)?([^<>\s][^<>\n]{{0,400}}?)(?:\]\]>)?{_GAP_OF_TAGS}</"
)
# Of a table without a header: a name that stands in a cell by itself, and the next cell of its row.
_CELL = re.compile(r"[ \t]{0,80}[|│┃][ \t]{0,80}([^\s|│┃][^\n|│┃]{0,400}?)[ \t]{0,80}[|│┃]")
_NEXT_CELL = re.compile(rf"[\"']?(?:[,;\t]|[ \t]{{2,40}})[\"']?({_TELLING}[^\s,;\"']{{8,200}})")
# What a path of a URL has behind the name of a secret.
_IN_URL = re.compile(r"://[^\s\"']{1,200}/$")
_SEGMENT = re.compile(rf"/({_TELLING}[\w.~+=-]{{8,200}})")

# A line begins, behind a mark of a diff, a list or a comment, or what a journal puts in front.
BEGINS = re.compile(r"(?:^|\]:? | \| )[ \t#;+-]*[\"']?$")
_FRONT = re.compile(FRONT)


def beside(text: str, end: int, line: str) -> Span | None:
    """Where the value stands, that is next to a name which ends at that place; line: what is before it there."""
    found = _ELEMENT.match(text, end)
    if not found and line.rstrip(" \t").endswith(("|", "│", "┃")):
        found = _CELL.match(text, end)
    if not found and "form-data" in line:
        found = _FIELD.match(text, end)
    if not found and BEGINS.search(line):
        found = _NEXT_CELL.match(text, end)
    if not found and _IN_URL.search(line):
        found = _SEGMENT.match(text, end)
    return found.span(1) if found else None


def column(text: str, at: int) -> int:
    """The column of a name, with or without a quote before it."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    front = _FRONT.match(line)
    return len(line) - (front.end() if front else 0) + (text[at : at + 1] in ("'", '"'))


def siblings(text: str, start: int, end: int, label: int) -> Iterator[re.Match[str]]:
    """Where the mapping or the tag of a name, whose label begins at that place, has a value: the nearest ones."""
    if not _VALUES.search(text, max(0, start - _AROUND), end + _AROUND):
        return
    first, last, is_open = _mapping(text, start, end)
    before = deque(_IS_VALUE.finditer(text, first, start), maxlen=1)
    for found in (*before, *islice(_IS_VALUE.finditer(text, end, last), 2)):
        if is_open or column(text, found.start()) >= column(text, label):  # else it is of another mapping
            yield found


def _mapping(text: str, start: int, end: int) -> tuple[int, int, bool]:
    """Where the mapping begins and ends that a place is in, and whether there are brackets around it."""
    first, most = max(0, start - _AROUND), min(len(text), end + _AROUND)
    opened: list[re.Match[str]] = []
    for edge in _EDGE.finditer(text, first, start):
        if edge[0] in _CLOSES:
            opened.append(edge)
        elif opened and edge[0] == _CLOSES[opened[-1][0]]:
            opened.pop()
        elif not opened and edge[0] not in _CLOSES.values():
            first = edge.end()
    inner = opened[-1][0] if opened else ""
    depth = 0
    for edge in _EDGE.finditer(text, end, most):
        depth += (edge[0] == "{") - (edge[0] == "}")
        if depth < 0 or (inner == "<" and edge[0] == ">") or (not inner and edge[0] not in "{}<>"):
            most = edge.start()
            break
    return opened[-1].end() if opened else first, most, bool(opened)
