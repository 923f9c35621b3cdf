"""An entry of the catalogue of models: what a file in models/ may hold, and nothing else.

Every number and every claim names its source, by a key of models/sources.yaml.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import date
from difflib import get_close_matches
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from sparkrig.parsing import hub

Text = Annotated[str, StringConstraints(min_length=1, pattern=r"^\S[^\r\n]*$")]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9.-]*$")]
Flag = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]*$")]
Variable = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
Digest = Annotated[str, StringConstraints(pattern=r"^(sha256:[0-9a-f]{64})?$")]
Version = Annotated[str, StringConstraints(pattern=r"^(\d+(\.\d+)+[a-z0-9.+-]*)?$")]
Count = Annotated[int, Field(gt=0)]
Size = Annotated[float, Field(gt=0, strict=False)]  # 61 is a size, too
Nodes = Literal[1, 2, 3, 4, 5, 6, 7, 8]  # the most Sparks that are one cluster (sparkrig/clusters.py)

Format = Literal[
    "bf16",
    "fp16",
    "fp32",
    "fp8",
    "nvfp4",
    "mxfp4",
    "int8",
    "int4",
    "int4-gptq",
    "int4-awq",
    "int4-autoround",
    "bitsandbytes",
    "gguf",
    "unknown",
]
Standing = Literal["recommended", "works", "unknown", "avoid"]
Purpose = Literal["chat", "coding", "vision", "embedding"]

# For a model without a launch in the catalogue: the image in which vllm-project's recipe for Qwen3.6-35B-A3B was
# verified and measured on a GB10 [@vllm-recipes-spark].
IMAGE = "vllm/vllm-openai:v0.28.0"
_CLOSE = 0.5  # of difflib's ratio: a name that is offered instead


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class _Told(_Strict):
    """What a source states. source: a key of models/sources.yaml."""

    source: Text


class Source(_Strict):
    """Where a number or a claim comes from.

    title: the page's own, or what is cited of it; where: its address, or what it is where no address is known;
    day: of the measurement or the page, None where it bears none; read: by us, where it bears no day; versions:
    of vLLM, image and driver that it holds for, empty where they are unknown.
    """

    title: Text
    where: Text
    day: date | None = None
    read: date | None = None
    versions: str = ""

    @property
    def dated(self) -> str:
        """Its day, or the day that we read it, in words."""
        return f"{self.day}" if self.day else f"read {self.read}" if self.read else ""


class Full(_Strict):
    """Layers that keep key and value of every token."""

    kind: Literal["full"]
    count: Count
    kv_heads: Count
    head_dim: Count


class Sliding(_Strict):
    """Layers that keep key and value of the last `window` tokens."""

    kind: Literal["sliding"]
    count: Count
    kv_heads: Count
    head_dim: Count
    window: Count


class Latent(_Strict):
    """Layers of multi-head latent attention: one vector of `width` values a token (kv_lora_rank + rope)."""

    kind: Literal["latent"]
    count: Count
    width: Count


class Recurrent(_Strict):
    """Layers with a state of fixed size a sequence: Gated DeltaNet, Mamba.

    state: values of the recurrent state (Gated DeltaNet: value heads x key width x value width), state_bytes each;
    channels: of the convolution (Gated DeltaNet: 2 x key heads x key width + value heads x value width), of which
    the last `kernel` - 1 inputs are kept in 16 bit.
    """

    kind: Literal["recurrent"]
    count: Count
    state: Count
    state_bytes: Literal[2, 4] = 4
    channels: Count
    kernel: Count = 4


Layers = Annotated[Full | Sliding | Latent | Recurrent, Field(discriminator="kind")]


class Shape(_Told):
    """What decides the size of a model's KV cache and activations, as its config.json has it.

    hidden: hidden_size, None where it is not known; draft: layers of its own multi-token-prediction head, which
    are like its first kind that attends to all tokens; heads: num_attention_heads, which tensor parallelism has to
    divide, None where it is not known.
    """

    layers: Annotated[tuple[Layers, ...], Field(min_length=1, strict=False)]
    hidden: Count | None = None
    draft: Annotated[int, Field(ge=0)] = 0
    heads: Count | None = None

    @property
    def depth(self) -> int:
        """Its layers that have a cache, which the stages of a pipeline share."""
        return sum(kind.count for kind in self.layers)

    @property
    def kv_heads(self) -> tuple[int, ...]:
        """Heads of keys, of each kind of layer that has them; one latent vector is no head that is divided."""
        return tuple(dict.fromkeys(kind.kv_heads for kind in self.layers if isinstance(kind, Full | Sliding)))


class Checkpoint(_Told):
    """One set of weights.

    id: on Hugging Face; weights_gib: all of its weights, None where no source states it; resident_gib: what they
    take on each node by vLLM's log, by number of nodes; nodes: how many its sources ran it on; draft: whether the
    multi-token-prediction head is in it, None where no source states it; bad: why not to use it, empty where
    nothing speaks against it.
    """

    id: Annotated[str, StringConstraints(pattern=rf"^{hub.ID.pattern}$")]
    format: Format
    weights_gib: Size | None = None
    resident_gib: dict[Nodes, Size] = {}
    nodes: Nodes = 1
    draft: bool | None = None
    bad: str = ""
    note: str = ""


Scalar = str | int | float | bool


def flag_words(flags: Mapping[str, Scalar | dict[str, Scalar]]) -> Iterator[list[str]]:
    """Flags of `vllm serve` as words, as Launch has them."""
    for flag, value in flags.items():
        if isinstance(value, dict):
            yield [f"--{flag}", json.dumps(value, separators=(",", ":"))]
        elif value is not False:
            yield [f"--{flag}"] if value is True else [f"--{flag}", str(value)]


class Launch(_Told):
    """How it was started.

    image: empty where no source names one; vllm: the version in it, digest: of the image, both empty where no
    source states them; obstacle: why image and flags alone do not start it, empty where they do; flags: of
    `vllm serve` without their dashes; True is a flag without a value, a mapping is one of JSON; parsers: the
    source of its parsers of tool calls and reasoning, where it is another one; container: options of `docker run`;
    typed: what else was typed, where it was no plain `vllm serve`.
    """

    title: Text
    checkpoint: str
    nodes: Nodes = 1
    image: str = ""
    vllm: Version = ""
    digest: Digest = ""
    obstacle: str = ""
    flags: dict[Flag, Scalar | dict[str, Scalar]] = {}
    parsers: str = ""
    environment: dict[Variable, str] = {}
    container: str = ""
    typed: str = ""
    note: str = ""

    @property
    def starts(self) -> bool:
        """Whether a host that has nothing but the weights can start it: the image is in a registry, and enough."""
        return bool(self.image) and not self.obstacle

    @property
    def pulled(self) -> str:
        """The image as docker is to pull it."""
        return f"{self.image}@{self.digest}" if self.digest else self.image

    def arguments(self) -> list[str]:
        """The words of `vllm serve` after the model."""
        return [word for flag in self.flag_words() for word in flag]

    def flag_words(self) -> Iterator[list[str]]:
        """Each flag, with its value where it has one; one that is False is not given at all."""
        return flag_words(self.flags)


Metric = Literal[
    "decode tok/s",  # of one request
    "aggregate tok/s",  # of all requests together
    "prefill tok/s",
    "time to first token s",
    "time to first token p95 s",
    "draft acceptance %",
    "draft speed-up x",  # decode with the draft, by decode without it
    "prefix cache hits %",
    "requests done",
    "seconds a request",
    "KV cache GiB",
    "KV cache tokens",
    "weights GiB",
    "CUDA graphs GiB",
    "memory in use GiB",
    "largest concurrency",
    "startup s",
    "download s",
    "CPU %",
    "power W",
]


class Figure(_Told):
    """One number that a source measured, expects, or heard of.

    value to high: a range, or high is None; concurrency: requests at a time; nodes: how many Sparks; of: workload,
    phase or setting that it is of.
    """

    metric: Metric
    value: Annotated[float, Field(ge=0, strict=False)]
    high: Size | None = None
    of: str = ""
    concurrency: Count = 1
    nodes: Nodes = 1
    checkpoint: str = ""
    kind: Literal["measured", "expected", "reported"] = "measured"
    note: str = ""

    @model_validator(mode="after")
    def _in_order(self) -> Figure:
        if self.high is not None and self.high < self.value:
            raise ValueError(f"the range ends at {self.high:g}, below {self.value:g}")
        return self


class Claim(_Told):
    """What a source claims of the model, and what another one, or the published shape, holds against it."""

    says: Text
    against: str = ""
    against_source: str = ""


class Model(_Told):
    """One model.

    parameters_b, active_b: in billions, None where no source states them; context: the longest that it was made
    for, in tokens; indexer_bytes: of memory that vLLM keeps for each token of --max-model-len, for the indexer of
    sparse attention; nodes: how many Sparks it needs; purposes: what its own card says that it is for;
    standing, why: whether to serve it, by that source;
    checkpoints: by preference; assumed: in sentences, what had to be assumed where the entry was computed from the
    files of a checkpoint.
    """

    name: Name
    title: Text
    architecture: Literal["dense", "moe", "dense hybrid", "moe hybrid"]
    parameters_b: Size | None = None
    active_b: Size | None = None
    context: Count | None = None
    indexer_bytes: Annotated[int, Field(ge=0)] = 0
    nodes: Nodes
    purposes: Annotated[tuple[Purpose, ...], Field(strict=False)] = ()
    standing: Standing
    why: Text
    shape: Shape | None = None
    checkpoints: Annotated[tuple[Checkpoint, ...], Field(min_length=1, strict=False)]
    launches: Annotated[tuple[Launch, ...], Field(strict=False)] = ()
    figures: Annotated[tuple[Figure, ...], Field(strict=False)] = ()
    claims: Annotated[tuple[Claim, ...], Field(strict=False)] = ()
    assumed: Annotated[tuple[Text, ...], Field(strict=False)] = ()

    @model_validator(mode="after")
    def _known_checkpoints(self) -> Model:
        known = {checkpoint.id for checkpoint in self.checkpoints} | {""}
        used = {launch.checkpoint for launch in self.launches} | {figure.checkpoint for figure in self.figures}
        if unknown := used - known:
            raise ValueError(f"{', '.join(sorted(unknown))} is none of its checkpoints")
        return self

    def best(self) -> Checkpoint:
        """The first checkpoint that nothing speaks against: a file lists them by preference."""
        return next((checkpoint for checkpoint in self.checkpoints if not checkpoint.bad), self.checkpoints[0])

    def checkpoint(self, wanted: str) -> Checkpoint:
        """The checkpoint of that id, or of a path that ends like it; the best one for the model's own name."""
        whole, last = _plain(wanted)
        exact = (each for each in self.checkpoints if each.id.lower() == hub.whole(whole))
        alike = (each for each in self.checkpoints if last in hub.folders(each.id))
        own = last in (self.name, self.title.lower())
        return next(exact, None) or (self.best() if own else next(alike, self.best()))

    def base(self, checkpoint: Checkpoint, nodes: Nodes) -> Launch | None:
        """The launch of that checkpoint to begin from: best of all on as many Sparks, then one that starts."""
        of_it = [launch for launch in self.launches if (launch.checkpoint or self.best().id) == checkpoint.id]
        return min(of_it, key=lambda launch: (launch.nodes != nodes, not launch.starts), default=None)

    def by_name(self) -> Launch | None:
        """The launch that its name alone stands for."""
        best = self.best()
        nodes: Nodes = max(self.nodes, best.nodes)
        return self.base(best, nodes)

    @property
    def obstacle(self) -> str:
        """Why its name alone does not start it; empty where it does."""
        return hindrance(self, self.best(), self.by_name())

    def sources(self) -> set[str]:
        """The keys of all its sources."""
        shape = [self.shape] if self.shape else []
        told: tuple[_Told, ...] = (self, *shape, *self.checkpoints, *self.launches, *self.figures, *self.claims)
        more = {claim.against_source for claim in self.claims} | {launch.parsers for launch in self.launches}
        return {each.source for each in told} | more - {""}


