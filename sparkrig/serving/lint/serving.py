"""Rules of batches, contexts and caches of prefixes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sparkrig.serving.lint.case import Case, Hit
from sparkrig.serving.lint.claims import (
    APRIL,
    BENCH,
    DOCAI,
    VLLM,
    Claim,
)
from sparkrig.serving.lint.rule import Rules

_BATCH, _LONG = 8192, 100_000  # [@docai-122b]
_SMALL = 0.6  # [@chenboju]
_HANGS = 65536  # [@aeon-dflash-1]: 32768 ran
_DSPARK = 5  # dspark_block_size of DeepSeek-V4-Flash [@nepenth-dsv4]
_GLM = re.compile(r"nvidia/glm-5\.3-flash-nvfp4")
_RING = range(5, 9)  # [@inference-atlas-53]


RULES = Rules("serving")


@RULES.rule(
    "mtp-batch",
    "note",
    "speculative decoding has 8192 tokens a batch",
    (Claim("vLLM warns of its default of 4096; a single stream gains nothing, several do", DOCAI, APRIL),),
    "--max-num-batched-tokens 8192",
)
def mtp_batch(case: Case) -> Iterator[Hit]:
    tokens = case.launch.whole_number("max-num-batched-tokens", 0)
    if "speculative-config" in case.launch.flags and tokens is not None and tokens < _BATCH:
        asked = f"--max-num-batched-tokens {tokens}" if tokens else "no --max-num-batched-tokens"
        yield Hit(f"speculative decoding, and {asked}")


@RULES.rule(
    "hybrid-prefix-cache",
    "note",
    "prefix caching of a model with Mamba layers is known to be experimental",
    (Claim("vLLM says so in its log", DOCAI, APRIL),),
    "keep it, watch the answers, and keep the system prompt: one that changes with each request hits no cache",
    against=(Claim("no worse answers seen, and the first token of 8K contexts 41 % sooner", DOCAI, APRIL),),
)
def hybrid_prefix_cache(case: Case) -> Iterator[Hit]:
    if case.hybrid and case.launch.on("enable-prefix-caching"):
        yield Hit(f"--enable-prefix-caching, and {case.called} has Mamba layers")


@RULES.rule(
    "prefix-cache",
    "note",
    "prefixes are cached",
    (
        Claim("the first token of 8K contexts came after 2.59 s instead of 4.41 s", DOCAI, APRIL),
        Claim("97 % hits on a repeated system prompt", BENCH, "2026-05-03"),
    ),
    "--enable-prefix-caching",
)
def prefix_cache(case: Case) -> Iterator[Hit]:
    off = case.launch.flags.get("enable-prefix-caching") is False
    if off or (case.hybrid and "enable-prefix-caching" not in case.launch.flags):
        yield Hit(
            "--no-enable-prefix-caching"
            if off
            else "no --enable-prefix-caching, which hybrid models do not have by default"
        )


@RULES.rule(
    "context-unset",
    "note",
    "--max-model-len is said",
    (Claim("131072 once, for all: 128K is as fast as 32K on short requests", DOCAI, APRIL),),
    "--max-model-len 131072",
)
def context_unset(case: Case) -> Iterator[Hit]:
    if not {"max-model-len", "config"} & {*case.launch.flags}:
        yield Hit("no --max-model-len: vLLM takes all that the model can")


@RULES.rule(
    "long-contexts",
    "note",
    "few requests of 100K tokens run at once",
    (
        Claim(
            "four of 108K at once decode at 6.2 tok/s each, two at 20.6; first tokens take 20 to 112 s",
            DOCAI,
            APRIL,
        ),
    ),
    "--max-num-seqs 2 where contexts are that long, or both Sparks",
    holds="Qwen3.5-122B-A10B-NVFP4 on one Spark",
)
def long_contexts(case: Case) -> Iterator[Hit]:
    length, at_once = case.launch.whole_number("max-model-len", 0), case.launch.whole_number("max-num-seqs", 0)
    if length and at_once and length > _LONG and at_once > 2 and not case.paired:
        yield Hit(f"{at_once} requests of up to {length} tokens at once")


@RULES.rule(
    "batch-large",
    "warning",
    "--max-num-batched-tokens is below 65536",
    (
        Claim(
            "65536 is more than the memory has, and the host hangs; 32768 is meant",
            "aeon-dflash-1",
            "2026-04-24",
        ),
        Claim(
            "16384 does not start where 8192 does: the step takes memory from the KV cache",
            "eugr-dsv4-1m",
            "2026-08-25",
        ),
    ),
    "--max-num-batched-tokens 8192, and 32768 at most",
    holds="shares above 0.60; a note up to it, for Gemma 4 26B in NVFP4 is published with 192000 [chenboju]",
)
def batch_large(case: Case) -> Iterator[Hit]:
    tokens = case.launch.whole_number("max-num-batched-tokens", 0)
    if tokens and tokens >= _HANGS and not case.pooling:
        small = (case.launch.number("gpu-memory-utilization") or 1) <= _SMALL
        yield Hit(
            f"--max-num-batched-tokens {tokens}",
            severity="note" if small else None,
        )


@RULES.rule(
    "batch-unbounded",
    "warning",
    "Gemma 4 26B has a bound on its batch",
    (
        Claim(
            "while vLLM profiles it takes 112 GiB at 0.70, a bound of 83, and the host hangs",
            "vllm-46307",
            "2026-06-21",
        ),
        Claim("published launches of it bound tokens or requests", "recipe-registry", "2026-06-22"),
    ),
    "--max-num-batched-tokens 8192 --max-num-seqs 8",
    holds="Gemma 4 26B in BF16, vLLM of 2026-06",
    against=(
        Claim("vLLM's recipe without a bound is verified on GB10", "vllm-recipes", "2026-08-21"),
        Claim("no bound is published with a share of 0.60", "chenboju", "2026-11-25"),
    ),
)
def batch_unbounded(case: Case) -> Iterator[Hit]:
    bounds = {"max-num-batched-tokens", "max-num-seqs", "config", "kv-cache-memory-bytes", "language-model-only"}
    if re.search(r"gemma-?4-26b", case.name) and case.format == "bf16" and not bounds & {*case.launch.flags}:
        yield Hit("neither --max-num-batched-tokens nor --max-num-seqs")


@RULES.rule(
    "mamba-block-size",
    "error",
    "--mamba-block-size is set only with prefix caching",
    (Claim("vLLM's own words: can be set only when prefix caching is enabled", VLLM, "2026-11-24"),),
    "leave --mamba-block-size away, or --enable-prefix-caching",
    holds="every vLLM that has it",
)
def mamba_block_size(case: Case) -> Iterator[Hit]:
    off = case.launch.flags.get("enable-prefix-caching") is False
    if "mamba-block-size" in case.launch.flags and off:
        yield Hit("--mamba-block-size with --no-enable-prefix-caching")


@RULES.rule(
    "dspark-depth",
    "warning",
    "DSpark drafts as many tokens as its block has: 5 of DeepSeek-V4-Flash",
    (
        Claim(
            "0.26.0 ends with a ValueError where num_speculative_tokens is below dspark_block_size",
            "vllm-50012",
            "2026-07-27",
        ),
    ),
    '"num_speculative_tokens": 5 in --speculative-config',
    holds="vLLM 0.26 and later; a note for forks, which may have no such check",
    since=(0, 26),
)
def dspark_depth(case: Case) -> Iterator[Hit]:
    if case.drafting == "dspark" and "deepseek-v4-flash" in case.name and 0 < case.drafted < _DSPARK:
        yield Hit(
            f"num_speculative_tokens is {case.drafted} with DSpark, at least {_DSPARK} expected",
            severity=None if case.official else "note",
        )


@RULES.rule(
    "gemma-mtp",
    "warning",
    "Gemma 4 with its MTP assistant has a vLLM that gives it the target's embeddings",
    (
        Claim(
            "0.25.0, 0.25.1 and 0.26.0 end at the start: a and b must have same reduction dim; main of 2026-07-21 "
            "mends it, and so does VLLM_USE_V2_MODEL_RUNNER=1",
            "vllm-48848",
            "2026-07-27",
        ),
    ),
    "-e VLLM_USE_V2_MODEL_RUNNER=1, or vLLM 0.27",
    holds="vLLM 0.25 and 0.26; a note for forks",
    since=(0, 25),
    before=(0, 27),
)
def gemma_mtp(case: Case) -> Iterator[Hit]:
    drafter = str(case.speculative.get("model") or "")
    drafted = case.drafting == "mtp" or drafter.lower().endswith("-assistant")
    if "gemma-4" in case.name and drafted and case.launch.variable("VLLM_USE_V2_MODEL_RUNNER") != "1":
        yield Hit(
            f"its assistant {drafter}".rstrip(),
            severity=case.severity,
        )


@RULES.rule(
    "dsv4-0731-mtp",
    "warning",
    "DeepSeek-V4-Flash-0731 drafts by DSpark, and not by MTP",
    (Claim("deepseek_mtp does not load its head: KeyError mtp_block.main_norm", "bytebunkerlabs", "2026-08-06"),),
    '"method": "dspark", "num_speculative_tokens": 5 in --speculative-config',
    holds="vLLM of 2026-08",
)
def dsv4_0731_mtp(case: Case) -> Iterator[Hit]:
    if case.drafting == "mtp" and "deepseek-v4-flash-0731" in case.name:
        yield Hit(f"--speculative-config.method {case.speculative.get('method')}")


@RULES.rule(
    "glm-mtp",
    "warning",
    "NVIDIA's GLM-5.3-Flash drafts by DFlash2, and not by its own MTP",
    (
        Claim("MTP is not reachable with nvidia/GLM-5.3-Flash-NVFP4, and DFlash2 is", "mia-glm53-6", "2026-09-22"),
        Claim("its draft runs only with a patch", "eugr-glm53", "2026-11-24"),
    ),
    'DFlash2: "method": "dflash", "model": "incoai/GLM-5.3-Flash-DFlash2" in --speculative-config',
    holds="images without that patch; a note for B12X's, which eugr's recipe patches",
)
def glm_mtp(case: Case) -> Iterator[Hit]:
    if case.drafting == "mtp" and _GLM.search(case.name):
        mended = case.patched or "b12x" in f"{case.image} {case.launch.text('moe-backend')}"
        yield Hit(f"MTP of {case.called}", severity="note" if mended else None)


@RULES.rule(
    "mtp-depth",
    "warning",
    "Qwen3.8-Flash-Next predicts 1 to 4 or 9 to 12 tokens ahead",
    (
        Claim(
            "5 to 8 cannot start on GB10: the ring has to divide the block of 1616 tokens",
            "inference-atlas-53",
            "2026-08-28",
        ),
    ),
    '"num_speculative_tokens": 4 in --speculative-config',
    holds="builds of 2026-08",
)
def mtp_depth(case: Case) -> Iterator[Hit]:
    if "qwen3.8-flash-next" in case.name and case.drafting == "mtp" and case.drafted in _RING:
        yield Hit(f"{case.drafted} tokens ahead")
