"""The tools of `sparkrig mcp`, which mcp_tools.yaml has: what each is given, and how that is typed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sparkrig.parsing import safe_yaml
from sparkrig.programs import TEMPLATES

Given = Mapping[str, Any]
_SCHEMAS = TEMPLATES.parent / "docs" / "schema"


@dataclass(frozen=True)
class Tool:
    """One tool, which has the name of its verb: a row of mcp_tools.yaml, which says what each field is."""

    name: str
    title: str
    about: str
    words: Sequence[str]
    instead: Mapping[str, Sequence[str]] = field(default_factory=dict)
    inputs: Mapping[str, Any] = field(default_factory=dict)
    required: Sequence[str] = ()
    of_hosts: bool = True

    @property
    def input_schema(self) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": dict(self.inputs),
            "required": [*self.required],
            "additionalProperties": False,
        }

    @property
    def schema_file(self) -> Path:
        """The schema of what the verb prints with --json."""
        return _SCHEMAS / f"{self.name}.json"

    def typed(self, given: Given, inventory: Path | None) -> list[str]:
        """The verb and its words. inventory: of a tool that asks hosts."""
        words = next((words for name, words in self.instead.items() if name in given), self.words)
        return [self.name, *([str(inventory)] if self.of_hosts else []), *_typed(words, given)]


def _typed(words: Sequence[str], given: Given) -> Iterator[str]:
    """Each word, with the value of an input in its place; 2.0 is an integer of JSON, and none that is typed."""
    for word in words:
        before, _, name = word.removesuffix("}").partition("{")
        value = given.get(name, []) if name else ""
        for each in value if isinstance(value, list) else [value]:
            yield f"{before}{int(each) if isinstance(each, float) else each}"


_ROWS = safe_yaml.load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"), safe_yaml.FAST)
TOOLS = tuple(Tool(name, **row) for name, row in _ROWS.items())
