"""Computed rules of how many Sparks serve, and how they find each other."""

from __future__ import annotations

from collections.abc import Iterator

from sparkrig.serving import layout
from sparkrig.serving.lint.case import Case, Hit

# the flags that set where the copies of data parallelism run
_COPIES = frozenset(
    {"data-parallel-size-local", "data-parallel-rank", "data-parallel-start-rank", "data-parallel-backend"}
)


def _most(case: Case) -> int:
    """How many Sparks there can be."""
    return case.sparks or max(2, case.nnodes)


def gpus_beyond_sparks(case: Case) -> Iterator[Hit]:
    if case.gpus and case.gpus > _most(case):
        have = f"{_most(case)} Sparks have one each" if _most(case) > 1 else "one Spark has one"
        # who names the other nodes may well have them: some clusters have eight
        may = case.sparks is None and _reached(case)
        yield Hit(f"{_sizes(case)} wants {case.gpus} GPUs, and {have}", severity="note" if may else None)


def _reached(case: Case) -> bool:
    """Whether the launch, or what makes it or its container, says how the other nodes are reached.

    NVIDIA's page for four Sparks starts Ray in containers, and enters one of them with no word of Ray.
    """
    added = (bool(case.launch.wrapper) and not case.launch.solo) or case.launch.unseen
    return case.ray or case.nnodes > 1 or added or "config" in case.launch.flags


def _sizes(case: Case) -> str:
    flags = (
        "tensor-parallel-size",
        "pipeline-parallel-size",
        "prefill-context-parallel-size",
        "data-parallel-size",
    )
    return " ".join(f"--{flag} {case.launch.text(flag)}" for flag in flags if case.launch.text(flag))


def second_node(case: Case) -> Iterator[Hit]:
    outside = case.launch.text("distributed-executor-backend") == "external_launcher"
    if not case.world or not case.gpus or case.gpus > _most(case) or _reached(case) or outside:
        return
    if case.world > 1:
        yield Hit(f"{_sizes(case)}, and neither --nnodes nor Ray")
    elif case.gpus > 1 and not _COPIES & {*case.launch.flags}:
        yield Hit(f"{_sizes(case)}, and nothing says where the other copy runs", "--data-parallel-size-local 1")


def nnodes_not_gpus(case: Case) -> Iterator[Hit]:
    if case.nnodes > 1 and case.world and case.world != case.nnodes and case.gpus == case.world:
        yield Hit(f"--nnodes {case.nnodes}, and one copy of the model on {case.world} GPU{'s' * (case.world > 1)}")


def heads_not_divided(case: Case) -> Iterator[Hit]:
    size = case.launch.whole_number("tensor-parallel-size", 1)
    shape = case.model.shape if case.model else None
    if size and size > 1 and shape and shape.heads:
        if not layout.divides(size, shape):
            kv = " and ".join(map(str, shape.kv_heads))
            yield Hit(f"--tensor-parallel-size {size} of {shape.heads} heads, and {kv or 'no'} of keys")
    elif size and size > 1 and size & (size - 1):
        yield Hit(f"--tensor-parallel-size {size} is no power of two, as the number of heads mostly is")


def node_rank(case: Case) -> Iterator[Hit]:
    rank = case.launch.whole_number("node-rank", 0)
    if rank is not None and not 0 <= rank < case.nnodes:
        yield Hit(f"--node-rank {rank} of {case.nnodes} node{'s' * (case.nnodes > 1)}")
