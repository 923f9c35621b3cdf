"""`sparkrig docs`: the pages of the version that is installed, for those who have no clone of the repository."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import click
from click.shell_completion import CompletionItem

from sparkrig import programs
from sparkrig.cli import files
from sparkrig.cure import quoted, quoted_path
from sparkrig.refusal import Refusal
from sparkrig.terminal import terminal
from sparkrig.text import nearest, reason

if TYPE_CHECKING:
    from rich.console import RenderResult

MONITORING = ("rules.yml", "dashboard.json")
FOLDER = Path(__file__).parents[1] / "docs"
_HEADING = re.compile(r"^(#+) (.+)$", re.MULTILINE)
_COMMENT = re.compile(r"<!--(?:(?!<!--).)*?-->\n*", re.DOTALL)
_LINK = re.compile(r"\[([^][]+)\]\(([a-z-]*)(?:\.md)?(#[\w-]+)?\)")
_TABLE = re.compile(r"^\|(.+)\|\n\|[-|: ]+\|\n((?:\|.+\|\n?)+)", re.MULTILINE)
_CELL = re.compile(r" (?<!\\)\| ")
_NARROW = 80  # columns; a table of ours has cells of a sentence each
_FENCED = re.compile(r"^```.*\n(?:(?!```).*\n)*+```$", re.MULTILINE)


class _Page(click.ParamType[str]):
    """The name of a page, which a shell can complete."""

    name = "page"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        return [CompletionItem(name) for name in _names() if name.startswith(incomplete)]


@click.command()
@click.argument("page", metavar="[PAGE[#SECTION]]", required=False, type=_Page())
@click.option(
    "--monitoring",
    type=files.Folder(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Write the rules of Prometheus and the dashboard of Grafana into FOLDER.",
)
def docs(page: str | None, monitoring: Path | None) -> None:
    """Show a page of the documentation, or list the pages.

    PAGE is a name from the list. The way that messages name pages works, too: docs/security.md#host-keys.
    On a terminal it opens in your pager; into a pipe it goes as Markdown.
    """
    if page and monitoring:
        raise click.UsageError("--monitoring goes with no page.", click.get_current_context())
    with files.refusals():
        if monitoring:
            _export(monitoring)
        elif page is None:
            _list()
        else:
            _show(_asked(page))


def _export(folder: Path) -> None:
    """Write the files of docs/watching.md, "Metrics". Raises Refusal before any is written over another one."""
    from sparkrig.terminal import atomic_write

    texts = {folder / name: programs.file(f"watch/{name}") for name in MONITORING}
    for file, text in texts.items():
        if _is_another(file, text):
            raise Refusal(
                f"{file} is there already, and is another one", f"mv {quoted_path(file)} {quoted_path(file)}.old"
            )
    for file, text in texts.items():
        atomic_write.folder(file)
        atomic_write.write(file, text)
        terminal.echo(str(file))


def _is_another(file: Path, text: str) -> bool:
    """Whether something else is there. Raises Refusal."""
    try:
        return file.exists() and files.differs(file, text)
    except OSError as error:
        raise Refusal(f"{file} cannot be read: {reason(error)}", f"ls -ld {quoted_path(file)}") from None


def _names() -> list[str]:
    return sorted(file.stem for file in FOLDER.glob("*.md"))


def _list() -> None:
    """Each page with its title."""
    width = max(map(len, _names()))
    for name in _names():
        _, _, title = next(_headings(_text(name)))
        terminal.echo(f"{name:{width}}  {title}")


def _text(name: str) -> str:
    return (FOLDER / f"{name}.md").read_text(encoding="utf-8")


def _asked(page: str) -> str:
    """The text of a page, or of one section. Raises Refusal where there is none of that name."""
    where, _, anchor = page.partition("#")
    name = where.removeprefix("docs/").removesuffix(".md")
    if name not in _names():
        near = nearest(name, _names()) or next(_about(name), "")
        raise Refusal(f"there is no page {name}", quoted("sparkrig", "docs", *filter(None, [near])))
    return _section(name, anchor) if anchor else _text(name)


def _about(word: str) -> Iterator[str]:
    """The sections that have a word in their heading, as they are asked for."""
    for name in _names():
        for _, level, title in _headings(_text(name)):
            if word.lower() in title.lower():
                yield f"{name}#{slug(title)}" if level > 1 else name


def _section(name: str, anchor: str) -> str:
    """A heading with what follows it, up to the next heading that is no deeper."""
    text = _text(name)
    found = [(start, level) for start, level, title in _headings(text) if slug(title) == anchor]
    if not found:
        known = [slug(title) for _, level, title in _headings(text) if level > 1]
        near = nearest(anchor, known)
        page = f"{name}#{near}" if near else name
        raise Refusal(f"{name} has no section {anchor}", quoted("sparkrig", "docs", page))
    start, level = found[0]
    after = [each for each, other, _ in _headings(text) if each > start and other <= level]
    return text[start : after[0] if after else None]


def _headings(text: str) -> Iterator[tuple[int, int, str]]:
    """Where each heading of a page begins, its level and its words; a comment of a shell's example is none."""
    bare = _FENCED.sub(lambda block: " " * len(block[0]), text)
    return ((found.start(), len(found[1]), found[2]) for found in _HEADING.finditer(bare))


def slug(title: str) -> str:
    """The name by which a link reaches a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _show(text: str) -> None:
    from sparkrig.terminal.screen import Screen

    console = Screen()
    if not console.is_terminal:
        terminal.echo(text, nl=False)
        return
    from rich.markdown import CodeBlock, Markdown
    from rich.text import Text

    class Whole(CodeBlock):
        """Code on lines of their own length: the rest of one that is wrapped would be copied as a command."""

        def __rich_console__(self, *_: object) -> RenderResult:
            yield Text(str(self.text).rstrip(), "markdown.code", no_wrap=True, overflow="ignore")

    class Page(Markdown):
        elements: ClassVar = {**Markdown.elements, "fence": Whole, "code_block": Whole}

    text = _LINK.sub(_followed, _COMMENT.sub("", text))
    if console.width < _NARROW:
        text = _TABLE.sub(_as_list, text)
    with console.capture() as shown:
        console.print(Page(text, hyperlinks=False), crop=False)
    terminal.own_page(shown.get())


def _followed(link: re.Match[str]) -> str:
    """A link to another page as the command that shows it; one within the page as its words."""
    words, page, section = link.groups("")
    if not page:
        return words
    command = f"`sparkrig docs {page}{section}`"
    return command if words.endswith(".md") else f"{words} ({command})"


def _as_list(table: re.Match[str]) -> str:
    """Each row of a table as an item, with the name of a column before each cell but the first."""
    columns, *rows = (_CELL.split(line.strip("| ")) for line in (table[1], *table[2].splitlines()))
    return "".join(
        "- "
        + "; ".join([row[0], *(f"*{name}:* {cell}" for name, cell in zip(columns[1:], row[1:], strict=False))])
        + "\n"
        for row in rows
    )
