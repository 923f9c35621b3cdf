"""The parsers of tool calls and reasoning that a server gets."""

from __future__ import annotations

from typing import Any

from sparkrig.serving import arguments, parsers
from tests.tables import each_row, table
from tests.unit.servings import CATALOGUE, asked


def test_a_family_is_known_by_the_name_of_its_checkpoint() -> None:
    def holds(checkpoint: str, tools: str, reasoning: str) -> None:
        found = parsers.family(checkpoint)
        assert (found.tools if found else "", found.reasoning if found else "") == (tools, reasoning)

    each_row(table(__file__, "a family is known by the name of its checkpoint"), holds)
    assert {each.source for each in parsers.FAMILIES} <= CATALOGUE.sources.keys()


def test_the_user_wins_over_the_catalogue_and_that_over_the_family() -> None:
    def holds(model: str, given: dict[str, Any], tools: str | None, reasoning: str | None, auto: bool) -> None:
        words = asked(model, serve_image="image:1", serve_flags=given).words
        found = arguments.read(words[2:]).flags
        assert (found.get(parsers.TOOLS), found.get(parsers.REASONING)) == (tools, reasoning)
        assert (found.get(parsers.AUTO) is True) is auto

    intel = "Intel/Qwen3.5-397B-A17B-int4-AutoRound"
    each_row(
        {
            "the family's": ("gpt-oss-120b", {}, "openai", None, True),
            "the catalogue's": (intel, {}, "qwen3_xml", "qwen3", True),
            "the user's": (intel, {parsers.TOOLS: "mine"}, "mine", "qwen3", True),
            "none": ("gpt-oss-120b", {parsers.TOOLS: False}, None, None, False),
            "no thoughts": (intel, {parsers.REASONING: False}, "qwen3_xml", None, True),
            "no choice of tools": (intel, {parsers.AUTO: False}, "qwen3_xml", "qwen3", False),
            "no family": ("mixtral-8x7b", {}, None, None, False),
        },
        holds,
    )
