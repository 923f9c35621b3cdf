"""YAML of strangers as plain trees."""

from __future__ import annotations

from typing import Any

import yaml

from sparkrig.parsing import safe_yaml
from sparkrig.serving.launch import Unreadable

_MOST = 200_000  # values; aliases of aliases make more of them than any text has
_DEEPEST = 40


def load(text: str) -> list[Any]:
    """The documents in a text, without the empty ones. Raises Unreadable."""
    try:
        documents = safe_yaml.load_all(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" near line {mark.line + 1}" if mark else ""
        raise Unreadable(f"it begins like YAML and is none{where}") from None
    left = [_MOST]
    return [_plain(document, left, 0) for document in documents if document is not None]


def _plain(value: Any, left: list[int], depth: int) -> Any:
    """A copy in which each value stands once: aliases share theirs, and may hold themselves."""
    left[0] -= 1
    if left[0] < 0 or depth > _DEEPEST:
        raise Unreadable("its YAML is too large or nests too deep for a launch")
    if isinstance(value, dict):
        return {str(name): _plain(each, left, depth + 1) for name, each in value.items()}
    if isinstance(value, list):
        return [_plain(each, left, depth + 1) for each in value]
    return value
