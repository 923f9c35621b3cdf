"""What `sparkrig models` prints for programs: the catalogue, and what each checkpoint leaves of the memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sparkrig.serving.budget import Fit, Use, budget, fewest_nodes
from sparkrig.serving.model import Catalogue, Checkpoint, Model, Nodes, Source


@dataclass(frozen=True)
class Room:
    """What a checkpoint leaves of the memory of each of its nodes, as sparkrig.serving.budget.Budget, in GiB.

    weights_estimated: no source states their size, and this is the least; tokens: of the KV cache, as vLLM
    up to 0.19 logs them; sequences: of full context at a time; assumed: in sentences.
    """

    checkpoint: str
    nodes: Nodes
    fit: Fit
    share_gib: float
    weights_gib: float | None
    weights_estimated: bool
    graphs_gib: float
    non_torch_gib: float
    activations_gib: float
    kv_gib: float | None
    needed_gib: float | None
    tokens: int | None
    sequences: float | None
    assumed: tuple[str, ...]


@dataclass(frozen=True)
class Listed:
    """A model.

    fewest_nodes: Sparks that its first good checkpoint takes, None where a pair is too little; obstacle: why its
    name alone does not start it, empty where it does.
    """

    model: Model
    fewest_nodes: Nodes | None
    obstacle: str
    rooms: list[Room]


@dataclass(frozen=True, kw_only=True)
class Report:
    """The catalogue, or one model of it. use: how they are to be served; sources: by the keys that models name."""

    schema: Literal["sparkrig.models/2"] = "sparkrig.models/2"
    use: Use
    models: list[Listed]
    sources: Mapping[str, Source]


def report(use: Use, known: Catalogue, chosen: Iterable[Model], sizes: Sequence[Nodes]) -> Report:
    """The document of some models. sizes: the numbers of Sparks that are shown."""
    models = list(chosen)
    keys = {key for model in models for key in model.sources()}
    return Report(
        use=use,
        models=[_listed(model, use, sizes) for model in models],
        sources={key: known.sources[key] for key in sorted(keys)},
    )


def _listed(model: Model, use: Use, sizes: Sequence[Nodes]) -> Listed:
    rooms = [_room(model, checkpoint, nodes, use) for checkpoint in model.checkpoints for nodes in sizes]
    return Listed(model, fewest_nodes(model, model.best(), use, sizes), model.obstacle, rooms)


def _room(model: Model, checkpoint: Checkpoint, nodes: Nodes, use: Use) -> Room:
    made = budget(model, checkpoint, use.shared(nodes))
    return Room(
        checkpoint=checkpoint.id,
        nodes=nodes,
        fit=made.fit,
        share_gib=made.share,
        weights_gib=made.weights,
        weights_estimated=made.estimated,
        graphs_gib=made.graphs,
        non_torch_gib=made.non_torch,
        activations_gib=made.activations,
        kv_gib=made.kv,
        needed_gib=made.needed,
        tokens=made.tokens,
        sequences=made.sequences,
        assumed=made.assumed,
    )
