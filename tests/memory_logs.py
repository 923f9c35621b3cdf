"""What vLLM logged of its memory, as tests/fixtures/memory/logs.yaml has it, and the budget beside it."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from sparkrig.serving.budget import Overhead, Use, overhead
from sparkrig.serving.model import Nodes
from tests.tables import data

FILE = Path(__file__).resolve().parent / "fixtures" / "memory" / "logs.yaml"


class Log(BaseModel):
    """A start of vLLM; the head of the file says what each field is."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    source: str
    day: date
    vllm: str
    nodes: Nodes
    memory: float
    utilization: float
    step: int
    seqs: int = 256
    kv: Literal["bf16", "fp8"]
    hidden: int | None
    context: int = 32768
    indexer: int = 0
    graphs: bool = True
    graphs_gib: float | None = None
    files: float | None = None
    weights: float
    halved: bool = False
    kv_gib: float
    other: float | None = None
    tokens: int | None = None
    free: float | None = None
    constants: bool = False
    exception: str = ""

    @property
    def use(self) -> Use:
        return Use(
            utilization=self.utilization,
            memory=self.memory,
            kv=self.kv,
            nodes=self.nodes,
            step=self.step,
            context=self.context,
            graphs=self.graphs,
        )

    @property
    def beside(self) -> Overhead:
        return overhead(self.use, self.hidden, self.indexer)

    @property
    def predicted(self) -> float:
        """GiB for the KV cache by the budget, with the weights as logged."""
        return self.memory * self.utilization - self.weights - self.beside.total

    @property
    def error(self) -> float:
        return self.predicted / self.kv_gib - 1


def logs() -> list[Log]:
    return [Log.model_validate(row) for row in data(FILE)]
