"""A text at work, and how values are written in one."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from unicodedata import normalize
from urllib.parse import quote

from sparkrig.parsing import section
from sparkrig.redaction.words import Words, alone

# One character stands for each value that was replaced, so that no later kind reads a pseudonym.
_FIRST, _LAST = 0xF0000, 0x10FFFD
MARK = f"[{chr(_FIRST)}-{chr(_LAST)}]"
NO_HEX_RIGHT = r"(?![0-9A-Fa-f])"
# What a hardware address or an identifier of 64 bits or more has: six groups of hex digits.
_BETWEEN = r"(?:\\+[xX](?:3[aA]|2[dD])|%(?:3[aA]|2[dD])|,? ?0[xX]|\\[xX]|[^0-9A-Za-z\n]{0,2})"
HEXADECIMAL = re.compile(
    r"[0-9A-Fa-f](?:[0-9A-Fa-f]?:[0-9A-Fa-f]{1,2}(?::[0-9A-Fa-f]{1,2}){4}"
    rf"|[0-9A-Fa-f](?:{_BETWEEN}[0-9A-Fa-f]{{2}}){{5}})"
)
# The first hex digit of several. A pattern that begins with a class of characters is looked for at these alone, so
# what must not stand before it comes behind it.
HEX = r"[0-9A-Fa-f](?<![0-9A-Fa-f].)"
QUOTE = r"(?:\\{0,3}[\"'])?"
INNER = MARK[1:-1]  # the same within the brackets of a class
# A name of a machine; with bounds, so that a long line of anything takes no time.
LABEL = r"[^\W_](?:[\w-]{0,61}[^\W_])?"
NAME = rf"{LABEL}(?:\.{LABEL}){{0,8}}"
# A message begins: a line, behind what a journal puts in front of it.
START = r"(?m:^|(?<=\]: ))[ \t|]*"
BEGIN = r"(?m:^|(?<=\]: )|(?<=\"))[ \t|]*"  # or a string of JSON
# What stands in quotes; an apostrophe within a word does not end it.
QUOTED = r"""(?:"(?:[^"\\\n]|\\.){1,400}"|'(?:[^'\n]|'(?=\w)){1,400}')"""
EMPTY = re.compile(
    r"(?i)\W*(?:n/?a|none|null|true|false|x|0+|unknown|redacted|not \w+|<hidden>|\(not shown\))?\W*"
)

Replace = Callable[[re.Match[str]], str | None]
Fits = Callable[[str, int, int], bool]


class Sheet:
    """A text at work: what is replaced stands as one character each until the end."""

    def __init__(self, text: str, put: list[str] | None = None) -> None:
        self.text = text
        self.put: list[str] = [] if put is None else put

    def sub(self, pattern: re.Pattern[str], replace: Replace, group: int | str = 0) -> None:
        """Replace that group of each match by what `replace` returns; None leaves the match as it is."""
        found = ((*each.span(group), replace(each)) for each in pattern.finditer(self.text))
        self.put_each((start, end, new) for start, end, new in found if start >= 0)

    def within(self, region: re.Pattern[str], pattern: re.Pattern[str], replace: Replace) -> None:
        """The same in a region's last group that took part alone; `pattern` has the value in its last group."""

        def inside(start: int, end: int) -> str:
            part = Sheet(self.text[start:end], self.put)
            part.sub(pattern, replace, pattern.groups)
            return part.text

        spans = (each.span(each.lastindex or 0) for each in region.finditer(self.text))
        self._put((start, end, inside(start, end)) for start, end in spans)

    def in_lines(self, sign: re.Pattern[str], work: Callable[[Sheet], None]) -> None:
        """Do some work in the lines alone that have a sign. None of it may match or put a line break."""
        lines = self.text.split("\n")
        which = [number for number, line in enumerate(lines) if sign.search(line)]
        part = Sheet("\n".join(lines[number] for number in which), self.put)
        work(part)
        for number, line in zip(which, part.text.split("\n"), strict=False):
            lines[number] = line
        self.text = "\n".join(lines)

    def known(self, words: Words, replace: Callable[[str], str | None], fits: Fits = alone) -> None:
        """Replace each known word by what `replace` returns."""
        self.put_at(words.spans(self.text, fits), replace)

    def put_at(self, spans: Iterable[tuple[int, int]], replace: Callable[[str], str | None]) -> None:
        """Replace what stands at those places, which are in order, by what `replace` returns, as `sub` does."""
        self.put_each((start, end, replace(self.text[start:end])) for start, end in spans)

    def put_each(self, given: Iterable[tuple[int, int, str | None]]) -> None:
        """Replace what stands from each start to its end by a text; None leaves it as it is."""
        self._put((start, end, self._mark(new)) for start, end, new in given if new is not None)

    def _put(self, given: Iterable[tuple[int, int, str]]) -> None:
        """Put each text in the place of what stands from its start to its end."""
        kept: list[str] = []
        place = 0
        for start, end, new in given:
            kept += [self.text[place:start], new]
            place = end
        if kept:
            self.text = "".join([*kept, self.text[place:]])

    def _mark(self, new: str) -> str:
        self.put.append(new)
        code = _FIRST + len(self.put) - 1
        if code > _LAST:
            raise ValueError("a text has more identifiers than can be told apart")
        return chr(code)

    def whole(self) -> str:
        text = self.text
        while re.search(MARK, text):  # a pseudonym may hold an earlier one: a key with its comment
            text = re.sub(MARK, lambda found: self.put[ord(found[0]) - _FIRST], text)
        return text