def hindrance(model: Model, checkpoint: Checkpoint, launch: Launch | None) -> str:
    """Why that launch does not start that checkpoint; empty where it does, as IMAGE does for a computed model."""
    if launch and launch.obstacle:
        return launch.obstacle
    if (launch and launch.image) or model.assumed:
        return ""
    return f"the catalogue names no image for {checkpoint.id}"


class Catalogue(_Strict):
    """All models, by name, and the sources of their numbers and claims."""

    models: Mapping[str, Model]
    sources: Mapping[str, Source]

    def find(self, wanted: str) -> Model | None:
        """The model of that name, title or checkpoint, upper and lower case alike; None where it is not known.

        The last part of a path counts as well, since weights are served from local folders: /models/gpt-oss-120b.
        """
        known = {key: model for model in self.models.values() for key in _keys(model)}
        whole, last = _plain(wanted)
        return known.get(whole) or known.get(last)

    def near(self, wanted: str) -> list[str]:
        """Up to three names of models that a misspelt one may mean, the nearest first."""
        return get_close_matches(_plain(wanted)[1], self.models, 3, _CLOSE)


def _plain(wanted: str) -> tuple[str, str]:
    """A name as it is compared, and its last part."""
    whole = wanted.strip().rstrip("/").lower()
    return whole, whole.rpartition("/")[2]


def _keys(model: Model) -> Iterator[str]:
    for checkpoint in reversed(model.checkpoints):
        yield checkpoint.id.lower()
        yield from hub.folders(checkpoint.id)
    yield model.title.lower()
    yield model.name
