"""The report of a benchmark: each workload measured, beside what others measured, and what it comes to.

The models are the JSON that `sparkrig bench --json` prints (docs/schema/bench.json); fields are only ever added.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from sparkrig.serving.bench.answer import UNREACHABLE, Figures
from sparkrig.serving.bench.beside import Told, otherwise
from sparkrig.serving.bench.counters import Counted
from sparkrig.serving.model import Catalogue, Model, Source
from sparkrig.text import listed

SCHEMA: Literal["sparkrig.bench/1"] = "sparkrig.bench/1"


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Measured(_Model):
    """One workload.

    meaning: in words; concurrency: requests at a time; cold_first_token_s: of the first request, whose context was
    in no cache, None where it is not known to be so; late_s: how late this machine woke the client, at p95;
    given_up: why it ended early, empty where it did not; counted: by the server itself; others: what the catalogue
    has of it.
    """

    name: str
    meaning: str
    concurrency: int
    figures: Figures
    cold_first_token_s: float | None
    late_s: float = 0.0
    given_up: str = ""
    counted: Counted
    others: list[Told] = []

    @property
    def silent(self) -> bool:
        """Whether the server did not answer at all."""
        errors = self.figures.errors
        return not self.figures.done and bool(errors) and all(each.kind in UNREACHABLE for each in errors)


class Left(_Model):
    """A workload that was not measured, and why."""

    name: str
    why: str


class Report(_Model):
    """All workloads.

    model: as the server calls it; known: its name in the catalogue, None where it is not there; longest: tokens of
    a request that the server takes, None where it is unknown; thinking: whether the model may think first; left:
    what was not measured; elsewhere: the catalogue's figures of no workload here; sources: of all figures, by key;
    verdict: one sentence without a full stop.
    """

    schema_: Literal["sparkrig.bench/1"] = Field(SCHEMA, alias="schema", serialization_alias="schema")
    version: str
    url: str
    started: datetime
    seconds: float
    model: str
    known: str | None
    longest: int | None
    thinking: bool
    exit: int
    verdict: str
    workloads: list[Measured]
    left: list[Left]
    elsewhere: list[Told]
    sources: dict[str, Source]

    def dumps(self) -> str:
        return self.model_dump_json(by_alias=True, indent=1)


def report(
    known: Catalogue,
    model: Model | None,
    measured: Sequence[Measured],
    left: Sequence[Left],
    *,
    version: str,
    url: str,
    started: datetime,
    seconds: float,
    served: str,
    longest: int | None,
    thinking: bool,
) -> Report:
    """What was measured, and what the catalogue knows of the model. served: its name, empty where unknown."""
    elsewhere = otherwise(model) if model else []
    keys = {each.source for each in (*elsewhere, *(told for each in measured for told in each.others))}
    return Report(
        version=version,
        url=url,
        started=started,
        seconds=seconds,
        model=served,
        known=model.name if model else None,
        longest=longest,
        thinking=thinking,
        exit=exit_code(measured),
        verdict=verdict(measured, left),
        workloads=list(measured),
        left=list(left),
        elsewhere=elsewhere,
        sources={key: known.sources[key] for key in sorted(keys)},
    )


def exit_code(measured: Sequence[Measured]) -> int:
    """0: every request was answered; 2: some were not; 3: none was, and the server did not answer at all."""
    if not measured or all(each.silent for each in measured):
        return 3
    return 2 if any(each.figures.errors for each in measured) else 0


def verdict(measured: Sequence[Measured], left: Sequence[Left]) -> str:
    """What it comes to, in one sentence without a full stop."""
    asked, done = sum(each.figures.asked for each in measured), sum(each.figures.done for each in measured)
    kinds = listed(f"{count} x {kind}" for kind, count in _by_kind(measured).items())
    out = f"; {listed(each.name for each in left)} not measured" if left else ""
    if not asked:
        return f"nothing was measured: {listed(dict.fromkeys(each.why for each in left))}"
    if not done:
        return f"not one of {asked} requests was answered: {kinds}{out}"
    if done < asked:
        return f"{asked - done} of {asked} requests failed: {kinds}{out}"
    return f"all {asked} requests were answered{out}"


def _by_kind(measured: Sequence[Measured]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for each in measured:
        for error in each.figures.errors:
            counts[error.kind] = counts.get(error.kind, 0) + error.count
    return counts
