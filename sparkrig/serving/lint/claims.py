"""What a source claims about launching vLLM."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, StringConstraints, WithJsonSchema

_TEXT = WithJsonSchema({"type": "string"})  # what a row may hold is no promise of what is printed
Sentence = Annotated[str, StringConstraints(min_length=1, pattern=r"^\S[^\r\n]*$"), _TEXT]


def _plain(day: object) -> object:
    """A whole day is a date in YAML, a month is text."""
    return day.isoformat() if isinstance(day, datetime.date) else day


def _open(schema: dict[str, Any]) -> None:
    del schema["additionalProperties"]


@dataclass(frozen=True)
class Claim:
    """What a source claims.

    says: a sentence without a full stop; source: a key of models/sources.yaml, after a comma the version or the
    person, or else a path of this repository; date: ISO 8601, as far as known, of a page without one the day when
    we read it.
    """

    __pydantic_config__ = ConfigDict(extra="forbid", strict=False, json_schema_extra=_open)

    says: Sentence
    source: Sentence
    date: Annotated[str, StringConstraints(pattern=r"^20\d\d(-\d\d){0,2}$"), BeforeValidator(_plain), _TEXT]
