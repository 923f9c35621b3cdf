"""The one console that this toolkit draws on: no control code in a text from outside reaches the terminal."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from sparkrig.text import lines


class Screen(Console):
    """rich's console without markup, emoji and highlighting in strings, and with every text made plain.

    All that is shown is rendered to segments first: what moves the cursor is marked as such, and colours are
    styles. The text of a segment has no use for a control character, so it is cleaned, whatever its origin. A name
    such as `[/x]` is no markup.
    """

    def __init__(self, *, stderr: bool = False, **how: Any) -> None:
        super().__init__(stderr=stderr, highlight=False, markup=False, emoji=False, **how)

    @property
    def has_width(self) -> bool:
        """Whether lines are broken to fit: on a terminal, and in a pipe whose reader gave COLUMNS."""
        return self.is_terminal or bool(os.environ.get("COLUMNS"))

    def print(self, *objects: Any, crop: bool = False, **how: Any) -> None:
        """Nothing is cut off: a line that is too long is a command, which the terminal breaks by itself."""
        super().print(*objects, crop=crop, **how)

    def render_str(self, text: str, **how: Any) -> Text:
        """A string as a text that is as wide as it will be shown."""
        return super().render_str(lines(text), **{**how, "markup": False, "emoji": False})

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The segments of anything; in a pipe or a file no line ends in the blanks of a table's last column."""
        cleaned = map(_cleaned, super().render(renderable, options))
        yield from cleaned if self.is_terminal else _unpadded(cleaned)


def _cleaned(segment: Segment) -> Segment:
    text, style, control = segment
    return segment if control or (shown := lines(text)) == text else Segment(shown, style)


def _unpadded(segments: Iterable[Segment]) -> Iterator[Segment]:
    """The segments without blanks at the end of a line; those of a style that shows on blanks stay."""
    blanks: list[Segment] = []
    for segment in segments:
        text, style, control = segment
        if control or text.startswith("\n"):
            yield from blanks if control else ()
            blanks = []
            yield segment
            continue
        shown = text if style and (style.bgcolor or style.underline or style.reverse) else text.rstrip(" ")
        if shown:
            yield from blanks
            blanks = []
            yield Segment(shown, style)
        if len(shown) < len(text):
            blanks.append(Segment(text[len(shown) :], style))
    yield from blanks
