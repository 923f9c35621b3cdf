"""A launch of the catalogue on a screen: its source, its image, and the command."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from sparkrig.render.findings import STYLES
from sparkrig.serving.model import Launch

_LINE = 72  # what a command's line may have at 80 columns: both indents, and the backslash, come on top


def drawn(launch: Launch) -> RenderableType:
    """Its source, image and command, which can be copied from 80 columns."""
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
        parts.append(Text(" \\\n  ".join(_lines(["docker run", *options])), "dim"))
    if launch.flags:
        parts.append(Text(" \\\n  ".join(_lines(_words(launch)))))
    if launch.parsers:
        parts.append(Text(f"its parsers are from {launch.parsers}", "dim"))
    if launch.note:
        parts.append(Text(launch.note, "dim"))
    return Group(*parts)


def _words(launch: Launch) -> Iterator[str]:
    """Variables, command and flags, a flag with its value in one piece where both fit on a line."""
    yield from (shlex.quote(f"{name}={value}") for name, value in launch.environment.items())
    yield f"vllm serve {launch.checkpoint}"
    for words in launch.flag_words():
        whole = shlex.join(words)
        yield from [whole] if len(whole) <= _LINE else map(_cut, words)


def _cut(word: str) -> str:
    """A word in quotes; JSON that is too long for a line goes on in the next one, where a blank means nothing."""
    quoted_word = shlex.quote(word)
    if len(quoted_word) <= _LINE or not word.startswith("{"):
        return quoted_word
    pieces = re.split(r"(?<=,)(?=[\"{])", quoted_word)
    return "\n  ".join(_lines(pieces, ""))


def _lines(pieces: Iterable[str], between: str = " ") -> Iterator[str]:
    """Pieces packed into lines, none of which is cut."""
    line = ""
    for piece in pieces:
        if line and len(line) + len(piece) >= _LINE:
            yield line
            line = piece
        else:
            line = f"{line}{between}{piece}" if line else piece
    yield line
