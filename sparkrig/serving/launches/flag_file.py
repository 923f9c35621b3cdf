"""The file that `vllm serve --config` takes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sparkrig.serving.launch import Launch
from sparkrig.serving.launches import command


def configured(document: Mapping[str, Any]) -> Launch:
    """A file of flags, of which true is a switch."""
    words: list[str] = []
    for name, value in document.items():
        given = value if isinstance(value, list) else [] if isinstance(value, bool) else [value]
        words.append(f"--no-{name}" if value is False else f"--{name}")
        words += [json.dumps(each) if isinstance(each, dict) else str(each) for each in given]
    return command.of_flags(words, "the --config file", {})
