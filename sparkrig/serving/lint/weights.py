"""Computed rules of checkpoints, their loading and the caches beside them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from sparkrig.serving.lint.case import Case, Check, Hit
from sparkrig.text import listed

# of the hub's cache; whole copies in a folder of that name work, as [@dgx-forge] mounts one
_SNAPSHOT = re.compile(r"models--[^/]{1,200}/snapshots(?:/|$)|/snapshots/[0-9a-f]{40}(?:/|$)")


def checkpoint_bad(case: Case) -> Iterator[Hit]:
    if case.checkpoint and case.checkpoint.bad:
        yield Hit(f"{case.checkpoint.id}: {case.checkpoint.bad}", _instead(case))


def _instead(case: Case) -> str:
    """The first checkpoint of the model that nothing speaks against."""
    known = case.model.checkpoints if case.model else ()
    return next((each.id for each in known if not each.bad), "")


def model_avoided(case: Case) -> Iterator[Hit]:
    if case.model and case.model.standing == "avoid":
        yield Hit(f"{case.model.name}: {case.model.why}")


def mtp_weights(case: Case) -> Iterator[Hit]:
    method = str(case.launch.table("speculative-config").get("method", ""))
    if case.checkpoint and case.checkpoint.draft is False and "mtp" in method:
        yield Hit(f"speculative decoding by MTP, and {case.checkpoint.id} has no weights for it")


def cache_snapshot(case: Case) -> Iterator[Hit]:
    for each in case.launch.mounts:
        if _SNAPSHOT.search(each.source):
            yield Hit(f"-v {each.source}:{each.target}")


def compile_caches(case: Case) -> Iterator[Hit]:
    if not case.contained:
        return
    targets = " ".join(f"{each.target.rstrip('/')}/" for each in case.launch.mounts)
    whole = re.search(r"/\.cache/ ", f"{targets} ") is not None
    wanted = ("/.cache/vllm/", "/.cache/flashinfer/", "/.triton/")
    lost = [name for name in wanted if name not in targets and not (whole and "cache" in name)]
    if lost:
        are = "are" if len(lost) > 1 else "is"
        yield Hit(f"{listed(f'~{name[:-1]}' for name in lost)} of the container {are} not mounted")


CHECKS: Mapping[str, Check] = {
    "checkpoint-bad": checkpoint_bad,
    "model-avoided": model_avoided,
    "mtp-weights": mtp_weights,
    "cache-snapshot": cache_snapshot,
    "compile-caches": compile_caches,
}
