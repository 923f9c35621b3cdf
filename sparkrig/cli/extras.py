"""The extras of the package: what some verbs need, and all others do without (pyproject.toml)."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Literal, NamedTuple

import click

from sparkrig.cure import quoted

Name = Literal["lab", "mcp", "onboard", "report", "watch"]


class _Extra(NamedTuple):
    """modules: what it installs; use: what needs them, as the subject of a sentence."""

    modules: tuple[str, ...]
    use: str


_EXTRAS: dict[Name, _Extra] = {
    "lab": _Extra(("qemu",), "sparkrig lab"),
    "mcp": _Extra(("jsonschema", "mcp"), "sparkrig mcp"),
    "onboard": _Extra(("libcst", "zeroconf"), "sparkrig onboard"),
    "report": _Extra(("junitparser", "prometheus_client"), "a report for CI, or of metrics,"),
    "watch": _Extra(("apprise",), "a notice"),
}


def need(name: Name, what: str = "") -> None:
    """Exit code 1, in one sentence, where an extra is not installed; a verb asks before it does anything.

    what: needs it, where that is not what the extra is for.
    """
    modules, use = _EXTRAS[name]
    absent = [module for module in modules if find_spec(module) is None]
    if absent:
        raise click.ClickException(
            f"{what or use} needs {' and '.join(absent)}, which sparkrig installs on demand; nothing was done. "
            f"Try: pip install {quoted(f'sparkrig[{name}]')}"
        )


def need_the_lab() -> None:
    """The same of the virtual Sparks, which are built from the repository, and are no part of the package."""
    if find_spec("lab") is None:
        raise click.ClickException(
            "the virtual Sparks are built from sparkrig's repository, and this is the package alone; nothing was "
            "done. Try: sparkrig lab in a clone of it"
        )
    need("lab")
