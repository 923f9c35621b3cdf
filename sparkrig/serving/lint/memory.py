"""Computed rules of the weights and their memory: whether they fit, with one request of the longest context."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from sparkrig.serving import arguments, budget, engines, model
from sparkrig.serving.lint.case import Case, Hit

MEMORY_GIB = 121.69  # by which vLLM counts, of a Spark's 128 GB [@docai-122b, @eugr-dsv4-1m, @eugr-396]
_HIGHEST, _SAFE = 0.90, 0.80
_FEWEST_BITS = 4  # NVFP4, MXFP4, AWQ, GPTQ; formats of fewer bits (EXL3, GGUF) tell themselves, or are refused
_DEFAULT = 0.92
_STEP = 0.01
_TABLE_GIB = 47.7  # the largest table that SGLang leaves on the disk [@sglang-37995]
# the activations of a longer step were never logged: it is bounded by the requests [@chenboju]
_LONGEST_STEP = 32768
_REQUESTS = 256  # vLLM's own default on a GB10, whose memory NVML does not tell [@rwlove-13226]
_PREFIXES = (0, 26)  # since when a hybrid model's prefixes are cached unasked [@vllm-source]
_NODES: tuple[model.Nodes, ...] = get_args(model.Nodes)


def _share(case: Case) -> float:
    return case.launch.number("gpu-memory-utilization") or _DEFAULT


def weights_too_large(case: Case) -> Iterator[Hit]:
    # another engine has its share by another name: more than all it cannot have, a table on the disk aside
    other = case.launch.engine != engines.VLLM
    share = 1.0 if other else min(_share(case), 1.0)
    least = _least(case)
    if least is None or not case.gpus or not case.world or _logged(case) <= MEMORY_GIB * share:
        return
    # experts are spread over all copies where they are parallel
    over = case.gpus if case.launch.on("enable-expert-parallel") else case.world
    each, room = least / over, MEMORY_GIB * share
    if each - (_TABLE_GIB if other else 0.0) > room:
        how = "" if case.weights_gib is not None else f" at least, by the parameters in its name{_untold(case)}"
        yield Hit(
            f"{each:.0f} GiB of weights on each Spark{how}, and {room:.0f} GiB for "
            f"{engines.name(case.launch.engine)} at {share:g}",
            _smaller(case),
        )


def _logged(case: Case) -> float:
    """GiB that vLLM said they take on each Spark; without end where no source has that."""
    known = case.checkpoint.resident_gib if case.checkpoint else {}
    return next((gib for nodes, gib in known.items() if nodes == case.world), float("inf"))


def _least(case: Case) -> float | None:
    """GiB of weights at the least: by their size, their format, or as few bits as vLLM's own formats have."""
    if _told(case) or case.weights_gib is not None or not case.parameters_b:
        return case.loaded_gib if _told(case) else case.weights_gib
    return case.parameters_b * 1e9 * _FEWEST_BITS / 8 / 2**30


def _told(case: Case) -> bool:
    """Whether the name tells the format of the weights, and vLLM does not quantize them further."""
    return bool(case.told_format) and (case.told_format != "bf16" or case.quantization in ("", "fp8"))


def _untold(case: Case) -> str:
    return "" if _told(case) else f" and {_FEWEST_BITS} bits each"


def _smaller(case: Case) -> str:
    """A checkpoint of the model that fits, with half of what is left for the KV cache."""
    for each in case.model.checkpoints if case.model else ():
        if each.weights_gib and not each.bad and each.weights_gib < MEMORY_GIB * _SAFE:
            return f"{each.id} ({each.format}, {each.weights_gib:.0f} GiB)"
    return ""


def pair_needed(case: Case) -> Iterator[Hit]:
    if case.checkpoint and case.checkpoint.nodes > (case.gpus or 1) and not [*weights_too_large(case)]:
        yield Hit(f"{case.checkpoint.id} was only run on {case.checkpoint.nodes} Sparks, and this is for one")


def kv_cache_short(case: Case) -> Iterator[Hit]:
    """By the budget, of a model of the catalogue whose shape is known."""
    made, left = _budget(case)
    needed = made and made.needed
    if not made or left is None or not needed or needed <= left or not case.launch.text("max-model-len"):
        return
    # of a long step it is never more than a note
    exact, tokens = "kv-cache-memory-bytes" in case.launch.flags, made.use.context
    spread = float("inf") if made.use.step > _LONGEST_STEP else 0.0 if exact else budget.spread(made.use.nodes)
    room = max(left, 0)
    fits = int(tokens * room / needed) // 1024 * 1024
    share = _share(case) + (needed - left) / MEMORY_GIB
    better = [f"--max-model-len {fits}"] if fits else []
    better += [f"--gpu-memory-utilization {-(-share // _STEP) * _STEP:g}"] if share <= _HIGHEST else []
    yield Hit(
        f"{tokens} tokens need {needed:.1f} GiB of KV cache, and {room:.1f} are left at {_share(case):g}",
        " or ".join(better),
        "note" if needed - room < spread else None,
    )


def state_blocks(case: Case) -> Iterator[Hit]:
    """Each request of a hybrid model keeps its state in a block of the cache."""
    made, left = _budget(case)
    if made is None or made.paging is None or left is None or not case.hybrid:
        return
    asked = case.launch.whole_number("max-num-seqs", _REQUESTS) or 0
    fewest, blocks = (made.paging.blocks(gib) for gib in (left - budget.spread(made.use.nodes), left))
    if asked > fewest:
        found = f"{asked} requests at once, and about {blocks} blocks of {made.paging.block_tokens} tokens"
        yield Hit(found, f"--max-num-seqs {max(fewest // 2, 1)}", "note" if asked <= blocks else None)


def align_batch(case: Case) -> Iterator[Hit]:
    made, _ = _budget(case)
    if made is None or made.paging is None or not case.hybrid:
        return
    cached = case.launch.flags.get("enable-prefix-caching", (case.version or ()) >= _PREFIXES)
    if cached and made.paging.block_tokens > made.use.step:
        found = f"{made.use.step} tokens a step, and a block has {made.paging.block_tokens}"
        yield Hit(found, "--max-num-batched-tokens 8192")


def _budget(case: Case) -> tuple[budget.Budget | None, float | None]:
    """Of a model of the catalogue, with the GiB that are left for its cache; None where that is not known."""
    tokens = case.launch.whole_number("max-model-len", (case.model and case.model.context) or 0)
    nodes = next((node for node in _NODES if node == case.world), None)
    if not case.model or not case.checkpoint or not tokens or tokens < 0 or nodes is None or case.quantization:
        return None, None
    made = budget.budget(case.model, case.checkpoint, _use(case, tokens, nodes))
    given = arguments.whole_number(case.launch.text("kv-cache-memory-bytes"))
    return made, given / budget.GIB if given else made.kv


def _use(case: Case, tokens: int, nodes: model.Nodes) -> budget.Use:
    flags = case.launch.flags
    return budget.Use(
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


# --- what the catalogue has against a checkpoint


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
