"""The pages and drawings that are texts with holes, in templates/."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from sparkrig.programs import TEMPLATES
from sparkrig.render.style import DARK, LIGHT
from sparkrig.text import lines

if TYPE_CHECKING:
    from jinja2 import Template


@cache
def template(name: str, **filters: Callable[[str], str]) -> Template:
    """One of them; what fills its holes is made plain and escaped, and a hole that is left open is an error."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    jinja = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_plain,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    jinja.filters |= filters
    jinja.globals |= {"light": LIGHT, "dark": DARK}
    return jinja.get_template(name)


def _plain(value: object) -> object:
    """What fills a hole, without control characters: XML has no place for them, even escaped."""
    if not isinstance(value, str):
        return value
    return type(value)(lines(value))  # a drawing of ours stays one that is not escaped again


def sentence(text: str) -> str:
    """With a capital in front; a name keeps the rest of its spelling."""
    return text[:1].upper() + text[1:]
