"""Rules of kernels, attention backends and CUDA graphs on SM121."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sparkrig.serving.lint.case import Case, Hit
from sparkrig.serving.lint.claims import (
    MARCH,
    MAY,
    MODELS,
    NOVEMBER,
    READ_25,
    THREAD,
    VLLM_0190,
    Claim,
)
from sparkrig.serving.lint.rule import Rules

_CUDA_12 = re.compile(r"[:-]cu12\d")


RULES = Rules("kernels")


@RULES.rule(
    "enforce-eager",
    "note",
    "CUDA graphs are on",
    (
        Claim("--enforce-eager costs about 55 % of the throughput", MODELS, MAY),
        Claim("a model that needs it is one to avoid", MODELS, MAY),
    ),
    "leave --enforce-eager away",
    holds=VLLM_0190,
    against=(
        Claim("eager is faster for TP=4 with expert parallelism", "capetron", NOVEMBER),
        Claim("capturing graphs deadlocked on two nodes, in SGLang", "al-engr", NOVEMBER),
        Claim("a server of embeddings beside two others is eager by choice", "gb10-services", "2026-08-03"),
        Claim("a server in Kubernetes is eager for a quick start", "langx101", "2026-09-20"),
    ),
)
def enforce_eager(case: Case) -> Iterator[Hit]:
    if case.launch.on("enforce-eager") and not case.pooling:
        yield Hit("--enforce-eager switches CUDA graphs off")


@RULES.rule(
    "cuda-12-kernels",
    "warning",
    "vLLM's own image is one for CUDA 13",
    (
        Claim(
            "images for CUDA 12.9 are built for 12.0, images for CUDA 13 for its family", "vllm-pipeline", READ_25
        ),
        Claim(
            "built with CUDA 12.9, the kernels of FP8 and NVFP4 are of 12.0a, which a GB10 does not run",
            "vllm-wheels",
            READ_25,
        ),
    ),
    "the same tag without -cu129",
    holds="vLLM's own images whose tag ends with a CUDA 12; check with cuobjdump -lelf _C_stable_libtorch.abi3.so",
    undated=True,
    against=(
        Claim("FP8 at 51.86 tok/s and NVFP4 at 42.62 with a cu129 image", "djangodevreng-026", "2026-08-17"),
    ),
)
def cuda_12_kernels(case: Case) -> Iterator[Hit]:
    if case.stock and _CUDA_12.search(case.image) and case.served_format in ("fp8", "nvfp4"):
        yield Hit(f"{case.container.image} with {case.served_format} weights")


@RULES.rule(
    "arch-list",
    "warning",
    "kernels that are compiled at run time are compiled for 12.1",
    (Claim("TORCH_CUDA_ARCH_LIST=12.1a, FLASHINFER_CUDA_ARCH_LIST=12.1a", "vllm-30163", NOVEMBER),),
    "12.1a in the list",
    against=(Claim("SM121 runs code for 12.0 as it is", THREAD, MARCH),),
)
def arch_list(case: Case) -> Iterator[Hit]:
    for name in ("TORCH_CUDA_ARCH_LIST", "FLASHINFER_CUDA_ARCH_LIST"):
        value = case.launch.variable(name)
        if value and "12.1" not in value:
            yield Hit(f"{name}={value}", f"{name}=12.1a")


@RULES.rule(
    "mxfp8-variable",
    "warning",
    "VLLM_USE_FLASHINFER_MOE_MXFP4_MXFP8 is set only in an image that was built for it",
    (
        Claim("it fails at once: MXFP4 grouped GEMM does not support this device", "vllm-43969", "2026-06-12"),
        Claim("not to be set on GB10 with vLLM 0.28.0", "sumner-gb10", "2026-09-24"),
    ),
    "leave VLLM_USE_FLASHINFER_MOE_MXFP4_MXFP8 away, or an image with MXFP4 kernels for 12.1a (vllm-node-mxfp4)",
    holds="vLLM's own images, whose FlashInfer has no such kernel for SM121",
)
def mxfp8_variable(case: Case) -> Iterator[Hit]:
    for name in ("VLLM_USE_FLASHINFER_MOE_MXFP4_MXFP8", "VLLM_USE_FLASHINFER_MOE_MXFP4_MXFP8_CUTLASS"):
        value = case.launch.variable(name)
        if value not in ("", "0") and case.official and case.format == "mxfp4":
            yield Hit(f"{name}={value} in {case.container.image}")


@RULES.rule(
    "mxfp4-image",
    "warning",
    "gpt-oss in an image with MXFP4 kernels is given the backend for them",
    (
        Claim(
            "without --mxfp4-backend CUTLASS memory profiling failed in vllm-node-mxfp4", "eugr-45", "2026-02-13"
        ),
        Claim("58.8 and 59.5 tok/s with --mxfp4-backend CUTLASS", "recipe-registry-17", "2026-06-12"),
    ),
    "--mxfp4-backend CUTLASS --mxfp4-layers moe,qkv,o,lm_head",
    holds="images built with eugr's --exp-mxfp4",
)
def mxfp4_image(case: Case) -> Iterator[Hit]:
    if case.gpt_oss and "mxfp4" in case.image and not case.launch.text("mxfp4-backend"):
        yield Hit(f"no --mxfp4-backend in {case.container.image}")
