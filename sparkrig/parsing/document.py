"""A JSON document of a host or a maker, held against the type of what is read of it."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar, cast

from sparkrig.parsing import bounds

if TYPE_CHECKING:
    from pydantic import TypeAdapter

T = TypeVar("T")

_WORDS = {
    "dataclass_type": "another value where an object belongs",
    "tuple_type": "another value where a list belongs",
    "string_type": "another value where a text belongs",
    "string_too_long": "a text of too many characters",
    "missing": "it is missing",
    "too_long": "a list of too many values",
}


def read(kind: type[T], content: bytes) -> T:
    """What a document has. Raises ValueError alone, with one sentence on the first thing that is amiss."""
    return held(kind, bounds.loads(content.decode()))


def held(kind: type[T], given: Any) -> T:
    """The same of a part that was read before."""
    from pydantic import ValidationError

    try:
        document: T = _adapter(cast(Any, kind)).validate_python(given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        reason = _WORDS.get(first["type"], first["msg"].removeprefix("Value error, "))
        raise ValueError(": ".join([*filter(None, [".".join(map(str, first["loc"]))]), reason])) from None
    return document


@lru_cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter  # not before a document is read: explain starts without it

    return TypeAdapter(kind)
