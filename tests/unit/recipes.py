"""Recipes that others could have published, as text."""

from __future__ import annotations

from typing import Any

import yaml

V2 = {"recipe_version": "2", "model": "openai/gpt-oss-120b", "command": "vllm serve {model} --dtype {dtype}"}


def v2(**values: Any) -> str:
    """A recipe of sparkrun, version 2, with other values."""
    return yaml.safe_dump({**V2, "defaults": {"dtype": "auto"}, **values})
