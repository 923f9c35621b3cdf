"""Reads launches: a command line, a script, compose, a recipe, `docker inspect`.

Nothing is run, and nothing beyond the given text is read: what a `--config` file, an `--env-file` or the image
sets is not seen, and a judge of a launch has to know that (`Launch.whole`). Each form has a module in
sparkrig/serving/launches/.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sparkrig.serving import engines, recipe
from sparkrig.serving.container import Container
from sparkrig.serving.launch import SERVER, Launch, Unreadable, not_read
from sparkrig.serving.launches import documents
from sparkrig.serving.launches.command import ASSIGNED, launch, served
from sparkrig.serving.launches.shell import Shell, programs
from sparkrig.serving.model import Launch as Known
from sparkrig.serving.model import Model
from sparkrig.serving.recipe import Recipe
from sparkrig.text import listed

_NAMED = 3  # scripts that a text runs and does not have
_MOST = 300_000  # characters; the longest script that was seen has 40,000
_MOST_INSPECTED = 2_000_000  # what `docker inspect` prints of one container has 20,000
_JSON = re.compile(r"\[(?![A-Z][A-Za-z-]*\])|\{(?![{%])")  # and no section of a unit, no template
_GROUP = re.compile(r"(?:\[\[?|\{)\s+(?:-[a-z]\b|!|\w+\s|\"\$)")  # a test or a group of a shell, and no JSON
_COMMENTS = r"(?:[^\S\n]*+(?:[#;].*+)?\n)*+"
# forms that are not read, each by what it begins with, or by what stands in it
_SIGNS = {
    "a Dockerfile": re.compile(
        rf"\A{_COMMENTS}(?:ARG[ \t]+\w|(?i:FROM)[ \t]+(?:--platform=\S+[ \t]+)?\S+"
        r"(?:[ \t]+(?i:AS)[ \t]+\S+)?[ \t]*\r?(?:\n|\Z))"
    ),
    "a systemd unit": re.compile(rf"\A{_COMMENTS}\[[A-Z][A-Za-z-]*\][ \t]*\r?(?:\n|\Z)"),
    # but for `docker ps --format '{{.Names}}'`, and a brace of JSON that a recipe doubles
    "a template with {{ }} or {% %}": re.compile(
        r"\{%-?\s|^[ \t]*\{\{-?[ \t]*[A-Za-z]|\{\{-?[ \t]*(?:\.(?:Values|Release|Chart)\b"
        r"|(?!end\b|else\b)[A-Za-z_][^{}\s|]*[ \t]*(?:\||-?\}\}))",
        re.MULTILINE,
    ),
}
# the same by a key of its YAML
_KEYS = {
    "apiVersion": "an object of Kubernetes",
    "servingEngineSpec": "a values file of a Helm chart",
    "controllers": "a values file of a Helm chart",
    "models": "a llama-swap config",
}
_YAML = re.compile(r"(?:[^\S\n]*+(?:#.*+)?\n)*+(?:---|[A-Za-z_][\w.-]*:(?:\s|$))")


def read(text: str, sparks: int | None = None) -> list[Launch]:
    """Every launch in a text of any form, a recipe as it is launched on so many. Raises Unreadable for none."""
    bare = text.strip()
    if not bare:
        raise Unreadable("nothing was given")
    inspected_one = _JSON.match(bare) and not _GROUP.match(bare)
    if len(bare) > (_MOST_INSPECTED if inspected_one else _MOST):
        raise Unreadable(f"it has {len(bare)} characters, more than any launch")
    if inspected_one:
        return documents.inspected(bare)
    _not_read(form for form, sign in _SIGNS.items() if sign.search(bare))
    if _YAML.match(bare):
        return _yaml(bare, sparks)
    shell = Shell("the command line")
    return _found(shell, shell.read(bare))


def typed(words: Sequence[str]) -> list[Launch]:
    """The same of words that a shell has already parted."""
    shell = Shell("the command line")
    return _found(shell, shell.command(words))


def of_recipe(made: Recipe, command: str) -> list[Launch]:
    """The launches in the command of a recipe; its script adds what containers need. Raises Unreadable."""
    found = Shell(made.source, made.environment).read(command)
    if not found:
        raise Unreadable(f"the command of the recipe for {engines.name(made.engine)} has no server that is known")
    image = Container(made.image, whole=False) if made.image else None
    mended = bool(made.steps)  # they replace files of vLLM, as [@flash-next-tp-2]'s do
    return [
        replace(
            each,
            container=each.container or image,
            wrapper="recipe",
            # which its runtime names, where it has no command
            engine=each.engine if made.engine == engines.VLLM else made.engine,
            mods=mended,
        )
        for each in found
    ]


def catalogued(model: Model) -> Iterator[tuple[Launch, Known]]:
    """Each launch that the catalogue has of a model, as if it were typed, and the row that it is of.

    Of a launch without options for docker the image alone is known. A launch that was not plainly typed may have
    been given more than is written down.
    """
    for known in model.launches:
        command = ["vllm", "serve", known.checkpoint or model.best().id, *known.arguments()]
        variables = [f"{name}={value}" for name, value in known.environment.items()]
        words = [*variables, *command]
        if known.container:
            given = [word for pair in variables for word in ("-e", pair)]
            run = command[2:] if SERVER.match(known.image) else command  # it is `vllm serve` by itself
            words = ["docker", "run", *shlex.split(known.container), *given, known.image, *run]
        (one,) = typed(words)
        solo = "--solo" in known.typed.split()
        source = f"{model.name}, {known.title}"
        yield replace(one, source=source, wrapper=known.typed, solo=solo, image=known.image), known


def others(command: str, engine: str = engines.VLLM) -> list[str]:
    """The programs that a script starts beside that engine, each by its first word. Raises Unreadable."""
    try:
        commands = programs(command)
    except ValueError as error:
        raise Unreadable(str(error)) from None
    return [words[0] for words in commands if words[:1] != ["export"] and _starts(words, engine)]


def _starts(words: Sequence[str], engine: str) -> bool:
    found = served(words)
    return not all(map(ASSIGNED.fullmatch, words)) and (found is None or found.engine != engine)


def _found(shell: Shell, launches: list[Launch]) -> list[Launch]:
    if not launches:
        unreadables, elsewhere = shell.world.errors, [*dict.fromkeys(shell.world.elsewhere)]
        missing = f"; it runs {listed(elsewhere[:_NAMED])}, which it does not have" if elsewhere else ""
        raise (
            unreadables[0]
            if unreadables
            else Unreadable(f"no `vllm serve` and no container of vLLM is in it{missing}")
        )
    return launches


def _configured(document: Mapping[str, Any]) -> Launch:
    """The file that `vllm serve --config` takes: flags, of which true is a switch."""
    words: list[str] = []
    for name, value in document.items():
        given = value if isinstance(value, list) else [] if isinstance(value, bool) else [value]
        words.append(f"--no-{name}" if value is False else f"--{name}")
        words += [json.dumps(each) if isinstance(each, dict) else str(each) for each in given]
    return launch(words, "the --config file", {}, engines.VLLM)


def _spread(launch: Launch, sparks: int) -> Launch:
    """The launch of a recipe over the Sparks that it needs, where its launcher adds that to the command."""
    said = {"tensor-parallel-size", "pipeline-parallel-size", "data-parallel-size"} & {*launch.flags}
    if sparks == 1 or said or launch.engine != engines.VLLM:
        return launch
    size = 1 << (sparks - 1).bit_length()  # heads are divided by powers of two
    return replace(launch, flags={**launch.flags, "tensor-parallel-size": f"{size}"})


def _alone(made: Recipe, sparks: int | None) -> dict[str, str]:
    """What a recipe's launcher sets where it has one Spark, of a recipe that takes one [@eugr-run-recipe]."""
    one = sparks == 1 and made.fewest == 1 and made.stages == 1
    return {"tensor_parallel": "1"} if "tensor_parallel" in made.values and (one or made.most == 1) else {}


def _not_read(forms: Iterable[str]) -> None:
    """Raises NotRead for the first of these forms."""
    if form := next(iter(forms), ""):
        raise not_read(f"it is {form}")


def _yaml(text: str, sparks: int | None) -> list[Launch]:
    """Compose, a recipe, or what `vllm serve --config` takes."""
    found = [each for each in documents.load(text) if isinstance(each, dict)]
    document = found[0] if found else {}
    if "services" in document:
        return documents.composed(document)
    if isinstance(document.get("engines"), dict):
        raise not_read("it is a recipe of spark-pulse")
    if recipe.is_one(document):
        made = recipe.of(document)
        return [_spread(each, made.fewest) for each in of_recipe(made, made.command(**_alone(made, sparks)))]
    if "model" in document:
        return [_configured(document)]
    _not_read(_KEYS[key] for each in found for key in each if key in _KEYS)
    raise Unreadable(
        "the YAML has no services (a compose file), no command (a recipe) and no model (a --config file)"
    )
