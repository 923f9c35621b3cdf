"""Runs of deploys/serve.py on fake hosts, and what their tests ask of them."""

from __future__ import annotations

from typing import Any

from tests.plan.conftest import Deploy, Run
from tests.plan.serving import Spark, hosts

FILE = "deploys/serve.py"
MODEL, PAIR = ("--data", "model=gpt-oss-120b"), ("--data", "model=qwen3-235b-a22b")


def served_by(deploy: Deploy, a: Spark, b: Spark, *flags: str, **changes: Any) -> Run:
    return deploy(hosts(a, b, **changes), *flags, file=FILE)


def tail(run: Run) -> str:
    return "\n".join(line for line in run.stderr.splitlines() if line.lstrip().startswith(("[@fake", "-->")))[
        -3000:
    ]


def order(run: Run, host: str, *pieces: str) -> None:
    """Each piece stands in a command of that host, in this order."""
    mine = [command for name, command in run.commands if name == host]
    at = -1
    for piece in pieces:
        at = next((place for place, text in enumerate(mine) if place > at and piece in text), None) or -9
        assert at >= 0, (piece, [text[:200] for text in mine])
