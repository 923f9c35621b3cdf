"""How a fact's script prints what may hold any byte, as one word of a row, and how rows are separated."""

from __future__ import annotations

import base64
from collections.abc import Iterable


def path(word: str) -> str:
    """An absolute path from the word that `path_word` (sparkrig.facts.noun) prints: itself, or its base64.

    No base64 of an absolute path begins with the slash that such a path begins with. Bytes that are no UTF-8 stay
    in it as Python keeps them in file names (surrogates), so that it still names the file.
    Raises ValueError for anything else.
    """
    if word.startswith("/"):
        return word
    try:
        found = base64.b64decode(word, validate=True).decode("utf-8", "surrogateescape")
    except ValueError:
        found = ""
    if not found.startswith("/"):
        raise ValueError(f"{word[:60]!r} is no absolute path")
    return found


def of(text: str) -> list[str]:
    """The rows of what a host printed. A character that str.splitlines takes (U+2028) may be part of a name."""
    return text.removesuffix("\n").split("\n") if text else []


def told(lines: Iterable[str], *known: str) -> list[tuple[str, str]]:
    """The first word of each row, and the rest of it. Raises ValueError where a row begins with another word."""
    rows = [line.partition(" ")[::2] for line in lines]
    if unknown := {word for word, _ in rows} - {*known}:
        raise ValueError(f"no row begins with {min(unknown)[:60]!r}")
    return rows
