"""Whether a setting, a variable or an argument would show a secret."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sparkrig.secrecy import forms
from sparkrig.secrecy.names import is_sure, names_a_secret


def shows_a_secret(name: str, value: Any) -> bool:
    """By its name, or by what it holds: a token by its form, or a secret behind a name within the value."""
    number = isinstance(value, bool | int | float) and not is_sure(name)
    return (names_a_secret(name) and not number) or _holds(value)


def _holds(value: Any) -> bool:
    if isinstance(value, str):
        return forms.holds_a_token(value) or _names_one(value)
    if isinstance(value, Mapping):
        return any(
            (names_a_secret(str(key)) and isinstance(each, str)) or _holds(each) for key, each in value.items()
        )
    return isinstance(value, list | tuple) and any(map(_holds, value))


def _names_one(text: str) -> bool:
    from sparkrig.secrecy import places  # its patterns take time, and few values have a name within

    return any(mark in text for mark in "=: ") and any(places.named(text))
