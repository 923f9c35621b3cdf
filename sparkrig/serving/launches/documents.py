"""Documents of strangers: YAML as plain trees, services of a compose file, and what `docker inspect` printed."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import yaml

from sparkrig.parsing import bounds, safe_yaml
from sparkrig.serving import container
from sparkrig.serving.launch import Launch, Unreadable
from sparkrig.serving.launches.shell import Shell, World

_MOST = 200_000  # values; aliases of aliases make more of them than any text has
_DEEPEST = 40
_DEFAULTS = 8  # `${A:-${B:-...}}`
_DEFAULT = re.compile(r"(?<!\$)\$\{[A-Za-z_]\w*:?-((?:[^$}\n]|\$(?!\{)|\$\{\w+\})*)\}")


def load(text: str) -> list[Any]:
    """The documents in a text, without the empty ones. Raises Unreadable."""
    try:
        documents = safe_yaml.load_all(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" near line {mark.line + 1}" if mark else ""
        raise Unreadable(f"it begins like YAML and is none{where}") from None
    left = [_MOST]
    return [_plain(document, left, 0) for document in documents if document is not None]


def _plain(value: Any, left: list[int], depth: int) -> Any:
    """A copy in which each value stands once: aliases share theirs, and may hold themselves."""
    left[0] -= 1
    if left[0] < 0 or depth > _DEEPEST:
        raise Unreadable("its YAML is too large or nests too deep for a launch")
    if isinstance(value, dict):
        return {str(name): _plain(each, left, depth + 1) for name, each in value.items()}
    if isinstance(value, list):
        return [_plain(each, left, depth + 1) for each in value]
    return value


def composed(document: Mapping[str, Any]) -> list[Launch]:
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
    for _ in range(_DEFAULTS):
        text, count = _DEFAULT.subn(r"\1", text)
        if not count:
            break
    return text.replace("$$", "$")


def inspected(text: str) -> list[Launch]:
    """The launches of all containers, and of their images, that `docker inspect` printed."""
    try:
        document = bounds.loads(text)
    except ValueError as error:
        why = f"line {error.lineno}" if isinstance(error, json.JSONDecodeError) else str(error)
        raise Unreadable(f"it begins like JSON and is none ({why}); docker inspect NAME prints some") from None
    objects = [each for each in (document if isinstance(document, list) else [document]) if isinstance(each, dict)]
    images = {str(each.get("Id")): str(each["Architecture"]) for each in objects if "Architecture" in each}
    containers = [each for each in objects if "HostConfig" in each]
    if not containers:
        raise Unreadable("it is JSON, but no container of docker inspect")
    launches: list[Launch] = []
    for each in containers:
        name = str(each.get("Name", "")).strip("/") or "without a name"
        launches += Shell(f"container {name}").contained(container.inspected(each, images))
    if not launches:
        program = container.inspected(containers[0], {}).words[0]  # its arguments may hold a secret
        raise Unreadable(f"the container runs `{program}`, which is no vLLM; give the command typed inside it")
    return launches
