"""llama.cpp: `llama-server` on one Spark with a GGUF file that is there [@llama-server].

Its RPC between hosts is not built here. It takes what its file, its context and its buffers need, and has no flag
for a share of the memory.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from sparkrig.serving.arguments import whole_number
from sparkrig.serving.budget import ACTIVATION_BYTES, GIB, HIDDEN, NON_TORCH_GIB, Budget, Paging, Use
from sparkrig.serving.engines import OTHERS
from sparkrig.serving.model import Checkpoint, Model, Recurrent, Shape, Sliding
from sparkrig.serving.runtimes.pools import Pooled, pooled, state_bytes, token_bytes
from sparkrig.serving.runtimes.runtime import Flags, Runtime

# Bytes a value: blocks of 32 values with a scale, or two [@llama-server] (ggml's block formats).
_VALUES = {
    "f32": 4.0,
    "f16": 2.0,
    "bf16": 2.0,
    "q8_0": 34 / 32,
    "q5_1": 24 / 32,
    "q5_0": 22 / 32,
    "q4_1": 20 / 32,
    "q4_0": 18 / 32,
    "iq4_nl": 18 / 32,
}
_SLOTS, _STEP = 4, 512  # its own choice of --parallel, and of --ubatch-size [@nvidia-llama, @llama-server]
_CACHE_MIB = (
    8192  # --cache-ram: prompts that it keeps in the host's memory, which is the GPU's here [@nvidia-llama]
)
_CELLS = 256  # the cache of sliding layers is a multiple of it


class LlamaCpp(Runtime):
    """llama.cpp's server."""

    id = "llama.cpp"
    name = "llama.cpp"
    shown = "PATH=$PATH:/app; command -v llama-server"
    share, context, names = "", "ctx-size", "alias"
    usual = 1.0
    most_nodes = 1
    key = "LLAMA_API_KEY"
    file = True
    # all layers: a number is known to each version, and later ones have `all`, too
    defaults: ClassVar[Flags] = {"n-gpu-layers": 999, "metrics": True}
    ours = frozenset(
        {"docker-repo", "hf-file", "hf-repo", "host", "model", "model-url", "models-dir", "port", "rpc"}
    )
    aliases = OTHERS["llama.cpp"].short
    stretches = frozenset({"rope-scaling", "rope-scale", "rope-freq-base", "rope-freq-scale", "yarn-orig-ctx"})
    beyond = "would go on with what the model never learned"
    ends: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "engine": ("load_model: loading model",),
        "weights": ("llama_server: model loaded", "main: model loaded"),
        "api": ("server is listening on",),
    }
    # its /metrics is answered by the loop that computes, so that it is silent while that hangs [@llama-server]
    unwatched = "llama.cpp answers /metrics from the loop that computes"

    def words(self, path: str, names: Sequence[str], flags: Sequence[str]) -> list[str]:
        called = [f"--{self.names}", names[0]] if names else []
        return ["llama-server", "--model", path, *called, *flags, "--host", "127.0.0.1"]

    def use(self, flags: Flags, base: Use) -> Use:
        types = [_VALUES.get(str(flags.get(f"cache-type-{each}", "f16")), 4.0) for each in "kv"]
        cache = _number(flags, "cache-ram", _CACHE_MIB)
        return replace(
            pooled(base),
            context=whole_number(str(flags.get(self.context, ""))) or base.context,
            step=_number(flags, "ubatch-size", _STEP),
            value_bytes=sum(types) / 2,
            slots=_number(flags, "parallel", _SLOTS),
            beside=cache * 2**20 / GIB if cache >= 0 else 0.0,
        )

    def budget(self, model: Model, checkpoint: Checkpoint, use: Use) -> Budget:
        made = super().budget(model, checkpoint, use)
        hidden = model.shape.hidden if model.shape else None
        activations = ACTIVATION_BYTES * use.step * (hidden or HIDDEN) / GIB
        own = pooled(use)
        beside = NON_TORCH_GIB + own.beside
        return replace(
            made,
            graphs=0.0,
            activations=activations,
            non_torch=beside,
            kv=None if made.weights is None else made.share - made.weights - activations - beside,
            paging=None if model.shape is None else _one_block(model.shape, own),
        )

    def held(self, made: Budget) -> float:
        """Without the prompts that it may keep, for it has few of them at first."""
        return (made.weights or 0.0) + (made.needed or 0.0)


def _number(flags: Flags, name: str, default: int) -> int:
    found = whole_number(str(flags.get(name, "")))
    return default if found is None or (found < 1 and name != "cache-ram") else found


def _one_block(shape: Shape, use: Pooled) -> Paging:
    """All slots share one cache of the context; those of sliding layers and states are each slot's own."""
    needed = state_bytes(shape.layers, use) * use.slots
    for kind in shape.layers:
        if isinstance(kind, Sliding):
            cells = math.ceil(min(use.context, kind.window * use.slots + use.step) / _CELLS) * _CELLS
            needed += token_bytes(kind, use) * cells
        elif not isinstance(kind, Recurrent):
            needed += token_bytes(kind, use) * use.context
    return Paging(use.context, max(1, math.ceil(needed)), 1, 1)
