"""The words of a tool about its failure, and what they mean: the type of every such table, and its search."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

from sparkrig.verdict import Level


@dataclass(frozen=True)
class Signature:
    """Words of one failure.

    cause: a verdict's fixed name; pattern: a regular expression; meaning: what failed, in words; cure: what to do;
    source: where the words were read or seen, where the table as a whole does not name it; level: "unknown" where
    they prove nothing about what is judged.
    """

    cause: str
    pattern: str
    meaning: str
    cure: str
    source: str = ""
    level: Level = "fault"

    def search(self, text: str) -> re.Match[str] | None:
        """The words in a text."""
        return re.search(self.pattern, text)

    def line(self, lines: Iterable[str]) -> str | None:
        """The first line that has the words."""
        return next((line for line in lines if self.search(line)), None)


S = TypeVar("S", bound=Signature)


def first(signatures: Iterable[S], text: str) -> tuple[S, str] | None:
    """The first signature of a table whose words are in a text, and the words."""
    for signature in signatures:
        if found := signature.search(text):
            return signature, found.group()
    return None


def first_line(signatures: Iterable[S], lines: Iterable[str]) -> tuple[S, str] | None:
    """The first signature of a table that some line has, and the first such line."""
    told = list(lines)
    for signature in signatures:
        if (line := signature.line(told)) is not None:
            return signature, line
    return None
