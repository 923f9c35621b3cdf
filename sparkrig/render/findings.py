"""Verdicts on a screen: a sign and a colour for each level, and findings with their evidence and cure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from sparkrig.verdict import Finding, Level, Verdict

Shade = Level | Literal["quiet"]
"""How something is drawn: by its verdict's level, or `quiet` where it was not asked for."""

STYLES: dict[Shade, str] = {
    "healthy": "green",
    "unknown": "yellow",
    "degraded": "yellow",
    "fault": "red",
    "quiet": "dim",
}
SIGNS: dict[Shade, str] = {"healthy": "✓", "unknown": "?", "degraded": "~", "fault": "✗", "quiet": "·"}
ASCII_SIGNS: dict[Shade, str] = {"healthy": "ok", "unknown": "?", "degraded": "~", "fault": "x", "quiet": "-"}


def sign(level: Level, *, ascii_only: bool) -> Text:
    """The level in one or two characters; the colour only repeats it."""
    return Text((ASCII_SIGNS if ascii_only else SIGNS)[level], STYLES[level])


class Findings:
    """Findings for rich's console, one after the other, each with its cure under it.

    named: whether the names of their causes are shown, by which the docs explain them.
    """

    def __init__(self, findings: Iterable[Finding], *, named: bool = True) -> None:
        self.found, self._named = list(findings), named

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        grid = Table.grid(padding=(0, 1))
        grid.add_column(no_wrap=True)
        grid.add_column()
        for finding in self.found:
            grid.add_row(sign(finding.verdict.level, ascii_only=options.ascii_only), self._said(finding))
        yield grid

    def _said(self, finding: Finding) -> RenderableType:
        verdict: Verdict = finding.verdict
        cause = f" {verdict.cause}:" if verdict.cause and self._named else ""
        head = Text.assemble((f"{finding.subject}:{cause}", "bold"), f" {verdict.evidence or verdict.level}")
        if verdict.healthy or not verdict.cure:
            return head
        return Group(head, Text.assemble(("try: ", "dim"), verdict.cure))
