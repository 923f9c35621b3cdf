"""Texts in lines that fit a screen: broken between words, and a command never."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from sparkrig.cure import cure_of

_LEAST = 10  # columns for words, however far a line is indented
_JOINTS = ("/,:=", "-", "._|)")


def hanging(line: Text, console: Console, width: int, lead: Text | None = None) -> Iterator[Text]:
    """A line folded between words; what follows begins where it begins. lead: what stands before its first one."""
    indent = len(lead) if lead else len(line.plain) - len(line.plain.lstrip())
    body = line if lead else line[indent:]
    for number, part in enumerate(body.wrap(console, max(width - indent, _LEAST)) or [Text()]):
        part.rstrip()
        yield Text.assemble(lead if lead and not number else " " * indent, part)


def wrapped(text: str, width: int, indent: str = "", hanging: str | None = None) -> list[str]:
    """The lines of a text on `width` columns; the first begins with `indent`, the others with `hanging`.

    What stands between blanks stays whole where a line has room for it; else it begins on the line before, and is
    parted behind a slash or comma, a hyphen, a dot, and elsewhere only where it has none of these.
    """
    after = indent if hanging is None else hanging
    lines, line = [], indent
    for word in text.split(" "):
        joint = "" if line in (indent, after) else " "
        if len(line) + len(joint) + len(word) <= width:
            line += joint + word
            continue
        if line.strip() and len(after) + len(word) <= width:
            lines.append(line.rstrip())
            line, joint = after, ""
        *whole, line = _parted(word, line + joint, after, width)
        lines += whole
    return [*lines, line.rstrip()]


def cured(cure: str, width: int | None, first: str = "", after: str = "") -> list[str]:
    """The lines of a cure: the first one begins with `first`, the others with `after`.

    A command that has no room behind its label stands on a line of its own, whole, so that it can be copied; what
    follows it stands on the next ones. width: in columns, None for one line.
    """
    known = cure_of(cure)
    if width is None or len(first) + len(known) <= width:
        return [f"{first}{known}"]
    if not known.command:
        return wrapped(known, width, first, after)
    before, _, rest = known.partition(known.command)
    line, rest = f"{first}{before}{known.command}", rest.lstrip(",;: ")
    head = [line] if len(line) <= width else [*wrapped(before, width, first, after), f"{after}{known.command}"]
    return [*head, *(wrapped(rest, width, after) if rest else [])]


def _parted(word: str, line: str, after: str, width: int) -> list[str]:
    """A word that no line has room for: its pieces in lines, the last of which goes on."""
    lines = []
    for piece in _pieces(word, max(_LEAST, width - len(after))):
        if len(line) + len(piece) > width and line.strip():
            lines.append(line.rstrip())
            line = after
        line += piece
    return [*lines, line]


def _pieces(word: str, room: int, joints: Sequence[str] = _JOINTS) -> Iterator[str]:
    """Pieces of at most `room` characters. joints: the signs behind which a word is parted, the best first."""
    if len(word) <= room or not joints:
        yield from (word[at : at + room] for at in range(0, len(word), max(1, room)))
        return
    kind = re.escape(joints[0])
    for piece in re.findall(f"[^{kind}]+[{kind}]*|[{kind}]+", word):
        yield from _pieces(piece, room, joints[1:])
