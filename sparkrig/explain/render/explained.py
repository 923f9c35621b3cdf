"""The screen of `sparkrig explain`: each tool with what was read, its verdicts, and what else is worth knowing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from sparkrig.explain.explanation import Explained
from sparkrig.redaction.redactor import Redactor
from sparkrig.render.findings import Findings

T = TypeVar("T")

_MOST, _WIDEST = 40, 200  # lines, and characters of each
_FINDINGS = 40  # of one output; no Spark has as many


def explained(one: Explained) -> RenderableType:
    """One tool's output: the verdicts stand under what they are about, and the notes under them."""
    title = f"{one.host}: {one.tool}" if one.host else one.tool
    parts: list[RenderableType] = [Text(title, "bold cyan")]
    if one.read:
        parts.append(_indented(Text(one.read), 2))
    shown = most_telling(one.findings, lambda finding: finding.verdict.healthy, _FINDINGS)
    if shown:
        parts.append(Findings(shown, named=False, indent=2))
    if len(one.findings) > _FINDINGS:
        parts.append(
            _indented(Text(f"and {len(one.findings) - _FINDINGS:,} more findings: the same with --json"), 2)
        )
    parts += [_indented(Text.assemble(("note: ", "dim"), note), 4) for note in one.notes]
    return Group(*parts)


def most_telling(rows: Sequence[T], well: Callable[[T], bool], most: int) -> list[T]:
    """As many as a person reads, those that are not well before the others; in the order in which they stand."""
    ranked = sorted(enumerate(rows), key=lambda numbered: well(numbered[1]))
    return [row for _, row in sorted(ranked[:most], key=lambda numbered: numbered[0])]


def not_read(lines: Sequence[str], *, shown: bool) -> RenderableType:
    """How many lines nothing read, and with `shown` the first of them, without identifiers."""
    count = f"{len(lines)} line{' was' if len(lines) == 1 else 's were'} not read"
    if not shown:
        return Text(f"{count} (-v shows {'it' if len(lines) == 1 else 'them'})", "dim")
    text = Redactor().redact("\n".join(line[:_WIDEST] for line in lines[:_MOST]))
    more = f", the first {_MOST} of them" if len(lines) > _MOST else ""
    return Group(Text(f"{count}{more}:", "dim"), _indented(Text(text), 2))


def _indented(what: RenderableType, columns: int) -> RenderableType:
    return Padding(what, (0, 0, 0, columns), expand=False)
