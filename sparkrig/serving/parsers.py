"""Which parser of vLLM's reads the tool calls of a family of models, and which its reasoning."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sparkrig.parsing import safe_yaml
from sparkrig.serving.model import Scalar

TOOLS, REASONING, AUTO = "tool-call-parser", "reasoning-parser", "enable-auto-tool-choice"


@dataclass(frozen=True)
class ParserFamily:
    """Models whose checkpoint has such a name: a row of models/vllm/parsers.yaml, with its fields."""

    name: str
    source: str
    tools: str = ""
    reasoning: str = ""


_FILE = Path(__file__).parents[1] / "models" / "vllm" / "parsers.yaml"
FAMILIES = tuple(ParserFamily(**row) for row in safe_yaml.load(_FILE.read_text(encoding="utf-8"), safe_yaml.FAST))


def family(checkpoint: str) -> ParserFamily | None:
    """The family of OWNER/NAME."""
    last = checkpoint.rpartition("/")[2].lower()
    return next((each for each in FAMILIES if re.match(each.name, last)), None)


def defaults(checkpoint: str) -> Mapping[str, Scalar]:
    """The flags of `vllm serve` for it."""
    found = family(checkpoint)
    if found is None:
        return {}
    tools: dict[str, Scalar] = {TOOLS: found.tools, AUTO: True} if found.tools else {}
    return tools | ({REASONING: found.reasoning} if found.reasoning else {})
