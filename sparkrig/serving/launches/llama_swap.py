"""The config of llama-swap: one command for each model, with macros.

Read from config.example.yaml of mostlygeek/llama-swap at 0046040: `cmd` is parted into words without a shell,
lines that begin with # are left out, `${NAME}` is a macro of the model or of all, `${env.NAME}` a variable,
and `${PORT}` is chosen when the model starts. Macros may name those that stand before them.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sparkrig.serving import engines
from sparkrig.serving.launch import Launch, Unreadable
from sparkrig.serving.launches import command
from sparkrig.serving.launches.documents import rows, table
from sparkrig.serving.launches.shell import Shell

_MACRO = re.compile(r"\$\{([\w.-]+)\}")
_LONGEST = 65_536  # characters of a command with its macros
_ROUNDS = 8  # a macro may name another one


def is_one(document: Mapping[str, Any]) -> bool:
    """Whether this is such a config: models with commands."""
    return any("cmd" in table(each) for each in table(document.get("models")).values())


def read(document: Mapping[str, Any]) -> list[Launch]:
    """The launches of all models, one that is not read among them. Raises Unreadable where none is read."""
    found: list[Launch] = []
    for name, model in table(document["models"]).items():
        macros = {**table(document.get("macros")), **table(table(model).get("macros")), "MODEL_ID": name}
        text = _filled(str(table(model).get("cmd", "")), macros)
        lines = (line.strip().removesuffix("\\") for line in text.splitlines())
        try:
            words = shlex.split(" ".join(line for line in lines if not line.startswith("#")))
        except ValueError:
            raise Unreadable(f"a quotation mark in the cmd of model {name} is not closed") from None
        pairs = (str(each).partition("=") for each in rows(table(model).get("env")))
        given: dict[str, str | None] = {variable: value for variable, _, value in pairs}
        launches = Shell(f"model {name}", given).command(words)
        started = command.script_file(words) or "".join(words[:1])
        unread = Launch(f"model {name}", extra=(started,), engine=engines.UNREAD)
        found += [replace(each, source=f"model {name}") for each in launches or [unread]]
    if all(each.engine == engines.UNREAD for each in found):
        raise Unreadable(f"no cmd of the llama-swap config runs a server ({', '.join(table(document['models']))})")
    return found


def _filled(text: str, macros: Mapping[str, Any]) -> str:
    """The text with its macros; what is none of them stays, and its value is not known."""

    def value(found: re.Match[str]) -> str:
        variable = found[1].removeprefix("env.")
        return str(macros[found[1]]) if found[1] in macros else f"${{{variable}}}"

    for _ in range(_ROUNDS):
        before, text = text, _MACRO.sub(value, text)
        if len(text) > _LONGEST:
            raise Unreadable(f"a cmd of the llama-swap config has more than {_LONGEST:,} characters")
        if text == before:
            break
    return text
