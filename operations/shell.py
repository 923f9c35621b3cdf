"""Shell scripts as one command, their values as words."""

from __future__ import annotations

from pyinfra.api import QuoteString, StringCommand


def script(text: str, *words: str) -> StringCommand:
    """One exec of a script; `words` are its $1, $2, ... and are never part of its text."""
    return StringCommand("sh", "-c", QuoteString(text), "sparkrig", *(QuoteString(word) for word in words))
