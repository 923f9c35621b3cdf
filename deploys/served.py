"""The servers that hosts would have, by what was seen of them: what `sparkrig serve` shows before pyinfra runs.

Nothing is executed. `deploys/serve.py` judges by the same `Server`, and looks at the hosts once more.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from sparkrig.checks.server import Server, Sources
from sparkrig.deploys.spark import Spark
from sparkrig.fleet import Fleet
from sparkrig.operations.subject import over
from sparkrig.resources.state import State
from sparkrig.serving.io import catalogue_files, lint_rules, recipe_file, vllm_flags
from sparkrig.serving.model import Catalogue
from sparkrig.serving.wish import Sizing, Wish


def sources(known: Catalogue, inventory: Path) -> Sources:
    """What servers are judged by beside the hosts, each read once; `servers` adds the hosts."""
    folder = catalogue_files.own(inventory)
    return Sources(
        find=known.find,
        recipe=cache(lambda named: recipe_file.read(named) if named else None),
        rules=cache(lambda: lint_rules.rules(folder)),
        tables=cache(lambda: vllm_flags.knowledge(folder)),
        host=lambda _: None,
        typed=lambda: (),
    )


def servers(fleet: Fleet, seen: Mapping[str, State], asked: Sources, typed: Collection[str]) -> dict[str, Server]:
    """The server of each host that was looked at. typed: the settings that are for this run alone."""
    sparks = {name: Spark(name, fleet, over(state, fleet[name])) for name, state in seen.items()}
    beside = replace(asked, host=sparks.get, typed=lambda: typed)
    return {name: Server(spark, beside, fleet[name].serve_name) for name, spark in sparks.items()}


def leading(every: Mapping[str, Server]) -> list[Server]:
    """Those of the hosts that answer, or would."""
    return [server for name, server in every.items() if server.group[0] == name]


def refusals(every: Mapping[str, Server]) -> dict[str, list[str]]:
    """Why hosts could not do their part: each sentence with the hosts that it is of."""
    found: dict[str, list[str]] = {}
    for name, server in every.items():
        for refusal in server.refusals():
            found.setdefault(f"{refusal.what}. Try: {refusal.cure}", []).append(name)
    return found


def fitting(every: Mapping[str, Server]) -> tuple[Wish, Sizing]:
    """What the first of them would serve. Raises Refusal where a host cannot do its part."""
    for server in every.values():
        for refusal in server.refusals():
            raise refusal
    first = leading(every)[0]
    return first.wish, first.sizing
