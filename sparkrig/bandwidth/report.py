"""What `sparkrig bandwidth` prints for programs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from operator import not_
from typing import Annotated, Literal

from pydantic import Field

from sparkrig.bandwidth.measurement import PairRun, Run
from sparkrig.bandwidth.ray_gather import Gathered


@dataclass(frozen=True)
class NotMeasured:
    """A pair or a cluster that could not be measured: why, and one command to try."""

    hosts: tuple[str, ...]
    refused: str
    cure: Annotated[str, Field(serialization_alias="try")]


@dataclass(frozen=True, kw_only=True)
class Report:
    """What each rail of each pair carries, and each edge of each larger cluster.

    clusters: absent where the inventory has pairs alone; ray: what `--ray` measured in place of the rails.
    """

    schema: Literal["sparkrig.bandwidth/1"] = "sparkrig.bandwidth/1"
    pairs: list[PairRun | NotMeasured] = field(default_factory=list)
    clusters: Annotated[list[Run | NotMeasured], Field(exclude_if=not_)] = field(default_factory=list)
    ray: Annotated[list[Gathered | NotMeasured], Field(exclude_if=not_)] = field(default_factory=list)


def shown(run: Run) -> Run:
    """A run without the boot ids of its hosts, which are UUIDs: only the history needs them."""
    return replace(run, hosts={name: replace(host, boot_id="") for name, host in run.hosts.items()})
