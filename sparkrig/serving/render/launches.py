"""A launch of the catalogue on a screen: its source, its image, and the command."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.text import Text

from sparkrig.render.findings import STYLES
from sparkrig.serving.model import Launch

_LINE = 72  # what a command's line has at most: both indents, and the backslash, come on top
_BESIDE = 6  # the columns of these
_LEAST = 20  # however narrow the screen is


def drawn(launch: Launch) -> RenderableType:
    """Its source, image and command, which can be copied from a screen of any width."""
    parts: list[RenderableType] = [Text.assemble((launch.title, "bold"), f" ({launch.source})")]
    if launch.image:
        version = f"vLLM {launch.vllm}" if launch.vllm else "its vLLM is not stated"
        parts.append(Text(f"image {launch.image} ({version})", "dim"))
        digest = launch.digest or "not stated; the deploy records the ID of what it pulled"
        parts.append(Text(f"digest {digest}", "dim"))
    if launch.obstacle:
        parts.append(Text(f"not by its name: {launch.obstacle}", STYLES["degraded"]))
    if launch.typed:
        parts.append(Text(f"typed: {launch.typed}", "dim"))
    if launch.container:
        options = re.split(r" (?=-)", launch.container)
        parts.append(_Command(lambda _: ["docker run", *options], "dim"))
    if launch.flags:
        parts.append(_Command(lambda room: _words(launch, room)))
    if launch.parsers:
        parts.append(Text(f"its parsers are from {launch.parsers}", "dim"))
    if launch.note:
        parts.append(Text(launch.note, "dim"))
    return Group(*parts)


class _Command:
    """A command in lines that end in a backslash. pieces: of it, for lines of so many columns; none is cut."""

    def __init__(self, pieces: Callable[[int], Iterable[str]], style: str = "") -> None:
        self.pieces, self.style = pieces, style

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        room = min(_LINE, max(_LEAST, options.max_width - _BESIDE))
        lines = " \\\n  ".join(_lines(self.pieces(room), room))
        yield Text(lines, self.style, no_wrap=True, overflow="ignore")


def _words(launch: Launch, room: int) -> Iterator[str]:
    """Variables, command and flags, a flag with its value in one piece where both fit on a line."""
    yield from (shlex.quote(f"{name}={value}") for name, value in launch.environment.items())
    yield f"vllm serve {launch.checkpoint}"
    for words in launch.flag_words():
        whole = shlex.join(words)
        yield from [whole] if len(whole) <= room else (_cut(word, room) for word in words)


def _cut(word: str, room: int) -> str:
    """A word in quotes; JSON that is too long for a line goes on in the next one, where a blank means nothing."""
    quoted_word = shlex.quote(word)
    if len(quoted_word) <= room or not word.startswith("{"):
        return quoted_word
    pieces = re.split(r"(?<=,)(?=[\"{])", quoted_word)
    return "\n  ".join(_lines(pieces, room, ""))


def _lines(pieces: Iterable[str], room: int, between: str = " ") -> Iterator[str]:
    """Pieces packed into lines, none of which is cut."""
    line = ""
    for piece in pieces:
        if line and len(line) + len(piece) >= room:
            yield line
            line = piece
        else:
            line = f"{line}{between}{piece}" if line else piece
    yield line