# --- made plain

_NUL = re.compile(r"\0|(?<!\\)\\u0000")
_CONTROL = re.compile(
    r"(?<!\\)\\u001b\[[0-9;?]*[ -/]*[@-~]|(?<!\\)\\u00(?:0[0-8bce-f]|1[0-9a-f]|7f)"
    r"|[\x80-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ue000-\uf8ff]|\\u[dD][bB][89a-fA-F][0-9a-fA-F]"
)
_MARKS = re.compile(rf"[{chr(_FIRST)}-\U0010ffff]")


def clean(text: str) -> str:
    """The text with lines that end in LF, and without control sequences, also as JSON writes them.

    A NUL becomes a blank: it parts the words of a command line, and an option from its secret.
    """
    return _MARKS.sub("", _plain(text))


def _plain(text: str) -> str:
    return normalize("NFC", _CONTROL.sub("", section.without_control(_NUL.sub(" ", text))))


def squashed(text: str) -> str:
    return re.sub(r"[^0-9a-z]", "", text.lower())


def hex_digits(text: str) -> str:
    return re.sub(r"[^0-9a-f]", "", re.sub(r"(?i)\\x3a|%3a|0x", "", text).lower())


def groups(text: str) -> str:
    """The hex digits of a part of an IPv6 address, with the zeros that it leaves out."""
    return "".join(part.rjust(4, "0") for part in text.lower().split(":"))


_QUADS = r"(?:[A-Za-z0-9+/]{4})"
_COLUMNS = r"(?:(?:[A-Za-z0-9+/]{64}\s?\n[ \t]*)+|(?:[A-Za-z0-9+/]{76}\s?\n[ \t]*)+)"
BASE64 = re.compile(
    r"(?<![A-Za-z0-9+/=])(?=[A-Za-z0-9+/]{10})"
    rf"(?:{_COLUMNS}{_QUADS}{{0,2}}[A-Za-z0-9+/]{{2,3}}={{1,2}}"  # whose last line is short
    rf"|{_COLUMNS}?{_QUADS}{{2,}}(?:{_QUADS}|[A-Za-z0-9+/]{{2,3}}={{0,2}}))(?![A-Za-z0-9+/=])"
)


def decoded(word: str) -> str | None:
    """The text that a word of base64 holds, None where it holds none; in lines or not, with its end or without."""
    bare = re.sub(r"[\s=]", "", word)
    try:
        text = base64.b64decode(bare + "=" * (-len(bare) % 4), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
    return text if all(each.isprintable() or each in "\t\n\r" for each in text) else None


def decoded_words(text: str) -> Iterable[str]:
    """What words of base64 and strings of JSON in a text hold, and what those hold."""
    for pattern, read in ((BASE64, decoded), (STRING, from_json)):
        for found in pattern.finditer(text):
            inner = read(found[0])
            if inner is not None:
                yield inner
                yield from decoded_words(inner)


STRING = re.compile(r'"[^"\\\n]*+(?:\\.[^"\\\n]*+)++(?:"|(?=\\?(?:\n|\Z)))')
"""A string of JSON in which something is escaped; it may be cut off at the end of its line."""


def from_json(written: str) -> str | None:
    """What a string of JSON holds, None where it is none. Marks in it stay, and it can write no other ones."""
    for closed in (written, f'{written}"'):
        with suppress(ValueError):
            return _plain(json.loads(closed))
    return None


def spellings(value: str) -> set[str]:
    """A name as JSON, a URL, systemd, wpa_supplicant, DNS, a wrong decoding and clean() write it."""
    wide = value.encode("latin-1", "replace").decode("utf-8", "replace")
    unit = "".join(each if each.isalnum() or each in "_." else f"\\x{ord(each):02x}" for each in value)
    forms = {value, json.dumps(value)[1:-1], quote(value, safe=""), unit, *([wide] if "?" not in wide else [])}
    if not value.isascii():
        raw = [each if each.isascii() else None for each in value]
        for form in ("\\x{:02x}", "\\{:03o}"):
            coded = ("".join(map(form.format, each.encode())) for each in value)
            forms.add("".join(one or other for one, other in zip(raw, coded, strict=True)))
        with suppress(UnicodeError):  # a blank, or more than DNS has room for
            forms.add(value.encode("idna").decode())
    return {*forms, clean(value)} - {""}


_CODED = re.compile(r"(?:\\x[0-9a-fA-F]{2}|\\[0-3][0-7]{2})+")


def plainly(written: str) -> str:
    """A name of which bytes are written in hex or octal, as it is."""

    def text(found: re.Match[str]) -> str:
        codes = re.findall(r"\\x(..)|\\(\d{3})", found[0])
        return bytes(int(pair, 16) if pair else int(octal, 8) for pair, octal in codes).decode(errors="replace")

    return _CODED.sub(text, written).strip()


def unquoted(written: str) -> tuple[str, str, str]:
    """What stands between quotes, with the quotes around it."""
    opened = written.lstrip("\\\"'")
    value = opened.rstrip("\\\"'")
    return written[: len(written) - len(opened)], value, opened[len(value) :]
