"""Files for a host that are made from a template."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from sparkrig import programs

if TYPE_CHECKING:
    from jinja2 import Environment


def rendered(template: str, **values: Any) -> str:
    """The text of a file. template: its path below templates/."""
    return _templates().get_template(template).render(**values)


@cache
def _templates() -> Environment:
    """Plain text for programs of a host: there is no HTML to escape."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    loader = FileSystemLoader(programs.TEMPLATES)
    return Environment(loader=loader, undefined=StrictUndefined, keep_trailing_newline=True)  # noqa: S701
