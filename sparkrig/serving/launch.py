"""How a model is launched, as one typed Launch each (sparkrig/serving/launch_text.py reads them)."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sparkrig.serving import arguments
from sparkrig.serving.arguments import Value
from sparkrig.serving.container import Container, Mount

# the image whose entrypoint is `vllm serve`
SERVER = re.compile(r"(?:docker\.io/)?vllm/vllm-openai(?::|@|$)")


class Unreadable(ValueError):
    """Text in which no launch is found; the message is one sentence without a full stop."""


class NotRead(Unreadable):
    """Text of a form that is not read; `docker inspect` shows what it starts."""


def not_read(what: str) -> NotRead:
    """The one sentence of it. what: `it is a Dockerfile`."""
    return NotRead(f"{what}, which is not read; start it, and read its container")


@dataclass(frozen=True)
class Launch:
    """One server as it is launched, or a node of Ray that it runs on.

    source: what it was read from, in words; model: as it was given, empty where none was; flags: of the engine, by
    their names without dashes; environment: None for a value that is set where docker is typed; container: None
    for a bare command, which shows nothing of it; image: of a container of which nothing else is known;
    whole: whether the environment is all there; wrapper: the script
    that launches it, which may add to all of it; solo: whether that has to take one node; replaced: whether the
    image's own entrypoint is left out; extra, broken: as
    sparkrig.serving.arguments; composed: whether it is a service of a compose file; ray: whether this is a node of
    Ray and no server; installs_ray, installs_vllm: whether Ray, or another vLLM, is installed first; mods: whether
    programs of a recipe change the container first; unseen:
    whether it runs in a container that something else started; shells: the two words where a shell is given a
    shell's program as its script; serves_twice: whether an image that is `vllm serve` is given these words again;
    commented: the first flag that a comment swallows; engine: as sparkrig.serving.engines, whose
    flags are read as they were typed where it is not vLLM.
    """

    source: str
    model: str = ""
    flags: Mapping[str, Value] = field(default_factory=dict)
    environment: Mapping[str, str | None] = field(default_factory=dict)
    container: Container | None = None
    image: str = ""
    mounts: tuple[Mount, ...] = ()
    whole: bool = False
    wrapper: str = ""
    solo: bool = False
    replaced: bool = False
    extra: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()
    composed: bool = False
    ray: bool = False
    installs_ray: bool = False
    installs_vllm: bool = False
    mods: bool = False
    unseen: bool = False
    shells: str = ""
    serves_twice: bool = False
    commented: str = ""
    engine: str = "vllm"

    def text(self, flag: str) -> str:
        """The value of a flag, empty where it is not given."""
        value = self.flags.get(flag, "")
        return value if isinstance(value, str) else ""

    def on(self, flag: str) -> bool:
        """Whether a switch is on."""
        return self.flags.get(flag) is True

    def table(self, flag: str) -> Mapping[str, Any]:
        """A JSON object, empty where it is not given."""
        value = self.flags.get(flag)
        return value if isinstance(value, Mapping) else {}

    def whole_number(self, flag: str, default: int) -> int | None:
        """Of a flag that takes one. None where what stands there is none."""
        return arguments.whole_number(str(self.flags[flag])) if flag in self.flags else default

    def number(self, flag: str) -> float | None:
        """Of a flag that takes one. None where it is not given, or is none."""
        try:
            found = float(self.text(flag))
        except ValueError:
            return None
        return None if math.isnan(found) else found

    def variable(self, name: str) -> str:
        """An environment variable, empty where it is not set or its value is not seen."""
        return self.environment.get(name) or ""

    @property
    def places(self) -> tuple[str, ...]:
        """Where the weights are: as given, and what is mounted there."""
        path = self.model.rstrip("/")
        inside = [
            mount
            for mount in self.mounts
            if mount.source and f"{path}/".startswith(f"{mount.target.rstrip('/')}/")
        ]
        sources = [each.source.rstrip("/") + path.removeprefix(each.target.rstrip("/")) for each in inside]
        return tuple(dict.fromkeys(_hub(each) for each in (path, *sources) if each))

    @property
    def names(self) -> tuple[str, ...]:
        """What the model may be known by: its places, and what it is served as."""
        served = self.flags.get("served-model-name")
        aliases = [str(each) for each in served if each] if isinstance(served, list) else []
        return tuple(dict.fromkeys((*self.places, *aliases)))


def _hub(name: str) -> str:
    """A checkpoint's own name, where the path is one of Hugging Face's cache."""
    found = re.search(r"models--([^/]+)--([^/]+)", name)
    return f"{found[1]}/{found[2]}" if found else name
