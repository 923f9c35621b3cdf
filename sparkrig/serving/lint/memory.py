"""Rules of what vLLM may take of a memory that CPU and GPU share."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sparkrig.serving import engines
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
# by [@eugr-dsv4-1m]: refused at 0.95; about 0.912 is free while the weights are read
REFUSED, HIGHEST, USUAL, SAFE = 0.95, 0.912, 0.85, 0.80
_DEFAULT = 0.92
_TABLE_GIB = 47.7  # the largest table that SGLang leaves on the disk [@sglang-37995]
# Qwen3.6-35B-A3B in BF16, 65 GiB, is verified without a share, and 75 GiB fail [@vllm-recipes, @vllm-recipes-632]
_LARGE = 0.6
# scales and layers of 16 bits beside the 4 bits of the name: 75 GiB of Nemotron-3-Super, of which it shows 63
_BESIDE = 1.19
_FEW_BLOCKS, _FEW_LONG = 0.36, 65_536  # [@rwlove-13226]
_HYBRID_35B = re.compile(r"qwen3\.[56]-35b-a3b")
_BF16_GIB = 100e9 / 2**30  # BF16 fits where the weights are below about 100 GB [@conselara-models]


RULES = Rules("memory")


def _utilization(case: Case) -> float | None:
    return case.launch.number("gpu-memory-utilization")


@RULES.rule(
    "utilization-refused",
    "error",
    "--gpu-memory-utilization is below 0.95",
    (
        Claim(
            "vLLM asks for that share of 121.69 GiB to be free: 0.95 was refused, with 111 GiB free while the "
            "weights are read, page cache dropped or not",
            "eugr-dsv4-1m",
            "2026-08-25",
        ),
        Claim("CPU and GPU share the memory, so what vLLM takes above 0.90 ends in out-of-memory", MODELS, MAY),
        Claim("the host hangs without ssh, and only a hard reset helps", "capetron", NOVEMBER),
    ),
    "--gpu-memory-utilization 0.85, and 0.90 at most",
)
def utilization_refused(case: Case) -> Iterator[Hit]:
    share = _utilization(case)
    if share is not None and share >= REFUSED:
        yield Hit(_leaves(share))


@RULES.rule(
    "utilization-above-0.91",
    "warning",
    "--gpu-memory-utilization is at most 0.912",
    (
        Claim(
            "about 0.912 is the ceiling, by what is free while the weights are read", "eugr-dsv4-1m", "2026-08-25"
        ),
        Claim(
            "vLLM's default of 0.92 is out of memory at the start with a 120B model",
            "vllm-recipes-632",
            "2026-07-13",
        ),
        Claim(
            "0.90 to 0.95 can work, and more often runs out of memory, at the start or later",
            "mia-dspark-5",
            "2026-07-20",
        ),
        Claim("CUDA graphs allocate at run time: 0.92 buys 1 GiB of KV cache for that risk", DOCAI, APRIL),
    ),
    "--gpu-memory-utilization 0.85, and 0.90 at most",
)
def utilization_above_0_91(case: Case) -> Iterator[Hit]:
    share = _utilization(case)
    if share is not None and HIGHEST < share < REFUSED:
        yield Hit(_leaves(share))


@RULES.rule(
    "utilization-high",
    "warning",
    "--gpu-memory-utilization leaves the host room: 0.85 at most",
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
    "--gpu-memory-utilization 0.80 (each 0.01 is 1.2 GiB), unless the KV cache needs more",
    against=(
        Claim(
            "0.85 to 0.87 is the safe range, and less where long contexts fill a large KV cache",
            HARDWARE,
            MID_MAY,
        ),
        Claim("a 122B model at 0.90 ran for 90 minutes without a restart", DOCAI, APRIL),
        Claim("0.85 is required for Nemotron-3-Super, 0.80 since", "vllm-recipes-632", "2026-07-13"),
        Claim(
            "three starts at 0.90 served a window of 1,048,576 tokens on two Sparks", "eugr-dsv4-1m", "2026-08-25"
        ),
        Claim("NVIDIA's playbook for Nemotron-3-Super takes 0.90", "nvidia-nemotron", "2026-07-01"),
    ),
)
def utilization_high(case: Case) -> Iterator[Hit]:
    share = _utilization(case)
    if share is not None and SAFE < share <= HIGHEST:
        yield Hit(_leaves(share), severity="note" if share <= USUAL else None)


def _leaves(share: float) -> str:
    left = f"{MEMORY_GIB * (1 - share):.1f} GiB" if share < 1 else "nothing"
    return f"--gpu-memory-utilization {share:g} leaves {left} for all else"


def _unset(case: Case) -> bool:
    flags = {"gpu-memory-utilization", "kv-cache-memory-bytes", "config"}
    return not case.pooling and not flags & {*case.launch.flags}


@RULES.rule(
    "utilization-unset-large",
    "warning",
    "--gpu-memory-utilization is said where the weights take 60 % of the memory",
    (
        Claim(
            "Nemotron-3-Super in NVFP4 is out of memory at the start with the default of 0.92",
            "vllm-recipes-632",
            "2026-07-13",
        ),
        Claim("the default is 0.92, formerly 0.90: meant for a GPU with memory of its own", VLLM, READ),
    ),
    "--gpu-memory-utilization 0.80",
)
def utilization_unset_large(case: Case) -> Iterator[Hit]:
    if _unset(case) and _each(case) > MEMORY_GIB * _LARGE:
        yield Hit(f"no --gpu-memory-utilization, and {_each(case):.0f} GiB of weights")


def _each(case: Case) -> float:
    """GiB of weights on each Spark, 0 where that is not known."""
    told = case.weights_gib is None and case.served_format not in ("bf16", "fp8")
    return (case.loaded_gib or 0) * (_BESIDE if told else 1) / (case.world or 1)


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
        Claim("DGX Spark: vLLM takes too much by default, and can run out of memory", "ngc-vllm", "2026-11-24"),
    ),
    "--gpu-memory-utilization 0.80",
    against=(
        Claim("NVIDIA's playbook serves gpt-oss-20b without it", NVIDIA, "2026-07-24"),
        Claim("Muse-Glimmer-30B in BF16 needs no special configuration on GB10", "vllm-recipes", "2026-08-21"),
    ),
)
def utilization_unset(case: Case) -> Iterator[Hit]:
    if _unset(case) and not [*utilization_unset_large(case)]:
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
    # another engine has its share by another name: more than all it cannot have, a table on the disk aside
    other = case.launch.engine != engines.VLLM
    share = 1.0 if other else min(_utilization(case) or _DEFAULT, 1.0)
    least = _least(case)
    if least is None or not case.gpus or not case.world or case.table_on_disk:
        return
    each, room = least / case.world, MEMORY_GIB * share
    if each - (_TABLE_GIB if other else 0.0) > room:
        how = "" if case.weights_gib is not None else " at least, by the parameters in its name"
        yield Hit(
            f"{each:.0f} GiB of weights on each Spark{how}, and {room:.0f} GiB for "
            f"{engines.name(case.launch.engine)} at {share:g}",
            _smaller(case),
        )


def _least(case: Case) -> float | None:
    """GiB of weights at the least; a name has to tell their format, and vLLM must not quantize them further."""
    told = case.told_format and (case.told_format != "bf16" or case.quantization in ("", "fp8"))
    return case.loaded_gib if told else case.weights_gib


@RULES.rule(
    "mamba-blocks",
    "warning",
    "a hybrid model with little memory is told how many requests it takes",
    (
        Claim(
            "Qwen3.6-35B-A3B-FP8 at 0.36 with 131,072 tokens has 95 Mamba blocks, fewer than the default of 256 "
            "requests, and ends: CUDA graph capture cannot proceed; 32 requests start",
            "rwlove-13226",
            "2026-07-23",
        ),
    ),
    "--max-num-seqs 32",
    holds="Qwen3.5 and 3.6 35B-A3B in FP8, vLLM 0.25",
)
def mamba_blocks(case: Case) -> Iterator[Hit]:
    share, context, flag = _utilization(case), case.launch.whole_number("max-model-len", 0), "max-num-seqs"
    long = context == 0 or (context or 0) > _FEW_LONG
    if share is None or share > _FEW_BLOCKS or not long or flag in case.launch.flags:
        return
    if _HYBRID_35B.search(case.name) and case.format == "fp8":
        yield Hit(f"no --{flag} at {share:g}")


@RULES.rule(
    "puzzle-autotune",
    "warning",
    "Nemotron Puzzle has room for what FlashInfer tries",
    (
        Claim(
            "0.24.0 and 0.25.0 run out of memory: FlashInfer tries kernels in 20 GiB; NGC 26.06 at 0.88 does not",
            "styles01",
            "2026-08-20",
        ),
    ),
    "nvcr.io/nvidia/vllm:26.06-py3, or a share that leaves 20 GiB more",
    holds="vLLM's own images of 0.24 and 0.25",
    since=(0, 24),
    before=(0, 26),
)
def puzzle_autotune(case: Case) -> Iterator[Hit]:
    share = _utilization(case) or _DEFAULT
    if "nemotron-labs-3-puzzle-75b" in case.name and case.stock and share > SAFE:
        yield Hit(f"at {share:g} in {case.container.image}")


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
    if case.told_format != "bf16" or case.quantization or not case.world:
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
