"""What `sparkrig lint` prints for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sparkrig.serving import engines
from sparkrig.serving.lint.case import Case
from sparkrig.serving.lint.judgement import Finding


@dataclass(frozen=True)
class Launched:
    """One launch.

    source: what it was read from; engine: vllm, or another one, whose flags are not judged; model: as it was
    given; known: its name in the catalogue, None where it is not there; image: empty where it is not seen; vllm:
    its version, None where that is not known; gpus: how many it wants, None where that cannot be read.
    """

    source: str
    engine: str
    model: str
    known: str | None
    image: str
    vllm: str | None
    gpus: int | None
    findings: list[Finding]


@dataclass(frozen=True, kw_only=True)
class Report:
    """What each launch in a text does that it should not."""

    schema: Literal["sparkrig.lint/1"] = "sparkrig.lint/1"
    launches: list[Launched]


def report(cases: Sequence[Case], found: Sequence[Sequence[Finding]]) -> Report:
    """The document of launches, each with the rules that it breaks."""
    return Report(launches=[_launched(case, each) for case, each in zip(cases, found, strict=True)])


def _launched(case: Case, found: Sequence[Finding]) -> Launched:
    launch = case.launch
    return Launched(
        source=launch.source,
        engine=launch.engine,
        model=launch.model,
        known=case.model.name if case.model else None,
        image=case.container.image,
        vllm=".".join(map(str, case.version)) if case.version else None,
        gpus=case.gpus if launch.engine == engines.VLLM else None,
        findings=[*found],
    )
