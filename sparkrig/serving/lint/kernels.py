"""Rules of kernels, attention backends and CUDA graphs on SM121."""

from __future__ import annotations

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
    NVIDIA,
    READ,
    READER,
    THREAD,
    VLLM_0190,
    Claim,
)
from sparkrig.serving.lint.rule import Rules

_BATCH, _GRAPHS, _LONG = 8192, 2048, 100_000  # [@docai-122b, @conselara-hardware]


RULES = Rules("kernels")


@RULES.rule(
    "enforce-eager",
    "warning",
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
    ),
)
def enforce_eager(case: Case) -> Iterator[Hit]:
    if case.launch.on("enforce-eager"):
        yield Hit("--enforce-eager switches CUDA graphs off")


def _fp4(case: Case) -> bool:
    return case.format in ("nvfp4", "mxfp4")


@RULES.rule(
    "moe-backend",
    "warning",
    "a mixture of experts is given --moe-backend marlin",
    (
        Claim("the default backend produces garbage on SM121, without an error", MODELS, MAY),
        Claim("marlin is required for mixtures of experts", HARDWARE, MID_MAY),
        Claim("FlashInfer's MoE backends are absent on SM121", HARDWARE, MID_MAY),
    ),
    "--moe-backend marlin, or read some answers before you trust another one",
    holds=VLLM_0190,
    against=(
        Claim("FLASHINFER_CUTLASS chosen by vLLM itself gives sensible answers with NVFP4", DOCAI, APRIL),
        Claim("48.6 tok/s with FP8 and VLLM_FLASHINFER_MOE_BACKEND=latency", THREAD, MARCH),
        Claim(
            "Marlin widens NVFP4 so much that a model that fits did not load",
            "vllm-50925",
            "2026-08-03",
        ),
    ),
)
def moe_backend(case: Case) -> Iterator[Hit]:
    backend = case.launch.text("moe-backend")
    if case.mixture and backend.lower() != "marlin" and not [*cutlass_fp4(case)]:
        asked = f"--moe-backend {backend}" if backend else "no --moe-backend"
        asked = ", ".join((asked, *_flashinfer(case)))
        yield Hit(f"{asked}, and {case.called} is a mixture of experts")


def _flashinfer(case: Case) -> Iterator[str]:
    """Variables that ask for FlashInfer's mixture of experts; that of FP4 has rules of its own."""
    for name in ("VLLM_USE_FLASHINFER_MOE_FP8", "VLLM_USE_FLASHINFER_MOE_FP16", "VLLM_FLASHINFER_MOE_BACKEND"):
        value = case.launch.variable(name)
        if value not in ("", "0"):
            yield f"{name}={value}"


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
    holds="images without the fix of vLLM's pull request 38423 (merged 2026-03-28)",
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
    asked = {f"--{flag}": case.launch.text(flag) for flag in ("moe-backend", "mxfp4-backend")}
    asked["VLLM_NVFP4_GEMM_BACKEND"] = case.launch.variable("VLLM_NVFP4_GEMM_BACKEND")
    for name, value in asked.items():
        if "cutlass" in value.lower() and (_fp4(case) or "4" in name):
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
    holds="vLLM 0.19.2 and later with a FlashInfer that was built for SM121",
    since=(0, 19, 2),
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
    "flashinfer-attention",
    "warning",
    "attention goes through TRITON_ATTN",
    (
        Claim("FlashInfer crashes with FP8 models on SM121", MODELS, MAY),
        Claim("it has accuracy bugs with FP8 on Blackwell (vLLM's issue 35138)", HARDWARE, MID_MAY),
    ),
    "--attention-backend TRITON_ATTN",
    holds=VLLM_0190,
    against=(
        Claim(
            "NVIDIA's recipe for Qwen3.6-35B-A3B-NVFP4 takes --attention-backend flashinfer",
            NVIDIA,
            NOVEMBER,
        ),
    ),
)
def flashinfer_attention(case: Case) -> Iterator[Hit]:
    setting, backend = case.attention
    if "FLASHINFER" in backend:
        fp8 = [case.said] if case.format == "fp8" else []
        fp8 += ["the KV cache is FP8"] if case.launch.text("kv-cache-dtype").startswith("fp8") else []
        yield Hit(", and ".join([setting, *fp8]))


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
    if "fp8" in (case.format, case.quantization) and case.launch.variable("VLLM_TEST_FORCE_FP8_MARLIN") != "1":
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
    holds=VLLM_0190,
    against=(
        Claim(
            "Qwen3.5-122B-A10B and Qwen3.6-35B-A3B have no such layers and run at 51 and 100 tok/s",
            MODELS,
            MAY,
        ),
    ),
)
def gdn_stock_image(case: Case) -> Iterator[Hit]:
    if case.hybrid and case.ngc:
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
    "eugr/spark-vllm-docker, or the image of deploys/image.py",
    holds="images of 2026-03-06 (0.17.0rc1) to 2026-04; check with cuobjdump -lelf _C.abi3.so",
    against=(
        Claim("the test was of a nightly a month old", READER, MARCH),
        Claim("NVIDIA's playbook serves with vllm/vllm-openai:latest", NVIDIA, NOVEMBER),
    ),
)
def stock_kernels(case: Case) -> Iterator[Hit]:
    if case.stock and case.format in ("fp8", "nvfp4"):
        yield Hit(f"{case.container.image} with {case.format} weights")


@RULES.rule(
    "cudagraph-size",
    "note",
    "CUDA graphs are captured up to 2048",
    (Claim("--max-cudagraph-capture-size=2048 is required for full throughput", HARDWARE, MID_MAY),),
    "--max-cudagraph-capture-size 2048",
    holds=VLLM_0190,
    against=(Claim("all figures of the 122B model were measured without it", DOCAI, APRIL),),
)
def cudagraph_size(case: Case) -> Iterator[Hit]:
    size = case.launch.whole_number("max-cudagraph-capture-size", 0)
    sized = {"cudagraph-capture-sizes", "cuda-graph-sizes", "compilation-config"} & {*case.launch.flags}
    if size is not None and size < _GRAPHS and not sized and not case.launch.on("enforce-eager"):
        yield Hit(f"--max-cudagraph-capture-size {size}" if size else "no --max-cudagraph-capture-size")


@RULES.rule(
    "kv-cache-fp8",
    "note",
    "the KV cache is FP8",
    (
        Claim(
            "--kv-cache-dtype fp8 is safe and recommended: twice the tokens in the same memory",
            HARDWARE,
            MID_MAY,
        ),
        Claim("595,584 tokens in 30.33 GiB with it", DOCAI, APRIL),
    ),
    "--kv-cache-dtype fp8",
)
def kv_cache_fp8(case: Case) -> Iterator[Hit]:
    kind = case.launch.text("kv-cache-dtype")
    if kind in ("", "auto", "bfloat16", "float16"):
        yield Hit(f"--kv-cache-dtype {kind}" if kind else "no --kv-cache-dtype")


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
