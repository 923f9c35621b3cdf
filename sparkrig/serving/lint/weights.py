"""Computed rules of checkpoints that the catalogue has something against."""

from __future__ import annotations

from collections.abc import Iterator

from sparkrig.serving.lint.case import Case, Hit


def checkpoint_bad(case: Case) -> Iterator[Hit]:
    if case.checkpoint and case.checkpoint.bad:
        yield Hit(f"{case.checkpoint.id}: {case.checkpoint.bad}", _instead(case))


def _instead(case: Case) -> str:
    """The first checkpoint of the model that nothing speaks against."""
    known = case.model.checkpoints if case.model else ()
    return next((checkpoint.id for checkpoint in known if not checkpoint.bad), "")


def model_avoided(case: Case) -> Iterator[Hit]:
    if case.model and case.model.standing == "avoid":
        yield Hit(f"{case.model.name}: {case.model.why}")


def mtp_weights(case: Case) -> Iterator[Hit]:
    method = str(case.launch.table("speculative-config").get("method", ""))
    if case.checkpoint and case.checkpoint.draft is False and "mtp" in method:
        yield Hit(f"speculative decoding by MTP, and {case.checkpoint.id} has no weights for it")
