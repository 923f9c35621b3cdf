"""The container that vLLM runs in, as `docker run`, a compose file or `docker inspect` describes it."""

from __future__ import annotations

import re
import shlex
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

# `docker run --help`, docker 29: the options that take no value
_SWITCH_NAMES = """
detach disable-content-trust help init interactive no-healthcheck oom-kill-disable privileged publish-all
quiet read-only rm sig-proxy tty use-api-socket
"""
_SWITCHES = frozenset(_SWITCH_NAMES.split())
_SHORT = {
    "a": "attach",
    "c": "cpu-shares",
    "d": "detach",
    "e": "env",
    "h": "hostname",
    "i": "interactive",
    "l": "label",
    "m": "memory",
    "P": "publish-all",
    "p": "publish",
    "q": "quiet",
    "t": "tty",
    "u": "user",
    "v": "volume",
    "w": "workdir",
}
_ALIASES = {"net": "network"}
UNKNOWN = "$"  # the name of options that are not known
# what no server takes: a word before them is no image
_ONLY_DOCKER = frozenset(
    ("-e", "--env", "-v", "--volume", "--gpus", "--rm", "-it", "-d", "--name", "--network", "--ipc", "--shm-size")
)

Options = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Mount:
    """A path of the host, or a volume's name, and where the container sees it."""

    source: str
    target: str


@dataclass(frozen=True)
class Container:
    """What of the host a container has.

    architecture: `amd64`, `arm64`, ... as it was asked for or as the image has it, empty where both are unknown;
    gpus: whether it is given any; network, ipc: docker's words, empty for docker's default; devices: paths on the
    host; limits: soft limits, -1 for none; memory: `--memory`, empty where there is none; whole: whether all that
    it is given can be seen, without which nothing is missing from it.
    """

    image: str = ""
    architecture: str = ""
    gpus: bool = False
    privileged: bool = False
    network: str = ""
    ipc: str = ""
    devices: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()
    limits: Mapping[str, int] = field(default_factory=dict)
    memory: str = ""
    mounts: tuple[Mount, ...] = ()
    whole: bool = True


@dataclass(frozen=True)
class Described:
    """A container, the command that it runs, and its environment.

    environment: None for a value that comes from where docker is typed; whole: whether nothing else sets variables
    but the image, which is so where no file of them is named; replaced: whether the words begin with the
    entrypoint, and the image's own is not used or not known.
    """

    container: Container
    words: tuple[str, ...]
    environment: Mapping[str, str | None]
    whole: bool = True
    replaced: bool = False


def typed(words: Sequence[str]) -> Described:
    """The words after `docker run`. Raises ValueError where no image is among them."""
    found, rest = options(words)
    if not rest:
        raise ValueError("docker run names no image")
    whole = UNKNOWN not in found
    entrypoint = found.get("entrypoint", [""])[-1]
    container = Container(
        image=rest[0],
        architecture=_architecture(_last(found, "platform")),
        gpus="gpus" in found
        or _last(found, "runtime") == "nvidia"
        or any("nvidia.com/gpu" in each for each in found.get("device", ())),
        privileged=_last(found, "privileged") == "true",
        network=_last(found, "network"),
        ipc=_last(found, "ipc"),
        devices=tuple(each.split(":")[0] for each in found.get("device", ()) if "nvidia.com/" not in each),
        capabilities=tuple(map(_capability, found.get("cap-add", ()))),
        limits=_limits(found.get("ulimit", ())),
        memory=_last(found, "memory"),
        mounts=mounts(found),
        whole=whole,
    )
    run = ((entrypoint,) if entrypoint else ()) + tuple(rest[1:])
    seen = whole and "env-file" not in found
    return Described(container, run, environment(found.get("env", ())), seen, replaced=bool(entrypoint))


def composed(service: Mapping[str, Any]) -> Described:
    """A service of a compose file. Raises ValueError where its command cannot be split into words."""
    resources = _table(_table(service.get("deploy")).get("resources"))
    reserved = _list(_table(resources.get("reservations")).get("devices"))
    container = Container(
        image=str(service.get("image", "")),
        architecture=_architecture(str(service.get("platform", ""))),
        gpus=bool(reserved) or "gpus" in service or service.get("runtime") == "nvidia",
        privileged=bool(service.get("privileged")),
        network=str(service.get("network_mode", "")),
        ipc=str(service.get("ipc", "")),
        devices=tuple(
            str(each.get("source") if isinstance(each, Mapping) else each).split(":")[0]
            for each in _list(service.get("devices"))
        ),
        capabilities=tuple(_capability(str(each)) for each in _list(service.get("cap_add"))),
        limits={name: _limit(value) for name, value in _table(service.get("ulimits")).items()},
        memory=str(service.get("mem_limit") or _table(resources.get("limits")).get("memory") or ""),
        mounts=tuple(_composed_mount(each) for each in _list(service.get("volumes"))),
    )
    variables = service.get("environment")
    if isinstance(variables, Mapping):
        given = {str(name): None if value is None else _said(value) for name, value in variables.items()}
    else:
        given = environment(map(str, _list(variables)))
    words = (*_words(service.get("entrypoint")), *_words(service.get("command")))
    return Described(container, words, given, "env_file" not in service, bool(service.get("entrypoint")))


