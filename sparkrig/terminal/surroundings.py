"""What a verb needs besides its words: three standard streams, and a working folder that is there."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import click

from sparkrig.terminal import terminal
from sparkrig.text import plain, reason

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


@contextmanager
def streams() -> Iterator[None]:
    """Open the standard streams that are closed, and end with one sentence where the output cannot be written.

    A closed input is an empty one, and a closed standard error is written to nowhere. Exit code 1 where standard
    output is closed, before the block begins, or where what was printed in the block did not get there: a disk
    that is full.
    """
    if 1 in _opened():
        _end("standard output is closed, so nothing can be shown. Try: the same without >&-")
    terminal.encodings()
    try:
        yield
    except OSError as error:
        if error.filename is not None or error.errno not in _FULL:
            raise
        _hold_nothing_back()
        _unwritten(error)
    finally:
        _flush()


def folder() -> None:
    """Exit code 1 where the working folder is gone: no name of a file leads anywhere from there."""
    try:
        Path.cwd()
    except OSError as error:
        why = f"the working folder is gone ({reason(error)})"
        raise click.ClickException(f"{why}. Try: cd to one that exists, then the same again") from None


def home() -> None:
    """Give a user who has no home the one that Debian gives such users: nothing can be read or written there.

    Without it `~` stays as it is, and a folder of that name would be made where the verb was typed.
    """
    if os.path.expanduser("~") == "~":  # noqa: PTH111 - Path's raises an error without a reason
        os.environ["HOME"] = "/nonexistent"


def completion() -> None:
    """What a shell gets for a word that it completes: nothing that steers its terminal, as a file's name may.

    Exit code 1 where the shell does not pass the word: its own script does (`sparkrig completion`).
    """
    shell, _, asked = os.environ.get("_SPARKRIG_COMPLETE", "").partition("_")
    if asked != "complete":
        return
    word, typed = os.environ.get("COMP_CWORD"), os.environ.get("COMP_WORDS")
    if word is None or typed is None or (shell != "fish" and not word.isdecimal()):  # fish has the word itself
        _end("the shell does not say which word is to be completed. Try: sparkrig completion --help")
    from click.shell_completion import CompletionItem, ShellComplete

    every = ShellComplete.get_completions

    def clean(self: ShellComplete, args: list[str], incomplete: str) -> list[CompletionItem]:
        found = every(self, args, incomplete)
        return [item for item in found if plain(str(item.value)) == str(item.value)]

    ShellComplete.get_completions = clean  # type: ignore[method-assign]


def _opened() -> set[int]:
    """The numbers of the standard streams that were closed, each of which is /dev/null now.

    Python has None for such a stream, and the next file that is opened would take its number.
    """
    closed = set()
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            handle = os.open(os.devnull, os.O_RDWR)  # the lowest number that is free
            os.set_inheritable(handle, True)
            setattr(sys, name, os.fdopen(handle, "w" if number else "r"))
            closed.add(number)
    return closed


def _flush() -> None:
    """Write what Python still holds back, or end with nothing left that Python would try to write once more."""
    try:
        sys.stdout.flush()
    except OSError as error:
        _hold_nothing_back()
        _unwritten(error)


def _hold_nothing_back() -> None:
    """Let what Python still holds back go nowhere: the next try to write it would fail, and say so, once more."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _unwritten(error: OSError) -> NoReturn:
    """Exit code 1, without a word where the reader has gone: it has seen what it wanted."""
    if error.errno == errno.EPIPE:
        raise SystemExit(1) from None
    _end(f"what is shown cannot be written: {reason(error)}. Try: df -h, or the same into another file")


def _end(sentence: str) -> NoReturn:
    terminal.echo(f"Error: {sentence}", err=True)
    raise SystemExit(1) from None
