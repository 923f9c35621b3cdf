"""How a run of plain pyinfra ends: with one sentence of ours, whatever pyinfra itself would print last.

pyinfra executes `config.py` of the working folder before it reads an inventory, and that calls `install`; the
inventory does so, too, for a run from another folder. With --debug pyinfra's own words stay as they are.
"""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from traceback import extract_tb, format_exception
from typing import Any

from sparkrig.cure import DEPLOYED_FROM, TYPED, quoted_path
from sparkrig.refusal import Refusal
from sparkrig.terminal import atomic_write, project

SENTENCES: list[tuple[str, str]] = []
"""Why hosts are refused, as (host, sentence), in the order in which it was printed."""

_LOG = "pyinfra-debug.log"  # pyinfra's own name for it
_NONE_LEFT = re.compile(r"No hosts remaining!|Over \d+% of hosts failed \(\d+%\)")


def install() -> None:
    """Let the errors of pyinfra's command end with our sentence; nothing where another program is at work."""
    exceptions = sys.modules.get("pyinfra_cli.exceptions")  # to import it would patch the standard library
    if exceptions is None:
        return
    TYPED[0], DEPLOYED_FROM[0] = _typed(), project.typed(_inventory())
    if "--debug" in sys.argv:
        return
    util = sys.modules["pyinfra.connectors.util"]
    util.getpass = _password  # type: ignore[attr-defined]  # pyinfra has no switch for it
    for each in (exceptions.WrappedError, exceptions.UnexpectedExternalError, exceptions.UnexpectedInternalError):
        each.show = _show


def _password(prompt: str) -> str:
    """sudo's, from a terminal. Raises EOFError where there is none; getpass would show its prompt all the same."""
    from getpass import getpass

    if not sys.stdin.isatty():
        raise EOFError
    return getpass(prompt)


def _show(error: Any, file: Any = None) -> None:  # noqa: ARG001 - click's signature
    import click

    from sparkrig.terminal import terminal

    said = click.style("Error", "red", bold=True)
    why = sentence(error.exception, getattr(error, "filename", ""))
    terminal.echo(f"--> {said}: {why}", err=True, colours=True)


def sentence(error: BaseException, filename: str = "") -> str:
    """What an error that ends a run comes to. filename: the file that raised it, where pyinfra knows that."""
    from pyinfra.api.exceptions import PyinfraError

    if isinstance(error, PyinfraError):
        return _left() if _NONE_LEFT.fullmatch(str(error)) else str(error)
    if isinstance(error, EOFError):
        return _unanswered()
    if isinstance(error, SyntaxError) and error.filename:
        return unreadable(error, error.filename)
    if isinstance(error, OSError) and error.filename == "":
        return "a file's name is empty, where an inventory or a deploy is expected. Try: ls inventories deploys"
    if isinstance(error, OSError) and error.filename:
        return (
            f"{error.filename}: {(error.strerror or str(error)).lower()}. Try: ls -l {quoted_path(error.filename)}"
        )
    if filename and Path(filename).resolve() == _inventory().resolve():
        return unreadable(error, filename)
    return _unexpected(error)


def unreadable(error: BaseException, file: str) -> str:
    """Why a file of Python cannot be read, with the line, and what to try."""
    lines = [frame.lineno for frame in extract_tb(error.__traceback__) if frame.filename == file]
    lines += [error.lineno] if isinstance(error, SyntaxError) and error.lineno else []
    where = f"{file}, line {lines[-1]}," if lines else f"{file} or its group_data"
    said = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"{where} cannot be read ({type(error).__name__}: {said}); try: python {quoted_path(file)}"


def _left() -> str:
    """No host is left to go on with: why, of the first that is refused or cannot be reached."""
    if not SENTENCES:
        why = f"sparkrig doctor {quoted_path(_inventory())}"
        return f"no host is left to go on with, and the lines above say why. Try: {why}"
    hosts = dict.fromkeys(host for host, _ in SENTENCES)
    host, why = SENTENCES[0]
    more = f" (the lines above say why of {', '.join([*hosts][1:])})" if len(hosts) > 1 else ""
    return f"{host}: {why}{more}"


def _unanswered() -> str:
    """The question stays open: standard input is at its end."""
    from pyinfra import state

    from sparkrig.redaction.credentials import masked

    stands = "the run ended where it stood" if state.is_executing else "nothing was changed"
    again = masked(shlex.join(["pyinfra", "-y", *sys.argv[1:]]))
    return f"standard input is at its end, and the question above has no answer; {stands}. Try: {again}"


def _unexpected(error: BaseException) -> str:
    said = " ".join(str(error).split())[:300]
    try:
        atomic_write.write(Path(_LOG), "".join(format_exception(error)))
        kept = f"the traceback is in {_LOG}"
    except Refusal as refusal:
        kept = f"the traceback cannot be kept: {refusal.what}"
    again = quoted_path(_inventory())
    return f"{type(error).__name__} ({said}), which nothing here expects; {kept}. Try: sparkrig support {again}"


def _inventory() -> Path:
    """The inventory as it was typed, for a sentence."""
    return Path(_typed() or "INVENTORY")


def _typed() -> str:
    """The inventory as it was typed: the first word of a run that is a file of Python; empty for none."""
    return next((word for word in sys.argv[1:] if word.endswith(".py")), "")
