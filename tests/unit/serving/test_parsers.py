"""The parsers of tool calls and reasoning that a server gets."""

from __future__ import annotations

from typing import Any

from sparkrig.serving import arguments, parsers
from tests.tables import each_row
from tests.unit.servings import CATALOGUE, asked


def test_a_family_is_known_by_the_name_of_its_checkpoint() -> None:
    def holds(checkpoint: str, tools: str, reasoning: str) -> None:
        found = parsers.family(checkpoint)
        assert (found.tools if found else "", found.reasoning if found else "") == (tools, reasoning)

    each_row(
        [
            ("openai/gpt-oss-120b", "openai", ""),
            ("Qwen/Qwen3-Coder-30B-A3B-Instruct", "qwen3_xml", ""),
            ("Sehyo/Qwen3.5-122B-A10B-NVFP4", "qwen3_coder", "qwen3"),
            ("bjk110/SPARK_Qwen3.5-122B-A10B-NVFP4", "qwen3_coder", "qwen3"),
            ("Qwen/Qwen3.6-27B-FP8", "qwen3_coder", "qwen3"),
            ("Qwen/Qwen3-235B-A22B-GPTQ-Int4", "", "qwen3"),
            ("Qwen/Qwen3-Next-80B-A3B-Instruct", "", ""),
            ("Qwen/Qwen3-VL-30B-A3B-Thinking", "", ""),
            ("Qwen/Qwen2.5-72B-Instruct", "hermes", ""),
            ("Qwen/Qwen2.5-Coder-32B-Instruct", "", ""),
            ("zai-org/GLM-4.5-Air", "glm45", "glm45"),
            ("mistralai/Mixtral-8x7B-Instruct-v0.1", "", ""),
        ],
        holds,
    )
    assert {each.source for each in parsers.FAMILIES} <= CATALOGUE.sources.keys()


def test_the_user_wins_over_the_catalogue_and_that_over_the_family() -> None:
    def holds(model: str, given: dict[str, Any], tools: str | None, reasoning: str | None, auto: bool) -> None:
        words = asked(model, serve_image="image:1", serve_flags=given).words
        found = arguments.read(words[2:]).flags
        assert (found.get(parsers.TOOLS), found.get(parsers.REASONING)) == (tools, reasoning)
        assert (found.get(parsers.AUTO) is True) is auto

    nvidia = "nvidia/Qwen3.6-35B-A3B-NVFP4"
    each_row(
        {
            "the family's": ("gpt-oss-120b", {}, "openai", None, True),
            "the catalogue's": (nvidia, {}, "qwen3_xml", "qwen3", True),
            "the user's": (nvidia, {parsers.TOOLS: "mine"}, "mine", "qwen3", True),
            "none": ("gpt-oss-120b", {parsers.TOOLS: False}, None, None, False),
            "no thoughts": (nvidia, {parsers.REASONING: False}, "qwen3_xml", None, True),
            "no choice of tools": (nvidia, {parsers.AUTO: False}, "qwen3_xml", "qwen3", False),
            "no family": ("mixtral-8x7b", {}, None, None, False),
        },
        holds,
    )
