"""The one way to the terminal besides a Screen: what comes from outside is shown, and steers nothing.

Whatever a verb prints, asks or ends with goes through here, and so does what pyinfra prints where it runs our
deploys. A static test (tests/unit/terminal/test_terminal.py) finds what does not.
"""

from __future__ import annotations

import logging
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable
from typing import IO, Any

import click

from sparkrig.refusal import Refusal
from sparkrig.text import lines

# what pyinfra gives its own lines: red, bold, the end of it; no colour that hides
_COLOURS = re.compile(r"(\x1b\[(?:0|1|3[1-7]|9[1-7])m)")


def echo(
    text: str = "", *, err: bool = False, nl: bool = True, file: IO[Any] | None = None, colours: bool = False
) -> None:
    """Print a text of one or more lines. colours: whether the few codes that pyinfra colours with may stay."""
    click.echo(coloured(text) if colours else lines(text), file=file, err=err, nl=nl)


def page(texts: Iterable[str]) -> None:
    """Print much, in a pager where a terminal has one."""
    click.echo_via_pager(lines(text) for text in texts)


def own_page(text: str) -> None:
    """The same for a page of our own, with its styles: nothing in it comes from outside."""
    click.echo_via_pager(text)


def confirm(question: str) -> bool:
    """Whether the answer on the terminal is yes; anything else is no."""
    return bool(click.confirm(lines(question), default=False, err=True))


def must_answer(yes: bool, instead: str) -> None:
    """Raise Refusal where a question will come, and no terminal is there to ask at. instead: what to try then."""
    if not yes and not sys.stdin.isatty():
        raise Refusal("there is no terminal to ask at", instead)


def prompt(question: str, **how: Any) -> Any:
    """An answer from the terminal. how: as of click.prompt."""
    return click.prompt(lines(question), err=True, **how)


def errors() -> None:
    """Show what ends a verb through here, too; a usage error in one line, where click prints the usage as well."""
    click.ClickException.show = _show  # type: ignore[assignment,method-assign]
    click.UsageError.show = _show_usage  # type: ignore[assignment,method-assign]


def encodings() -> None:
    """Write a letter that the streams' encoding lacks as an escape: a host's name in ASCII's place is no error."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def clean_pyinfra() -> None:
    """Make plain what pyinfra logs and prints from now on: a host's errors, its output with -vv, its exceptions.

    Nothing where pyinfra's API is used, which prints nothing.
    """
    from pyinfra.api import output

    log = logging.getLogger("pyinfra")
    if not output.is_output_active() or any(isinstance(each, _Plain) for each in log.filters):
        return
    encodings()
    log.addFilter(_Plain())

    def cleaned(message: Any = None, **how: Any) -> None:
        echo("" if message is None else str(message), colours=True, **how)

    output.set_echo(cleaned)


def coloured(text: str) -> str:
    """The same lines with pyinfra's own colours, which end where the text does."""
    parts = _COLOURS.split(text)
    whole = "".join(part if number % 2 else lines(part) for number, part in enumerate(parts))
    return whole if len(parts) == 1 or whole.endswith("\x1b[0m") else f"{whole}\x1b[0m"


class _Plain(logging.Filter):
    """Cleans a record of pyinfra, whose formatter takes msg and args."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.msg, str):
            record.msg, record.args = coloured(record.getMessage()), ()
        return True


def _show(error: click.ClickException, file: IO[Any] | None = None) -> None:
    for line in _rows(f"Error: {error.format_message()}", sys.stderr):
        echo(line, file=file, err=True)


def _rows(said: str, to: IO[Any]) -> list[str]:
    """A sentence on the lines of a terminal that is too narrow for it; what is to be typed stays on one."""
    wide = shutil.get_terminal_size().columns
    if not to.isatty() or len(said) <= wide or "\n" in said:
        return [said]
    what, *typed = re.split(r"(?<=[.;?]) (?=[Tt]ry: )", said, maxsplit=1)
    return [*textwrap.wrap(what, wide, break_long_words=False, break_on_hyphens=False), *typed]


def _show_usage(error: click.UsageError, file: IO[Any] | None = None) -> None:
    path = error.ctx.command_path if error.ctx else "sparkrig"
    # click ends some of its sentences with a full stop, and that of a missing file without
    said = error.format_message()
    echo(f"Error: {said}{'' if said.endswith(('.', '?')) else '.'} Try: {path} --help", file=file, err=True)
