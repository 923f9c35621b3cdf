"""The tools of `sparkrig mcp`: read-only verbs, what each is given, and how that is typed.

A client is steered by a model, and a model by what it reads. So no tool names a file: the inventory is the one
that the server was started with, text comes in as text, and every other value is bounded by a schema and typed as
the value of an option or behind `--`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sparkrig.programs import TEMPLATES

Given = Mapping[str, Any]
_TEXT = 262_144  # characters of a paste
_TOKENS, _SEQUENCES = 100_000_000, 65_536  # more than any model or server takes; a document holds no huge number
_SCHEMAS = TEMPLATES.parent / "docs" / "schema"


@dataclass(frozen=True)
class Tool:
    """One tool, which has the name of its verb.

    about: what a model is told of it; inputs: JSON schemas by name, of which `required` must be given; words: what
    is typed after the verb; of_hosts: whether it asks the hosts of the inventory.
    """

    name: str
    title: str
    about: str
    words: Callable[[Given], list[str]]
    inputs: Mapping[str, Any] = field(default_factory=dict)
    required: tuple[str, ...] = ()
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
        words = [self.name, *self.words(given)]
        return [*words[:1], str(inventory), *words[1:]] if self.of_hosts else words


_NAME = r"^[^\x00-\x1f\x7f]+$"  # no word of a command has a zero byte
_HOSTS = {
    "hosts": {
        "type": "array",
        "items": {"type": "string", "pattern": _NAME, "maxLength": 253},
        "maxItems": 64,
        "description": "Only these hosts of the inventory, and their peers. All where it is left out.",
    }
}
_CHECKS = {
    "checks": {
        "type": "array",
        "items": {"type": "string", "pattern": "^[A-Za-z][A-Za-z0-9._-]*$", "maxLength": 100},
        "maxItems": 64,
        "description": "Only these checks (net.enp1s0f0np0.mtu), those that begin so (net), a category (network).",
    }
}
_NUMBERS: Mapping[str, Any] = {
    "context": {
        "type": "integer",
        "minimum": 1,
        "maximum": _TOKENS,
        "description": "Longest sequence, in tokens.",
    },
    "sequences": {
        "type": "integer",
        "minimum": 1,
        "maximum": _SEQUENCES,
        "description": "Sequences of that length at a time.",
    },
    "sparks": {"type": "integer", "minimum": 1, "maximum": 8, "description": "Number of Sparks."},
}


def _limited(given: Given) -> list[str]:
    return [f"--limit={name}" for name in given.get("hosts", ())]


def _options(given: Given, *names: str) -> list[str]:
    return [f"--{name}={_typed(given[name])}" for name in names if name in given]


def _typed(value: Any) -> str:
    """2.0 is an integer of JSON schema, and none of a command line."""
    return str(int(value) if isinstance(value, float) else value)


def _models(given: Given) -> list[str]:
    numbers = _options(given, *_NUMBERS)
    name = given.get("name")
    return ["show", *numbers, "--json", "--", name] if name else [*numbers, "--json"]


TOOLS = (
    Tool(
        "drift",
        "Drift",
        "Where the hosts differ from what the inventory declares: each check, what was found and what is wanted, "
        "who changed it, and the command that fixes it. It reads; a person types the command.",
        lambda given: ["--json", "--no-keep", *_limited(given)],
        _HOSTS,
    ),
    Tool(
        "doctor",
        "Doctor",
        "Whether the hosts are healthy: what is wrong, why, and the command to type next. The hosts of a pair "
        "or cluster send each other a few frames and pings.",
        lambda given: ["--json", *given.get("checks", ())],
        _CHECKS,
    ),
    Tool(
        "topology",
        "Topology",
        "Which cage of which Spark reaches which, compared with the inventory, and every GID. Each host sends a "
        "few frames for two seconds.",
        lambda _: ["--json"],
    ),
    Tool(
        "status",
        "Status",
        "What each host is set to (driver, containers, each rail with its GID and bandwidth), who works on it, an "
        "armed rollback, what the last runs changed and how they ended, and the last scheduled run of drift.",
        lambda given: [*_options(given, "runs"), "--json"],
        {
            "runs": {
                "type": "integer",
                "minimum": 1,
                "maximum": 20,
                "description": "Runs of each host. Default: 5.",
            }
        },
    ),
    Tool(
        "plan",
        "Plan",
        "What a deploy would change on each host, what it interrupts and how long it takes. Nothing is applied, "
        "and no tool of this server can apply it.",
        lambda given: ["--json", *_limited(given)],
        _HOSTS,
    ),
    Tool(
        "explain",
        "Explain",
        "What the output of ib_write_bw, show_gids, nvidia-smi and similar tools means. It asks no host.",
        lambda _: ["--json"],
        {"text": {"type": "string", "maxLength": _TEXT, "description": "The output, as it was printed."}},
        ("text",),
        of_hosts=False,
    ),
    Tool(
        "lint",
        "Lint",
        "What a Spark cannot do, or what is disputed, in a launch of vLLM: a command, a script, a compose file, "
        "a recipe. It runs nothing and asks no host.",
        lambda given: [*_options(given, "sparks", "vllm"), "--json", "-"],
        {
            "text": {"type": "string", "maxLength": _TEXT, "description": "The launch, as text."},
            "sparks": _NUMBERS["sparks"],
            "vllm": {
                "type": "string",
                "pattern": r"^[0-9]+(\.[0-9]+){1,3}$",
                "maxLength": 32,
                "description": "Version, such as 0.19.2.",
            },
        },
        ("text",),
        of_hosts=False,
    ),
    Tool(
        "models",
        "Models",
        "Which models fit one Spark, a pair or more, or all that is known of one of them. It asks no host.",
        _models,
        {
            "name": {
                "type": "string",
                "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]*$",  # no path, and none of the hub, which would be asked
                "maxLength": 100,
                "description": "A model of the catalogue. The list of all where it is left out.",
            },
            **_NUMBERS,
        },
        of_hosts=False,
    ),
)
