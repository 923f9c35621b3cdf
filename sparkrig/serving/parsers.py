"""Which parser of vLLM's reads the tool calls of a family of models, and which its reasoning."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from sparkrig.serving.model import Scalar

TOOLS, REASONING, AUTO = "tool-call-parser", "reasoning-parser", "enable-auto-tool-choice"


@dataclass(frozen=True)
class Family:
    """Models whose checkpoint has such a name.

    name: a pattern for the last part of it in small letters; tools, reasoning: vLLM's parsers, empty where no
    source names one; source: a key of models/sources.yaml.
    """

    name: str
    tools: str
    reasoning: str
    source: str


# The first that matches counts. Left out: what needs a chat template of vLLM's beside its parser.
FAMILIES = (
    Family(r"gpt-oss-", "openai", "", "vllm-tools"),  # vLLM sets its reasoning parser itself
    Family(r"qwen3-coder-", "qwen3_xml", "", "vllm-tools"),
    Family(r"(.*_)?qwen3\.[56]-", "qwen3_coder", "qwen3", "docai-122b"),
    # an instruct model does not think, and its whole answer would count as thoughts
    Family(r"qwen3-(?!.*instruct)(?!vl|omni|embedding|reranker)", "", "qwen3", "vllm-reasoning"),
    Family(r"qwq-32b", "hermes", "deepseek_r1", "vllm-tools"),
    Family(r"qwen2\.5-(?!coder|vl|omni|math)", "hermes", "", "vllm-tools"),
    Family(r"hermes-(2-pro|3)-", "hermes", "", "vllm-tools"),
    Family(r"glm-4\.[56]", "glm45", "glm45", "vllm-tools"),
    Family(r"glm-4\.7", "glm47", "", "vllm-tools"),
    Family(r"kimi-k2-instruct", "kimi_k2", "", "vllm-tools"),
    Family(r"granite-4\.0-", "granite4", "", "vllm-tools"),
    Family(r"minimax-m2", "", "minimax_m2_append_think", "vllm-reasoning"),
    Family(r"deepseek-r1", "", "deepseek_r1", "vllm-reasoning"),
)


def family(checkpoint: str) -> Family | None:
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
