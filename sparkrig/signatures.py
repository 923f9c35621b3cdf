"""The words of a tool about its failure, and what they mean: models/errors.yaml, and the search in a text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from sparkrig.cure import deploy, on_host, verb
from sparkrig.parsing import safe_yaml
from sparkrig.verdict import Level

_FILE = Path(__file__).parent / "models" / "errors.yaml"
_NEVER = r"(?!)"


@dataclass(frozen=True)
class Signature:
    """Words of one failure: a row of models/errors.yaml, which says what its fields mean.

    pattern: a regular expression of the words; meaning: what failed, in words; about: what failed, in a word;
    by_hand: the cure where no inventory is known, where it is another.
    """

    cause: str
    pattern: str
    meaning: str
    cure: str
    source: str = ""
    level: Level = "fault"
    statuses: tuple[int, ...] = ()
    early: bool = False
    several: bool = False
    warns: bool = False
    about: str = ""
    by_hand: str = ""

    @property
    def pasted_cure(self) -> str:
        """The cure where no inventory is known."""
        return self.by_hand or self.cure

    def search(self, text: str) -> re.Match[str] | None:
        """The words in a text."""
        return re.search(self.pattern, text)

    def line(self, lines: Iterable[str]) -> str | None:
        """The first line that has the words."""
        return next((line for line in lines if self.search(line)), None)


@cache
def table(tool: str) -> tuple[Signature, ...]:
    """The signatures of a tool, what explains most first. tool: a key of errors.yaml."""
    return tuple(_signature(dict(row)) for row in _tables()[tool])


def of(tool: str, cause: str) -> Signature:
    """The first signature of a tool with that cause. Raises StopIteration where there is none."""
    return next(signature for signature in table(tool) if signature.cause == cause)


def tools() -> Iterable[str]:
    """The tools that errors.yaml has a table of."""
    return _tables().keys()


@cache
def _tables() -> dict[str, list[dict[str, Any]]]:
    tables: dict[str, list[dict[str, Any]]] = safe_yaml.load(_FILE.read_text(encoding="utf-8"), safe_yaml.FAST)
    return tables


def _signature(row: dict[str, Any]) -> Signature:
    words = row.pop("words", _NEVER)
    return Signature(
        pattern=words if isinstance(words, str) else "|".join(words),
        meaning=row.pop("means", ""),
        cure=_cure(row.pop("cure", "")),
        statuses=tuple(row.pop("statuses", ())),
        by_hand=row.pop("by hand", ""),
        **row,
    )


def _cure(given: str | Mapping[str, Any]) -> str:
    """A cure of words, or of the one command that it has, with the words behind it."""
    if isinstance(given, str):
        return given
    words = given.get("then", "")
    if "deploy" in given:
        return deploy(what=given["deploy"]).then(words)
    return verb(given["verb"]).then(words) if "verb" in given else on_host(given["on host"], words)


def by_line(signatures: Iterable[Signature], lines: Iterable[str]) -> dict[Signature, list[str]]:
    """Of each line the first signature that it has: the words of every such line, by signature."""
    rows, seen = tuple(signatures), dict[Signature, list[str]]()
    for line in lines:
        if found := first(rows, line):
            seen.setdefault(found[0], []).append(found[1])
    return seen


def first(signatures: Iterable[Signature], text: str) -> tuple[Signature, str] | None:
    """The first signature whose words are in a text, and the words."""
    for signature in signatures:
        if found := signature.search(text):
            return signature, found.group()
    return None


def first_line(signatures: Iterable[Signature], lines: Iterable[str]) -> tuple[Signature, str] | None:
    """The first signature that some line has, and the first such line."""
    texts = list(lines)
    for signature in signatures:
        if (line := signature.line(texts)) is not None:
            return signature, line
    return None
