"""The report of a benchmark: each workload measured, beside what others measured, and what it comes to.

`Report` is the JSON that `sparkrig bench --json` prints (docs/schema/bench.json); fields are only ever added.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from sparkrig.serving.bench import beside
from sparkrig.serving.bench.beside import Told
from sparkrig.serving.bench.server import Server
from sparkrig.serving.bench.tool import CommandLine, Figures
from sparkrig.serving.bench.workload import Workload
from sparkrig.serving.model import Catalogue, Model, Source
from sparkrig.text import listed


@dataclass(frozen=True)
class Measured:
    """One workload.

    meaning: in words; concurrency: requests at a time; figures: by the engine's tool; others: what the catalogue
    has of it.
    """

    name: str
    meaning: str
    concurrency: int
    figures: Figures
    others: list[Told]


@dataclass(frozen=True)
class Left:
    """A workload that was not measured, and why. failed: it came to nothing; else the server cannot take it."""

    name: str
    why: str
    failed: bool


@dataclass(frozen=True, kw_only=True)
class Report:
    """All workloads.

    host, service: of the server, empty for the one without a name; engine: its id; model: as the server calls it,
    all empty where no host told; known: its name in the catalogue, None where it is not there; longest: tokens of
    a request that the server takes, None where it is unknown; left: what was not measured; elsewhere: figures of
    the catalogue that are of no workload here; sources: of all figures, by key; verdict: one sentence without a
    full stop.
    """

    schema: Literal["sparkrig.bench/2"] = "sparkrig.bench/2"
    version: str
    host: str
    service: str
    engine: str
    started: datetime
    seconds: float
    model: str
    known: str | None
    longest: int | None
    exit: int
    verdict: str
    workloads: list[Measured]
    left: list[Left]
    elsewhere: list[Told]
    sources: dict[str, Source]


def measured(asked: Workload, figures: Figures, model: Model | None) -> Measured:
    """A workload with its figures. model: of the catalogue."""
    return Measured(
        name=asked.name,
        meaning=asked.meaning,
        concurrency=asked.concurrency,
        figures=figures,
        others=beside.told(model, asked) if model else [],
    )


def report(
    known: Catalogue,
    model: Model | None,
    done: Sequence[Measured],
    left: Sequence[Left],
    *,
    version: str,
    started: datetime,
    ended: datetime,
    server: Server | None = None,
    its: CommandLine | None = None,
) -> Report:
    """What was measured, and what the catalogue knows of the model. server, its: None where no host told."""
    elsewhere = beside.otherwise(model) if model else []
    keys = {each.source for each in (*elsewhere, *(told for each in done for told in each.others))}
    return Report(
        version=version,
        host=server.host if server else "",
        service=server.service.name if server else "",
        engine=server.record.engine if server else "",
        started=started,
        seconds=round((ended - started).total_seconds(), 2),
        model=its.name if its else "",
        known=model.name if model else None,
        longest=its.context if its else None,
        exit=exit_code(done, left),
        verdict=verdict(done, left),
        workloads=list(done),
        left=list(left),
        elsewhere=elsewhere,
        sources={key: known.sources[key] for key in sorted(keys)},
    )


def exit_code(done: Sequence[Measured], left: Sequence[Left]) -> int:
    """0: every request was answered; 2: some were not; 3: a workload came to nothing."""
    if not done or any(each.failed for each in left):
        return 3
    return 2 if any(each.figures.done < each.figures.asked for each in done) else 0


def verdict(done: Sequence[Measured], left: Sequence[Left]) -> str:
    """What it comes to, in one sentence without a full stop."""
    asked, answered = sum(each.figures.asked for each in done), sum(each.figures.done for each in done)
    out = f"; {listed(each.name for each in left)} not measured" if left else ""
    if not asked:
        return f"nothing was measured: {listed(dict.fromkeys(each.why for each in left))}"
    if answered < asked:
        return f"{asked - answered} of {asked} requests failed{out}"
    return f"all {asked} requests were answered{out}"
