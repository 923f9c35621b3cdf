"""What serves a model: vLLM, which lint judges, and the other engines that people run on a Spark.

Each is known by its command and by the names of images (models/engines.yaml); the arguments of SGLang,
llama.cpp and TensorRT-LLM are read, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from sparkrig.parsing import safe_yaml
from sparkrig.serving import arguments
from sparkrig.serving.arguments import Arguments, Value

VLLM = "vllm"
_NEGATIVE = re.compile(r"-\d+(?:\.\d+)?")


@dataclass(frozen=True)
class Engine:
    """One engine: a row of models/engines.yaml, which says what its fields mean. id: as Launch.engine has it."""

    id: str
    name: str
    commands: Sequence[str]
    images: re.Pattern[str]
    modules: Sequence[str] = ()
    entrypoint: bool = False
    model: Sequence[str] = ()
    positional: bool = False
    switches: Sequence[str] = ()
    variables: Sequence[str] = ()
    short: Mapping[str, str] = field(default_factory=dict)


class Served(NamedTuple):
    """A server's command: the engine's id, the words before it, and its arguments."""

    engine: str
    before: Sequence[str]
    rest: Sequence[str]


_FILE = Path(__file__).parents[1] / "models" / "engines.yaml"
_ROWS: Mapping[str, Any] = safe_yaml.load(_FILE.read_text(encoding="utf-8"), safe_yaml.FAST)
OTHERS: Mapping[str, Engine] = {
    id: Engine(id, **{**row, "images": re.compile("|".join(row["images"]), re.IGNORECASE)})
    for id, row in _ROWS.items()
}
# the engine of a word with the one that has to follow
_COMMANDS = {command: engine.id for engine in OTHERS.values() for command in engine.commands}
_MODULES = {module: engine.id for engine in OTHERS.values() for module in engine.modules}


def name(id: str) -> str:
    """What an engine is called."""
    return OTHERS[id].name if id in OTHERS else "vLLM"


def of_runtime(name: str) -> str:
    """The id of the engine that a recipe calls so (`llama_cpp`); empty where that is vLLM or unknown."""
    return next((id for id in OTHERS if _letters(id) == _letters(name)), "")


def _letters(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def of_image(image: str) -> str:
    """The id of the engine that an image holds, empty where that is vLLM or unknown."""
    if "vllm" in image.lower().replace("trtllm", ""):
        return ""
    return next((engine.id for engine in OTHERS.values() if engine.images.search(image)), "")


def of_environment(environment: Mapping[str, str | None]) -> str:
    """The id of the engine for which a container's variables name a model, empty where none is."""
    return next((engine.id for engine in OTHERS.values() if {*engine.variables} & {*environment}), "")


def model_of(id: str, environment: Mapping[str, str | None]) -> str:
    """The model that the variables name, empty where none does."""
    variables = OTHERS[id].variables if id in OTHERS else ()
    return next((model for name in variables if (model := environment.get(name))), "")


def served(words: Sequence[str]) -> Served | None:
    """Another engine's server in the words of a command."""
    for place, word in enumerate(words):
        base = word.rsplit("/", 1)[-1]
        followed = f"{base} {words[place + 1]}" if place + 1 < len(words) else ""
        taken = 1 + (followed in _COMMANDS)
        module = _MODULES.get(word) or ("sglang" if word.endswith("sglang/launch_server.py") else "")
        if id := module or _COMMANDS.get(base) or _COMMANDS.get(followed):
            return Served(id, words[:place], words[place + (1 if module else taken) :])
    return None


def read(id: str, words: Sequence[str]) -> Arguments:
    """The arguments of a server; nothing of an engine that is only known by name.

    vLLM's flags by their whole names, those of the others as they were typed, `_` as `-`.
    """
    if id == VLLM:
        return arguments.read(words)
    engine = OTHERS[id]
    flags: dict[str, Value] = {}
    extra: list[str] = []
    last = ""  # the flag that takes more words
    for word in words if engine.model or engine.positional else ():
        if word.startswith("-") and word != "--" and not _NEGATIVE.fullmatch(word):
            key, equals, value = word.partition("=")
            key = key.lstrip("-").replace("_", "-")
            last = engine.short.get(key, key)
            flags[last] = value if equals else True
            last = "" if equals or last in engine.switches else last
        elif last:
            flags[last] = word if flags[last] is True else f"{flags[last]} {word}"
        else:
            extra.append(word)
    named = [str(flags[each]) for each in engine.model if isinstance(flags.get(each), str)]
    placed = extra[: engine.positional]
    return Arguments(next(iter(named + placed), ""), flags, tuple(extra[len(placed) :]))
