"""Computed rules of what vLLM may take of a memory that CPU and GPU share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sparkrig.serving import engines
from sparkrig.serving.lint.case import Case, Check, Hit

MEMORY_GIB = 121.7  # what vLLM sees of a Spark's 128 GB [@docai-122b]
# by [@eugr-dsv4-1m]: refused at 0.95; about 0.912 is free while the weights are read
REFUSED, HIGHEST, USUAL, SAFE = 0.95, 0.912, 0.85, 0.80
_DEFAULT = 0.92
_TABLE_GIB = 47.7  # the largest table that SGLang leaves on the disk [@sglang-37995]
# Qwen3.6-35B-A3B in BF16, 65 GiB, is verified without a share, and 75 GiB fail [@vllm-recipes, @vllm-recipes-632]
_LARGE = 0.6
# scales and layers of 16 bits beside the 4 bits of the name: 75 GiB of Nemotron-3-Super, of which it shows 63
_BESIDE = 1.19
_BF16_GIB = 100e9 / 2**30  # BF16 fits where the weights are below about 100 GB [@conselara-models]


def _utilization(case: Case) -> float | None:
    return case.launch.number("gpu-memory-utilization")


def utilization_refused(case: Case) -> Iterator[Hit]:
    share = _utilization(case)
    if share is not None and share >= REFUSED:
        yield Hit(_leaves(share))


def utilization_above_0_91(case: Case) -> Iterator[Hit]:
    share = _utilization(case)
    if share is not None and HIGHEST < share < REFUSED:
        yield Hit(_leaves(share))


def utilization_high(case: Case) -> Iterator[Hit]:
    share = _utilization(case)
    if share is not None and SAFE < share <= HIGHEST:
        yield Hit(_leaves(share), severity="note" if share <= USUAL else None)


def _leaves(share: float) -> str:
    left = f"{MEMORY_GIB * (1 - share):.1f} GiB" if share < 1 else "nothing"
    return f"--gpu-memory-utilization {share:g} leaves {left} for all else"


def _unset(case: Case) -> bool:
    flags = {"gpu-memory-utilization", "kv-cache-memory-bytes", "config"}
    return not case.pooling and not flags & {*case.launch.flags}


def utilization_unset_large(case: Case) -> Iterator[Hit]:
    if _unset(case) and _each(case) > MEMORY_GIB * _LARGE:
        yield Hit(f"no --gpu-memory-utilization, and {_each(case):.0f} GiB of weights")


def _each(case: Case) -> float:
    """GiB of weights on each Spark, 0 where that is not known."""
    told = case.weights_gib is None and case.served_format not in ("bf16", "fp8")
    return (case.loaded_gib or 0) * (_BESIDE if told else 1) / (case.world or 1)


def utilization_unset(case: Case) -> Iterator[Hit]:
    if _unset(case) and not [*utilization_unset_large(case)]:
        yield Hit("no --gpu-memory-utilization")


def weights_too_large(case: Case) -> Iterator[Hit]:
    # another engine has its share by another name: more than all it cannot have, a table on the disk aside
    other = case.launch.engine != engines.VLLM
    share = 1.0 if other else min(_utilization(case) or _DEFAULT, 1.0)
    least = _least(case)
    if least is None or not case.gpus or not case.world or case.table_on_disk:
        return
    each, room = least / case.world, MEMORY_GIB * share
    if each - (_TABLE_GIB if other else 0.0) > room:
        how = "" if case.weights_gib is not None else " at least, by the parameters in its name"
        yield Hit(
            f"{each:.0f} GiB of weights on each Spark{how}, and {room:.0f} GiB for "
            f"{engines.name(case.launch.engine)} at {share:g}",
            _smaller(case),
        )


def _least(case: Case) -> float | None:
    """GiB of weights at the least; a name has to tell their format, and vLLM must not quantize them further."""
    told = case.told_format and (case.told_format != "bf16" or case.quantization in ("", "fp8"))
    return case.loaded_gib if told else case.weights_gib


def pair_needed(case: Case) -> Iterator[Hit]:
    if case.checkpoint and case.checkpoint.nodes > (case.gpus or 1) and not [*weights_too_large(case)]:
        yield Hit(f"{case.checkpoint.id} was only run on {case.checkpoint.nodes} Sparks, and this is for one")


def _smaller(case: Case) -> str:
    """A checkpoint of the model that fits, with half of what is left for the KV cache."""
    for each in case.model.checkpoints if case.model else ():
        if each.weights_gib and not each.bad and each.weights_gib < MEMORY_GIB * SAFE:
            return f"{each.id} ({each.format}, {each.weights_gib:.0f} GiB)"
    return ""


def bf16_large(case: Case) -> Iterator[Hit]:
    if case.told_format != "bf16" or case.quantization or not case.world:
        return
    known = case.weights_gib is not None
    each = (case.weights_gib or 2e9 * case.parameters_b / 2**30) / case.world
    if each > _BF16_GIB and not [*weights_too_large(case)]:
        size = f"{each * 2**30 / 1e9:.0f} GB of BF16 weights on each Spark"
        yield Hit(size if known else f"{size}, by the parameters in its name", _smaller(case))


def memory_limit(case: Case) -> Iterator[Hit]:
    if case.container.memory:
        yield Hit(f"a memory limit of {case.container.memory}")


CHECKS: Mapping[str, Check] = {
    "utilization-refused": utilization_refused,
    "utilization-above-0.91": utilization_above_0_91,
    "utilization-high": utilization_high,
    "utilization-unset-large": utilization_unset_large,
    "utilization-unset": utilization_unset,
    "weights-too-large": weights_too_large,
    "pair-needed": pair_needed,
    "bf16-large": bf16_large,
    "memory-limit": memory_limit,
}
