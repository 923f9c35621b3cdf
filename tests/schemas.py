"""Whether a document is what docs/schema/ says of its verb."""

from __future__ import annotations

import json
from typing import Any

from jsonschema import Draft202012Validator

from docs.schemas import FOLDER


def closed(schema: Any) -> Any:
    """The schema without room for fields that it does not name: a reader tolerates them, but we name all."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: closed(value) for key, value in schema.items()}
    return {"additionalProperties": False, **inner} if "properties" in schema and "required" in schema else inner


def complaints(verb: str, document: Any) -> list[str]:
    """Where a document differs from its schema; empty where it does not."""
    schema = json.loads((FOLDER / f"{verb}.json").read_text(encoding="utf-8"))
    found = Draft202012Validator(closed(schema)).iter_errors(document)
    return [f"{each.json_path}: {each.message}" for each in found]
