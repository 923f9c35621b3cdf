"""Secrets by name and by structure: names in every spelling, and texts that a generator makes of secrecy.yaml."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from typing import Any

from tests.attacks.lines import AROUND, LOGS, MARK
from tests.tables import data

_DATA: Mapping[str, Any] = data(__file__)
SECRET: Sequence[str] = _DATA["secret"]
INNOCENT: Sequence[str] = _DATA["innocent"]
HARMLESS: Sequence[str] = _DATA["harmless"]
_STRUCTURES: Mapping[str, Sequence[str]] = _DATA["structures"]
_WIDE = {ord(letter): ord(letter) + 0xFEE0 for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"}


def spelt(words: str) -> list[str]:
    """A name as variables, options, fields and headers are written."""
    parts = words.split()
    joined = ["_".join(parts), "-".join(parts), *(["".join(parts)] if parts[-1] not in ("id", "read") else [])]
    camel = parts[0] + "".join(part.capitalize() for part in parts[1:])
    return [*joined, *(name.upper() for name in joined), camel]


def disguised(words: str) -> list[str]:
    """The same as fields of others, as headers, and in letters that are only like those of ASCII."""
    parts = words.split()
    plain = "_".join(parts)
    header = "X-" + "-".join(part.capitalize() for part in parts)
    accented = re.sub("([aeiou])", "\\1\u0301", plain)  # as NFD writes it
    return [f"some.{plain}", header, plain.translate(_WIDE), plain.upper().translate(_WIDE), accented]


def surroundings(count: int, names: Sequence[str], structure: str) -> list[tuple[str, list[str]]]:
    """That many texts, each with values in one of the structures, and the values."""
    dice = random.Random(49)
    made = []
    for _ in range(count):
        drawn = ("".join(dice.choices("abcdefghkmnpqrstuvwxyzABCDEFG23456789", k=12)) for _ in range(3))
        given = dict(zip(("one", "two", "three"), (f"{value}q7" for value in drawn), strict=True))
        name = dice.choice(spelt(dice.choice(names)))
        around = dice.choice([*AROUND.values(), *LOGS.values()])
        comma = dice.choice([",", ";", "\t"])
        text = around(_filled(f"«{structure}»", dice, {"name": name, "comma": comma, **given}))
        made.append((text, [value for value in given.values() if value in text]))
    return made


def _filled(text: str, dice: random.Random, given: Mapping[str, str]) -> str:
    def put(mark: re.Match[str]) -> str:
        return given[mark[1]] if mark[1] in given else _filled(dice.choice(_STRUCTURES[mark[1]]), dice, given)

    return MARK.sub(put, text)
