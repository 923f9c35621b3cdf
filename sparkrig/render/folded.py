"""Lines that are folded between words, on a screen of any width."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

_LEAST = 10  # columns for words, however far a line is indented


def hanging(line: Text, console: Console, width: int) -> Iterator[Text]:
    """A line folded between words; what follows begins where it begins."""
    indent = " " * (len(line.plain) - len(line.plain.lstrip()))
    for part in line[len(indent) :].wrap(console, max(width - len(indent), _LEAST)) or [Text()]:
        part.rstrip()
        yield Text(indent).append_text(part)
