"""What is to be served, the image that was chosen for it, and the part of each node."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from ipaddress import IPv4Address

from sparkrig.serving import gguf
from sparkrig.serving.budget import Use, budget
from sparkrig.serving.model import Checkpoint, Model, Nodes, flag_words
from sparkrig.serving.runtimes import VLLM, runtime
from sparkrig.serving.runtimes.runtime import Flags, Runtime

MODELS = "/models"  # where a container sees the folder of weights


@dataclass(frozen=True)
class Sizing:
    """What a server takes of each Spark, and its longest sequence in tokens.

    utilization: of all memory, the most that it takes, as vLLM's --gpu-memory-utilization has it; engine: its id;
    share: the value of its own flag, where that is another number; held: GiB that it gives back when it stops, 0
    where utilization decides on that; cache: MiB of the KV cache, 0 where vLLM profiles what is left for it.
    """

    utilization: float
    context: int
    engine: str = VLLM.id
    share: float = 0.0
    held: float = 0.0
    cache: int = 0

    @property
    def flags(self) -> Flags:
        own = runtime(self.engine)
        share = {own.share: self.share or self.utilization} if own.share else {}
        cache = {VLLM.cache: f"{self.cache}M"} if self.cache else {}
        return {**share, own.context: self.context, **cache}

    def __str__(self) -> str:
        flags = ", ".join(
            f"--{name} {value:g}" if isinstance(value, float) else f"--{name} {value}"
            for name, value in self.flags.items()
        )
        return flags if runtime(self.engine).share else f"{flags}, {self.utilization:.0%} of the memory"


@dataclass(frozen=True)
class Wish:
    """What is to be served, by catalogue, settings and a recipe alone.

    image: as it is asked for; notes: what a person should know before it is served, in sentences; draft:
    OWNER/NAME of a model that speculates for it, empty for none of its own; engine: its id; gguf: OWNER/NAME/FILE
    of the weights, where they are such a file; steps: what runs in the container before it, as a document of
    sparkrig.serving.steps.
    """

    model: Model
    checkpoint: Checkpoint
    nodes: Nodes
    flags: Flags
    environment: Mapping[str, str]
    image: str
    notes: tuple[str, ...] = ()
    draft: str = ""
    engine: str = VLLM.id
    gguf: str = ""
    steps: str = ""

    @property
    def runtime(self) -> Runtime:
        return runtime(self.engine)

    @property
    def ids(self) -> tuple[str, ...]:
        """OWNER/NAME of all weights that it takes, its own first."""
        own = gguf.folder(self.gguf) if self.gguf else self.checkpoint.id
        return (own, *([self.draft] if self.draft else []))

    @property
    def words(self) -> list[str]:
        """The engine's command, the same on every node; start.sh adds what makes a node a part of one server."""
        names = [] if self.runtime.names in self.flags else self.names
        flags = [word for flag in flag_words(self.flags) for word in flag]
        return self.runtime.words(f"{MODELS}/{self.gguf or self.checkpoint.id}", names, flags)

    @property
    def digest(self) -> str:
        """Of model, flags, nodes and image as they are asked for: what a sizing was decided for."""
        told = json.dumps([self.words, self.nodes, self.image, *([self.steps] if self.steps else [])])
        return hashlib.sha256(told.encode()).hexdigest()

    def sized(self, sizing: Sizing | None) -> Wish:
        """The same with the memory and the context that were decided."""
        return replace(self, flags={**self.flags, **sizing.flags}) if sizing else self

    def use(self, memory_gib: float) -> Use:
        """The budget's view of the flags, the utilization aside; the engine's defaults where one is not given."""
        context = self.model.context or Use.context
        return self.runtime.use(self.flags, Use(context=context, sequences=1, memory=memory_gib, nodes=self.nodes))

    @property
    def names(self) -> list[str]:
        """What the API calls the model, where no flag says otherwise."""
        return [self.model.name, self.checkpoint.id]

    @property
    def called(self) -> list[str]:
        """What the API calls the model."""
        given = self.flags.get(self.runtime.names)
        return [str(given)] if given else self.names

    @property
    def gib(self) -> float | None:
        """Of all weights on a disk; None where it is unknown."""
        return budget(self.model, self.checkpoint, Use(nodes=1)).weights


@dataclass(frozen=True)
class Chosen:
    """What only the hosts can show.

    id: of the image; ray: whether Ray is in it; vllm: its version; entrypoint: its own, in words, where that
    starts what it is given, and empty where start.sh takes its place; sizing: what the memory has room for, None
    where that was not decided for this wish.
    """

    id: str
    ray: bool = False
    vllm: str = ""
    entrypoint: str = ""
    sizing: Sizing | None = None


@dataclass(frozen=True)
class Node:
    """One host's part.

    rank: 0 answers, served.ASIDE has none; head, address: of the network that the nodes use, None for a lone one;
    management: address of the network that ssh came in on, None where it is not known; standing: whether it is on
    the standing Ray cluster, whose head is meant then.
    """

    rank: int = 0
    head: IPv4Address | None = None
    address: IPv4Address | None = None
    management: IPv4Address | None = None
    standing: bool = False
