"""A Dockerfile: what the image of its last stage starts by itself, from ENTRYPOINT, CMD, ENV and FROM.

docs.docker.com/reference/dockerfile: the last of each holds; the exec form is a JSON array that no shell expands;
the shell form is run by `/bin/sh -c`, and such an ENTRYPOINT takes no CMD; an ENTRYPOINT ends a CMD of the base.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace

from sparkrig.parsing import bounds
from sparkrig.serving.container import Container, Described
from sparkrig.serving.launch import Launch, Unreadable
from sparkrig.serving.launches import words as shell_words
from sparkrig.serving.launches.compose import filled
from sparkrig.serving.launches.shell import Shell

BEGINS = re.compile(
    r"(?i)(?:[ \t]*#[^\n]*\n|[ \t]*\n|ARG[ \t][^\n]*\n)*"
    r"FROM[ \t]+(?:--platform=\S+[ \t]+)?\S+[ \t]*(?:[ \t]AS[ \t]+\S+[ \t]*)?\r?(?:\n|$)"
)
_DOCUMENT = re.compile(r"<<-?[\"']?(\w+)")


@dataclass
class _Stage:
    """image: what it is made from in the end; entrypoint, command: None where the file has none."""

    image: str = ""
    entrypoint: tuple[str, ...] | None = None
    command: tuple[str, ...] | None = None
    shell: bool = False  # whether the entrypoint is of the shell form
    own: bool = False  # whether the command stands in this stage
    environment: dict[str, str | None] = field(default_factory=dict)
    run: list[str] = field(default_factory=list)


def read(text: str) -> list[Launch]:
    """The launch of the last stage. Raises Unreadable where it has none."""
    stage = _last(text)
    words = (*(stage.entrypoint or ()), *(() if stage.shell else stage.command or ()))
    # what docker run adds is not seen
    container = Container(stage.image, whole=False)
    described = Described(container, words, stage.environment, replaced=stage.entrypoint is not None)
    shell = Shell("the Dockerfile", stage.environment)
    found = shell.contained(described) if stage.entrypoint or stage.command else []
    if not found:
        raise Unreadable("no CMD and no ENTRYPOINT of the Dockerfile's last stage starts vLLM")
    for each in stage.run:
        with suppress(Unreadable):
            shell.read(each)
    return [replace(each, installs_ray=shell.installs_ray, installs_vllm=shell.installs_vllm) for each in found]


def _last(text: str) -> _Stage:
    stages: dict[str, _Stage] = {}
    stage, defaults = _Stage(), dict[str, str]()
    for name, rest in _instructions(text):
        if name == "FROM":
            image, *more = [each for each in rest.split() if not each.startswith("--")] or [""]
            image = _valued(image, defaults)
            base = stages.get(image.lower())
            stage = _after(base) if base else _Stage(image)
            if len(more) == 2:
                stages[more[1].lower()] = stage
        elif name == "ARG":
            variable, _, value = rest.partition("=")
            defaults[variable.strip()] = value.strip().strip("\"'")
        elif name == "ENV":
            stage.environment |= _variables(rest)
        elif name == "RUN":
            stage.run.append(rest)
        elif name == "ENTRYPOINT":
            stage.entrypoint, stage.shell = _command(rest)
            stage.command = stage.command if stage.own else None
        elif name == "CMD":
            stage.command, stage.own = _command(rest)[0], True
    return stage


def _after(base: _Stage) -> _Stage:
    return replace(base, environment={**base.environment}, run=[*base.run], own=False)


def _instructions(text: str) -> Iterator[tuple[str, str]]:
    """Each instruction in capitals, with its arguments in one line."""
    lines = iter(text.splitlines())
    for line in lines:
        whole = line.strip()
        while whole.endswith("\\") and (more := next(lines, None)) is not None:
            whole = whole if more.lstrip().startswith("#") else f"{whole[:-1].rstrip()} {more.strip()}"
        name, _, rest = whole.partition(" ")
        if name.upper() in ("RUN", "COPY", "ADD") and (document := _DOCUMENT.search(rest)):
            next((each for each in lines if each.strip() == document[1]), None)
        if name and not name.startswith("#"):
            yield name.upper(), rest.strip()


def _command(rest: str) -> tuple[tuple[str, ...], bool]:
    """The words, and whether they are of the shell form, which is also what is no JSON array of texts."""
    with suppress(ValueError):
        found = bounds.loads(rest) if rest.startswith("[") else None
        if isinstance(found, list) and all(isinstance(each, str) for each in found):
            return tuple(found), False
    return ("/bin/sh", "-c", rest), True


def _variables(rest: str) -> dict[str, str | None]:
    """`NAME=value ...`, or the old form `NAME value`."""
    name, _, value = rest.partition(" ")
    if "=" not in name:
        return {name: value.strip()}
    words = shell_words.parted(rest)
    return {each.partition("=")[0]: each.partition("=")[2] for each in words if "=" in each}


def _valued(image: str, defaults: dict[str, str]) -> str:
    """An image with the defaults of the file's arguments; others stay unknown."""
    image = re.sub(r"\$\{(\w+)\}|\$(\w+)", lambda found: defaults.get(found[1] or found[2], "") or found[0], image)
    return filled(image)
