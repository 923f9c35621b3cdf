"""What a setting takes, in words, from its JSON schema, so that the sentence on any wrong value is ours."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sparkrig.text import listed

Schema = Mapping[str, Any]

_KINDS = {
    "boolean": "True or False",
    "integer": "a whole number",
    "number": "a number",
    "string": "a text",
    "null": "None",
    "object": "a mapping",
    "array": "a list",
}
_LONGEST = 60  # characters of a value


def value(schema: Schema, shapes: Mapping[str, str]) -> str:
    """What one value is to be. shapes: what a text of some pattern is called, by pattern."""
    if parts := schema.get("anyOf"):
        return _or([each for part in parts for each in value(part, shapes).split(" or ")])
    if allowed := schema.get("enum", [schema["const"]] if "const" in schema else []):
        return _or([each if isinstance(each, str) else json.dumps(each) for each in allowed])
    if inner := schema.get("items"):
        return f"a list in [], each {value(inner, shapes).removesuffix(' or None')}"
    if names := schema.get("patternProperties"):
        ((name, inner),) = names.items()
        return f"a mapping of {shapes[name]} to {value(inner, shapes)}"
    if schema.get("format") == "ipv4interface":
        return "an IPv4 address as ADDRESS/PREFIX"
    if schema.get("format") == "ipv4network":
        return "an IPv4 network as ADDRESS/PREFIX"
    if schema.get("pattern") in shapes:
        return shapes[schema["pattern"]]
    kind = _KINDS[schema["type"]]
    return f"{kind} that is not empty" if schema.get("minLength") else f"{kind}{_range(schema)}"


def name(schema: Schema, shapes: Mapping[str, str]) -> str:
    """What each name of a mapping is to be."""
    (pattern,) = schema["patternProperties"]
    return shapes[pattern]


def member(schema: Schema, shapes: Mapping[str, str]) -> str:
    """What each value of a mapping or a list is to be."""
    (inner,) = [schema["items"]] if "items" in schema else schema["patternProperties"].values()
    return value(inner, shapes)


def shown(given: object) -> str:
    """A value as it was given, shortened."""
    try:
        text = repr(given)
    except ValueError:  # more digits than Python makes text of (sys.set_int_max_str_digits)
        return "a number of thousands of digits"
    return short(text)


def short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _range(schema: Schema) -> str:
    if "exclusiveMinimum" in schema:
        return f" above {schema['exclusiveMinimum']:g}"
    return f" from {schema['minimum']:g} to {schema['maximum']:g}" if "minimum" in schema else ""


def _or(words: Sequence[str]) -> str:
    return listed(words).replace(" and ", " or ")
