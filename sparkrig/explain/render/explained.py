"""The screen of `sparkrig explain`: each tool with what was read, its verdicts, and what else is worth knowing."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from sparkrig.explain.explanation import Explained
from sparkrig.redaction.redactor import Redactor
from sparkrig.render.findings import Findings
from sparkrig.verdict import Finding

_MOST, _WIDEST = 40, 200  # lines, and characters of each
_FINDINGS = 40  # of one output; no Spark has as many


def explained(one: Explained) -> RenderableType:
    """One tool's output: the verdicts stand under what they are about, and the notes under them."""
    title = f"{one.host}: {one.tool}" if one.host else one.tool
    parts: list[RenderableType] = [Text(title, "bold cyan")]
    if one.read:
        parts.append(_indented(Text(one.read), 2))
    if one.findings:
        parts.append(_indented(Findings(_most_telling(one.findings), named=False), 2))
    if len(one.findings) > _FINDINGS:
        parts.append(
            _indented(Text(f"and {len(one.findings) - _FINDINGS:,} more findings: the same with --json"), 2)
        )
    parts += [_indented(Text.assemble(("note: ", "dim"), note), 4) for note in one.notes]
    return Group(*parts)


def _most_telling(findings: Sequence[Finding]) -> list[Finding]:
    """As many as a person reads, those that are not well before the others."""
    return (
        sorted(findings, key=lambda finding: finding.verdict.healthy)[:_FINDINGS]
        if len(findings) > _FINDINGS
        else [*findings]
    )


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
