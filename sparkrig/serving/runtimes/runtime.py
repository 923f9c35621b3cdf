"""What differs between the engines that are served: their command, their flags of memory, what they take of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from sparkrig.serving.budget import Budget, Use, budget
from sparkrig.serving.model import Checkpoint, Model, Nodes, Scalar

Flags = Mapping[str, Scalar | dict[str, Scalar]]


@dataclass(frozen=True)
class Metrics:
    """What the watch reads of `/metrics`.

    running: requests that run, empty for the names that watch.py has by itself; counters: what moves while the
    engine works.
    """

    running: str
    counters: tuple[str, ...]


@dataclass(frozen=True)
class Free:
    """GiB that are available when an engine starts. now: beside our other servers; most: where none is loaded."""

    now: float
    most: float


class Runtime(ABC):
    """One engine.

    id: as `serve_engine` has it; name: as its makers write it; share: the flag with the part of the memory that
    it takes, empty where it has none; context: the flag with the longest sequence; names: the flag with what the
    API calls the model; ours: flags that another setting decides on; aliases: other names of its flags;
    defaults: flags that it is given unless the user has another value; shown: a command of a shell that finds it
    in an image; usual: the part of the memory that it gets where nothing asks for more; most_nodes: Sparks that
    can share one model here; metrics: None where the watch can judge memory alone, and why: unwatched; key: the
    variable that has its API key, empty where the key would stand in its log; file: whether its weights are one
    GGUF file; stretches: flags, and variables that are 1, with which a context may be longer than the model was
    made for; beyond: what it does with a longer one without them; ends: words of its log with which a phase of
    the start ends, by the phase (sparkrig/serving/startup.py, which has those of vLLM); of_free: whether `share`
    is a part of what is free, and not of all memory.
    """

    id: ClassVar[str]
    name: ClassVar[str]
    share: ClassVar[str]
    context: ClassVar[str]
    names: ClassVar[str]
    ours: ClassVar[frozenset[str]]
    aliases: ClassVar[Mapping[str, str]] = {}
    defaults: ClassVar[Flags] = {}
    shown: ClassVar[str]
    usual: ClassVar[float]
    most_nodes: ClassVar[Nodes] = 2
    metrics: ClassVar[Metrics | None] = None
    unwatched: ClassVar[str] = ""
    key: ClassVar[str] = ""
    file: ClassVar[bool] = False
    stretches: ClassVar[frozenset[str]] = frozenset()
    beyond: ClassVar[str] = "would end"
    ends: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    of_free: ClassVar[bool] = False

    @abstractmethod
    def words(self, path: str, names: Sequence[str], flags: Sequence[str]) -> list[str]:
        """Its command, the same on every node. path: of the weights; names: what the API calls the model."""

    @abstractmethod
    def use(self, flags: Flags, base: Use) -> Use:
        """The budget's view of its flags, the share aside."""

    def budget(self, model: Model, checkpoint: Checkpoint, use: Use) -> Budget:
        """What becomes of the memory beside our other servers; vLLM's."""
        return budget(model, checkpoint, use)

    def given(self, made: Budget, free: Free) -> float:  # noqa: ARG002
        """The value of the flag `share` for a budget."""
        return made.use.utilization

    def taken(self, given: float, made: Budget, free: Free) -> float:  # noqa: ARG002
        """The utilization with that value of its flag. made: any budget of these flags, here and below."""
        return given

    def most(self, utilization: float, made: Budget, free: Free) -> float:  # noqa: ARG002
        """The part of all memory that it takes at the most: where none of our other servers is loaded yet."""
        return utilization

    def within(self, most: float, made: Budget, free: Free) -> float:  # noqa: ARG002
        """The utilization with which it takes that part at the most."""
        return most

    def held(self, made: Budget) -> float:
        """GiB that it gives back when it stops, at the least."""
        return made.share

    def whole(self, flags: Flags) -> dict[str, Scalar | dict[str, Scalar]]:
        """Flags by their own names."""
        return {self.aliases.get(name, name): value for name, value in flags.items()}
