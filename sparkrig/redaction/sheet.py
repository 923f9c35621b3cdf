"""A text at work, and how values are written in one."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterable
from urllib.parse import quote

from sparkrig import paste

# One character stands for each value that was replaced, so that no later kind reads a pseudonym.
_FIRST, _LAST = 0xF0000, 0x10FFFD
MARK = f"[{chr(_FIRST)}-{chr(_LAST)}]"
# A word begins here: no letter or digit in front, or a line break as JSON writes it.
LEFT = r"(?:(?<![^\W_])|(?<=\\[ntr]))"
RIGHT = r"(?![^\W_])"
NO_HEX_LEFT, NO_HEX_RIGHT = r"(?<![0-9A-Fa-f])", r"(?![0-9A-Fa-f])"
QUOTE = r"(?:\\{0,3}[\"'])?"
EMPTY = re.compile(
    r"(?i)\W*(?:n/?a|none|null|true|false|x|0+|unknown|redacted|not \w+|<hidden>|\(not shown\))?\W*"
)

Replace = Callable[[re.Match[str]], str | None]


class Sheet:
    """A text at work: what is replaced stands as one character each until the end."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._put: list[str] = []

    def sub(self, pattern: re.Pattern[str], replace: Replace, group: int = 0) -> None:
        """Replace that group of each match by what is given for it; None leaves the match as it is."""

        def each(found: re.Match[str]) -> str:
            new = replace(found)
            if new is None:
                return found[0]
            start, end = found.start(group) - found.start(), found.end(group) - found.start()
            return found[0][:start] + self._mark(new) + found[0][end:]

        self.text = pattern.sub(each, self.text)

    def _mark(self, new: str) -> str:
        self._put.append(new)
        code = _FIRST + len(self._put) - 1
        if code > _LAST:
            raise ValueError("a text has more identifiers than can be told apart")
        return chr(code)

    def whole(self) -> str:
        text = self.text
        while re.search(MARK, text):  # a pseudonym may hold an earlier one: a key with its comment
            text = re.sub(MARK, lambda found: self._put[ord(found[0]) - _FIRST], text)
        return text


# --- made plain

_CONTROL = re.compile(
    r"\\u001b\[[0-9;?]*[ -/]*[@-~]|\\u00(?:0[0-8bce-f]|1[0-9a-f]|7f)"
    r"|[\x80-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]"
    rf"|[\ue000-\uf8ff{chr(_FIRST)}-\U0010ffff]"
)


def clean(text: str) -> str:
    """The text with lines that end in LF, and without control sequences, also as JSON writes them."""
    return _CONTROL.sub("", paste.without_control(text))


def squashed(text: str) -> str:
    return re.sub(r"[^0-9a-z]", "", text.lower())


def hex_digits(text: str) -> str:
    return re.sub(r"[^0-9a-f]", "", re.sub(r"(?i)\\x3a|%3a|0x", "", text).lower())


def groups(text: str) -> str:
    """The hex digits of a part of an IPv6 address, with the zeros that it leaves out."""
    return "".join(part.rjust(4, "0") for part in text.lower().split(":"))


BASE64 = re.compile(
    r"(?<![A-Za-z0-9+/=])(?:[A-Za-z0-9+/]{4}){2,}(?:[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)"
    r"(?![A-Za-z0-9+/=])"
)


def decoded(word: str) -> str | None:
    """The text that a word of base64 holds, None where it holds none."""
    try:
        text = base64.b64decode(word, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
    return text if all(each.isprintable() or each in "\t\n\r" for each in text) else None


def decoded_words(text: str) -> Iterable[str]:
    return filter(None, (decoded(found[0]) for found in BASE64.finditer(text)))


def spellings(value: str) -> set[str]:
    """A name as JSON, a URL, systemd and a wrong decoding write it, and as clean() leaves it."""
    wide = value.encode("latin-1", "replace").decode("utf-8", "replace")
    unit = "".join(each if each.isalnum() or each in "_." else f"\\x{ord(each):02x}" for each in value)
    forms = {value, json.dumps(value)[1:-1], quote(value, safe=""), unit, *([wide] if "?" not in wide else [])}
    return {*forms, clean(value)} - {""}


def unquoted(written: str) -> tuple[str, str, str]:
    """What stands between quotes, with the quotes around it."""
    found = re.fullmatch(r"([\\\"']*)(.*?)([\\\"']*)", written, re.S)
    return (found[1], found[2], found[3]) if found else ("", written, "")
