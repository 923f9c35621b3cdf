"""One pattern of many words, in which each beginning that some share stands once: it is tried once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_MORE = {"i": "\u0131\u0130", "s": "\u017f", "k": "\u212a"}  # what re.IGNORECASE takes for these, too
_DEEPEST = 50  # beginnings within beginnings; re has an end, too


def letters(word: str) -> list[str]:
    """A pattern of each character, in any case. A class of characters is quicker than IGNORECASE."""
    return [_letter(each) for each in word]


def _letter(each: str) -> str:
    if not each.isalpha():
        return re.escape(each)
    low = each.lower()
    return f"[{low}{low.upper()}{_MORE.get(low, '')}]" if each.isascii() else f"(?i:{each})"


def either(words: Iterable[Sequence[str]]) -> str:
    """A pattern of any of those sequences of patterns, the longest first; empty where there are none."""
    tree: dict[str, Any] = {}
    for word in words:
        node = tree
        for each in word:
            node = node.setdefault(each, {})
        node[""] = {}
    return _written(tree, 0)


def _written(node: Mapping[str, Any], depth: int) -> str:
    start = ""
    while len(node) == 1 and "" not in node:
        (each, node), *_ = node.items()
        start += each
    if len(node) < 2:
        return start
    if depth == _DEEPEST:
        return f"{start}(?:{'|'.join(sorted(_flat(node), key=len, reverse=True))})"
    branches = (each + _written(below, depth + 1) for each, below in node.items() if each)
    return f"{start}(?:{'|'.join(branches)}){'?' if '' in node else ''}"


def _flat(node: Mapping[str, Any]) -> list[str]:
    """Each word of a tree, without a call in a call: it may be deep."""
    done, open_ = [], [("", node)]
    while open_:
        start, here = open_.pop()
        done += [start] if "" in here else []
        open_ += [(start + each, below) for each, below in here.items() if each]
    return done
