"""What is to be served, the image that was chosen for it, and the part of each node."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from ipaddress import IPv4Address

from sparkrig.serving.budget import Use, budget
from sparkrig.serving.model import Checkpoint, Model, Nodes, Scalar, flag_words

MODELS = "/models"  # where a container sees the folder of weights
UTILIZATION, CONTEXT = "gpu-memory-utilization", "max-model-len"
Flags = Mapping[str, Scalar | dict[str, Scalar]]


@dataclass(frozen=True)
class Sizing:
    """What a server takes of each Spark: --gpu-memory-utilization, and --max-model-len in tokens."""

    utilization: float
    context: int

    @property
    def flags(self) -> Flags:
        return {UTILIZATION: self.utilization, CONTEXT: self.context}

    def __str__(self) -> str:
        return f"--{UTILIZATION} {self.utilization:g}, --{CONTEXT} {self.context}"


@dataclass(frozen=True)
class Wish:
    """What is to be served, by catalogue, settings and a recipe alone.

    image: as it is asked for; notes: what a person should know before it is served, in sentences; draft:
    OWNER/NAME of a model that speculates for it, empty for none of its own; draft_by_hand: whether that was put
    there, and is never downloaded.
    """

    model: Model
    checkpoint: Checkpoint
    nodes: Nodes
    flags: Flags
    environment: Mapping[str, str]
    image: str
    notes: tuple[str, ...] = ()
    draft: str = ""
    draft_by_hand: bool = False

    @property
    def ids(self) -> tuple[str, ...]:
        """OWNER/NAME of all weights that it takes, its own first."""
        return (self.checkpoint.id, *([self.draft] if self.draft else []))

    @property
    def words(self) -> list[str]:
        """`vllm serve ...`, the same on every node; start.sh adds what makes a node a part of one server."""
        names = [] if "served-model-name" in self.flags else ["--served-model-name", *self.names]
        flags = [word for flag in flag_words(self.flags) for word in flag]
        return ["vllm", "serve", f"{MODELS}/{self.checkpoint.id}", *names, *flags, "--host", "127.0.0.1"]

    @property
    def digest(self) -> str:
        """Of model, flags, nodes and image as they are asked for: what a sizing was decided for."""
        told = json.dumps([self.words, self.nodes, self.image])
        return hashlib.sha256(told.encode()).hexdigest()

    def sized(self, sizing: Sizing | None) -> Wish:
        """The same with the memory and the context that were decided."""
        return replace(self, flags={**self.flags, **sizing.flags}) if sizing else self

    @property
    def names(self) -> list[str]:
        """What the API calls the model."""
        return [self.model.name, self.checkpoint.id]

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
    management: address of the network that ssh came in on, None where it is not known.
    """

    rank: int = 0
    head: IPv4Address | None = None
    address: IPv4Address | None = None
    management: IPv4Address | None = None
