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
_DEFAULT = re.compile(r"(?<!\$)\$\{[A-Za-z_]\w*:?-((?:[^$}\n]|\$(?!\{)|\$\{\w+\})*)\}")


def read(document: Mapping[str, Any]) -> list[Launch]:
    """The launches of all services."""
    services = document["services"]
    if not isinstance(services, dict) or not all(isinstance(each, dict) for each in services.values()):
        raise Unreadable("the compose file has no services")
    world = World()
    launches: list[Launch] = []
    for name, service in services.items():
        try:
            described = container.composed(_interpolated(service))
        except ValueError:
            raise Unreadable(f"a quotation mark in the command of service {name} is not closed") from None
        shell = Shell(f"service {name}", described.environment, world)
        launches += [replace(each, composed=True) for each in shell.contained(described)]
    if not launches:
        raise Unreadable(f"no service of the compose file runs vLLM ({', '.join(services)})")
    return launches


def _interpolated(value: Any) -> Any:
    """What compose makes of `${NAME:-default}`; variables without a default stay as they stand."""
    if isinstance(value, dict):
        return {key: _interpolated(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_interpolated(each) for each in value]
    return filled(value) if isinstance(value, str) else value


def filled(text: str) -> str:
    """A text with the defaults of its variables, the innermost first, and `$` for `$$`."""
    for _ in range(_DEEPEST):
        text, count = _DEFAULT.subn(r"\1", text)
        if not count:
            break
    return text.replace("$$", "$")
