"""How several Sparks share one model: by the parts of each layer, by stages of layers, or by both.

vLLM's own rules [@vllm-source]: a Spark has one GPU, so --tensor-parallel-size times --pipeline-parallel-size is
the number of Sparks (config/parallel.py, local_world_size); the first divides the attention heads
(config/model.py, verify_with_parallel_config); of the heads of keys each rank has equally many, or each head is on
equally many ranks (the attention of its models).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sparkrig.cure import advice, with_setting
from sparkrig.refusal import Refusal
from sparkrig.serving.arguments import whole_number
from sparkrig.serving.model import Model, Shape

TENSOR, STAGES = "tensor-parallel-size", "pipeline-parallel-size"
# Other flags that spread a model; with one of them nothing follows from the number of Sparks alone.
_OTHER = ("data-parallel-size", "prefill-context-parallel-size")


@dataclass(frozen=True)
class Layout:
    """tensor: Sparks that share each layer; stages: of layers, one after another."""

    tensor: int = 1
    stages: int = 1

    @property
    def nodes(self) -> int:
        return self.tensor * self.stages

    def __str__(self) -> str:
        return f"--{TENSOR} {self.tensor}" + (f" --{STAGES} {self.stages}" if self.stages > 1 else "")


def usual(nodes: int) -> Layout:
    """For that many Sparks: the largest power of two of them shares each layer, since heads mostly are one.

    So two, four and eight share each layer, and three are a pipeline, as vLLM's documentation has it for GPUs that
    do not divide a model evenly [@vllm-parallelism].
    """
    tensor = nodes & -nodes
    return Layout(tensor, nodes // tensor)


def of(nodes: int, given: Mapping[str, object]) -> Layout:
    """The layout for that many Sparks with a user's flags, by vLLM's names. Raises Refusal.

    One size follows from the other; both are kept as they are given, for `sparkrig lint` to judge.
    """
    tensor, stages = (_size(name, given[name]) if name in given else None for name in (TENSOR, STAGES))
    if any(given.get(name, 1) not in (1, "1") for name in _OTHER):
        return Layout(tensor or nodes, stages or 1)
    if tensor and stages:
        return Layout(tensor, stages)
    one = tensor or stages
    if one is None:
        return usual(nodes)
    name = TENSOR if tensor else STAGES
    if nodes % one:
        divisors = [each for each in range(1, nodes + 1) if nodes % each == 0]
        raise Refusal(
            f"--{name} is {one}, and {nodes} Sparks are to share the model, which it does not divide",
            advice(f"--{name} of {_either(divisors)} in serve_flags, or another serve_nodes"),
        )
    return Layout(one, nodes // one) if tensor else Layout(nodes // one, one)


def divides(tensor: int, shape: Shape | None) -> bool:
    """Whether that many ranks can share each layer, as far as its heads are known."""
    if shape is None:
        return True
    heads = shape.heads is None or shape.heads % tensor == 0
    return heads and all(kv % tensor == 0 or tensor % kv == 0 for kv in shape.kv_heads)


def judge(model: Model, layout: Layout) -> None:
    """Raise Refusal, with the numbers and what would work, where that model cannot be shared so."""
    shape = model.shape
    if shape is None:
        return
    if not divides(layout.tensor, shape):
        heads = f"{shape.heads} attention heads and " if shape.heads else ""
        raise Refusal(
            f"{model.title} has {heads}{_either(shape.kv_heads, 'and')} heads of keys, and --{TENSOR} is "
            f"{layout.tensor}: each Spark would not get equally many",
            _instead(shape, layout.nodes),
        )
    if layout.stages > shape.depth:
        raise Refusal(
            f"{model.title} has {shape.depth} layers, and --{STAGES} is {layout.stages}",
            _instead(shape, layout.nodes),
        )


def _instead(shape: Shape, nodes: int) -> str:
    """A layout of that many Sparks that can be, stages alone, which divide no heads; else fewer Sparks."""
    if nodes > shape.depth:
        return with_setting("serve_nodes", shape.depth)
    return with_setting("serve_flags", {TENSOR: 1, STAGES: nodes})


def _size(name: str, value: object) -> int:
    found = 1 if value is False else whole_number(str(value))
    if found is None or found < 1:
        raise Refusal(f"--{name} is {value}, and a number of Sparks is expected", advice(f"--{name} 1 or more"))
    return found


def _either(numbers: tuple[int, ...] | list[int], word: str = "or") -> str:
    *most, last = map(str, numbers)
    return f"{', '.join(most)} {word} {last}" if most else last
