"""The programs that run on hosts: files below templates/programs, as the text that is sent there.

A file begins with its shell and what it does, up to the first empty line; that part stays here. A line
`. ./FILE` stands for the text of that file, by its path from the file that has the line, as a shell and shellcheck
read it: so programs share functions, and a host is sent one whole text.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).parent / "templates"
FOLDER = TEMPLATES / "programs"
_INCLUDE = re.compile(r"^\. (\./\S+|\.\./\S+)\n", re.MULTILINE)


@cache
def text(name: str) -> str:
    """The text of a program, with what it includes. name: its path below templates/programs."""
    _, _, body = (FOLDER / name).read_text(encoding="utf-8").partition("\n\n")
    return _INCLUDE.sub(lambda line: text(normpath(join(dirname(name), line[1]))), body)


@cache
def file(name: str) -> str:
    """A file that lands on a host, or is sent to a program there, as it is. name: its path below templates."""
    return (TEMPLATES / name).read_text(encoding="utf-8")


def rendered(template: str, /, **values: Any) -> str:
    """The same of a template, with its values. template: its path below templates."""
    return _templates().get_template(template).render(**values)


@cache
def _templates() -> Environment:
    """Plain text for programs of a host: there is no HTML to escape."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    loader = FileSystemLoader(TEMPLATES)
    return Environment(loader=loader, undefined=StrictUndefined, keep_trailing_newline=True)  # noqa: S701
