"""The pages and drawings that are texts with holes, in templates/."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Template

_FOLDER = Path(__file__).resolve().parents[2] / "templates"


@cache
def template(name: str, **filters: Callable[[str], str]) -> Template:
    """One of them; what fills its holes is escaped, and a hole that is left open is an error."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    jinja = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    jinja.filters |= filters
    return jinja.get_template(name)
