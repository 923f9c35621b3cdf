"""Whether a model fits: weights + KV cache + CUDA graphs + activations against memory x utilization. Pure.

The KV cache is counted as vLLM's allocator does, not as layers x heads x tokens: where a model mixes kinds of
layers, vLLM sorts them into groups of equally many layers, all groups share one pool of pages of one size, and a
page is as large as the largest need (docs.vllm.ai, design/hybrid_kv_cache_manager; vLLM 0.17 to 0.29 logged what
this computes, see tests/unit/serving/test_budget.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Literal

from sparkrig.serving.layout import divides, usual
from sparkrig.serving.model import (
    Checkpoint,
    Full,
    Latent,
    Layers,
    Model,
    Nodes,
    Recurrent,
    Shape,
    Sliding,
)

GIB = 2**30

# What CUDA and the kernel share: MemTotal 127,535,084 kB, as several owners have it; vLLM logs 121.69 or 121.63
# [@mia-exl3-47, @mia-deepseek-pair], one pair 119.61 [@cylon-pair].
MEMORY_GIB = 121.6
# Above it a Spark runs out of memory [@conselara-models, @conselara-hardware]; they use 0.85 to 0.87.
MOST_UTILIZATION = 0.90
# What vLLM sets aside for CUDA graphs since 0.19.2: its estimate. The mean of 12 logs, -0.1 to 2.4, of graphs that
# took 0.0 to 1.7 GiB [@jethac-hijinks, @djangodevreng].
GRAPHS_GIB = 0.8
# What a start allocates beside PyTorch: CUDA's context, libraries, and on memory that is shared also what the host
# allocates meanwhile. The mean of 8 models in 13 logs, 0.2 to 3.7: weights, graphs and activations taken off
# [@jethac-hijinks, @djangodevreng, @docai-122b]. One machine had 1.1 and 3.7 with the same flags.
NON_TORCH_GIB = 1.7
# The same of a rank of a pair, with NCCL's buffers: the median of 6 pairs, 2.3 to 6.8, of the rank with less room
# [@cylon-pair, @mia-deepseek-pair, @mia-deepseek-pair-32] [@deepseek-pair-guide, @deepseek-pair-087]
# [@playbooks-97].
PAIR_NON_TORCH_GIB = 3.2
# The same of a rank of more: the median of 12 starts on three and four Sparks, 1.5 to 8.0, of one model
# [@tonyd2wild-v41, @sparkring-260]. Nine starts elsewhere were kept aside, and agree
# (tests/fixtures/memory/logs.yaml).
MANY_NON_TORCH_GIB = 4.4
# Bytes of the activations' peak, for each token of a step and each value of the hidden state: 116 of Qwen3.6-35B
# at 65,536 tokens (5 logs), 121 of Gemma 4 26B at 32,768 (1 log) [@jethac-hijinks]. The peak that vLLM logged
# itself is 166 of DeepSeek V4 Flash [@mia-deepseek-4].
ACTIVATION_BYTES = 115
# A rank of a pair has half the experts and heads, and the whole hidden state: 34 bytes of Qwen3.6-35B (2 logs,
# [@cylon-pair]), 135 of DeepSeek V4 Flash (1 log, [@deepseek-pair-087]), by 115 and 166 on one Spark: 0.3, 0.8.
PAIR_ACTIVATIONS = 0.6
# Where a model's file has no hidden size: the middle of those that it has, 2,048 to 5,120.
HIDDEN = 4096
# A node of a pair holds more than half: 4.9 % of 118 GB [@conselara-benchmarks, @conselara-hardware], 1.8, 1.9 and
# 4.0 % of 155.4 GiB [@playbooks-97, @deepseek-pair-guide, @deepseek-pair-087]. The mean of 4 logs.
SHARDING = 1.03
# How far a start lay from this sum at the most, in GiB: of 15 logs of one Spark and 34 of two to six
# (tests/fixtures/memory/logs.yaml).
SPREAD_GIB, MANY_SPREAD_GIB = 3.0, 3.6
# vLLM's own default of a step on a Spark, which it takes for a small GPU [@cylon-pair, @djangodevreng].
DEFAULT_STEP = 2048
# What runs beside vLLM: container, Python, scheduler ~5 GiB [@docai-122b], and the system's own reserve.
BESIDE_GIB = 5.0

_BLOCK = 16  # tokens; vLLM's smallest, of which every larger one is a multiple
_CONVOLUTION_BYTES = 2
_BYTES = {"bf16": 2, "fp8": 1}
# Bits a weight with its scales, where all of a model is in that format; some of its layers never are.
BITS: Mapping[str, float] = {
    "bf16": 16,
    "fp16": 16,
    "fp32": 32,
    "fp8": 8,
    "int8": 8,
    "nvfp4": 4.5,
    "mxfp4": 4.25,
    "int4": 4,
    "int4-gptq": 4,
    "int4-awq": 4,
    "int4-autoround": 4,
}


def spread(nodes: int) -> float:
    """How far a start on so many Sparks may be off."""
    return SPREAD_GIB if nodes == 1 else MANY_SPREAD_GIB


def where(nodes: int) -> str:
    """Whose memory it is, in words."""
    return {1: "one Spark", 2: "each of a pair"}.get(nodes, f"each of {nodes}")


Fit = Literal["fits", "tight", "no", "unknown"]


@dataclass(frozen=True)
class Use:
    """How a model is to be served.

    context: longest sequence in tokens, --max-model-len; sequences: of that length at a time; utilization:
    --gpu-memory-utilization; memory: GiB of each Spark; kv: format of the KV cache; nodes: Sparks that share it,
    --tensor-parallel-size times stages; drafted: tokens a step that a multi-token-prediction head drafts; step:
    --max-num-batched-tokens; prefix_caching: keeps a second state of each recurrent layer; graphs: vLLM sets
    memory aside for CUDA graphs, which it does not with --enforce-eager, before 0.19.2, or with
    VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS=0; stages: of its layers, --pipeline-parallel-size.
    """

    context: int = 32768
    sequences: int = 4
    utilization: float = 0.85
    memory: float = MEMORY_GIB
    kv: Literal["bf16", "fp8"] = "fp8"
    nodes: Nodes = 1
    drafted: int = 0
    step: int = 8192
    prefix_caching: bool = True
    graphs: bool = True
    stages: int = 1

    @property
    def tensor(self) -> int:
        """Sparks that share each layer."""
        return max(1, self.nodes // self.stages)

    def shared(self, nodes: Nodes) -> Use:
        """The same by that many Sparks, as they usually share a model."""
        return replace(self, nodes=nodes, stages=usual(nodes).stages)


@dataclass(frozen=True)
class Paging:
    """How vLLM cuts the KV cache of a node into blocks.

    block_tokens: tokens a block of full attention; block_bytes: of one, all layers of a group; groups: that share
    the pool; sequence_blocks: that one sequence of full context takes.
    """

    block_tokens: int
    block_bytes: int
    groups: int
    sequence_blocks: int

    def blocks(self, gib: float) -> int:
        return max(0, int(gib * GIB)) // self.block_bytes

    def tokens(self, gib: float) -> int:
        """The `GPU KV cache size` that vLLM up to 0.19 logs: too few for a hybrid model [@vllm-40691]."""
        return self.blocks(gib) // self.groups * self.block_tokens

    def sequences(self, gib: float) -> float:
        """The `Maximum concurrency` that vLLM logs: how many sequences of full context."""
        return self.blocks(gib) / self.sequence_blocks


@dataclass(frozen=True)
class Budget:
    """What becomes of a node's memory, in GiB.

    share: memory x utilization; weights: None where no source states their size and the format does not give it;
    estimated: they are at least that large, by the parameters; graphs: set aside for CUDA graphs; non_torch: of
    CUDA, NCCL and the host beside PyTorch; activations: the peak of a step, and the workspace of an indexer; kv:
    what is left for the KV cache, None without weights; needed: by context x sequences, None without a shape;
    paging: likewise; assumed: in sentences.
    """

    use: Use
    share: float
    weights: float | None
    estimated: bool
    graphs: float
    non_torch: float
    activations: float
    kv: float | None
    paging: Paging | None
    assumed: tuple[str, ...]

    @property
    def fit(self) -> Fit:
        """tight: one sequence, not all that are wanted; without a shape, the weights and an unknown rest."""
        if self.kv is None:
            return "unknown"
        if self.kv <= 0 or (self.sequences is not None and self.sequences < 1):
            return "no"
        return "fits" if self.needed is not None and self.needed <= self.kv else "tight"

    @property
    def needed(self) -> float | None:
        """GiB that all wanted sequences of full context take in the KV cache."""
        if self.paging is None:
            return None
        return self.paging.sequence_blocks * self.use.sequences * self.paging.block_bytes / GIB

    @property
    def tokens(self) -> int | None:
        return None if self.paging is None or self.kv is None else self.paging.tokens(self.kv)

    @property
    def sequences(self) -> float | None:
        return None if self.paging is None or self.kv is None else self.paging.sequences(self.kv)

    @property
    def free(self) -> float:
        """What is left of the memory for the system, beside vLLM and what belongs to it."""
        return self.use.memory - self.share - BESIDE_GIB


def budget(model: Model, checkpoint: Checkpoint, use: Use) -> Budget:
    """A checkpoint of a model, served like that."""
    weights, how = _weights(model, checkpoint, use)
    hidden = model.shape.hidden if model.shape else None
    beside = overhead(use, hidden, model.indexer_bytes)
    share = use.memory * use.utilization
    return Budget(
        use=use,
        share=share,
        weights=weights,
        estimated=not checkpoint.resident_gib and checkpoint.weights_gib is None,
        graphs=beside.graphs,
        non_torch=beside.non_torch,
        activations=beside.activations,
        kv=None if weights is None else share - weights - beside.total,
        paging=None if model.shape is None else page(model.shape, use),
        assumed=(*how, *_assumed(model, use)),
    )


@dataclass(frozen=True)
class Overhead:
    """What vLLM takes on a node beside weights and KV cache, in GiB. The names are those of its own log."""

    graphs: float
    non_torch: float
    activations: float

    @property
    def total(self) -> float:
        return self.graphs + self.non_torch + self.activations


def overhead(use: Use, hidden: int | None, indexer_bytes: int = 0) -> Overhead:
    """hidden: values of the hidden state, None where they are not known; indexer_bytes: as a Model has them.

    The indexer's workspace is whole on each rank, and vLLM takes it while it profiles [@vllm-51252, @mia-exl3-86].
    """
    activations = ACTIVATION_BYTES * use.step * (hidden or HIDDEN) / GIB
    non_torch = {1: NON_TORCH_GIB, 2: PAIR_NON_TORCH_GIB}.get(use.nodes, MANY_NON_TORCH_GIB)
    return Overhead(
        graphs=GRAPHS_GIB if use.graphs else 0.0,
        non_torch=non_torch,
        activations=activations * (PAIR_ACTIVATIONS if use.tensor > 1 else 1.0)
        + indexer_bytes * use.context / GIB,
    )


def fewest_nodes(model: Model, checkpoint: Checkpoint, use: Use, sizes: Sequence[Nodes] = (1, 2)) -> Nodes | None:
    """How many Sparks it takes, of those numbers; None where all are too few, or it is unknown.

    Without a shape the weights alone decide; else its heads have to divide as well.
    """
    able = (nodes for nodes in sizes if divides(usual(nodes).tensor, model.shape))
    return next((n for n in able if budget(model, checkpoint, use.shared(n)).fit in ("fits", "tight")), None)


def page(shape: Shape, use: Use) -> Paging:
    """How vLLM cuts the KV cache of a model of that shape."""
    kinds = _of_stage(_with_draft(shape, use.drafted), use.stages)
    tokenwise = [kind for kind in kinds if not isinstance(kind, Recurrent)]
    recurrent = [kind for kind in kinds if isinstance(kind, Recurrent)]
    largest = max((_token_bytes(kind, use) for kind in tokenwise), default=0)
    state = max((_state_bytes(kind, use) for kind in recurrent), default=0)
    if not largest:  # a model without attention keeps states alone
        tokens, page_bytes = use.context, state
    else:
        tokens = max(_BLOCK, ceil(state / largest / _BLOCK) * _BLOCK)
        page_bytes = tokens * largest
    if all(isinstance(kind, Full | Latent) for kind in kinds):
        every = sum(kind.count * _token_bytes(kind, use) for kind in tokenwise)
        return Paging(tokens, tokens * every, 1, ceil(use.context / tokens))
    size = _group_size([kind.count for kind in kinds])
    groups = [ceil(kind.count / size) for kind in kinds]
    blocks = [_blocks(kind, tokens, use) for kind in kinds]
    sequence = sum(count * each for count, each in zip(groups, blocks, strict=True))
    return Paging(tokens, page_bytes * size, sum(groups), sequence)


def _group_size(counts: Sequence[int]) -> int:
    """Layers a group: the fewest of a kind, or the most where that pads less (vLLM's own rule)."""
    return max(counts) if max(counts) < 1.5 * min(counts) else min(counts)


def _with_draft(shape: Shape, drafted: int) -> Sequence[Layers]:
    """The layers with those of the head that drafts, which attend to all tokens."""
    whole = [number for number, kind in enumerate(shape.layers) if isinstance(kind, Full | Latent)]
    extra = {whole[0]: shape.draft} if whole and drafted else {}
    return [
        kind.model_copy(update={"count": kind.count + extra.get(number, 0)})
        for number, kind in enumerate(shape.layers)
    ]


def _of_stage(kinds: Sequence[Layers], stages: int) -> Sequence[Layers]:
    """The layers of the stage with most of them: vLLM gives each equally many, and what is left one each."""
    return [kind.model_copy(update={"count": ceil(kind.count / stages)}) for kind in kinds]


def _token_bytes(kind: Full | Sliding | Latent, use: Use) -> int:
    """Of one token in one layer on one node. A node has at least one head, and the whole of a latent vector."""
    if isinstance(kind, Latent):
        return kind.width * _BYTES[use.kv]
    return 2 * max(1, kind.kv_heads // use.tensor) * kind.head_dim * _BYTES[use.kv]


def _state_bytes(kind: Recurrent, use: Use) -> int:
    """Of one sequence in one layer on one node; drafted tokens lengthen the convolution's memory."""
    inputs = kind.kernel - 1 + use.drafted
    return (kind.state * kind.state_bytes + kind.channels * inputs * _CONVOLUTION_BYTES) // use.tensor


def _blocks(kind: Layers, tokens: int, use: Use) -> int:
    """Blocks that a sequence of full context takes in one group of that kind."""
    if isinstance(kind, Recurrent):
        return (2 if use.prefix_caching else 1) + use.drafted
    if isinstance(kind, Sliding):
        return ceil(min(kind.window - 1 + use.step, use.context) / tokens) + 1
    return ceil(use.context / tokens)


def _weights(model: Model, checkpoint: Checkpoint, use: Use) -> tuple[float | None, tuple[str, ...]]:
    """GiB a node, and how that is known, in sentences."""
    nodes = use.nodes
    if nodes in checkpoint.resident_gib and use.stages == 1:
        return checkpoint.resident_gib[nodes], (
            f"the weights take what vLLM said that they did on {where(nodes)}",
        )
    whole, how = checkpoint.weights_gib, "the weights take what their files do"
    if whole is None:
        bits = BITS.get(checkpoint.format)
        if bits is None or model.parameters_b is None:
            return None, ("no source says how large the weights are",)
        whole = model.parameters_b * 1e9 * bits / 8 / GIB
        how = f"no source says how large the weights are, and {bits:g} bits for each is the least"
    if nodes == 1:
        return whole, (how,)
    more = f"{SHARDING - 1:.0%} of that on top"
    if use.stages > 1:
        return _staged(model, whole, use), (
            how,
            f"each of {use.stages} stages holds its part of the layers, and {more}; the embeddings of the first "
            "and the last one are not counted apart",
        )
    part = "each of a pair holds half" if nodes == 2 else f"each of {nodes} holds one part in {nodes}"
    return whole / nodes * SHARDING, (how, f"{part} of them, and {more}")


def _staged(model: Model, whole: float, use: Use) -> float:
    """GiB of a node of the stage with most layers. Without a shape the stages count as alike."""
    depth = model.shape.depth if model.shape else use.stages
    return whole * ceil(depth / use.stages) / depth / use.tensor * SHARDING


def _assumed(model: Model, use: Use) -> Iterator[str]:
    shape = model.shape
    yield f"a Spark has {use.memory:g} GiB for CPU and GPU together"
    yield "CUDA graphs, activations and non-torch memory take what they did in published logs (docs/models.md)"
    if model.indexer_bytes:
        yield f"the indexer of sparse attention keeps {model.indexer_bytes} bytes for each token of the context"
    yield f"the sum of {where(use.nodes)} was up to {spread(use.nodes):g} GiB off"
    if shape is None or shape.hidden is None:
        yield f"the hidden size of the model is not known, and {HIDDEN} is assumed"
    if shape is None:
        yield "the shape of the model is not known, so the KV cache is not"
        return
    if any(isinstance(kind, Recurrent) for kind in shape.layers):
        copies = "two states a sequence and layer, for prefix caching" if use.prefix_caching else "one state"
        yield f"vLLM keeps {copies}, and one more for each drafted token"
    if any(isinstance(kind, Full | Sliding) and kind.kv_heads < use.tensor for kind in shape.layers):
        yield f"a node has at least one KV head, so some are on {'both' if use.tensor == 2 else 'several'}"
    if use.drafted and not shape.draft:
        yield "the model has no head that drafts, so what else drafts is not counted"
