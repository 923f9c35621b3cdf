"""Where secrets stand in a text: behind a name that says so, in whatever structure, or by their own form.

A name is found by its stem, then what belongs to it is read once, from left to right: a value (`values`), the
arguments of an option, a block of YAML, a column of a table (`tables`), or what the same mapping has for a value.
What was read is not read again, and what is looked at before a name has a bound, so that the time grows with the
text and no faster.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from string import ascii_letters, digits

from sparkrig.redaction import forms, tables
from sparkrig.redaction.beside import BEGINS, IS, beside, column, siblings
from sparkrig.redaction.secret_names import is_list, is_phrase, is_place, is_sure, names_a_secret
from sparkrig.redaction.values import (
    BRACKET,
    CLOSING,
    LINE,
    NEWLINE,
    OPENED,
    QUOTE,
    QUOTED,
    WORD,
    Values,
    is_value,
)

Span = tuple[int, int]

_STEM = re.compile(
    r"(?i)pass|pwd|psk|token|secret|key|auth|cred|cookie|bearer|jwt|phrase|mnemonic|community|kennwort|contrase"
    r"|(?:p(?:at|w|in)|otp)(?![a-z])"
)
_OF_NAMES = ascii_letters + digits + "_.-"
_REST = re.compile(r"[\w.-]{0,64}", re.A)
_LONGEST = 64  # characters of a name on each side of its stem
_BEFORE = 240  # characters that are looked at before a name
_LINES = 50  # of a list or a block in lines
_DEEP = 1_000_000  # a column that no line has

_ASSIGNED = re.compile(
    rf"(?:{QUOTE}[\])]?\s{{0,40}}|[\])]?[ \t]{{0,40}})"
    r"(?P<sign>[?:+!]?={1,2}>?|->|::(?=[ \t])"
    r"|:[ \t]{0,9}[A-Za-z][\w.?\[\]]{0,40}(?: \| \w{1,20}){0,3}[ \t]{1,9}=(?=[ \t]{1,9}[A-Z\"'])"
    r"|:(?!//|:)|%3[aAdD])[ \t]{0,80}"
)
_NOTHING = re.compile(
    rf"(?:[&!][\w!-]{{1,40}}[ \t]{{0,9}})?(?P<block>[|>][-+0-9]{{0,2}})?[ \t]{{0,9}}(?:#[^\n]{{0,200}})?{NEWLINE}"
)
_BLANK = re.compile(r"[ \t]*")
_STRUCTURED = re.compile(r"[:=\[({]")
# Between an option and its argument: the next item of a list, the next line of one, or a blank.
_THEN = re.compile(
    rf"{QUOTE}?(?:(?P<list>,)[ \t]{{0,40}}(?![\r\n])"
    rf"|[ \t]{{0,9}},?\\?(?P<lines>{NEWLINE})[ \t]{{0,80}}(?P<item>-[ \t]{{1,9}})?"
    r"|[ \t]{1,40})"
)
_COMMA = re.compile(r",[ \t]{0,40}")
_OPERATOR = re.compile(r"[|&;<>)\]}#]|-[-\w]")

_PAIR = re.compile(rf"{QUOTE}\s{{0,40}},\s{{0,40}}")
_AFTER_PAIR = re.compile(r"[\"'`]?\s{0,40}[)\],]")
_SETTER = re.compile(r"(?i)(?:^|[\s;&|\"'])(env|setenv|setx?)(?:[ \t]+-\w+)?[ \t]+[\"']?$")
_BREAK = rf"(?:[ \t]{{1,40}}|{NEWLINE}[ \t]{{0,40}})"
_BROKEN = re.compile(_BREAK)
_SETTERS = 24  # characters of the longest
_LOGIN = re.compile(rf"(?i)(?:\b(?:login|machine|account|username|user){_BREAK}\S+|\bdefault){_BREAK}$")
_NMCLI = ("nmcli", "wpa_cli", "wifi-sec", "802-")
_QUOTABLE = re.compile("(?i)token|pass(?:word|phrase)|secret|psk")
# `name: HF_TOKEN` and `value: X`, or `type: password`, in either order and with others of the mapping between
_IS_LABEL = re.compile(rf"(?i)\b(?:name|key|variable|(?P<of>type|kind)|id|label|field|option){IS}{QUOTE}?$")
_HEREDOC = re.compile(
    r"<<[-~]?[\"']?(\w{1,40})[\"']?\r?\n((?:[^\n]*\n){1,30}?)(?:[^\n]{0,100}[ \t])?\1[ \t]*(?:\r?\n|$)"
)
_SECTION = re.compile(r"(?:^|\]:? | \| )[ \t]*\[{1,2}$")
_LIST_ITEM = re.compile(r"-[ \t]+([^\n]*)")
_MAPPED = re.compile(r"[\"']?([\w.@-]{1,80})[\"']?[ \t]{0,9}(?:=[ \t]{0,9}|:(?:[ \t]+|$))([^\n]*)")
_NEXT = re.compile(NEWLINE)
# of cloud-init's chpasswd: `list: |`, and the rows in it
_USER_ROW = re.compile(r"[a-z_][\w.-]{0,31}:(\S*|[ \t]+[|>][-+0-9]{0,2})[ \t]*\r?$")


def spans(text: str) -> list[Span]:
    """Where each secret begins and ends, in order; none overlaps another."""
    found = [each.span(each.lastindex or 0) for pattern in forms.PATTERNS for each in pattern.finditer(text)]
    found += named(text)
    told: list[Span] = []
    for start, end in sorted(found):
        if told and start < told[-1][1]:
            told[-1] = (told[-1][0], max(end, told[-1][1]))
        elif start < end:
            told.append((start, end))
    return told


def named(text: str) -> Iterator[Span]:
    """What follows names of secrets, and what stands below them in a table."""
    text = _plain(text)
    place = table = 0
    while stem := _STEM.search(text, place):
        start, end = _name(text, stem.start(), stem.end(), place)
        place = end
        name = text[start:end]
        if not names_a_secret(name):
            continue
        if start >= table:
            cells, table = tables.below(text, start)
            yield from (each.span for each in cells if is_value(each.name, text[slice(*each.span)]))
            if cells:
                place = text.find("\n", start)
                continue
        reader = _Reader(text, start, end, name)
        yield from reader.read()
        place = max(place, reader.place)


def _plain(text: str) -> str:
    """The same number of characters, with those of other widths and with accents as ASCII has them."""
    if text.isascii():
        return text
    plain = ((each, unicodedata.normalize("NFKD", each)[0]) for each in set(text) if not each.isascii())
    return text.translate({ord(each): one for each, one in plain if one in f"{_OF_NAMES}:="})


def _name(text: str, start: int, end: int, least: int) -> Span:
    """The whole name around a stem."""
    head = text[max(least, start - _LONGEST) : start]
    first = start - (len(head) - len(head.rstrip(_OF_NAMES)))
    if first and text[first - 1] == "\\" and text[first] in "nrt" and first < start:
        first += 1  # a line break as JSON writes it
    rest = _REST.match(text, end)
    last = rest.end() if rest else end
    return first, end + len(text[end:last].rstrip(".-"))


class _Reader(Values):
    """What belongs to one name."""

    def __init__(self, text: str, start: int, end: int, name: str) -> None:
        super().__init__(text, end)
        self.start, self.end = start, end
        self.name = name.lstrip("-")
        self.is_option = name.startswith("-") and len(self.name) > 1
        self.head = text[max(0, start - _BEFORE) : start]
        self.line = self.head.rpartition("\n")[2]
        self.label = _IS_LABEL.search(self.head[-_LONGEST:])

    def read(self) -> Iterator[Span]:
        """Each value, without those that are none."""
        found = list(self._values())
        if self.name.lower() == "key" and not self.label and self._is_label(found):
            self.place = self.end  # `key: HF_TOKEN`, and the value comes behind it
            return
        # `type: token` is of a secret or of a part of a text, and `keys:` of secrets or of names
        word = (self.label and self.label["of"] and not is_sure(self.name)) or self.name.lower() == "keys"
        for start, end in found:
            value = self.text[start:end]
            if is_value(self.name, value) and (not word or forms.is_telling(value)):
                yield start, end

    def _is_label(self, found: list[Span]) -> bool:
        if self.place - self.end > _LONGEST * 2:
            return False
        return any(names_a_secret(self.text[start:end]) for start, end in found) or any(self._siblings())

    def _values(self) -> Iterator[Span]:
        text, end = self.text, self.end
        if assigned := _ASSIGNED.match(text, end):
            self.place = assigned.end()
            return self._assigned(assigned)
        if self.is_option and (then := _THEN.match(text, end)):
            return self._arguments(then)
        if found := beside(text, end, self.line):
            self.place = found[1]
            return iter([found])
        if self.label:
            return self._siblings()
        if self.head[-1:] in ("'", '"') and (pair := _PAIR.match(text, end)):
            return self._pair(pair.end())
        if text[end : end + 1] == "]" and _SECTION.search(self.line) and (row := _NEXT.match(text, end + 1)):
            return self._below(row.end(), base=-1)
        return self._behind_a_blank()

    # --- behind = or :

    def _assigned(self, found: re.Match[str]) -> Iterator[Span]:
        text, at = self.text, found.end()
        if nothing := _NOTHING.match(text, at):
            if found["sign"] == ":":
                base = len(self.line) - len(self.line.lstrip(" \t"))
                yield from self._below(nothing.end(), base, block=bool(nothing["block"]))
            return
        if document := _HEREDOC.match(text, at):
            self.place = document.end()
            yield document.span(2)
            return
        header = found["sign"] == ":" and self.name.lower().rstrip("23").endswith(("authorization", "cookie"))
        if header and not OPENED.match(text, at) and not BRACKET.match(text, at):
            yield from self.until(QUOTED.get(self.head[-1:], LINE), at)
            return
        written = found["sign"] == ":" or text[found.start() : found.start() + 1] in (" ", "\t")
        if written and is_phrase(self.name) and BEGINS.search(self.line) and self._is_words(at):
            yield from self.until(LINE, at)
            return
        yield from self.one(at)
        if is_list(self.name):
            yield from self._more()

    def _is_words(self, at: int) -> bool:
        """Whether a bare value goes on behind a blank."""
        word = WORD.match(self.text, at)
        return word is not None and not BRACKET.match(self.text, at) and word[0][-1] not in CLOSING

    def _more(self) -> Iterator[Span]:
        """The other items of a list between commas."""
        while comma := _COMMA.match(self.text, self.place):
            word = WORD.match(self.text, comma.end())
            if not word or _STRUCTURED.search(word[0]):
                return
            yield from self.one(comma.end())

    # --- in the same mapping

    def _siblings(self) -> Iterator[Span]:
        """What the mapping or the tag, in which the name stands behind a label, has for a value."""
        label = self.start - (len(self.label[0]) if self.label else 0)
        for found in siblings(self.text, self.start, self.end, label):
            if nothing := _NOTHING.match(self.text, found.end()):
                yield from self._below(
                    nothing.end(), column(self.text, found.start()), block=bool(nothing["block"]), mapping=True
                )
            else:
                yield from self.one(found.end())
        self.place = self.end

    # --- in the lines below

    def _below(self, at: int, base: int, *, block: bool = False, mapping: bool = False) -> Iterator[Span]:
        """A block of YAML, the items of its list, its mapping, or what JSON puts on a line of its own."""
        many = is_list(self.name) and self.name[-1] in "sS"
        mapping = mapping or many or is_phrase(self.name)
        within = base if block else _DEEP  # lines behind that column are of a block
        for number in range(_LINES):
            end = self.text.find("\n", at)
            row = self.text[at : end if end >= 0 else None].rstrip("\r")
            bare = row.lstrip(" \t")
            start = at + len(row) - len(bare)
            deeper = bool(bare.strip()) and start - at > base
            if block and not deeper and bare.strip():
                return
            if start - at > within or (block and not bare.strip()):
                if bare.startswith("-----BEGIN"):
                    return  # a key as a whole is another kind
                yield from self.until(LINE, start)
            elif (item := _LIST_ITEM.match(bare)) and start - at >= base and not _MAPPED.match(item[1]):
                yield from self.one(start + item.start(1))
            elif deeper and self.name == "chpasswd" and (user := _USER_ROW.match(bare)):
                yield start + user.start(1), start + user.end(1)
            elif (
                deeper
                and (mapping or bare.lstrip("\"'").startswith("value"))
                and (found := _MAPPED.match(bare, 2 if many and item else 0))
                and (many or found[2])
            ):
                within = start - at if _NOTHING.match(f"{found[2]}\n") else _DEEP
                if within == _DEEP and not is_place(found[1]):
                    yield from self.one(start + found.start(2))
            elif number == 0 and bare and (deeper or bare[0] in "\"'[") and not _MAPPED.match(bare):
                yield from self.one(start)
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
            opened = OPENED.match(text, at)
            first = text[opened.end() if opened else at :][:2]
            if _OPERATOR.match(first) or not first.strip():
                return
            yield from self.one(at)
            following = _THEN.match(text, self.place)
            if self.place < at or not many or not following or not self._goes_on(then, following):
                return
            then = following

    def _goes_on(self, then: re.Match[str], following: re.Match[str]) -> bool:
        """Whether the next argument stands behind this one as this one stands behind the option."""
        if then["lines"]:
            alike = bool(following["lines"]) and bool(then["item"]) == bool(following["item"])
            return alike and (bool(then["item"]) or bool(OPENED.match(self.text, following.end())))
        closed = self.text[self.place - 1] in CLOSING
        return (
            bool(then["list"]) == bool(following["list"])
            and not following["lines"]
            and (not closed or bool(then["list"]))
        )

    def _pair(self, at: int) -> Iterator[Span]:
        """('api_key', 'X'), where the value is no name of a secret, too."""
        before = self.place
        if self.head[:-1].rstrip(" \t")[-1:] not in ("(", "[") or BRACKET.match(self.text, at):
            return
        found = list(self.one(at))
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
        word = WORD.match(text, at)
        if word and (_OPERATOR.match(word[0]) or names_a_secret(word[0])):
            return
        line = self.head.rpartition("\n")[2]
        if setter := _SETTER.search(line[-_SETTERS:]):
            if setter[1].lower() == "env" and not OPENED.match(text, at):
                yield from self.until(LINE, at)
            elif at > self.end:
                yield from self.one(at)
        elif is_sure(self.name) and _LOGIN.search(self.head):
            yield from self.one(broken.end())
        elif (
            at > self.end and (any(each in line for each in _NMCLI) or self.name.startswith(("wifi-sec.", "802-")))
        ) or (at > self.end and _QUOTABLE.search(self.name) and text[at : at + 1] in ("'", '"')):
            yield from self.one(at)
