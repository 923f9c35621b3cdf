"""Units of systemd that start a server, and the .container files of Podman Quadlet.

systemd parts a command itself: no pipes and no redirections, `$NAME` of its own environment, `%h` and its like,
which stay unknown. A file of variables is not seen.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace

from sparkrig.serving import container
from sparkrig.serving.launch import Launch, Unreadable
from sparkrig.serving.launches.shell import Shell

BEGINS = re.compile(r"(?:[^\S\n]*+(?:[#;].*+)?\n)*+\[[A-Z][A-Za-z-]*\][ \t\r]*(?:\n|$)")

_SECTION = re.compile(r"\[([A-Z][A-Za-z-]*)\]")
_REFERENCE = re.compile(r"\$\$|\$\{([A-Za-z_]\w*)\}|\$([A-Za-z_]\w*)")
_SPECIFIER = re.compile(r"%([%A-Za-z])")
_SPECIFIERS = {"%": "%", "h": "$HOME", "u": "$USER", "t": "$XDG_RUNTIME_DIR", "i": "$INSTANCE", "I": "$INSTANCE"}
_BEFORE = "ExecStartPre"
# keys of [Container] and the options of `podman run` that they are: podman-systemd.unit(5), podman 5.8
_OPTIONS = {
    "AddCapability": "--cap-add",
    "AddDevice": "--device",
    "ContainerName": "--name",
    "EnvironmentFile": "--env-file",
    "Entrypoint": "--entrypoint",
    "Memory": "--memory",
    "Mount": "--mount",
    "Network": "--network",
    "ShmSize": "--shm-size",
    "Ulimit": "--ulimit",
    "User": "--user",
    "Volume": "--volume",
}

Settings = Mapping[str, Sequence[str]]


def read(text: str) -> list[Launch]:
    """The launches of a unit, or of several one after the other. Raises Unreadable where there is none."""
    found: list[Launch] = []
    for sections in _units(text):
        title = next(iter(sections.get("Unit", {}).get("Description", ())), "")
        source = f"unit {title}" if 0 < len(title) <= 60 else "the unit"  # some have a whole story there
        try:
            if "Container" in sections:
                found += _quadlet(sections["Container"], source)
            found += _service(sections.get("Service", {}), source)
        except ValueError as error:
            raise error if isinstance(error, Unreadable) else Unreadable(f"{error} in the unit") from None
    if not found:
        raise Unreadable("no ExecStart and no Image of the unit starts vLLM")
    return found


def _units(text: str) -> list[dict[str, dict[str, list[str]]]]:
    """Sections by name, each with its settings; a second [Unit] begins another unit. An empty value takes back."""
    units: list[dict[str, dict[str, list[str]]]] = [{}]
    settings: dict[str, list[str]] = {}
    for line in _lines(text):
        section = _SECTION.fullmatch(line.strip())
        if section:
            if section[1] == "Unit" and "Unit" in units[-1]:
                units.append({})
            settings = units[-1].setdefault(section[1], {})
            continue
        name, equals, value = line.partition("=")
        if equals and value.strip():
            settings.setdefault(name.strip(), []).append(value.strip())
        elif equals:
            settings[name.strip()] = []
    return units


def _lines(text: str) -> list[str]:
    """Without comments, which may stand between continued lines, too."""
    lines: list[str] = []
    begun: list[str] = []
    for line in text.splitlines():
        if line.lstrip()[:1] in ("#", ";"):
            continue
        more = line.rstrip()
        begun.append(more.removesuffix("\\"))
        if not more.endswith("\\"):
            lines.append(" ".join(begun))
            begun = []
    return [*lines, " ".join(begun)]


def _environment(settings: Settings) -> dict[str, str | None]:
    words = [word for value in settings.get("Environment", ()) for word in _parted(value)]
    return container.environment(word for word in words if "=" in word)


def _parted(value: str) -> list[str]:
    """The words of a value, with `\\"` as a mark where a shell would keep the backslash."""
    value = _SPECIFIER.sub(lambda found: _SPECIFIERS.get(found[1], "$SPECIFIER"), value)
    try:
        return [word.replace('\\"', '"') for word in shlex.split(value)]
    except ValueError:
        raise ValueError("a quotation mark is not closed") from None


def _service(settings: Settings, source: str) -> list[Launch]:
    """What ExecStart starts, after what is started before it: `docker exec` needs a container."""
    environment = _environment(settings)
    shell = Shell(source, environment)
    for name in (_BEFORE, "ExecStart"):
        for value in settings.get(name, ()):
            words = _command(value, environment)
            shell.command(words)
        if name == _BEFORE:
            shell.launches = []
    if not shell.launches and shell.world.errors:
        raise Unreadable(shell.world.errors[0])
    return shell.launches


def _command(value: str, environment: Mapping[str, str | None]) -> list[str]:
    """The words of an Exec line: without its prefixes, and with `@` without the name that a program is given."""
    bare = value.lstrip("-@:+!|")
    prefix = value[: len(value) - len(bare)]
    words = _parted(bare)
    words = [*words[:1], *words[2:]] if "@" in prefix else words
    return words if ":" in prefix else [_expanded(word, environment) for word in words]


def _expanded(word: str, environment: Mapping[str, str | None]) -> str:
    def value(found: re.Match[str]) -> str:
        return "$" if found[0] == "$$" else environment.get(found[1] or found[2]) or found[0]

    return _REFERENCE.sub(value, word)


def _quadlet(settings: Settings, source: str) -> list[Launch]:
    """A container by the options that Quadlet gives to `podman run`."""
    words = [word for value in settings.get("PodmanArgs", ()) for word in _parted(value)]
    for name, option in _OPTIONS.items():
        words += [each for value in settings.get(name, ()) for each in (option, *_parted(value)[:1])]
    words += [each for name, value in _environment(settings).items() for each in ("--env", f"{name}={value}")]
    image = [*settings.get("Image", ())][-1:]
    run = _parted([*settings.get("Exec", ("",))][-1]) if settings.get("Exec") else []
    described = container.typed([*words, *image, *run])
    if [each.lower() for each in settings.get("EnvironmentHost", ())][-1:] in (["true"], ["yes"], ["1"], ["on"]):
        described = replace(described, whole=False)
    return Shell(source).contained(described)
