"""Lines of tools, kernels and services that name what identifies an owner (lines.yaml), with made-up values.

«KIND» in a line stands for a value; no two lines share one, so none is found because another line tells of it.
What a line looks like is from the recording that its group names: real lines, without the values of their owners.
A group without a name is of the tool's own manual or source.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple
from uuid import UUID

from tests.attacks import canaries
from tests.tables import data

_GROUPS: Mapping[str, Iterable[str]] = data(__file__)
MARK = re.compile(r"«(\w+)»")
_HEX, _MIXED = "0123456789abcdef", "abcdefghjkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"
_OF_BYTES = "3456789abcd"  # of what has no zeros in front


class Planted(NamedTuple):
    """A line with made-up values, and the words that must not be left of it."""

    line: str
    words: tuple[str, ...]


def planted() -> list[Planted]:
    """Each line with values of its own."""
    return [_planted(line) for lines in _GROUPS.values() for line in lines]


def text() -> str:
    """All of them, in paragraphs of their own."""
    return "\n\n".join(each.line for each in planted())


def left(redacted: str) -> dict[str, list[str]]:
    """What a text still shows of them, by line."""
    return {each.line: still for each in planted() if (still := canaries.left(redacted, each.words))}


def _planted(line: str) -> Planted:
    words: list[str] = []

    def put(mark: re.Match[str]) -> str:
        value, *parts = _made(mark[1], f"{line}{mark.start()}")
        words.extend(parts or [value])
        return value

    return Planted(MARK.sub(put, line), tuple(words))


def _made(kind: str, seed: str) -> list[str]:
    """A value, and the words of it that must not be left where they are others."""
    if kind.startswith("ssid"):
        one, other = _name(f"{seed}1").capitalize(), _name(f"{seed}2").capitalize()
        value = _SSIDS[kind](one, other)
        return [value, one, other, *([value] if kind in ("ssid_hex", "ssid_dump") else [])]
    if kind.lower() == "hex4":  # four digits may be anything's
        value = _drawn(seed, _HEX, 4)
        return [value.upper() if kind == "HEX4" else value, f"-{value}", f"_{value}", f"2d{value}"]
    if (size := kind.removeprefix("hex")).isdigit():
        return ["a4" + _drawn(seed, _HEX, int(size) - 3) + "7"]
    return [_VALUES[kind](seed)]


def _drawn(seed: str, alphabet: str, size: int) -> str:
    raw = b"".join(hashlib.sha256(f"{seed}/{turn}".encode()).digest() for turn in range(size // 32 + 1))
    return "".join(alphabet[byte % len(alphabet)] for byte in raw[:size])


def _name(seed: str) -> str:
    """A word that can be spoken, is in no language, and is no hex."""
    pairs = zip(_drawn(seed, "gklmrtvz", 4), _drawn(f"{seed}.", "ouiy", 4), strict=True)
    return "".join(f"{one}{other}" for one, other in pairs)


def _split(digits: str, size: int) -> str:
    return ":".join(re.findall("." * size, digits))


def _mac(seed: str) -> str:
    return _split("a4" + _drawn(seed, _HEX, 10), 2)


def _dump(one: str, other: str) -> str:
    raw = f"{one} {other}".encode()
    return f"{raw.hex(' ')}   {raw.decode()}"


# How the two words of a network's name are written.
_SSIDS: Mapping[str, Callable[[str, str], str]] = {
    "ssid": "{} {}".format,
    "ssid_s": "{}'s {}".format,
    "ssid_u": "{}ö {}".format,
    "ssid_x": "{}\\xc3\\xb6 {}".format,
    "ssid_hex": lambda one, other: f"{one} {other}".encode().hex(),
    "ssid_dump": _dump,
}
_VALUES: Mapping[str, Callable[[str], str]] = {
    "name": _name,
    "user": _name,
    "Name": lambda seed: _name(seed).capitalize(),
    "secret": lambda seed: _drawn(seed, _MIXED, 16),
    "SECRET": lambda seed: _drawn(seed, _MIXED, 40).upper(),
    "swarm": lambda seed: _drawn(seed, "abcdefghijkmnopqrstuvwxyz23456789", 25),
    "guid": lambda seed: _split("a4" + _drawn(seed, _HEX, 14), 4),
    "iid": lambda seed: _split("a4" + _drawn(seed, _OF_BYTES, 14), 4),
    "ula": lambda seed: f"3{_drawn(seed, '3456789', 1)}:{_split(_drawn(seed, _OF_BYTES, 8), 4)}",
    "mac": _mac,
    "shortmac": lambda seed: ":".join(f"{int(pair, 16):x}" for pair in _mac(seed).split(":")),
    "uuid": lambda seed: str(UUID(_drawn(seed, _HEX, 32))),
    "serial": lambda seed: f"S6Z{_drawn(seed, 'ABCDEFGHJKLMNPRSTUVWXYZ123456789', 10)}4",
    "digits": lambda seed: _drawn(seed, "123456789", 8),
    "FAT": lambda seed: re.sub("(....)", r"\1-", _drawn(seed, _HEX, 8).upper(), count=1),
    "docker_id": lambda seed: _split(_drawn(seed, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 48), 4),
    "zt": lambda seed: _drawn(seed, "abcdefgh2345", 6),
    "blob43": lambda seed: _drawn(seed, _MIXED, 43),
    "blob64": lambda seed: _drawn(seed, _MIXED, 64),
}


def _before_each(front: str) -> Callable[[str], str]:
    return lambda text: "\n".join(front + line for line in text.split("\n"))


# What a text may stand in, in an archive and in what people paste.
AROUND: Mapping[str, Callable[[str], str]] = {
    "alone": str,
    "between lines": lambda text: f"before\n{text}\nafter\n",
    "in a journal": lambda text: f"2026-11-22T10:15:00+0000 mlx5[12]: {text}",
    "indented": _before_each("\t  "),
    "with lines of DOS": lambda text: f"{text}\n".replace("\n", "\r\n"),
}
# The same, with something before each line.
LOGS: Mapping[str, Callable[[str], str]] = {
    "in a journal, line by line": _before_each("Nov 28 10:00:00 box vllm[12]: "),
    "in a log of docker": _before_each("vllm-1  | "),
    "in a log of vLLM": lambda text: f"(APIServer pid=7) INFO 11-28 10:00:00 [utils.py:253] {text}",
}
# The same, in which no line break is one any more, or no word a word.
ENCODED: Mapping[str, Callable[[str], str]] = {
    "in JSON": lambda text: json.dumps({"why": text}),
    "in JSON, not in ASCII": lambda text: json.dumps({"why": text}, ensure_ascii=False),
    "in JSON in JSON": lambda text: json.dumps({"why": json.dumps([text])}),
    "in base64": lambda text: base64.b64encode(f"{text}\n".encode()).decode(),
    "in base64 of 76 columns": lambda text: base64.encodebytes(f"a text, then\n{text}\n".encode()).decode(),
}
