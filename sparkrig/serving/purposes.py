"""What models are for, and which to propose for a purpose on a host. Whether one fits is judged elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sparkrig.refusal import Refusal

if TYPE_CHECKING:
    from sparkrig.serving.model import Checkpoint, Figure, Model
    from sparkrig.serving.wish import Sizing, Wish

SMALL = "small"
PURPOSES = {
    "chat": "chat",
    "coding": "coding",
    "vision": "questions about pictures",
    "embedding": "embeddings of texts",
    SMALL: "small and fast",
}
"""Each as it is typed, and in words. All but SMALL are what a model's own card says."""

_SMALL_B = 40.0  # parameters, in billions: in 8 bit a third of a Spark, so that another server has room beside it
_MOST = 3
_BLIND = "language-model-only"  # a launch with this flag takes no pictures, whatever its model can
_STANDINGS = ("recommended", "works")  # nothing else is proposed


@dataclass(frozen=True)
class Proposal:
    """A model that a host has room for. rate: the best that a source tells of it, None where none does."""

    wish: Wish
    sizing: Sizing
    rate: Figure | None


def meant(model: Model, purpose: str) -> bool:
    """Whether a model is for that."""
    if purpose != SMALL:
        return purpose in model.purposes
    return "chat" in model.purposes and (model.parameters_b or _SMALL_B + 1) <= _SMALL_B


def rate(model: Model, checkpoint: Checkpoint | None = None) -> Figure | None:
    """The best rate of one request that was measured; else the first that is expected or told.

    checkpoint: only figures of that one, and those that name none.
    """
    found = [
        figure
        for figure in model.figures
        if figure.metric == "decode tok/s"
        and figure.concurrency == 1
        and (checkpoint is None or figure.checkpoint in ("", checkpoint.id))
    ]
    measured = [figure for figure in found if figure.kind == "measured"]
    return max(measured, key=lambda figure: figure.value, default=next(iter(found), None))


def proposed(models: Iterable[Model], purpose: str, fit: Callable[[Model], tuple[Wish, Sizing]]) -> list[Proposal]:
    """Up to three models for a purpose, the best first: recommended ones, then the faster ones.

    fit: what would be served of a model; raises Refusal where the host cannot serve it.
    """
    found = []
    for model in models:
        if meant(model, purpose) and model.standing in _STANDINGS:
            try:
                wish, sizing = fit(model)
            except Refusal:  # it is not proposed; whoever names it is told why
                continue
            if not (purpose == "vision" and wish.flags.get(_BLIND)):
                found.append(Proposal(wish, sizing, rate(model, wish.checkpoint)))
    found.sort(key=lambda each: _rank(each, purpose))
    return found[:_MOST]


def _rank(proposal: Proposal, purpose: str) -> tuple[int, float]:
    fast = -(proposal.rate.value if proposal.rate else 0.0)
    return (0 if purpose == SMALL else _STANDINGS.index(proposal.wish.model.standing)), fast