def inspected(found: Mapping[str, Any], architectures: Mapping[str, str]) -> Described:
    """One container of `docker inspect`. architectures: of each image, by its id, where that was inspected too."""
    config, host = _table(found.get("Config")), _table(found.get("HostConfig"))
    devices = [_table(each) for each in _list(host.get("Devices"))]
    container = Container(
        image=str(config.get("Image", "")),
        architecture=_architecture(architectures.get(str(found.get("Image")), "")),
        gpus=host.get("Runtime") == "nvidia" or bool(host.get("DeviceRequests")),
        privileged=bool(host.get("Privileged")),
        network=str(host.get("NetworkMode", "")),
        ipc=str(host.get("IpcMode", "")),
        devices=tuple(str(device.get("PathOnHost", "")) for device in devices),
        capabilities=tuple(_capability(str(each)) for each in _list(host.get("CapAdd"))),
        limits={
            str(each.get("Name")): _limit(each.get("Soft")) for each in map(_table, _list(host.get("Ulimits")))
        },
        memory=str(host.get("Memory") or ""),
        mounts=tuple(
            Mount(str(each.get("Source", "")), str(each.get("Destination", "")))
            for each in map(_table, _list(found.get("Mounts")))
        ),
    )
    words = (str(found.get("Path", "")), *map(str, _list(found.get("Args"))))
    return Described(container, words, environment(map(str, _list(config.get("Env")))), replaced=True)


def options(words: Sequence[str]) -> tuple[dict[str, list[str]], list[str]]:
    """Options of docker by their whole names, each with its values in order, and the words after them.

    Words that stayed `$...` and stand for options are the values of UNKNOWN.
    """
    found: dict[str, list[str]] = {}
    rest = deque(words)
    while rest and ((rest[0].startswith("-") and rest[0] != "-") or _stands_for_options(rest)):
        word = rest.popleft()
        if word == "--":
            break
        if not word.startswith("-"):
            found.setdefault(UNKNOWN, []).append(word)
            continue
        for name, value in _named(word):
            if value is not None:
                given = value
            elif name in _SWITCHES:
                given = "true"
            else:
                given = rest.popleft() if rest else ""
            found.setdefault(name, []).append(given)
    return found, [*rest]


def _stands_for_options(words: Sequence[str]) -> bool:
    """Whether the first word stayed `$...` and is no image: an array, what may be empty, or named as options."""
    named = re.fullmatch(r"\$(?:\{([\w@*]++)(.*)\}|([\w@*]+))", words[0], re.DOTALL)
    if named is None:
        return words[0].startswith("$(") and len(words) > 1
    name, more = named[1] or named[3], named[2] or ""
    if name in "@*" or re.match(r"\[[@*]\]|:?\+", more):
        return True
    if re.search(r"ima?ge?|container(?!.*(?:opt|arg))|tag$", name, re.IGNORECASE):
        return False
    after = words[1] if len(words) > 1 else ""
    told = re.search(r"opt|arg|flag|param|env|mount|vol|extra|gpu|common|device", name, re.IGNORECASE)
    return (
        told is not None
        or after in _ONLY_DOCKER
        or re.fullmatch(r"[\w.-]+(?:/[\w.-]+)+:[\w.-]+", after) is not None
    )


def mounts(found: Options) -> tuple[Mount, ...]:
    """The mounts that `-v` and `--mount` name."""
    plain = [_mount(each) for each in found.get("volume", ())]
    return (*plain, *(_long_mount(each) for each in found.get("mount", ())))


def environment(given: Iterable[str]) -> dict[str, str | None]:
    """`NAME=value` or `NAME` each."""
    pairs = (each.partition("=") for each in given)
    return {name: value if equals else None for name, equals, value in pairs}


def _named(word: str) -> list[tuple[str, str | None]]:
    """The options in one word: `--name=value`, `-it`, `-p8000:8000`."""
    if word.startswith("--"):
        name, equals, value = word[2:].partition("=")
        return [(_ALIASES.get(name, name), value if equals else None)]
    found: list[tuple[str, str | None]] = []
    for place, letter in enumerate(word[1:], 1):
        name = _SHORT.get(letter, letter)
        if name not in _SWITCHES:
            return [*found, (name, word[place + 1 :].removeprefix("=") or None)]
        found.append((name, "true"))
    return found


def _last(found: Options, name: str) -> str:
    return found.get(name, [""])[-1]


def _architecture(platform: str) -> str:
    name = platform.removeprefix("linux/").split("/")[0]
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(name, name)


def _capability(name: str) -> str:
    return name.upper().removeprefix("CAP_")


def _limits(given: Iterable[str]) -> dict[str, int]:
    return {name: _limit(value.split(":")[0]) for name, _, value in (each.partition("=") for each in given)}


def _limit(value: Any) -> int:
    """The soft one; 0 where it cannot be read."""
    text = str(value.get("soft", "0") if isinstance(value, Mapping) else value)
    return -1 if text == "unlimited" else int(text) if re.fullmatch(r"-?\d+", text) else 0


def _mount(text: str) -> Mount:
    # a `:` inside ${NAME:-default} parts nothing
    parts = re.split(r":(?![-?+])", text)
    return Mount(parts[0], parts[1]) if len(parts) > 1 else Mount("", parts[0])


def _long_mount(text: str) -> Mount:
    fields = dict(each.partition("=")[::2] for each in text.split(","))
    source = fields.get("source") or fields.get("src") or ""
    return Mount(source, fields.get("target") or fields.get("destination") or fields.get("dst") or "")


def _composed_mount(given: Any) -> Mount:
    if isinstance(given, Mapping):
        return Mount(str(given.get("source", "")), str(given.get("target", "")))
    return _mount(str(given))


def _words(given: Any) -> tuple[str, ...]:
    return tuple(shlex.split(given)) if isinstance(given, str) else tuple(map(_said, _list(given)))


def _said(value: Any) -> str:
    """A value of YAML as a container receives it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _table(given: Any) -> Mapping[str, Any]:
    return given if isinstance(given, Mapping) else {}


def _list(given: Any) -> Sequence[Any]:
    return given if isinstance(given, list) else []
