"""What is to be served, the image that was chosen for it, and the part of each node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address

from sparkrig.serving.budget import Use, budget
from sparkrig.serving.model import Checkpoint, Model, Nodes, Scalar, flag_words

MODELS = "/models"  # where a container sees the folder of weights
Flags = Mapping[str, Scalar | dict[str, Scalar]]


@dataclass(frozen=True)
class Wish:
    """What is to be served, by catalogue, settings and a recipe alone.

    image: as it is asked for; notes: what a person should know before it is served, in sentences.
    """

    model: Model
    checkpoint: Checkpoint
    nodes: Nodes
    flags: Flags
    environment: Mapping[str, str]
    image: str
    notes: tuple[str, ...] = ()

    @property
    def words(self) -> list[str]:
        """`vllm serve ...`, the same on every node; start.sh adds what makes a node a part of one server."""
        names = [] if "served-model-name" in self.flags else ["--served-model-name", *self.names]
        flags = [word for flag in flag_words(self.flags) for word in flag]
        return ["vllm", "serve", f"{MODELS}/{self.checkpoint.id}", *names, *flags, "--host", "127.0.0.1"]

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
    """What only the hosts can show: the image by its ID, whether Ray is in it, and which vLLM."""

    id: str
    ray: bool = False
    vllm: str = ""


@dataclass(frozen=True)
class Node:
    """One host's part.

    rank: 0 answers, served.ASIDE has none; head, address: of the network that the nodes use, None for a lone one.
    """

    rank: int = 0
    head: IPv4Address | None = None
    address: IPv4Address | None = None
