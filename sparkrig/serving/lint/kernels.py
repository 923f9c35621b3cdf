"""Rules of kernels, attention backends and CUDA graphs on SM121."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sparkrig.serving.lint.case import Case, Hit, month
from sparkrig.serving.lint.claims import (
    APRIL,
    CATALOGUE,
    DOCAI,
    HARDWARE,
    MARCH,
    MAY,
    MID_MAY,
    MODELS,
    NOVEMBER,
    READ,
    READ_25,
    READER,
    THREAD,
    VLLM_0190,
    Claim,
)
from sparkrig.serving.lint.rule import Rules

_GRAPHS = 2048  # [@conselara-hardware]
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
    "cutlass-fp4",
    "warning",
    "FP4 does not go through CUTLASS",
    (
        Claim("CUTLASS FP4 produces garbage on SM121, without an error: never use it", MODELS, MAY),
        Claim("NVFP4 kernels cannot be compiled for SM121 (cvt.e2m1x2 is missing)", THREAD, MARCH),
        Claim(
            "illegal instruction with NVFP4 on SM12x before CUTLASS knew its tiles",
            "vllm-38423",
            "2026-03-28",
        ),
    ),
    "--moe-backend marlin, or an image built for 12.1a that is newer than 2026-04, and a look at its answers",
    holds="vLLM before 0.20: images without the fix of its pull request 38423 (merged 2026-03-28)",
    before=(0, 20),
    against=(
        Claim("FLASHINFER_CUTLASS compiles for SM121 and works: the lore is stale", DOCAI, APRIL),
        Claim(
            "VLLM_CUTLASS, built from source, serves a model that does not fit with Marlin",
            "vllm-50925",
            "2026-08-03",
        ),
    ),
)
def cutlass_fp4(case: Case) -> Iterator[Hit]:
    # not MXFP4: with gpt-oss CUTLASS is what works best [@recipe-registry-17]
    asked = {"--moe-backend": case.launch.text("moe-backend") if case.format == "nvfp4" else ""}
    asked["VLLM_NVFP4_GEMM_BACKEND"] = case.launch.variable("VLLM_NVFP4_GEMM_BACKEND")
    for name, value in asked.items():
        if "cutlass" in value.lower():
            yield Hit(f"{name} {value}")
    if case.launch.variable("VLLM_USE_FLASHINFER_MOE_FP4") == "1":
        yield Hit("VLLM_USE_FLASHINFER_MOE_FP4=1")


@RULES.rule(
    "fp4-workaround",
    "note",
    "VLLM_USE_FLASHINFER_MOE_FP4=0 is set only where it is needed",
    (
        Claim(
            "FlashInfer's FP4 works on SM121 again, so the variable shuts out the better backend",
            DOCAI,
            APRIL,
        ),
    ),
    "leave VLLM_USE_FLASHINFER_MOE_FP4 away, and compare",
    holds="vLLM 0.19.2 to 0.23, which read it, with a FlashInfer that was built for SM121",
    since=(0, 19, 2),
    before=(0, 24),
    against=(
        Claim(
            "FlashInfer's FP4 mixture of experts fails on SM121",
            "docai-122b, kanthai/openclaw-spark",
            "2026-04",
        ),
        Claim("set it to 0, with --moe-backend marlin", "vllm-41477", NOVEMBER),
    ),
)
def fp4_workaround(case: Case) -> Iterator[Hit]:
    if case.launch.variable("VLLM_USE_FLASHINFER_MOE_FP4") == "0":
        yield Hit("VLLM_USE_FLASHINFER_MOE_FP4=0")


@RULES.rule(
    "fp8-marlin",
    "warning",
    "FP8 weights go through Marlin (VLLM_TEST_FORCE_FP8_MARLIN=1)",
    (
        Claim("without it vLLM may take a CUTLASS path that produces NaN on SM121", THREAD, MARCH),
        Claim("FP8 checkpoints are to be tested carefully on SM121", MODELS, MAY),
        Claim(
            "FP8 kernels were guarded for 12.0 alone and trap on 12.1",
            "eugr-143",
            "2026-03-27",
        ),
    ),
    "VLLM_TEST_FORCE_FP8_MARLIN=1 in the environment, or an image that was built for 12.1a",
    holds="vLLM 0.17.0rc1; images whose FP8 kernels are guarded for 12.0 alone",
    before=(0, 20),
    against=(
        Claim(
            "Qwen3.5-35B-A3B-FP8 at 52.9 tok/s without it, in an image for 12.1a",
            "forum-365083-eugr, vLLM 0.18.3",
            "2026-03-31",
        ),
    ),
)
def fp8_marlin(case: Case) -> Iterator[Hit]:
    if case.served_format == "fp8" and case.launch.variable("VLLM_TEST_FORCE_FP8_MARLIN") != "1":
        where = (
            "VLLM_TEST_FORCE_FP8_MARLIN is not set"
            if case.launch.whole
            else "VLLM_TEST_FORCE_FP8_MARLIN is not seen"
        )
        yield Hit(f"FP8 weights, and {where}")


@RULES.rule(
    "gdn-stock-image",
    "warning",
    "a model with GatedDeltaNet layers is not served by the stock NGC image",
    (
        Claim("a kernel is missing: 14 to 21 tok/s where a fork of vLLM has 136 to 200", MODELS, MAY),
        Claim("vLLM names Qwen3_5MoeForConditionalGeneration a hybrid with Mamba layers", DOCAI, APRIL),
        Claim("by their config.json, three layers in four of Qwen3.5 and Qwen3.6 are such", CATALOGUE, READ),
    ),
    "a community image built for 12.1a (eugr/spark-vllm-docker)",
    holds="NGC up to 26.04, vLLM 0.19.0",
    before=(0, 20),
    against=(
        Claim("NVIDIA's playbook serves Qwen3.6-35B-A3B in its image 26.05.post1", "nvidia-nvfp4", "2026-07-21"),
        Claim(
            "Qwen3.5-122B-A10B and Qwen3.6-35B-A3B have no such layers and run at 51 and 100 tok/s",
            MODELS,
            MAY,
        ),
    ),
)
def gdn_stock_image(case: Case) -> Iterator[Hit]:
    if case.deltanet and case.ngc:  # not Mamba's, for which no source has such a gap
        yield Hit(f"{case.called} has GatedDeltaNet layers, and the image is NVIDIA's {month(case.ngc)}")


@RULES.rule(
    "stock-kernels",
    "warning",
    "the image has kernels that were built for SM121",
    (
        Claim(
            "vllm/vllm-openai:cu130-nightly has no Blackwell cubin: 13.3 tok/s, and 48.6 with them",
            THREAD,
            MARCH,
        ),
        Claim("it builds no CUTLASS NVFP4 kernel for SM121", DOCAI, APRIL),
    ),
    "vllm/vllm-openai of 0.20.0 or newer, whose kernels are of the family 12.0f",
    holds="vLLM before 0.20 and nightlies of 2026-03 and 2026-04; check with cuobjdump -lelf _C.abi3.so",
    before=(0, 20),
    undated=True,
    against=(
        Claim("the test was of a nightly a month old", READER, MARCH),
        Claim("NVIDIA's playbook serves Nemotron-3-Super with cu130-nightly", "nvidia-nemotron", "2026-07-01"),
        Claim("vLLM's recipes are verified on GB10 with vllm/vllm-openai:v0.24.0", "vllm-recipes", "2026-08-21"),
    ),
)
def stock_kernels(case: Case) -> Iterator[Hit]:
    # a digest shows no age; the tag of a nightly shows none either
    dated = case.version is not None or "nightly" in case.image
    if case.stock and dated and case.served_format in ("fp8", "nvfp4"):
        yield Hit(f"{case.container.image} with {case.served_format} weights")


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
    "cudagraph-size",
    "note",
    "CUDA graphs are captured up to 2048",
    (Claim("--max-cudagraph-capture-size=2048 is required for full throughput", HARDWARE, MID_MAY),),
    "--max-cudagraph-capture-size 2048",
    holds="vLLM 0.19.0 in NGC 26.04",
    before=(0, 20),
    against=(Claim("all figures of the 122B model were measured without it", DOCAI, APRIL),),
)
def cudagraph_size(case: Case) -> Iterator[Hit]:
    size = case.launch.whole_number("max-cudagraph-capture-size", 0)
    sized = {"cudagraph-capture-sizes", "cuda-graph-sizes", "compilation-config"} & {*case.launch.flags}
    if size is not None and size < _GRAPHS and not sized and not case.launch.on("enforce-eager"):
        yield Hit(f"--max-cudagraph-capture-size {size}" if size else "no --max-cudagraph-capture-size")


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
