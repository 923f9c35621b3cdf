"""Pieces of a sentence that are put the same way everywhere."""

from __future__ import annotations

from collections.abc import Iterable


def listed(names: Iterable[str]) -> str:
    """`a`, `a and b`, `a, b and c`; nothing for none."""
    *most, last = [*names] or [""]
    return f"{', '.join(most)} and {last}" if most else last


def rails(numbers: Iterable[int]) -> str:
    """`rail 0`, `rails 0 and 1`."""
    names = [str(number) for number in numbers]
    return f"rail{'s' if len(names) > 1 else ''} {listed(names)}"


def reason(error: OSError) -> str:
    """Why a file could not be read or written, to follow a colon."""
    return (error.strerror or str(error)).lower()


def plain(text: str) -> str:
    """One line without control characters, for a text that a host printed."""
    return "".join(character if character.isprintable() else " " for character in text)
