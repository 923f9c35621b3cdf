"""Rules of what vLLM may take of a memory that CPU and GPU share."""

from __future__ import annotations

from collections.abc import Iterator

from sparkrig.serving.lint.case import Case, Hit
from sparkrig.serving.lint.claims import (
    APRIL,
    AUGUST,
    COMPARISON,
    DOCAI,
    HARDWARE,
    MAY,
    MIA,
    MID_MAY,
    MODELS,
    NOVEMBER,
    NVIDIA,
    READ,
    VLLM,
    Claim,
)
from sparkrig.serving.lint.rule import Rules

MEMORY_GIB = 121.7  # what vLLM sees of a Spark's 128 GB [@docai-122b]
HIGHEST, SAFE = 0.90, 0.80
_BF16_GIB = 100e9 / 2**30  # BF16 fits where the weights are below about 100 GB [@conselara-models]


RULES = Rules("memory")


def _utilization(case: Case) -> float | None:
    return case.launch.number("gpu-memory-utilization")


@RULES.rule(
    "utilization-above-0.90",
    "error",
    "--gpu-memory-utilization is at most 0.90",
    (
        Claim("CPU and GPU share the memory, so what vLLM takes above 0.90 ends in out-of-memory", MODELS, MAY),
        Claim("CUDA graphs allocate at run time: 0.92 buys 1 GiB of KV cache for that risk", DOCAI, APRIL),
        Claim("the host hangs without ssh, and only a hard reset helps", "capetron", NOVEMBER),
    ),
    "--gpu-memory-utilization 0.80",
)
def utilization_above_0_90(case: Case) -> Iterator[Hit]:
    share = _utilization(case)
    if share is not None and share > HIGHEST:
        yield Hit(f"--gpu-memory-utilization {share:g} leaves {_left(share)} for all else")


@RULES.rule(
    "utilization-high",
    "warning",
    "--gpu-memory-utilization leaves the host room",
    (
        Claim("0.80 is what NVIDIA's playbook takes", NVIDIA, NOVEMBER),
        Claim(
            "at 0.80 the head of a pair was reset by a prompt of 128K tokens (NVRM, out of memory)",
            "playbooks-97",
            "2026-08-12",
        ),
        Claim("0.87 did not pass vLLM's check: 102 of 121.7 GiB were free", MIA, AUGUST),
        Claim("it is no bound while vLLM profiles: a host hung at 0.70", "vllm-46307", "2026-06-21"),
    ),
    "--gpu-memory-utilization 0.80 (each 0.01 is 1.2 GiB)",
    against=(
        Claim(
            "0.85 to 0.87 is the safe range, and less where long contexts fill a large KV cache",
            HARDWARE,
            MID_MAY,
        ),
        Claim("a 122B model at 0.90 ran for 90 minutes without a restart", DOCAI, APRIL),
    ),
)
def utilization_high(case: Case) -> Iterator[Hit]:
    share = _utilization(case)
    if share is not None and SAFE < share <= HIGHEST:
        yield Hit(f"--gpu-memory-utilization {share:g} leaves {_left(share)} for all else")


def _left(share: float) -> str:
    return f"{MEMORY_GIB * (1 - share):.1f} GiB" if share < 1 else "nothing"


@RULES.rule(
    "utilization-unset",
    "warning",
    "--gpu-memory-utilization is said",
    (
        Claim(
            "the default is 0.92, formerly 0.90: both are meant for a GPU with memory of its own",
            VLLM,
            READ,
        ),
        Claim("0.85 to 0.87 is the safe range where CPU and GPU share the memory", HARDWARE, MID_MAY),
    ),
    "--gpu-memory-utilization 0.80",
)
def utilization_unset(case: Case) -> Iterator[Hit]:
    flags = case.launch.flags
    if not {"gpu-memory-utilization", "kv-cache-memory-bytes", "config"} & {*flags}:
        yield Hit("no --gpu-memory-utilization")


@RULES.rule(
    "weights-too-large",
    "error",
    "the weights fit into what vLLM may take",
    (
        Claim(
            "vLLM takes 121.7 GiB times the utilization, and weights, KV cache and CUDA graphs share that",
            DOCAI,
            APRIL,
        ),
        Claim("Qwen3.5-122B in BF16 is 234 GB, so NVFP4 is the only way on one Spark", COMPARISON, MAY),
        Claim("Qwen3-235B-A22B in GPTQ-Int4 takes about 60 GB a node, and needs two", MODELS, MAY),
    ),
    "a smaller format of the model, or both Sparks: sparkrig models",
)
def weights_too_large(case: Case) -> Iterator[Hit]:
    share = min(_utilization(case) or HIGHEST, 1.0)
    if case.weights_gib is None or not case.gpus or not case.world:
        return
    each, room = case.weights_gib / case.world, MEMORY_GIB * share
    if each > room:
        yield Hit(
            f"{each:.0f} GiB of weights on each Spark, and {room:.0f} GiB for vLLM at {share:g}", _smaller(case)
        )


@RULES.rule(
    "pair-needed",
    "warning",
    "what was only run on two Sparks is run on two",
    (Claim("eugr's recipe for Qwen3.5-122B in FP8 is for two Sparks only", DOCAI, APRIL),),
    "--tensor-parallel-size 2 on both, or a smaller format: sparkrig models",
    holds="as the catalogue says",
)
def pair_needed(case: Case) -> Iterator[Hit]:
    if case.checkpoint and case.checkpoint.nodes > (case.gpus or 1) and not [*weights_too_large(case)]:
        yield Hit(f"{case.checkpoint.id} was only run on {case.checkpoint.nodes} Sparks, and this is for one")


def _smaller(case: Case) -> str:
    """A checkpoint of the model that fits, with half of what is left for the KV cache."""
    for each in case.model.checkpoints if case.model else ():
        if each.weights_gib and not each.bad and each.weights_gib < MEMORY_GIB * SAFE:
            return f"{each.id} ({each.format}, {each.weights_gib:.0f} GiB)"
    return ""


@RULES.rule(
    "bf16-large",
    "warning",
    "BF16 weights stay below 100 GB a Spark",
    (Claim("BF16 fits only below about 100 GB of weights", MODELS, MAY),),
    "a quantized checkpoint: GPTQ-Int4 before FP8 (sparkrig docs lint)",
)
def bf16_large(case: Case) -> Iterator[Hit]:
    if case.format != "bf16" or case.quantization or not case.world:
        return
    known = case.weights_gib is not None
    each = (case.weights_gib or 2e9 * case.parameters_b / 2**30) / case.world
    if each > _BF16_GIB and not [*weights_too_large(case)]:
        size = f"{each * 2**30 / 1e9:.0f} GB of BF16 weights on each Spark"
        yield Hit(size if known else f"{size}, by the parameters in its name", _smaller(case))


@RULES.rule(
    "memory-limit",
    "note",
    "a limit on the container's memory is not taken for protection",
    (
        Claim("docker's --memory does not count what the GPU allocates", "pygraphistry-1671", "2026-07-01"),
        Claim("nor does a limit of systemd: the control group does not see it", "minefield-57", "2026-08-23"),
    ),
    "--gpu-memory-utilization is the limit that counts",
    holds="driver 580",
)
def memory_limit(case: Case) -> Iterator[Hit]:
    if case.container.memory:
        yield Hit(f"a memory limit of {case.container.memory}")
