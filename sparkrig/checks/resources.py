"""Everything that is declared of a host, in the order of the deploy.

Each resource of sparkrig/look/state.py has a module here, made from its own parse and plan, so that
nothing is declared a second time:

    KINDS             what each of its checks means
    checks(subject)   what was found
    judge(subject)    raises Refusal where a deploy would do nothing to the host; where it can be refused
    due(subject)      the paths of the files that a deploy would write, and Refusal where that is unknown;
                      where it writes any
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from sparkrig.look.state import ONE_FILE, RESOURCES, parts
from sparkrig.refusal import Refusal
from sparkrig.resources.check import Check, Subject
from sparkrig.resources.kind import Kind
from sparkrig.resources.resource import Resource

_MODULES = parts(__package__)
_RESOURCES: dict[str, Any] = {name: ONE_FILE.get(name) or _MODULES[name] for name in RESOURCES}


def _each(part: str) -> list[Callable[[Subject], Any]]:
    """That function of each resource that has one."""
    return [getattr(module, part) for module in _RESOURCES.values() if hasattr(module, part)]


def kinds() -> list[Kind]:
    """What the checks of all resources mean."""
    return [
        kind for each in _RESOURCES.values() for kind in (each.kinds if isinstance(each, Resource) else each.KINDS)
    ]


def checks(subject: Subject) -> list[Check]:
    """Every check of a host, in the order of the deploy."""
    return [check for made in _each("checks") for check in made(subject)]


def refusals(subject: Subject) -> list[Refusal]:
    """Every reason why a deploy would do nothing to a host that it may change."""
    found = []
    for judge in _each("judge"):
        try:
            judge(subject)
        except Refusal as refusal:
            found.append(refusal)
    return found


def due(subject: Subject) -> set[str]:
    """The paths of the files that a deploy would write; what is refused is judged by itself."""
    paths: set[str] = set()
    for written in _each("due"):
        with suppress(Refusal):
            paths |= set(written(subject))
    return paths
