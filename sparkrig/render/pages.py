"""A page of the documentation on a terminal: Markdown whose commands stand on one line each, to be copied."""

from __future__ import annotations

from typing import ClassVar

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Markdown, MarkdownElement
from rich.text import Text


class _Commands(CodeBlock):
    """A block of code, never wrapped: the rest of a line would read as another command."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(str(self.text).rstrip(), style="markdown.code", no_wrap=True, overflow="ignore")


class Page(Markdown):
    """Markdown with whole lines of code."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "fence": _Commands,
        "code_block": _Commands,
    }
