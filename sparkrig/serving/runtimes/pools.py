"""The KV cache of one sequence where an engine keeps it layer by layer, without vLLM's groups and pages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sparkrig.serving.budget import Use
from sparkrig.serving.model import Full, Latent, Layers, Recurrent, Sliding

_BYTES = {"bf16": 2.0, "fp8": 1.0}
_CONVOLUTION_BYTES = 2


@dataclass(frozen=True)
class Pooled(Use):
    """How a model is to be served by such an engine.

    value_bytes: of a value in the KV cache, 0 for what `kv` has; slots: sequences that keep a state of their own;
    beside: GiB that the engine takes of the host beside its pools.
    """

    value_bytes: float = 0.0
    slots: int = 1
    beside: float = 0.0


def pooled(use: Use) -> Pooled:
    return use if isinstance(use, Pooled) else Pooled(**vars(use))


def token_bytes(kind: Full | Sliding | Latent, use: Pooled) -> float:
    """Of one token in all layers of a kind on one node, which has one head at the least."""
    value = use.value_bytes or _BYTES[use.kv]
    if isinstance(kind, Latent):
        return kind.count * kind.width * value
    return kind.count * 2 * max(1, kind.kv_heads // use.tensor) * kind.head_dim * value


def state_bytes(layers: Iterable[Layers], use: Use) -> float:
    """Of the states of one sequence in all recurrent layers on one node."""
    return (
        sum(
            kind.count * (kind.state * kind.state_bytes + kind.channels * (kind.kernel - 1) * _CONVOLUTION_BYTES)
            for kind in layers
            if isinstance(kind, Recurrent)
        )
        / use.tensor
    )
