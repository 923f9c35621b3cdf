"""Recipes of spark-pulse, and the file that `vllm serve --config` takes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sparkrig.serving import arguments, engines
from sparkrig.serving.container import Container
from sparkrig.serving.launch import Launch, Unreadable
from sparkrig.serving.launches import command
from sparkrig.serving.launches import words as shell_words
from sparkrig.serving.launches.documents import rows, table

# spark-pulse's names of values that its engine gives vLLM: RECIPES.md of spark-pulse-recipes at 57a4937
_PULSE = {
    "tensor_parallel": "tensor-parallel-size",
    "pipeline_parallel": "pipeline-parallel-size",
    "data_parallel": "data-parallel-size",
    "served_name": "served-model-name",
}


def configured(document: Mapping[str, Any]) -> Launch:
    """A file of flags, of which true is a switch."""
    return command.of_flags(_flags(document), "the --config file", {})


def _flags(document: Mapping[str, Any]) -> list[str]:
    words: list[str] = []
    for name, value in document.items():
        given = value if isinstance(value, list) else [] if isinstance(value, bool) else [value]
        words.append(f"--no-{name}" if value is False else f"--{name}")
        words += [json.dumps(each) if isinstance(each, dict) else str(each) for each in given]
    return words


def filled(text: str, values: Mapping[str, Any]) -> str:
    """A text with `{name}` filled in; what is not known becomes `${name}`, and `{{` may be a brace."""
    doubled = "{{" in text  # as str.format wants a brace that is none of its own

    def value(found: re.Match[str]) -> str:
        if found[1]:
            return str(values.get(found[1], f"${{{found[1]}}}"))
        return found[0][0] if doubled else found[0]

    return re.sub(r"\{\{|\}\}|\{(\w+)\}", value, text)


def pulse(document: Mapping[str, Any]) -> list[Launch]:
    """A recipe of spark-pulse: `engines.NAME.args` with values from `params`, which are flags as well."""
    params = {str(name): value for name, value in table(document.get("params")).items()}
    source = f"recipe {document.get('name', '')}".rstrip()
    chosen = str(document.get("engine", ""))
    found: list[Launch] = []
    for name, engine in table(document["engines"]).items():
        if chosen in table(document["engines"]) and name != chosen:
            continue
        found.append(_pulsed(str(name), table(engine), document, params, source))
    if not found:
        raise Unreadable("the recipe's engines have no launch")
    return found


def _pulsed(
    name: str, engine: Mapping[str, Any], document: Mapping[str, Any], params: Mapping[str, Any], source: str
) -> Launch:
    args = engine.get("args", "")
    text = args if isinstance(args, str) else " ".join(map(str, rows(args)))
    words = shell_words.parted(filled(text, params))
    environment = {**table(document.get("env")), **table(engine.get("env"))}
    given = {str(key): str(value) for key, value in environment.items()}
    model = [str(document["model"])] if document.get("model") else []
    if name in engines.OTHERS:
        made = command.launch(engines.Served(name, (), [*words]), source, given)
        made = replace(made, model=made.model or "".join(model))
    else:
        named = {_PULSE.get(key, key): value for key, value in params.items()}
        known = {key: value for key, value in named.items() if arguments.is_known(key)}
        made = command.of_flags([*model, *_flags(known), *words], source, given)
    image = Container(str(engine["image"]), whole=False) if engine.get("image") else None
    return replace(made, container=image, wrapper="recipe")
