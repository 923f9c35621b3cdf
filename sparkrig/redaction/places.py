"""Where secrets stand in a text: behind a name that says so, in whatever structure, or by their own form.

A name is found by its stem, then what follows it is read once, from left to right: a value in quotes, a word, a
list, a dict, a call, the arguments of an option, a block of YAML. What was read is not read again, and what is
looked at before a name has a bound, so that the time grows with the text and no faster.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from string import ascii_letters, digits

from sparkrig.redaction import forms
from sparkrig.redaction.secret_names import is_list, is_phrase, is_sure, names_a_secret

Span = tuple[int, int]

_STEM = re.compile(
    r"(?i)pass|pwd|psk|token|secret|key|auth|cred|cookie|bearer|jwt|phrase|mnemonic|community"
    r"|(?:p(?:at|w|in)|otp)(?![a-z])"
)
_OF_NAMES = ascii_letters + digits + "_.-"
_REST = re.compile(r"[\w.-]{0,64}", re.A)
_LONGEST = 64  # characters of a name on each side of its stem
_BEFORE = 240  # characters that are looked at before a name
_CLOSING = ",;)}]`"  # what ends a word and is not of it
_LINES = 50  # of a list or a block in lines
_ITEMS = 500  # of a list

# A line ends, and the next one begins behind what a journal or docker puts in front of each.
_NEWLINE = r"[ \t]{0,80}\r?\n(?:\S[^\n]{0,100}?(?:\]: | \| ))?"
_QUOTE = r"(?:\\{0,3}[\"'`])"

_ASSIGNED = re.compile(
    rf"(?:{_QUOTE}[\])]?\s{{0,40}}|[\])]?[ \t]{{0,40}})(?P<sign>[?:+!]?={{1,2}}>?|->|:(?!//|:)|%3[aAdD])"
    r"[ \t]{0,80}"
)
_NOTHING = re.compile(rf"(?P<block>[|>][-+0-9]{{0,2}})?[ \t]{{0,9}}(?:#[^\n]{{0,200}})?{_NEWLINE}")
_OPENED = re.compile(r"[bBuUrRfF]{0,2}(\\{0,3})([\"'`])")
_BRACKET = re.compile(r"[A-Za-z_][\w.]{0,60}\((?=[\"'\[({]|\w{1,40}=[\"'])|[\[({]")
_WORD = re.compile(r"[^\s\"'\\]+")
_LINE = re.compile(r"[^\n]*")
_HEADER = re.compile(r"[^\n\"'\\]*")
_BLANK = re.compile(r"[ \t]*")
_STRUCTURED = re.compile(r"[:=\[({]")
# Between an option and its argument: the next item of a list, the next line of one, or a blank.
_THEN = re.compile(
    rf"{_QUOTE}?(?:(?P<list>,)[ \t]{{0,40}}(?![\r\n])"
    rf"|[ \t]{{0,9}},?\\?(?P<lines>{_NEWLINE})[ \t]{{0,80}}(?P<item>-[ \t]{{1,9}})?"
    r"|[ \t]{1,40})"
)
_COMMA = re.compile(r",[ \t]{0,40}")
_OPERATOR = re.compile(r"[|&;<>)\]}#]|-[-\w]")

_PAIR = re.compile(rf"{_QUOTE}\s{{0,40}},\s{{0,40}}")
_SETTER = re.compile(r"(?i)(?:^|[\s;&|\"'])(env|setenv|setx?)(?:[ \t]+-\w+)?[ \t]+[\"']?$")
_BREAK = rf"(?:[ \t]{{1,40}}|{_NEWLINE}[ \t]{{0,40}})"
_BROKEN = re.compile(_BREAK)
_SETTERS = 24  # characters of the longest
_LOGIN = re.compile(rf"(?i)(?:\b(?:login|machine|account|username|user){_BREAK}\S+|\bdefault){_BREAK}$")
_NMCLI = ("nmcli", "wpa_cli", "wifi-sec", "802-")
# `name: HF_TOKEN` and `value: X`, in either order, in one line or two
_IS = rf"{_QUOTE}?[ \t]{{0,40}}[:=][ \t]{{0,40}}"
_VALUE_OF = re.compile(
    rf"(?i){_QUOTE}?[ \t]{{0,40}},?(?:{_NEWLINE})?[ \t]{{0,80}}{_QUOTE}?(?:value|content|data){_IS}"
)
_IS_NAME = re.compile(rf"(?i)(?:name|key|variable){_IS}{_QUOTE}?$")
_VALUE_BEFORE = re.compile(
    rf"(?i)value{_IS}{_QUOTE}?([^\s\"'\\,]{{1,200}}){_QUOTE}?,?(?:{_NEWLINE})?[ \t]{{0,80}}(?:-[ \t]{{1,9}})?"
    rf"{_QUOTE}?[a-z]{{3,8}}{_IS}{_QUOTE}?$"
)
_GAP_OF_TAGS = rf"(?:{_NEWLINE})?[ \t]{{0,80}}"
_ELEMENT = re.compile(
    rf"(?:[\"']?(?:[ \t][^<>\n]{{0,80}})?|</key>{_GAP_OF_TAGS}<string)>{_GAP_OF_TAGS}(?:<!\[CDATA\[)?"
    rf"([^<>\s][^<>\n]{{0,400}}?)(?:\]\]>)?{_GAP_OF_TAGS}</"
)
# In a table, between its lines; of a name that stands in a cell by itself.
_CELL = re.compile(r"[ \t]{0,80}[|│┃][ \t]{0,80}([^\s|│┃][^\n|│┃]{0,400}?)[ \t]{0,80}[|│┃]")

# A line begins, behind a mark of a diff, a list or a comment, or what a journal puts in front.
_BEGINS = re.compile(r"(?:^|\]: | \| )[ \t#;+-]*[\"']?$")
_LIST_ITEM = re.compile(r"-[ \t]+([^\n]*)")
_MAPPED = re.compile(r"[\"']?[\w.-]{1,80}[\"']?:[ \t]+(\S[^\n]*)")
# of cloud-init's chpasswd: `list: |`, and the rows in it
_USER_ROW = re.compile(r"[a-z_][\w.-]{0,31}:(\S*|[ \t]+[|>][-+0-9]{0,2})[ \t]*\r?$")
_FILLER = re.compile(r"(?i)n/?a|none|null|nil|true|false|x|0+|unknown|redacted|not \w+|hidden|not shown")


def spans(text: str) -> list[Span]:
    """Where each secret begins and ends, in order; none overlaps another."""
    found = [each.span(each.re.groups) for pattern in forms.PATTERNS for each in pattern.finditer(text)]
    found += named(text)
    told: list[Span] = []
    for start, end in sorted(found):
        if told and start < told[-1][1]:
            told[-1] = (told[-1][0], max(end, told[-1][1]))
        elif start < end:
            told.append((start, end))
    return told


def named(text: str) -> Iterator[Span]:
    """What follows names of secrets."""
    place = 0
    while stem := _STEM.search(text, place):
        start, end = _name(text, stem.start(), stem.end(), place)
        place = end
        name = text[start:end]
        if names_a_secret(name):
            reader = _Reader(text, start, end, name)
            yield from reader.read()
            place = max(place, reader.place)


def _name(text: str, start: int, end: int, least: int) -> Span:
    """The whole name around a stem."""
    head = text[max(least, start - _LONGEST) : start]
    first = start - (len(head) - len(head.rstrip(_OF_NAMES)))
    if first and text[first - 1] == "\\" and text[first] in "nrt" and first < start:
        first += 1  # a line break as JSON writes it
    rest = _REST.match(text, end)
    last = rest.end() if rest else end
    return first, end + len(text[end:last].rstrip(".-"))


class _Reader:
    """What follows one name. place: up to where it was read."""

    def __init__(self, text: str, start: int, end: int, name: str) -> None:
        self.text, self.start, self.end, self.place = text, start, end, end
        self.name = name.lstrip("-")
        self.is_option = name.startswith("-") and len(self.name) > 1
        self.head = text[max(0, start - _BEFORE) : start]

    def read(self) -> Iterator[Span]:
        """Each value, without those that are none."""
        found = list(self._values())
        if self.name.lower() == "key" and self._is_label(found):
            self.place = self.end  # `key: HF_TOKEN`, and the value comes behind it
            return
        for start, end in found:
            if self._is_value(self.text[start:end]):
                yield start, end

    def _is_label(self, found: list[Span]) -> bool:
        if self.place - self.end > _LONGEST * 2:
            return False
        named = any(names_a_secret(self.text[start:end]) for start, end in found)
        return named or _VALUE_OF.match(self.text, self.place) is not None

    def _values(self) -> Iterator[Span]:
        text, end = self.text, self.end
        if assigned := _ASSIGNED.match(text, end):
            self.place = assigned.end()
            return self._assigned(assigned)
        if self.is_option and (then := _THEN.match(text, end)):
            return self._arguments(then)
        if found := _VALUE_OF.match(text, end):
            self.place = found.end()
            return self._one(found.end())
        in_cell = self.head.rstrip(" \t").endswith(("|", "│", "┃"))
        if found := _ELEMENT.match(text, end) or (_CELL.match(text, end) if in_cell else None):
            self.place = found.end(1)
            return iter([found.span(1)])
        if _IS_NAME.search(self.head[-_LONGEST:]) and (before := _VALUE_BEFORE.search(self.head)):
            first = self.start - len(self.head)
            return iter([(first + before.start(1), first + before.end(1))])
        if self.head[-1:] in ("'", '"') and (pair := _PAIR.match(text, end)):
            return self._pair(pair.end())
        return self._behind_a_blank()

    # --- behind = or :

    def _assigned(self, found: re.Match[str]) -> Iterator[Span]:
        text, at = self.text, found.end()
        if nothing := _NOTHING.match(text, at):
            if found["sign"] == ":":
                yield from self._below(nothing.end(), block=bool(nothing["block"]))
            return
        bare = self.name.lower()
        header = found["sign"] == ":" and bare.endswith(("authorization", "cookie", "cookie2"))
        if header and not _OPENED.match(text, at) and not _BRACKET.match(text, at):
            yield from self._until(_HEADER, at)
            return
        written = found["sign"] == ":" or text[found.start() : found.start() + 1] in (" ", "\t")
        last = self.head.rpartition("\n")[2]
        if written and is_phrase(self.name) and _BEGINS.search(last) and self._is_words(at):
            yield from self._until(_LINE, at)
            return
        yield from self._one(at)
        if is_list(self.name):
            yield from self._more()

    def _is_words(self, at: int) -> bool:
        """Whether a bare value goes on behind a blank."""
        word = _WORD.match(self.text, at)
        return word is not None and not _BRACKET.match(self.text, at) and word[0][-1] not in _CLOSING

    def _until(self, pattern: re.Pattern[str], at: int) -> Iterator[Span]:
        found = pattern.match(self.text, at)
        if found:
            self.place = found.end()
            yield at, at + len(found[0].rstrip())

    def _more(self) -> Iterator[Span]:
        """The other items of a list between commas."""
        while comma := _COMMA.match(self.text, self.place):
            word = _WORD.match(self.text, comma.end())
            if not word or _STRUCTURED.search(word[0]):
                return
            yield from self._one(comma.end())

    # --- one value

    def _one(self, at: int) -> Iterator[Span]:
        """A string in quotes, a list, a dict or a call with all that is in it, or a word."""
        text = self.text
        if opened := _OPENED.match(text, at):
            yield self._quoted(opened)
        elif bracket := _BRACKET.match(text, at):
            yield from self._items(bracket.end())
        elif word := _WORD.match(text, at):
            self.place = word.end()
            yield at, at + len(word[0].rstrip(_CLOSING))

    def _quoted(self, opened: re.Match[str]) -> Span:
        start = opened.end()
        mark = opened[1] + opened[2]
        found = (_ESCAPED if opened[1] else _QUOTED[opened[2]]).match(self.text, start)
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
            if opened := _OPENED.match(text, self.place):
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

    # --- in the lines below

    def _below(self, at: int, *, block: bool) -> Iterator[Span]:
        """A block of YAML, the items of its list, its mapping, or what JSON puts on a line of its own."""
        line = self.head.rpartition("\n")[2]
        base = len(line) - len(line.lstrip(" \t"))
        for number in range(_LINES):
            end = self.text.find("\n", at)
            row = self.text[at : end if end >= 0 else None]
            bare = row.lstrip(" \t")
            start = at + len(row) - len(bare)
            deeper = bool(bare) and start - at > base
            if block and not bare.strip():
                pass  # an empty line ends no block
            elif block:
                if not deeper or bare.startswith("-----BEGIN"):
                    return  # a key as a whole is another kind
                yield from self._until(_LINE, start)
            elif (item := _LIST_ITEM.match(bare)) and start - at >= base and not _MAPPED.match(item[1]):
                yield from self._one(start + item.start(1))
            elif deeper and self.name == "chpasswd" and (user := _USER_ROW.match(bare)):
                yield start + user.start(1), start + user.end(1)
            elif deeper and (mapped := _MAPPED.match(bare)) and is_phrase(self.name):
                yield from self._one(start + mapped.start(1))
            elif number == 0 and bare and (deeper or bare[0] in "\"'[") and not _MAPPED.match(bare):
                yield from self._one(start)
                return
            else:
                return
            ended = _NEXT.match(self.text, at + len(row))
            if not ended:
                return
            at = ended.end()

    # --- behind an option, in a pair, behind a blank

    def _arguments(self, then: re.Match[str]) -> Iterator[Span]:
        """The argument of an option, and those that follow where it takes several."""
        text = self.text
        many = is_list(self.name)
        while then:
            at = then.end()
            opened = _OPENED.match(text, at)
            first = text[opened.end() if opened else at :][:2]
            if _OPERATOR.match(first) or not first.strip():
                return
            yield from self._one(at)
            following = _THEN.match(text, self.place)
            if self.place < at or not many or not following or not self._goes_on(then, following):
                return
            then = following

    def _goes_on(self, then: re.Match[str], following: re.Match[str]) -> bool:
        """Whether the next argument stands behind this one as this one stands behind the option."""
        if then["lines"]:
            alike = bool(following["lines"]) and bool(then["item"]) == bool(following["item"])
            return alike and (bool(then["item"]) or bool(_OPENED.match(self.text, following.end())))
        closed = self.text[self.place - 1] in _CLOSING
        return (
            bool(then["list"]) == bool(following["list"])
            and not following["lines"]
            and (not closed or bool(then["list"]))
        )

    def _pair(self, at: int) -> Iterator[Span]:
        """('api_key', 'X'), where the value is no name of a secret, too."""
        before = self.place
        if self.head[-2:-1] not in ("(", "[") or _BRACKET.match(self.text, at):
            return
        found = list(self._one(at))
        behind = _AFTER_PAIR.match(self.text, self.place)
        if behind and not any(names_a_secret(self.text[start:end]) for start, end in found):
            yield from found
        else:
            self.place = before

    def _behind_a_blank(self) -> Iterator[Span]:
        text = self.text
        blank = _BLANK.match(text, self.end)
        at = blank.end() if blank else self.end
        broken = _BROKEN.match(text, self.end)
        if not broken:
            return
        word = _WORD.match(text, at)
        if word and (_OPERATOR.match(word[0]) or names_a_secret(word[0])):
            return
        line = self.head.rpartition("\n")[2]
        if setter := _SETTER.search(line[-_SETTERS:]):
            if setter[1].lower() == "env" and not _OPENED.match(text, at):
                yield from self._until(_LINE, at)
            elif at > self.end:
                yield from self._one(at)
        elif is_sure(self.name) and _LOGIN.search(self.head):
            yield from self._one(broken.end())
        elif (
            at > self.end and (any(each in line for each in _NMCLI) or self.name.startswith(("wifi-sec.", "802-")))
        ) or (
            at > self.end
            and re.search("(?i)token|pass(?:word|phrase)|secret", self.name)
            and text[at : at + 1] in ("'", '"')
        ):
            yield from self._one(at)

    def _is_value(self, value: str) -> bool:
        """Whether it is a secret, and no filler, no place of one, and no number behind a name of other things."""
        bare = value.strip("\"'`*<>()[]{}.,;:-_ \t")
        if (
            not bare
            or value.startswith(("env:", "file:", "-----BEGIN"))
            or (len(bare) < 40 and _FILLER.fullmatch(bare))
        ):
            return False
        return is_sure(self.name) or not (bare.isdigit() or value.startswith("/"))


_DEPTHS = {"[": 1, "(": 1, "{": 1, "]": -1, ")": -1, "}": -1}
_QUOTED = {mark: re.compile(rf"(?:[^\\\n{mark}]|\\[^\n])*") for mark in "\"'`"}
_ESCAPED = re.compile(r"[^\n]*?(?=\\{1,4}[\"'`]|\n|$)")
# the next line is an item, too
_GAP = re.compile(
    rf"(?:[ \t,]|{_NEWLINE}(?=[ \t]*(?:[\"'\[\](){{}}#-]|[\w./+=-]+[ \t]{{0,9}}[,\])}}:]?[ \t]{{0,9}}(?:\n|$))))*"
)
_ITEM = re.compile(r"(?:[^\s\"'\\,\[\](){}:=]|=(?=[=\s,\])}]|$)|:(?=[^\s\"'\\,\[\](){}]))+")
_NAMES = re.compile(r"[ \t]{0,40}(?::(?!//)|=(?![=\s,\])}])>?)")
_NEXT = re.compile(_NEWLINE)
_AFTER_PAIR = re.compile(r"[\"'`]?\s{0,40}[)\],]")
