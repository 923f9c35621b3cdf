"""SGLang: `python3 -m sglang.launch_server`, as its own documentation has it [@sglang-arguments].

`--mem-fraction-static` is no share of all memory. It is that part of what is available when the model begins to
load, on a Spark the kernel's MemAvailable, and weights and KV cache have it together: `rest = available after
the load - available before it x (1 - fraction)` [@sglang-source]. Another server of ours that is loaded makes
that smaller, and after a boot it may not be loaded yet. So utilization and KV cache are counted by what is free
beside all of them, and what the server takes at the most by what is free without them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from sparkrig.serving.arguments import whole_number
from sparkrig.serving.budget import BESIDE_GIB, Budget, Paging, Use
from sparkrig.serving.engines import OTHERS
from sparkrig.serving.model import Checkpoint, Model, Recurrent, Shape, Sliding
from sparkrig.serving.runtimes.pools import Pooled, pooled, state_bytes, token_bytes
from sparkrig.serving.runtimes.runtime import Flags, Free, Metrics, Runtime

_MIB = 1 / 1024
# What SGLang itself leaves beside its pools where no fraction is given, in MiB [@sglang-source]: metadata, 1.5 for
# each token of a step, 2 for each sequence of a CUDA graph, a part for each rank, and 10 GiB at the least.
_METADATA, _STEP_TOKEN, _GRAPH_SEQUENCE, _RANKS, _LEAST = 512.0, 1.5, 2.0, 1024 / 8, 10240.0
# Its own choice for a GPU of 90 to 160 GiB [@sglang-source].
_STEP, _GRAPH_SEQUENCES = 8192, 256
_SLIDING = 0.8  # --swa-full-tokens-ratio: tokens of sliding layers for each token of full ones [@sglang-arguments]
# The flag is rounded down to one of them, which costs up to 12 MiB of 121.6 GiB. The budget has all of that off,
# for what is really lost rises and falls with what is free: more memory would at times give a shorter context.
_PARTS = 10_000
_STATES = 0.9  # --mamba-full-memory-ratio: memory of states for that of tokens [@sglang-source]


class SGLang(Runtime):
    """SGLang, on one Spark or by its own multi-node mode on two."""

    id = "sglang"
    name = "SGLang"
    shown = 'python3 -c "import sglang"'
    share, context, names = "mem-fraction-static", "context-length", "served-model-name"
    of_free = True
    usual = 0.80  # 0.75 of what is free, as in NVIDIA's playbook [@nvidia-sglang], and what stays beside it
    defaults: ClassVar[Flags] = {"enable-metrics": True}
    ours = frozenset(
        {
            "config",
            "dist-init-addr",
            "enable-metrics",
            "host",
            "model-path",
            "nnodes",
            "node-rank",
            "port",
        }
    )
    aliases = OTHERS["sglang"].short
    stretches = frozenset({"json-model-override-args", "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"})
    ends: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "engine": ("Load weight begin",),
        "weights": ("Load weight end",),
        "compile": ("Capture cuda graph end", "max_total_num_tokens="),
        "api": ("The server is fired up",),
    }
    # Its scheduler sets the first while it runs and again when it is idle; the tokenizer counts what is finished,
    # and the scheduler the tokens of each log interval [@sglang-metrics]
    metrics = Metrics(
        "sglang:num_running_reqs",
        (
            "sglang:generation_tokens_total",
            "sglang:prompt_tokens_total",
            "sglang:realtime_tokens_total",
            "sglang:num_requests_total",
        ),
    )

    def words(self, path: str, names: Sequence[str], flags: Sequence[str]) -> list[str]:
        called = [f"--{self.names}", names[0]] if names else []
        head = ["python3", "-m", "sglang.launch_server", "--model-path", path]
        return [*head, *called, *flags, "--host", "127.0.0.1"]

    def use(self, flags: Flags, base: Use) -> Use:
        step, graphs = flags.get("chunked-prefill-size", ""), flags.get("disable-cuda-graph", False)
        return replace(
            base,
            context=whole_number(str(flags.get(self.context, ""))) or base.context,
            kv="fp8" if str(flags.get("kv-cache-dtype", "")).startswith("fp8") else "bf16",
            step=max(whole_number(str(step)) or _STEP, 2048),
            graphs=graphs is False,
        )

    def budget(self, model: Model, checkpoint: Checkpoint, use: Use) -> Budget:
        made = super().budget(model, checkpoint, use)
        graphs = _GRAPH_SEQUENCES * _GRAPH_SEQUENCE * _MIB if use.graphs else 0.0
        activations = use.step * _STEP_TOKEN * _MIB
        ranks = (_METADATA + _RANKS * use.nodes) * _MIB
        spare = max(0.0, _LEAST * _MIB - graphs - activations - ranks)
        made = replace(made, graphs=graphs, activations=activations, non_torch=ranks + spare)
        pools = _pools(use.utilization, made) - use.memory / _PARTS
        return replace(
            made,
            kv=None if made.weights is None else pools - made.weights,
            paging=None if model.shape is None else _one_block(model.shape, pooled(use)),
        )

    def given(self, made: Budget, free: Free) -> float:
        part = _pools(made.use.utilization, made) / _begun(free.now)
        return min(1.0, max(0.0, math.floor(part * _PARTS + 1e-6) / _PARTS))

    def taken(self, given: float, made: Budget, free: Free) -> float:
        return _utilization(given * _begun(free.now), made)

    def most(self, utilization: float, made: Budget, free: Free) -> float:
        return _utilization(_pools(utilization, made) / _begun(free.now) * _begun(free.most), made)

    def within(self, most: float, made: Budget, free: Free) -> float:
        return _utilization(_pools(most, made) / _begun(free.most) * _begun(free.now), made)

    def held(self, made: Budget) -> float:
        """Weights and KV cache alone: what it keeps beside them it has not taken yet."""
        return (made.weights or 0.0) + max(0.0, made.kv or 0.0)


def _begun(free: float) -> float:
    """What is still available once its own processes have begun."""
    return max(1.0, free - BESIDE_GIB)


def _pools(utilization: float, made: Budget) -> float:
    """GiB for weights and KV cache."""
    return utilization * made.use.memory - _beside(made)


def _utilization(pools: float, made: Budget) -> float:
    return (pools + _beside(made)) / made.use.memory


def _beside(made: Budget) -> float:
    """GiB for graphs, activations and the rest."""
    return made.graphs + made.activations + made.non_torch


def _one_block(shape: Shape, use: Pooled) -> Paging:
    """One sequence of full context, with the part of the pools that SGLang gives to its other kinds of layers."""
    tokens = sum(
        token_bytes(kind, use) * (_SLIDING if isinstance(kind, Sliding) else 1)
        for kind in shape.layers
        if not isinstance(kind, Recurrent)
    )
    states = state_bytes(shape.layers, use)
    needed = max(tokens * use.context * (1 + _STATES), states) if states else tokens * use.context
    return Paging(use.context, max(1, math.ceil(needed)), 1, 1)
