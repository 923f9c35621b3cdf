"""MAC addresses, and what is made from them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

from sparkrig.redaction.book import Book
from sparkrig.redaction.rows import patterns
from sparkrig.redaction.sheet import HEX, HEXADECIMAL, NO_HEX_RIGHT, Sheet, groups, hex_digits

_BETWEEN = r"(?:\\?:|-|_|\.|%3[aA]|\\x3a)"
_SIX_PAIRS = re.compile(
    rf"{HEX}(?<![0-9A-Fa-f]:.)[0-9A-Fa-f]({_BETWEEN})(?:[0-9A-Fa-f]{{2}}\1){{4}}[0-9A-Fa-f]{{2}}"
    rf"{NO_HEX_RIGHT}(?!\1[0-9A-Fa-f])"
)
_PAIRS = re.compile(rf"{HEX}[0-9A-Fa-f]({_BETWEEN})(?:[0-9A-Fa-f]{{2}}\1){{4,}}[0-9A-Fa-f]{{2}}{NO_HEX_RIGHT}")
# without its zeros, also behind a bridge's priority, as ip-link(8) prints it: 8000.2:42:19:8c:7a:61
_SHORT_PAIRS = re.compile(
    r"[0-9A-Fa-f](?=.?:)(?:(?<![\w:.-].)|(?<=(?<!\w)[0-9A-Fa-f]{4}\..))[0-9A-Fa-f]?(?::[0-9A-Fa-f]{1,2}){5}(?![\w:.-])"
)
_DOTTED = re.compile(r"[0-9A-Fa-f](?<![\w.].)[0-9A-Fa-f]{3}\.[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4}(?![\w.])")
_QUADS = re.compile(r"[0-9A-Fa-f](?<![0-9A-Fa-f:].)[0-9A-Fa-f]{3}(?:\\?:[0-9A-Fa-f]{4}){3}(?![0-9A-Fa-f]|\\?:)")
_SIXTEEN = re.compile(rf"{HEX}(?:(?<=0)x[0-9A-Fa-f]{{16}}|[0-9A-Fa-f]{{15}}){NO_HEX_RIGHT}")
_IN_NAME = re.compile(rf"(?:en|wl|ww)x([0-9A-Fa-f]{{12}}){NO_HEX_RIGHT}")
_EUI_TAIL = re.compile(r"(?i)(?<![0-9a-f])[0-9a-f]{1,4}:[0-9a-f]{0,2}ff:fe[0-9a-f]{2}:[0-9a-f]{1,4}(?![0-9a-f:])")
_BYTES = patterns("hardware", "bytes")
_BYTE = re.compile(r"(?i)(0x|\\x|)([0-9a-f]{2})")
_BARE = patterns("hardware", "bare")
_SHORT_RUN = re.compile(r"(?i)(?<=client-id )[0-9a-f]{1,2}(?::[0-9a-f]{1,2}){6,}(?![\w:])")

# DHCP's identifiers that end in a MAC: digits, and how they begin (RFC 2132 9.14, RFC 8415 11.2 and 11.4)
_DHCP = ((14, "01"), (28, "0001"), (20, "0003"))


def learn(book: Book, text: str) -> None:
    """Note each MAC in a form that is sure."""
    for found in _SIX_PAIRS.finditer(text):
        book.add_mac(hex_digits(found[0]))
    for found in _DOTTED.finditer(text):
        if not hex_digits(found[0]).isdigit():
            book.add_mac(hex_digits(found[0]))
    for found in _EUI_TAIL.finditer(text):
        book.add_mac(book.mac_of(groups(found[0])))


def _respelt(written: str, new: str) -> str:
    """Hex digits in the place of those that are written, with what stands between them, and in their case."""
    upper = bool(re.search("[A-F]", re.sub(r"\\x3a|%3A", "", written)))
    digits = iter(new.upper() if upper else new)
    return re.sub(r"(\\x3a|%3[aA]|0x)|[0-9A-Fa-f]", lambda found: found[1] or next(digits), written)


def _run(book: Book, digits: str) -> str | None:
    """The pseudonym of a hardware address of any length, in hex digits."""
    if not int(digits, 16):
        return None
    if len(digits) == 12:
        new = book.mac(digits)
        return None if new == digits else new
    if len(digits) == 16:
        return book.eui64(digits)
    if len(digits) == 40:  # of IP over InfiniBand
        return digits[:24] + book.eui64(digits[24:])
    if any(len(digits) == size and digits.startswith(head) for size, head in _DHCP):
        return digits[:-12] + book.mac(digits[-12:])
    return f"{book.number('mac', digits, 'run'):0{len(digits)}x}"


@dataclass(frozen=True)
class _Pseudonyms:
    """What stands in the place of an address in one of its spellings; None where it is to stay."""

    book: Book

    def whole(self, match: re.Match[str], group: int = 0) -> str | None:
        new = _run(self.book, hex_digits(match[group]))
        return None if new is None else _respelt(match[group], new)

    def labelled(self, match: re.Match[str]) -> str | None:
        return self.whole(match, 1)

    def short(self, match: re.Match[str]) -> str | None:
        digits = "".join(part.rjust(2, "0") for part in match[0].lower().split(":"))
        new = _run(self.book, digits)
        return new and ":".join(re.findall("..", new))

    def bytewise(self, match: re.Match[str]) -> str | None:
        digits = "".join(pair for _, pair in _BYTE.findall(match[0])).lower()
        if digits.isdigit() and match[0][:1].isdigit() and match[0][1:2] != "x" and digits not in self.book.macs:
            return None  # a row of a table
        if not (new := _run(self.book, digits)):
            return None
        pairs = iter(re.findall("..", new))
        return _BYTE.sub(lambda one: one[1] + next(pairs), match[0])

    def tail(self, match: re.Match[str]) -> str:
        return ":".join(re.findall("....", self.book.eui64(groups(match[0]))))

    def dotted(self, match: re.Match[str]) -> str | None:
        digits = hex_digits(match[0])
        return None if digits.isdigit() and digits not in self.book.macs else self.whole(match)

    def sixteen(self, match: re.Match[str]) -> str | None:
        digits = match[0].lower()[-16:]
        made = digits[6:10] in ("fffe", "0300") and match[0].startswith("0x")
        return self.whole(match) if made or self.book.mac_of(digits) in self.book.macs else None


def macs(book: Book, sheet: Sheet) -> None:
    new = _Pseudonyms(book)
    for pattern in _BARE:
        sheet.sub(pattern, new.labelled, 1)

    def digits(part: Sheet) -> None:
        for pattern in _BYTES:
            part.sub(pattern, new.bytewise)
        part.sub(_PAIRS, new.whole)
        part.sub(_QUADS, new.whole)
        part.sub(_SHORT_PAIRS, new.short)
        part.sub(_DOTTED, new.dotted)
        part.sub(_SIXTEEN, new.sixteen)

    sheet.sub(_SHORT_RUN, new.short)
    sheet.sub(_IN_NAME, new.labelled, 1)
    sheet.in_lines(HEXADECIMAL, digits)
    sheet.sub(_EUI_TAIL, new.tail)
    sheet.in_lines(HEXADECIMAL, partial(_replace_known, book))


# --- a MAC that is known, in any spelling, and the EUI-64 made from it, whatever stands around it

_GAPS = (r"[^0-9a-z\n]{0,2}", r"(?:\\x3a|%3a|[^0-9a-z\n]{0,2})", r"(?:\\x|[^0-9a-z\n]{0,2})")
_ESCAPED = re.compile(r"(?i)\\x|%3a")


def _spelt(gap: str) -> Iterable[re.Pattern[str]]:
    half = gap.join(["[0-9a-f]{2}"] * 3)
    for middle in (f"{gap}(?:ff{gap}fe|ff{gap}ff|03{gap}00)", ""):
        yield re.compile(f"(?i)(?=({half}{middle}{gap}{half}))")


_PLAIN, *_OTHERS = (tuple(_spelt(gap)) for gap in _GAPS)
_SPELT = (*_PLAIN, *(each for others in _OTHERS for each in others))


def _known(book: Book, text: str) -> Iterable[tuple[int, int]]:
    """Where one stands, in order."""
    patterns = (_SPELT if _ESCAPED.search(text) else _PLAIN) if book.macs else ()
    found = [each.span(1) for pattern in patterns for each in pattern.finditer(text) if _is_known(book, each[1])]
    least = 0
    for start, end in sorted(found, key=lambda span: (span[0], -span[1])):
        if start >= least:
            yield start, end
            least = end


def _replace_known(book: Book, sheet: Sheet) -> None:
    def replace(written: str) -> str:
        digits = hex_digits(written)
        return _respelt(written, _run(book, digits) or digits)

    sheet.put_at(_known(book, sheet.text), replace)


def _is_known(book: Book, written: str) -> bool:
    digits = hex_digits(written)
    mac = digits[:6] + digits[-6:]
    return mac in book.macs or f"{int(mac[:2], 16) ^ 2:02x}{mac[2:]}" in book.macs
