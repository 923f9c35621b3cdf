"""A config.json of the hub, field by field: what is absent is None, and what cannot stand is refused."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from sparkrig.cure import Cure
from sparkrig.parsing import bounds, safe_yaml

_FILE = Path(__file__).parents[2] / "models" / "vllm" / "checkpoints.yaml"
TABLES: Mapping[str, Any] = safe_yaml.load(_FILE.read_text(encoding="utf-8"), safe_yaml.FAST)

CHARS = 4_194_304  # of one config.json; NVIDIA's mixed formats name each layer, in up to 0.7 MB
_MOST = 10**8  # of a field: the largest is a context of 10 million tokens
_LAYERS = 1000
_WORD = re.compile(r"[\w./:+* -]{1,500}", re.ASCII)
_NESTED = ("thinker_config", "text_config", "llm_config", "language_config")


class UnreadableCheckpoint(ValueError):
    """Files of which no model can be made; the message is one sentence without a full stop.

    cure: what to try, empty where nothing is better than another checkpoint.
    """

    def __init__(self, message: str, cure: Cure | str = "") -> None:
        super().__init__(message)
        self.cure = cure


class Missing(UnreadableCheckpoint):
    """A field that has to be there for what is computed."""


def table(text: str, name: str, most: int = CHARS) -> Mapping[str, Any]:
    """The object of a JSON file. Raises UnreadableCheckpoint, with the name of the file."""
    if len(text) > most:
        raise UnreadableCheckpoint(f"{name} has {len(text):,} characters, at most {most:,} expected")
    try:
        # Nemotron-H's time_step_limit ends at Infinity or 1e308, which is none of the numbers that are read here
        found = bounds.loads(text, finite_only=False)
    except ValueError as error:
        raise UnreadableCheckpoint(f"{name} is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise UnreadableCheckpoint(f"{name}: an object with fields expected")
    return found


@dataclass(frozen=True)
class Config:
    """What config.json says of the language model.

    whole: all of it; values: with the fields of text_config on top.
    """

    whole: Mapping[str, Any]
    values: Mapping[str, Any]

    @classmethod
    def of(cls, text: str) -> Config:
        """Of the text of config.json. Raises UnreadableCheckpoint."""
        whole = table(text, "config.json")
        values = dict(whole)
        for name in _NESTED:
            if isinstance(values.get(name), dict):
                values |= values[name]
        return cls(whole, values)

    @property
    def kind(self) -> str:
        """model_type of the language model, empty where it is not named."""
        return self.text("model_type")

    @cached_property
    def layers(self) -> int:
        """Raises UnreadableCheckpoint."""
        found = self.count("num_hidden_layers", "n_layer", "num_layers", "n_layers")
        found = found or self._listed() or self.must("num_hidden_layers")
        if found > _LAYERS:
            raise UnreadableCheckpoint(f"config.json has {found:,} layers, at most {_LAYERS:,} expected")
        return found

    def _listed(self) -> int:
        """How many layers a list of their kinds names (Nemotron 3 Ultra has no number of them)."""
        kinds = self.values.get("layers_block_type")
        return len(kinds) if isinstance(kinds, list) else 0

    def count(self, *names: str) -> int | None:
        """The first of these fields with a number above zero. Raises UnreadableCheckpoint for any other value."""
        for name in names:
            found = self.values.get(name)
            if found is None or found is False:
                continue
            if isinstance(found, bool) or not isinstance(found, int) or not 0 <= found <= _MOST:
                raise UnreadableCheckpoint(f"{name} of config.json is no whole number from 0 to {_MOST:,}")
            if found:
                return found
        return None

    def must(self, *names: str) -> int:
        """The same of a field that has to be there."""
        found = self.count(*names)
        if found is None:
            raise Missing(f"config.json has no {names[0]}")
        return found

    def on(self, name: str) -> bool | None:
        """A switch; None where it is not there."""
        found = self.values.get(name)
        return found if isinstance(found, bool) else None

    def text(self, *names: str) -> str:
        """The first of these fields that has a word or a pattern, else an empty text."""
        return next(filter(None, (word(self.values, name) for name in names)), "")

    def under(self, name: str) -> Mapping[str, Any]:
        """An object, empty where it is not there."""
        found = self.values.get(name)
        return found if isinstance(found, dict) else {}

    def each(self, name: str) -> Sequence[Any]:
        """A list or a text with an entry for each layer, of which what stands beyond the last is left out.

        Empty where it is not there. Raises UnreadableCheckpoint where it is too short.
        """
        found = self.values.get(name)
        if not isinstance(found, list | str) or not found:
            return ()
        if len(found) < self.layers:
            raise UnreadableCheckpoint(f"{name} of config.json has {len(found)} entries for {self.layers} layers")
        return found[: self.layers]


def word(values: Mapping[str, Any], name: str) -> str:
    """A text of plain characters that may stand in a sentence; empty for anything else."""
    found = values.get(name)
    return found if isinstance(found, str) and _WORD.fullmatch(found) else ""
