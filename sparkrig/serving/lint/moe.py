"""Rules of the backends that compute mixtures of experts on SM121."""

from __future__ import annotations

from collections.abc import Iterator

from sparkrig.serving.lint.case import Case, Hit
from sparkrig.serving.lint.claims import AUGUST, Claim
from sparkrig.serving.lint.rule import Rules

# for weights that are quantized: vllm/model_executor/layers/fused_moe/oracle/unquantized.py of 0.29.0 refuses
# them for others, and names triton, flashinfer_trtllm, flashinfer_cutlass and aiter [@vllm-56832]
_QUANTIZED_ONLY = frozenset(
    {
        "b12x",
        "cutlass",
        "deep_gemm",
        "deep_gemm_mega_moe",
        "emulation",
        "flashinfer_b12x",
        "flashinfer_cutedsl",
        "marlin",
        "triton_unfused",
    }
)
# mixtures whose quantized checkpoints keep the layers that predict ahead in BF16 [@vllm-56832, @vllm-recipes]
_BF16_HEADS = ("qwen3.5", "qwen3.6", "qwen3.8", "qwen3-next", "nemotron-3-super", "nemotron-3-ultra")


RULES = Rules("kernels")


def _backend(case: Case) -> str:
    return case.launch.text("moe-backend").lower().replace("-", "_")


@RULES.rule(
    "moe-backend-unquantized",
    "error",
    "a mixture of experts that is not quantized is given no backend for quantized ones",
    (
        Claim(
            "vLLM ends: moe_backend='marlin' is not supported for unquantized MoE (oracle/unquantized.py)",
            "vllm-56832",
            "2026-09-14",
        ),
    ),
    "leave --moe-backend away: vLLM chooses",
    holds="vLLM 0.17 and later, which have --moe-backend",
    since=(0, 17),
)
def moe_backend_unquantized(case: Case) -> Iterator[Hit]:
    bare = case.told_format == "bf16" and not case.quantization
    if case.mixture and bare and _backend(case) in _QUANTIZED_ONLY:
        yield Hit(f"--moe-backend {_backend(case)}, and {case.said}")


@RULES.rule(
    "flashinfer-b12x",
    "warning",
    "FlashInfer's B12X is chosen only where it was seen to run",
    (
        Claim(
            "0.28 with unsloth/Qwen3.6-35B-A3B-NVFP4 ends at the start, again and again",
            "rwlove-14046",
            "2026-09-05",
        ),
        Claim(
            "a nightly with FlashInfer 0.6.18.post1 compiles it and ends: illegal memory access; vLLM never "
            "chooses it by itself on SM121",
            "flashinfer-3170",
            "2026-09-18",
        ),
        Claim("0.27 ends where experts are FP8: not supported for FP8 MoE", "jschmied-27b", "2026-08-20"),
    ),
    "leave --moe-backend away, or marlin",
    holds="vLLM's own images since 0.25; a note for others",
    since=(0, 25),
    against=(
        Claim("an image that is made for it serves DeepSeek-V4-Flash so on a pair", "mia-deepseek-pair", AUGUST),
    ),
)
def flashinfer_b12x(case: Case) -> Iterator[Hit]:
    table = str(case.launch.table("kernel-config").get("moe_backend") or "").lower()
    if case.mixture and "flashinfer_b12x" in (_backend(case), table):
        flag = "--moe-backend" if _backend(case) else "--kernel-config.moe_backend"
        yield Hit(f"{flag} flashinfer_b12x", severity=case.severity)


@RULES.rule(
    "moe-backend-draft",
    "error",
    "layers that predict ahead and are not quantized have a backend of their own",
    (
        Claim(
            "--moe-backend holds for them as well, and vLLM ends: marlin is not supported for unquantized MoE",
            "vllm-56832",
            "2026-09-14",
        ),
        Claim('Marlin with MTP is verified on GB10 with "moe_backend": "triton"', "vllm-recipes", "2026-08-21"),
        Claim("NVIDIA's playbook has it so", "nvidia-nemotron", "2026-07-01"),
    ),
    '"moe_backend": "triton" in --speculative-config',
    holds="vLLM 0.19 and later, which have that field; a note for b12x in images that are made for it",
    since=(0, 19),
)
def moe_backend_draft(case: Case) -> Iterator[Hit]:
    heads = case.mixture and any(name in case.name for name in _BF16_HEADS)
    if case.drafting != "mtp" or not heads or case.format != "nvfp4":
        return
    if _backend(case) in _QUANTIZED_ONLY and "moe_backend" not in case.speculative:
        # images with B12X quantize these layers as they load, and serve with it [@flash-next-tp-2]
        own = _backend(case) == "b12x" and not case.released
        yield Hit(
            f"--moe-backend {_backend(case)}, and --speculative-config has no moe_backend",
            severity="note" if own else None,
        )


@RULES.rule(
    "moe-backend-datacenter",
    "warning",
    "--moe-backend is none for the GPUs of data centres",
    (
        Claim("flashinfer_trtllm does not support NVFP4 on SM12x, and vLLM ends", "vllm-43906", "2026-05-28"),
        Claim("its kernels are for SM10x alone: is_device_capability_family(100)", "vllm-43906", "2026-05-28"),
    ),
    "leave --moe-backend away: vLLM chooses",
    holds="vLLM's own kernels",
)
def moe_backend_datacenter(case: Case) -> Iterator[Hit]:
    if case.mixture and _backend(case) == "flashinfer_trtllm":
        yield Hit("--moe-backend flashinfer_trtllm")


@RULES.rule(
    "deep-gemm",
    "warning",
    "DeepGEMM is off",
    (
        Claim(
            "two Sparks: packing of scales fails (CUDA_ERROR_INVALID_IMAGE), with the newest DeepGEMM as well",
            "vllm-41834",
            "2026-06-25",
        ),
        Claim("boots with VLLM_USE_DEEP_GEMM=0 and VLLM_USE_DEEP_GEMM_E8M0=0", "vllm-gb10-27", "2026-06-26"),
        Claim("vLLM's recipe for Qwen3.6-27B in FP8 sets it to 0 on GB10", "vllm-recipes", "2026-08-21"),
        Claim("with vLLM 0.28.0 DeepSeek-V4-Flash still fails in it", "vllm-gb10-106", "2026-08-27"),
    ),
    "leave --moe-backend away, and VLLM_USE_DEEP_GEMM=0",
    holds="builds whose DeepGEMM has no code for SM12x (deepseek-ai's pull request 324 adds it); a note for forks",
)
def deep_gemm(case: Case) -> Iterator[Hit]:
    if _backend(case).startswith("deep_gemm"):
        # an image of someone else's may be built with what serves it [@nepenth-dsv4]
        yield Hit(
            f"--moe-backend {_backend(case)}",
            severity=case.severity,
        )
    for name in ("VLLM_USE_DEEP_GEMM", "VLLM_USE_DEEP_GEMM_E8M0"):
        if case.launch.variable(name) == "1":
            # it is vLLM's default, and a build with newer DeepGEMM starts with it [@vllm-52732]
            yield Hit(f"{name}=1", severity="note")
