"""Verdicts on a screen: a sign and a colour for each level, and findings with their evidence and cure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from sparkrig.render.folded import cured, hanging
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

    named: whether the names of their causes are shown, by which the docs explain them; indent: in columns.
    """

    def __init__(self, findings: Iterable[Finding], *, named: bool = True, indent: int = 0) -> None:
        self.found, self._named, self._indent = list(findings), named, indent

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        signs = [sign(finding.verdict.level, ascii_only=options.ascii_only) for finding in self.found]
        wide = max(map(len, signs), default=0)
        blanks = " " * (self._indent + wide + 1)
        for mark, finding in zip(signs, self.found, strict=True):
            lead = Text.assemble(" " * self._indent, mark, " " * (wide - len(mark) + 1))
            yield from hanging(self._said(finding), console, options.max_width, lead)
            if finding.verdict.cure and not finding.verdict.healthy:
                first, *rest = cured(finding.verdict.cure, options.max_width, f"{blanks}try: ", blanks)
                yield Text.assemble((first[: len(blanks) + 4], "dim"), first[len(blanks) + 4 :], overflow="ignore")
                yield from (Text(line, overflow="ignore", no_wrap=True) for line in rest)

    def _said(self, finding: Finding) -> Text:
        verdict: Verdict = finding.verdict
        cause = f" {verdict.cause}:" if verdict.cause and self._named else ""
        return Text.assemble((f"{finding.subject}:{cause}", "bold"), f" {verdict.evidence or verdict.level}")
