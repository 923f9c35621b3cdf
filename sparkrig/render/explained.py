"""The screen of `sparkrig explain`: each tool with what was read, its verdicts, and what else is worth knowing."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from sparkrig.explain.explanation import Explained
from sparkrig.render.findings import Findings


def explained(one: Explained) -> RenderableType:
    """One tool's output: the verdicts stand under what they are about, and the notes under them."""
    parts: list[RenderableType] = [Text(one.tool, "bold cyan")]
    if one.read:
        parts.append(_indented(Text(one.read), 2))
    if one.findings:
        parts.append(_indented(Findings(one.findings), 2))
    parts += [_indented(Text.assemble(("note: ", "dim"), note), 4) for note in one.notes]
    return Group(*parts)


def _indented(what: RenderableType, columns: int) -> RenderableType:
    return Padding(what, (0, 0, 0, columns), expand=False)
