"""What others measured, beside what was measured here: the catalogue's figures of a model and workload."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sparkrig.serving.bench.workload import WORKLOADS, Workload
from sparkrig.serving.model import Figure, Metric, Model

METRICS: tuple[Metric, ...] = (
    "time to first token s",
    "decode tok/s",
    "aggregate tok/s",
    "draft acceptance %",
)
"""Those that a benchmark measures as well."""


@dataclass(frozen=True)
class Told:
    """One figure of the catalogue: low to high over the settings that a source measured it with.

    cold: of a prompt that was in no cache, as far as the source states; nodes: Sparks; of: the settings or
    workloads, as the source has them; source: a key of models/sources.yaml.
    """

    metric: Metric
    low: float
    high: float
    cold: bool
    nodes: int
    kind: str
    of: list[str]
    source: str


def told(model: Model, workload: Workload) -> list[Told]:
    """What is known of that workload at that many requests at a time, by metric and source."""
    alike: dict[tuple[object, ...], list[Figure]] = {}
    for figure in model.figures:
        if figure.metric in METRICS and _alike(figure, workload):
            alike.setdefault((figure.metric, figure.nodes, figure.kind, figure.source, _cold(figure)), []).append(
                figure
            )
    return [_told(each) for each in alike.values()]


def otherwise(model: Model) -> list[Told]:
    """What is known of the rate of one request outside our workloads: figures of others, of other settings."""
    ours = {name for workload in WORKLOADS.values() for name in workload.figures}
    return [
        _told([figure])
        for figure in model.figures
        if figure.metric == "decode tok/s"
        and figure.concurrency == 1
        and figure.of.partition(",")[0].strip() not in ours
    ]


def _alike(figure: Figure, workload: Workload) -> bool:
    """Whether it is of that workload. A first token of a long prompt counts where no cache had the prompt."""
    label = figure.of.partition(",")[0]
    first = figure.metric == "time to first token s" and workload.long
    return (
        label in workload.figures and figure.concurrency == workload.concurrency and (_cold(figure) or not first)
    )


def _cold(figure: Figure) -> bool:
    return "cold" in figure.of.split(", ")


def _told(alike: Sequence[Figure]) -> Told:
    first, values = alike[0], [*_values(alike)]
    return Told(
        metric=first.metric,
        low=min(values),
        high=max(values),
        cold=_cold(first),
        nodes=first.nodes,
        kind=first.kind,
        of=list(dict.fromkeys(figure.of for figure in alike if figure.of)),
        source=first.source,
    )


def _values(alike: Iterable[Figure]) -> Iterator[float]:
    for figure in alike:
        yield figure.value
        yield figure.high if figure.high is not None else figure.value
