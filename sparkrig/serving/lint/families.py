"""What the name of a model tells of it, as models/lint/families.yaml has it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from sparkrig.serving.lint.claims import Sentence

Trait = Literal["hybrid", "latent", "mixture", "pooling", "wide-heads"]
Words = Annotated[tuple[Sentence, ...], Field(strict=False)]
Minor = Annotated[str, StringConstraints(pattern=r"^(\d+(\.\d+){1,2})?$")]


class Family(BaseModel):
    """Models of one kind.

    model: parts of their names, as in a rule; is: what they are; format: of their weights under such a name;
    since: the first vLLM that has a class for them.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    model: Annotated[Words, Field(min_length=1)]
    traits: Annotated[tuple[Trait, ...], Field(alias="is", strict=False)] = ()
    format: str = ""
    since: Minor = ""


def named(words: Iterable[str], name: str) -> bool:
    """Whether one of the words is a part of a name, from one dash to another; `*` stands for anything."""
    dashed = f"-{re.sub(r'[^a-z0-9.]+', '-', name.lower())}-"
    return any(_part(word, dashed) for word in words)


def _part(word: str, dashed: str) -> bool:
    """By fnmatch where it has to be: it keeps 256 patterns, and one look at all families has more words."""
    plain = not {*word} & {*"*?["}
    return f"-{word}-" in dashed if plain else fnmatchcase(dashed, f"*-{word}-*")
