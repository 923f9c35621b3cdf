"""How one value is written: in quotes of any kind, as a word, or in a list, a dict or a call."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sparkrig.redaction.secret_names import is_sure

Span = tuple[int, int]

# A line ends, and the next one begins behind what a journal or docker puts in front of each.
NEWLINE = r"[ \t]{0,80}\r?\n(?:\S[^\n]{0,100}?(?:\]: | \| ))?"
FRONT = r"\S[^\n]{0,100}?(?:\]:? | \| )"  # the same, and what a server puts there
QUOTE = r"(?:\\{0,3}[\"'`])"
OPENED = re.compile(r"[bBuUrRfF]{0,2}(\\{0,3})([\"'`])")
BRACKET = re.compile(r"[A-Z]\w{0,60} ?\{(?=\s)|[A-Za-z_][\w.]{0,60}\((?=[\"'\[({]|\w{1,40}=[\"'])|[\[({]")
WORD = re.compile(r"[^\s\"'\\]+")
LINE = re.compile(r"[^\n]*")
CLOSING = ",;)}]`"  # what ends a word and is not of it
QUOTED = {mark: re.compile(rf"(?:[^\\\n{mark}]|\\[^\n])*") for mark in "\"'`"}

_ESCAPED = re.compile(r"[^\n]*?(?=\\{1,4}[\"'`]|\n|$)")
_TAGS = re.compile(r"(?:[&!][\w!/:.-]{0,60}[ \t]{1,9}){1,2}(?=\S)")  # of YAML: !unsafe, &anchor
_ITEMS = 500  # of a list
_TRIPLE = 2000  # characters within three quotes
_DEPTHS = {"[": 1, "(": 1, "{": 1, "]": -1, ")": -1, "}": -1}
# the next line is an item, too
_GAP = re.compile(
    rf"(?:[ \t,]|{NEWLINE}(?=[ \t]*(?:[\"'\[\](){{}}#-]|[\w./+=-]+[ \t]{{0,9}}[,\])}}:]?[ \t]{{0,9}}(?:\n|$))))*"
)
_ITEM = re.compile(r"(?:[^\s\"'\\,\[\](){}:=]|=(?=[=\s,\])}]|$)|:(?=[^\s\"'\\,\[\](){}]))+")
_NAMES = re.compile(r"[ \t]{0,40}(?::(?!//)|=(?![=\s,\])}])>?)")
_FILLER = re.compile(
    r"(?i)n/?a|none|null|nil|true|false|yes|no|on|off|x|0+|unknown|redacted|not \w+|hidden|not shown"
)


def is_value(name: str, value: str) -> bool:
    """Whether it is a secret, and no filler, no place of one, and no number behind a name of other things."""
    bare = value.strip("\"'`*<>()[]{}.,;:-_| \t")
    if (
        not bare
        or value.startswith(("env:", "file:", "-----BEGIN"))
        or (len(bare) < 40 and _FILLER.fullmatch(bare))
    ):
        return False
    return is_sure(name) or not (bare.replace(".", "").isdigit() or value.startswith(("/", "~/", "./")))


class Values:
    """Reads values in a text. place: up to where it was read."""

    def __init__(self, text: str, place: int) -> None:
        self.text, self.place = text, place

    def one(self, at: int) -> Iterator[Span]:
        """A string in quotes, a list, a dict or a call with all that is in it, or a word."""
        text = self.text
        if tags := _TAGS.match(text, at):
            at = tags.end()
        if text.startswith(('"""', "'''"), at) and (end := text.find(text[at : at + 3], at + 3, at + _TRIPLE)) > 0:
            self.place = end + 3
            yield at + 3, end
        elif opened := OPENED.match(text, at):
            yield self._quoted(opened)
        elif bracket := BRACKET.match(text, at):
            yield from self._items(bracket.end())
        elif word := WORD.match(text, at):
            self.place = word.end()
            yield at, at + len(word[0].rstrip(CLOSING))

    def until(self, pattern: re.Pattern[str], at: int) -> Iterator[Span]:
        """All that a pattern takes, without blanks at its end."""
        if found := pattern.match(self.text, at):
            self.place = found.end()
            yield at, at + len(found[0].rstrip())

    def _quoted(self, opened: re.Match[str]) -> Span:
        start = opened.end()
        mark = opened[1] + opened[2]
        found = (_ESCAPED if opened[1] else QUOTED[opened[2]]).match(self.text, start)
        end = found.end() if found else start
        self.place = end + len(mark) if self.text.startswith(mark, end) else end
        return start, end

    def _items(self, at: int) -> Iterator[Span]:
        """All that stands within brackets, but for the names of a dict. A line of another kind ends it."""
        text, depth = self.text, 1
        self.place = at
        for _ in range(_ITEMS):
            gap = _GAP.match(text, self.place)
            self.place = gap.end() if gap else self.place
            if opened := OPENED.match(text, self.place):
                span = self._quoted(opened)
            elif (mark := text[self.place : self.place + 1]) in _DEPTHS:
                self.place += 1
                depth += _DEPTHS[mark]
                if not depth:
                    return
                continue
            elif word := _ITEM.match(text, self.place):
                self.place = word.end()
                span = word.span()
            else:
                return
            if named := _NAMES.match(text, self.place):
                self.place = named.end()
            else:
                yield span
