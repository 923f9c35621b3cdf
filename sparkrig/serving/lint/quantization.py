"""Rules of formats of weights, and what vLLM makes of them."""

from __future__ import annotations

from collections.abc import Iterator

from sparkrig.serving.lint.case import Case, Hit
from sparkrig.serving.lint.claims import (
    BENCH,
    HARDWARE,
    MARCH,
    MAY,
    MID_MAY,
    MODELS,
    READ,
    READER,
    THREAD,
    VLLM,
    Claim,
)
from sparkrig.serving.lint.rule import Rules

# what --quantization may be called for a format
_METHODS = {
    "bf16": {"fp8", "bitsandbytes", "experts_int8", "int8", "torchao", "mxfp4", "mxfp8", "modelopt"},
    "fp8": {"fp8", "compressed-tensors", "modelopt", "fbgemm_fp8", "modelopt_fp8"},
    # one family: NVIDIA's playbook says fp4 of a checkpoint of ModelOpt [@nvidia-nemotron]
    "nvfp4": {"compressed-tensors", "fp4", "modelopt", "modelopt_fp4", "modelopt_mixed", "nvfp4"},
    "mxfp4": {"mxfp4", "gpt_oss_mxfp4"},
    "int4-gptq": {"gptq", "gptq_marlin", "moe_wna16", "auto-round", "inc"},
    "int4-awq": {"awq", "awq_marlin", "moe_wna16", "compressed-tensors"},
    "gguf": {"gguf"},
}
_KNOWN = frozenset(method for methods in _METHODS.values() for method in methods)


RULES = Rules("quantization")


@RULES.rule(
    "gptq-marlin",
    "note",
    "a GPTQ-Int4 checkpoint is not held to --quantization gptq",
    (
        Claim("gptq_marlin is the recommended one", MODELS, MAY),
        Claim("gptq_marlin is fully supported on SM121", HARDWARE, MID_MAY),
        Claim("Qwen3-235B ran with it on two Sparks", BENCH, "2026-05-03"),
        Claim("without the flag vLLM chooses gptq_marlin itself where it can", VLLM, READ),
    ),
    "leave --quantization away, or --quantization gptq_marlin",
)
def gptq_marlin(case: Case) -> Iterator[Hit]:
    if case.format == "int4-gptq" and case.quantization == "gptq":
        yield Hit(f"--quantization gptq, and {case.said}")


@RULES.rule(
    "quantization-differs",
    "warning",
    "--quantization is the checkpoint's own format",
    (Claim("vLLM refuses a method other than the one in the checkpoint's config.json", VLLM, READ),),
    "leave --quantization away: vLLM reads the format from the checkpoint's config.json",
)
def quantization_differs(case: Case) -> Iterator[Hit]:
    methods = _METHODS.get(case.told_format)
    # a fork has methods of its own, such as modelopt_gb10_hybrid
    ours = case.quantization in _KNOWN
    if ours and methods and case.quantization not in methods:
        yield Hit(f"--quantization {case.quantization}, and {case.said}")


@RULES.rule(
    "quantized-on-the-fly",
    "note",
    "an FP8 checkpoint is taken where there is one",
    (
        Claim(
            "FP8 made while loading makes no sense where the publisher has an FP8 checkpoint",
            READER,
            MARCH,
        ),
    ),
    "the model's FP8 checkpoint, without --quantization",
    against=(
        Claim("48.6 tok/s with --quantization fp8 on the BF16 checkpoint of Qwen3.5-35B-A3B", THREAD, MARCH),
    ),
)
def quantized_on_the_fly(case: Case) -> Iterator[Hit]:
    if case.quantization == "fp8" and case.format == "bf16":
        other = _of_format(case, "fp8")
        yield Hit(f"--quantization fp8, and {case.said}", f"{other}, without --quantization" if other else "")


def _of_format(case: Case, kind: str) -> str:
    known = case.model.checkpoints if case.model else ()
    return next((each.id for each in known if each.format == kind and not each.bad), "")
