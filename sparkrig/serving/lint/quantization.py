"""Computed rules of formats of weights, and what vLLM makes of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sparkrig.serving.lint.case import Case, Check, Hit

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


def quantization_differs(case: Case) -> Iterator[Hit]:
    methods = _METHODS.get(case.told_format)
    # a fork has methods of its own, such as modelopt_gb10_hybrid
    ours = case.quantization in _KNOWN
    if ours and methods and case.quantization not in methods:
        yield Hit(f"--quantization {case.quantization}, and {case.said}")


def quantized_on_the_fly(case: Case) -> Iterator[Hit]:
    if case.quantization == "fp8" and case.format == "bf16":
        other = _of_format(case, "fp8")
        yield Hit(f"--quantization fp8, and {case.said}", f"{other}, without --quantization" if other else "")


def _of_format(case: Case, kind: str) -> str:
    known = case.model.checkpoints if case.model else ()
    return next((each.id for each in known if each.format == kind and not each.bad), "")


CHECKS: Mapping[str, Check] = {
    "quantization-differs": quantization_differs,
    "quantized-on-the-fly": quantized_on_the_fly,
}
