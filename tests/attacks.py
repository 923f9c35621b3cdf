"""Lines of tools, kernels and services that name what identifies an owner (fixtures/attacks.yaml), with values.

«KIND» in a line stands for a made-up value; no two lines share one, so none is found because another line told of
it. What a line looks like is from the recording that its group names: real lines, without the values of their
owners. A group without a name is of the tool's own manual or source.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import yaml

LINES: Mapping[str, Iterable[str]] = yaml.safe_load(
    Path(__file__).with_name("fixtures").joinpath("attacks.yaml").read_text(encoding="utf-8")
)


@dataclass(frozen=True)
class Planted:
    """A line with made-up values, and the words that must not be left of it."""

    group: str
    line: str
    words: tuple[str, ...]


def _digits(seed: str, alphabet: str, size: int) -> str:
    raw = b"".join(hashlib.sha256(f"{seed}/{turn}".encode()).digest() for turn in range(size // 32 + 1))
    return "".join(alphabet[each % len(alphabet)] for each in raw[:size])


_HEX, _MIXED = "0123456789abcdef", "abcdefghjkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"


def _name(seed: str) -> str:
    """A word that can be spoken, is in no language, and is no hex."""
    return "".join(
        f"{one}{other}"
        for one, other in zip(_digits(seed, "gklmrtvz", 4), _digits(f"{seed}.", "ouiy", 4), strict=True)
    )


def _ssid(seed: str, between: str = " ") -> tuple[str, tuple[str, ...]]:
    one, other = _name(f"{seed}1").capitalize(), _name(f"{seed}2").capitalize()
    return f"{one}{between}{other}", (one, other)


def _plain(made: Callable[[str], str]) -> Callable[[str], tuple[str, tuple[str, ...]]]:
    def both(seed: str) -> tuple[str, tuple[str, ...]]:
        value = made(seed)
        return value, (value,)

    return both


def _hex(size: int) -> Callable[[str], tuple[str, tuple[str, ...]]]:
    return _plain(lambda seed: "a4" + _digits(seed, _HEX, size - 3) + "7")


def _pairs(seed: str) -> str:
    return ":".join(re.findall("..", "a4" + _digits(seed, _HEX, 10)))


def _bytes_of(seed: str, form: Callable[[bytes], str]) -> tuple[str, tuple[str, ...]]:
    value, words = _ssid(seed)
    written = form(value.encode())
    return written, (written, *words)


def _escaped(seed: str) -> tuple[str, tuple[str, ...]]:
    value, words = _ssid(seed, "\\xc3\\xb6 ")
    return value, words


def _wide(seed: str) -> tuple[str, tuple[str, ...]]:
    value, words = _ssid(seed, "ö ")
    return value, words


VALUES: Mapping[str, Callable[[str], tuple[str, tuple[str, ...]]]] = {
    "name": _plain(_name),
    "user": _plain(_name),
    "Name": _plain(lambda seed: _name(seed).capitalize()),
    "ssid": _ssid,
    "ssid_s": lambda seed: _ssid(seed, "'s "),
    "ssid_u": _wide,
    "ssid_x": _escaped,
    "ssid_hex": lambda seed: _bytes_of(seed, bytes.hex),
    "ssid_dump": lambda seed: _bytes_of(seed, lambda raw: f"{raw.hex(' ')}   {raw.decode()}"),
    "secret": _plain(lambda seed: _digits(seed, _MIXED, 16)),
    "SECRET": _plain(lambda seed: _digits(seed, _MIXED, 40).upper()),
    "swarm": _plain(lambda seed: _digits(seed, "abcdefghijkmnopqrstuvwxyz23456789", 25)),
    "hex4": lambda seed: (value := _digits(seed, _HEX, 4), (f"-{value}", f"_{value}", f"2d{value}")),
    "HEX4": lambda seed: (value := _digits(seed, _HEX, 4).upper(), (f"-{value}",)),
    **{f"hex{size}": _hex(size) for size in (8, 10, 12, 16, 28, 32, 64)},
    "guid": _plain(lambda seed: ":".join(re.findall("....", "a4" + _digits(seed, _HEX, 14)))),
    "iid": _plain(lambda seed: ":".join(re.findall("....", "a4" + _digits(seed, "3456789abcd", 14)))),
    "ula": lambda seed: (value := f"3{_digits(seed, '3456789', 1)}:" + ":".join(
        re.findall("....", _digits(seed, "3456789abcd", 8))), (value,)),
    "mac": _plain(_pairs),
    "shortmac": _plain(lambda seed: ":".join(part.lstrip("0") or "0" for part in _pairs(seed).split(":"))),
    "uuid": _plain(lambda seed: str(UUID(_digits(seed, _HEX, 32)))),
    "serial": _plain(lambda seed: "S6Z" + _digits(seed, "ABCDEFGHJKLMNPRSTUVWXYZ123456789", 10) + "4"),
    "digits": _plain(lambda seed: _digits(seed, "123456789", 8)),
    "FAT": _plain(lambda seed: re.sub("(....)", r"\1-", _digits(seed, _HEX, 8).upper(), count=1)),
    "docker_id": _plain(
        lambda seed: ":".join(re.findall("....", _digits(seed, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 48)))
    ),
    "zt": _plain(lambda seed: _digits(seed, "abcdefgh2345", 6)),
    "blob43": _plain(lambda seed: _digits(seed, _MIXED, 43)),
    "blob64": _plain(lambda seed: _digits(seed, _MIXED, 64)),
}  # fmt: skip


def planted(lines: Mapping[str, Iterable[str]] = LINES) -> list[Planted]:
    """Each line with values of its own."""
    made = []
    for group, of_group in lines.items():
        for line in of_group:
            words: list[str] = []

            def put(found: re.Match[str], line: str = line, words: list[str] = words) -> str:
                value, canaries = VALUES[found[1]](f"{line}{found.start()}")
                words.extend(canaries)
                return value

            made.append(Planted(group, re.sub("«(\\w+)»", put, line), ()))
            made[-1] = Planted(group, made[-1].line, tuple(words))
    return made


SURROUNDINGS: Mapping[str, Callable[[str], str]] = {
    "alone": lambda line: line,
    "in a journal": lambda line: f"2026-11-22T10:15:00+0000 mlx5[12]: {line}",
    "indented": lambda line: "\n".join(f"\t  {each}" for each in line.split("\n")),
    "in JSON": lambda line: json.dumps({"why": line}),
    "in JSON, not in ASCII": lambda line: json.dumps({"why": line}, ensure_ascii=False),
    "in JSON in JSON": lambda line: json.dumps({"why": json.dumps([line])}),
    "in base64": lambda line: base64.b64encode(f"{line}\n".encode()).decode(),
    "in base64 of 76 columns": lambda line: base64.encodebytes(
        f"one line of a text, then\n{line}\n".encode()
    ).decode(),
    "with lines of DOS": lambda line: f"{line}\n".replace("\n", "\r\n"),
}
