"""Templates as Ansible fills them: a value is not known, or is its default.

roles/inference of [@epappas] has a unit and a script of that form.
"""

from __future__ import annotations

import re

_LINE = re.compile(r"^[ \t]*(?:\{%[^\n]{0,500}?%\}|\{#[^\n]{0,500}?#\})[ \t]*\n", re.MULTILINE)
_NAME = r"[A-Za-z_]\w*(?:\.\w+|\[[^\]{}\n]{1,60}\])*"
_VALUE = re.compile(rf"\{{\{{-?[ \t]*({_NAME})[ \t]*(\|[^{{}}\n]{{0,200}})?-?\}}\}}")
_DEFAULT = re.compile(r"\|\s*(?:default|d)\(\s*(?:'([^']*)'|\"([^\"]*)\"|(-?\d[\d.]*|true|false))")


def filled(text: str) -> str:
    """A text with `$` for what Jinja would fill in. Of a branch all lines are kept."""
    return _VALUE.sub(_value, _LINE.sub("", text)) if "{{" in text or "{%" in text else text


def _value(found: re.Match[str]) -> str:
    default = _DEFAULT.search(found[2] or "")
    if default is not None:
        return next(each for each in default.groups() if each is not None)
    return "${" + re.sub(r"\W+", "_", found[1]).strip("_") + "}"
