"""What is known to hurt in a word, a row or a document: depth, size, codes of a terminal, markup."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

DEEP = "[" * 100_000
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_DOUBLED = (f"  {n}: &{n} [*{o}, *{o}]" for o, n in pairwise(_LETTERS))
# 2**26 names of one netdev, in a file of 600 bytes
BOMB = "\n".join(
    ("x:", "  a: &a [enp1s0f0np0, x]", *_DOUBLED, "network: {ethernets: {e: {match: {name: *z}}}}", "")
)
VALUES = (
    *("", " ", "-1", "nan", "inf", "1e999", "9" * 5000, "null", "[]", "{}", "[[]]", '"x"', "0x", "true", "1.5"),
    *("\x00", "\x1b[31m", "\u2028", "²", "é", "\udce9", "[/x]", "{}{}", "%s", "x" * 3000, '{"a":' * 50),
    *("#sparkrig:end", "#sparkrig:end network 0"),
)
# what steers a terminal, hides what stands there, or changes its order
CODES = (
    *("\x1b[2J", "\x1b]52;c;cm0gLXJmIH4=\x07", "\x1b]8;;http://x\x1b\\", "\x9b2J", "\x9d0;x\x9c"),
    *("\r", "\x07", "\x08", "\x7f", "\x00", "\x0b", "\x0c", "\x0e", "\x85", "\u2028", "\u2029"),
    *("\u202e", "\u2066", "\u200f", "\u061c", "\u200b", "\u200d", "\u2060", "\ufeff", "\u00ad"),
    *("\ufe0f", "\u3164", "\U000e0041", "\udc9b"),
)
MARKUP = ("[/x]", "[bold red]", "[link=file:///x]x[/link]", "<script>alert(1)</script>", "]]>", '"><b>', "&x;")
# in one word of a row; each of these is shown where that word is
WORST = "\x1b[2J\x9b2J\x07\x7f\u202e\u200b[/x][bold]<script>\x1b]52;c;eA==\x07"


def codes(text: str) -> list[str]:
    """The characters of a text that a terminal does not show as such, line ends and plain blanks excepted."""
    unseen = {"\u034f", "\u115f", "\u1160", "\u17b4", "\u17b5", "\u3164", "\uffa0"}
    return [
        character
        for character in text
        if character not in "\n "
        and (
            unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp")
            or character in unseen
            or 0xFE00 <= ord(character) <= 0xFE0F
            or 0xE0000 <= ord(character) <= 0xE0FFF
        )
    ]
