"""What a server counts by itself, in the names of vLLM's /metrics, from before a workload to after it."""

from __future__ import annotations

from collections.abc import Mapping

from prometheus_client.parser import text_string_to_metric_families
from pydantic import BaseModel, ConfigDict

Counters = Mapping[str, float]
"""Totals by name, those of several engines and models added up."""

_NAMES = {
    "vllm:prefix_cache_queries_total": "queries",
    "vllm:prefix_cache_hits_total": "hits",
    "vllm:gpu_prefix_cache_queries_total": "queries",  # vLLM 0.8 to 0.10
    "vllm:gpu_prefix_cache_hits_total": "hits",
    "vllm:spec_decode_num_drafts_total": "drafts",
    "vllm:spec_decode_num_draft_tokens_total": "drafted",
    "vllm:spec_decode_num_accepted_tokens_total": "accepted",
    "vllm:generation_tokens_total": "generated",
    "vllm:num_preemptions_total": "preemptions",
}


class Counted(BaseModel):
    """What a server did meanwhile; None where it does not count that.

    prefix_hits_percent: tokens of prompts that were in the prefix cache; acceptance_percent: of drafted tokens;
    tokens_per_step: of speculative decoding, the one that is always there included; preemptions: requests that
    were put off for want of KV cache; others: tokens that it generated for other clients.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    prefix_hits_percent: float | None = None
    acceptance_percent: float | None = None
    tokens_per_step: float | None = None
    preemptions: int | None = None
    others: int | None = None


def read(text: str) -> Counters:
    """Of what /metrics printed; none where it is no such thing."""
    found: dict[str, float] = {}
    try:
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                name = _NAMES.get(sample.name)
                if name:
                    found[name] = found.get(name, 0.0) + sample.value
    except ValueError:
        return {}
    return found


def between(before: Counters, after: Counters, ours: int | None) -> Counted:
    """What was done from the one to the other.

    ours: tokens that we were given meanwhile, None where that is unknown. A counter that went back began anew with
    the server, and shows nothing.
    """
    used = {name: after[name] - before.get(name, 0.0) for name in after}
    if any(value < 0 for value in used.values()):
        return Counted()
    drafts, generated = used.get("drafts"), used.get("generated")
    return Counted(
        prefix_hits_percent=_percent(used, "hits", "queries"),
        acceptance_percent=_percent(used, "accepted", "drafted"),
        tokens_per_step=1 + used.get("accepted", 0.0) / drafts if drafts else None,
        preemptions=int(used["preemptions"]) if "preemptions" in used else None,
        others=None if ours is None or generated is None else max(0, int(generated) - ours),
    )


def _percent(used: Counters, part: str, whole: str) -> float | None:
    return 100 * used[part] / used[whole] if part in used and used.get(whole) else None
