"""What a terminal shows as SVG, light and dark, for a file and for the pages of reports: one drawing for all."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from markupsafe import Markup
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.segment import Segment

from sparkrig.render.templates import template

WIDE, NARROW = 100, 44  # columns: of a page of 960 px with letters of 15 px, and of a telephone
_LETTER, _LINE = 8.4, 16.2  # px of a monospaced font of 14 px, whose frames join from line to line
_EDGE = 10  # px


@dataclass(frozen=True)
class Words:
    """Letters of one style. classes: what the style is called, for CSS; width: px, whatever font there is."""

    text: str
    classes: str
    x: float
    y: float
    width: float


@dataclass(frozen=True)
class Picture:
    """One picture in a page, for a wide page and for a narrow one."""

    wide: Markup
    narrow: Markup


def twice(shown: RenderableType, title: str) -> Picture:
    """For a page."""
    wide, narrow = (Markup(svg(shown, title, columns)) for columns in (WIDE, NARROW))  # noqa: S704 - escaped
    return Picture(wide, narrow)


def svg(shown: RenderableType, title: str, columns: int = WIDE) -> str:
    """One SVG document, without scripts or references; a command that is longer makes it wider."""
    console = Console(file=io.StringIO(), width=columns, legacy_windows=False, markup=False, emoji=False)
    lines = [*Segment.split_lines(console.render(shown))]
    columns = max(columns, *(Segment.get_line_length(line) for line in lines))
    words = [word for row, line in enumerate(lines) for word in _words(line, _EDGE + _LINE * (row + 0.8))]
    return template("picture.svg.j2").render(
        title=title,
        words=words,
        width=round(2 * _EDGE + _LETTER * columns),
        height=round(2 * _EDGE + _LINE * len(lines)),
    )


def _words(line: Iterable[Segment], y: float) -> Iterator[Words]:
    column = 0
    for text, style, _ in Segment.simplify(line):
        shown = text.strip()
        if shown:
            kinds = {"bold": style and style.bold, "dim": style and style.dim}
            colour = [style.color.name] if style and style.color else []
            classes = " ".join([*(kind for kind, has in kinds.items() if has), *colour])
            x = _EDGE + _LETTER * (column + len(text) - len(text.lstrip()))
            yield Words(shown, classes, round(x, 1), round(y, 1), round(_LETTER * cell_len(shown), 1))
        column += cell_len(text)
