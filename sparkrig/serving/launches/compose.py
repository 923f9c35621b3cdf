"""Services of a compose file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sparkrig.serving import container
from sparkrig.serving.launch import Launch, Unreadable
from sparkrig.serving.launches.shell import Shell, World

_DEEPEST = 8  # `${A:-${B:-...}}`
_NAME = re.compile(r"([A-Za-z_]\w*)(?:(:?[-?+])(.*))?", re.DOTALL)


def read(document: Mapping[str, Any]) -> list[Launch]:
    """The launches of all services."""
    services = document["services"]
    if not isinstance(services, dict) or not all(isinstance(each, dict) for each in services.values()):
        raise Unreadable("the compose file has no services")
    world = World()
    found: list[Launch] = []
    for name, service in services.items():
        try:
            described = container.composed(_interpolated(service))
        except ValueError:
            raise Unreadable(f"a quotation mark in the command of service {name} is not closed") from None
        shell = Shell(f"service {name}", described.environment, world)
        found += [replace(each, composed=True) for each in shell.contained(described)]
    if not found:
        raise Unreadable(f"no service of the compose file runs vLLM ({', '.join(services)})")
    return found


def _interpolated(value: Any) -> Any:
    """What compose makes of `${NAME:-default}`; variables without a default stay as they stand."""
    if isinstance(value, dict):
        return {key: _interpolated(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_interpolated(each) for each in value]
    return filled(value) if isinstance(value, str) else value


def filled(text: str, depth: int = 0) -> str:
    """A text with the defaults of its variables, and `$` for `$$`."""
    made: list[str] = []
    at = 0
    while (place := text.find("$", at)) >= 0:
        made.append(text[at:place])
        piece, at = _variable(text, place, depth)
        made.append(piece)
    return "".join([*made, text[at:]])


def _variable(text: str, place: int, depth: int) -> tuple[str, int]:
    """What stands for the variable at a place, and where it ends."""
    if text.startswith("$$", place):
        return "$", place + 2
    end = _closing(text, place + 2) if text.startswith("${", place) and depth < _DEEPEST else None
    found = _NAME.fullmatch(text[place + 2 : end]) if end is not None else None
    if end is None or found is None:
        return "$", place + 1
    if found[2] in (":-", "-"):
        return filled(found[3], depth + 1), end + 1
    return text[place : end + 1], end + 1


def _closing(text: str, at: int) -> int | None:
    """Where the brace before a place is closed."""
    depth = 1
    for found in re.compile(r"\$\{|\}|\n").finditer(text, at):
        if found[0] == "\n":
            return None
        depth += 1 if found[0] == "${" else -1
        if depth == 0:
            return found.start()
    return None
