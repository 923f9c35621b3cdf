"""Computed rules of the KV cache: whether one request of the longest context fits into what the share leaves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import get_args

from sparkrig.serving import arguments, budget, model
from sparkrig.serving.lint.case import Case, Check, Hit

MEMORY_GIB = 121.69  # by which vLLM counts [@eugr-dsv4-1m, @eugr-396]
_HIGHEST = 0.90
_STEP = 0.01
_LONGEST_STEP = (
    32768  # the activations of a longer one were never logged: it is bounded by the requests [@chenboju]
)
_NODES: tuple[model.Nodes, ...] = get_args(model.Nodes)


@dataclass(frozen=True)
class Room:
    """needed: GiB of one request of `tokens`; left: what the share leaves; spread: how far that can be off."""

    needed: float
    left: float
    tokens: int
    spread: float


def kv_cache_short(case: Case) -> Iterator[Hit]:
    room = _computed(case)
    if room is None or room.needed <= room.left:
        return
    short = room.needed - max(room.left, 0)
    fits = int(room.tokens * max(room.left, 0) / room.needed) // 1024 * 1024
    share = _share(case) + (room.needed - room.left) / MEMORY_GIB
    better = [f"--max-model-len {fits}"] if fits else []
    better += [f"--gpu-memory-utilization {_up(share):g}"] if share <= _HIGHEST else []
    yield Hit(
        f"{room.tokens} tokens need {room.needed:.1f} GiB of KV cache, and {max(room.left, 0):.1f} are left at "
        f"{_share(case):g}",
        " or ".join(better),
        "note" if short < room.spread else None,
    )


def _up(share: float) -> float:
    return -(-share // _STEP) * _STEP


def _share(case: Case) -> float:
    return case.launch.number("gpu-memory-utilization") or 0.92


def _computed(case: Case) -> Room | None:
    """By the budget, of a model of the catalogue whose shape is known."""
    known, checkpoint = case.model, case.checkpoint
    nodes = next((each for each in _NODES if each == case.world), None)
    whole = isinstance(known, model.Model) and isinstance(checkpoint, model.Checkpoint)
    tokens = case.launch.whole_number("max-model-len", 0)
    if not whole or not tokens or tokens < 0 or nodes is None or case.quantization:
        return None
    assert isinstance(known, model.Model) and isinstance(checkpoint, model.Checkpoint)
    return _budgeted(case, known, checkpoint, nodes, tokens)


def _budgeted(
    case: Case, known: model.Model, checkpoint: model.Checkpoint, nodes: model.Nodes, tokens: int
) -> Room | None:
    flags = case.launch.flags
    use = budget.Use(
        context=tokens,
        sequences=1,
        utilization=_share(case),
        kv="fp8" if case.launch.text("kv-cache-dtype").startswith("fp8") else "bf16",
        nodes=nodes,
        drafted=case.drafted,
        step=case.launch.whole_number("max-num-batched-tokens", 0) or budget.DEFAULT_STEP,
        prefix_caching=flags.get("enable-prefix-caching") is not False,
        graphs=not case.launch.on("enforce-eager"),
        stages=case.launch.whole_number("pipeline-parallel-size", 1) or 1,
    )
    made = budget.budget(known, checkpoint, use)
    given = arguments.whole_number(case.launch.text("kv-cache-memory-bytes"))
    left, spread = made.kv, budget.spread(nodes)
    if given:
        left, spread = given / budget.GIB, 0.0
    if left is None or made.needed is None:
        return None
    if use.step > _LONGEST_STEP:
        spread = float("inf")  # never more than a note
    return Room(made.needed, left, tokens, spread)


CHECKS: Mapping[str, Check] = {
    "kv-cache-short": kv_cache_short,
}
