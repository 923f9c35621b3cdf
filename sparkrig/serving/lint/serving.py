"""Rules of batches, contexts and caches of prefixes."""

from __future__ import annotations

from collections.abc import Iterator

from sparkrig.serving.lint.case import Case, Hit
from sparkrig.serving.lint.claims import (
    APRIL,
    BENCH,
    DOCAI,
    Claim,
)
from sparkrig.serving.lint.rule import Rules

_BATCH, _GRAPHS, _LONG = 8192, 2048, 100_000  # [@docai-122b, @conselara-hardware]


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
