"""Rules of attention backends on SM121, and of the formats of the KV cache that they read."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sparkrig.serving.lint.case import Case, Hit, Severity
from sparkrig.serving.lint.claims import (
    APRIL,
    DOCAI,
    HARDWARE,
    MID_MAY,
    READ,
    VLLM,
    Claim,
)
from sparkrig.serving.lint.rule import Rules

# full attention with heads of 256, by its config.json: Qwen3-Next, Qwen3.5, Qwen3.6, Qwen3.8
_WIDE_HEADS = re.compile(r"qwen-?3\.?[568](?!\d)|qwen3-next")
_FLASH_NEXT = re.compile(r"qwen-?3\.8-flash-next")
# sparse attention by the model's name [@vllm-45317]; GLM-5.3-Flash has another one
_GLM_SPARSE = re.compile(r"glm-?5(?:\.[12])?(?![.\d])")


RULES = Rules("kernels")


def _kv(case: Case) -> str:
    return case.launch.text("kv-cache-dtype").lower()


@RULES.rule(
    "fp8-kv-wide-heads",
    "warning",
    "an FP8 KV cache of a model in FP8 with heads of 256 goes through TRITON_ATTN",
    (
        Claim(
            "0.26.0 chooses FLASHINFER by itself, and the first request ends the engine: invalid resource handle",
            "vllm-50331",
            "2026-07-29",
        ),
    ),
    "--attention-backend TRITON_ATTN",
    holds="vLLM 0.26 with FlashInfer 0.6.14 and 0.6.15; a note where the version is not known",
    since=(0, 26),
    before=(0, 27),
    undated=True,
)
def fp8_kv_wide_heads(case: Case) -> Iterator[Hit]:
    chosen = not case.attention[0] and not case.launch.container and not case.launch.wrapper
    chosen = chosen or (not case.attention[0] and case.official)
    if chosen and _kv(case).startswith("fp8") and case.format == "fp8" and _WIDE_HEADS.search(case.name):
        asked = f"--kv-cache-dtype {_kv(case)} without --attention-backend"
        severity: Severity | None = None if case.version else "note"
        yield Hit(f"{asked}, and {case.called} has heads of 256", severity=severity)


@RULES.rule(
    "fp8-kv-dspark",
    "warning",
    "Nemotron-3.5-Lightning with DSpark has no FP8 KV cache",
    (
        Claim(
            "the engine does not start: fp8_gemm_sm100 through cuDNN fails on SM121, and starts without the flag",
            "playbooks-107",
            "2026-08-23",
        ),
        Claim("the same of vLLM's recipe", "vllm-recipes-836", "2026-08-23"),
    ),
    "leave --kv-cache-dtype away",
    holds="vLLM of 2026-08 with FlashInfer 0.6.16.post3",
    against=(Claim("0.27.1 serves so with --moe-backend marlin, at 108 tok/s", "styles01", "2026-08-20"),),
)
def fp8_kv_dspark(case: Case) -> Iterator[Hit]:
    if "nemotron-3.5-lightning" in case.name and case.drafting == "dspark" and _kv(case).startswith("fp8"):
        yield Hit(f"--kv-cache-dtype {_kv(case)} with DSpark")


@RULES.rule(
    "dspark-kv-fp8",
    "warning",
    "Qwen3.8 with DSpark has no FP8 KV cache",
    (
        Claim(
            "its drafter takes FLASH_ATTN, and vLLM ends: kv_cache_dtype not supported; with BF16 it serves",
            "styles01",
            "2026-08-20",
        ),
    ),
    "--kv-cache-dtype bfloat16",
    holds="builds of 0.27; a note where the drafter is given a backend of its own",
)
def dspark_kv_fp8(case: Case) -> Iterator[Hit]:
    if "qwen3.8-27b" in case.name and case.drafting == "dspark" and _kv(case).startswith("fp8"):
        own = "attention_backend" in case.speculative
        yield Hit(f"--kv-cache-dtype {_kv(case)} with DSpark", severity="note" if own else None)


@RULES.rule(
    "muse-attention",
    "warning",
    "vLLM chooses the attention backend of Muse Glimmer",
    (Claim("with --attention-backend flashinfer the warm-up hangs on SM121", "styles01", "2026-08-20"),),
    "leave --attention-backend away",
    holds="vllm/vllm-openai:muse-glimmer of 2026-08",
)
def muse_attention(case: Case) -> Iterator[Hit]:
    setting, backend = case.attention
    if "muse-glimmer" in case.name and backend == "FLASHINFER":
        yield Hit(setting)


@RULES.rule(
    "kv-needs-bf16",
    "error",
    "Qwen3.8-Flash-Next has its KV cache in BF16",
    (Claim("vLLM ends: Qwen4Exp QSA requires a BF16 main KV cache", "ainode-124", "2026-09-16"),),
    "leave --kv-cache-dtype away",
    holds="vLLM 0.29.0; a note where files of vLLM are replaced, as some recipes do for FP8",
)
def kv_needs_bf16(case: Case) -> Iterator[Hit]:
    if _FLASH_NEXT.search(case.name) and _kv(case) not in ("", "auto", "bfloat16"):
        # patches of vLLM's files serve it in FP8 [@mia-flash-next-solo]
        yield Hit(f"--kv-cache-dtype {_kv(case)}", severity=case.severity)


@RULES.rule(
    "nvfp4-kv-latent",
    "error",
    "multi-head latent attention has no NVFP4 KV cache in vLLM's own builds",
    (
        Claim(
            "vLLM ends in two seconds: nvfp4 KV cache is not supported with MLA backends",
            "eugr-dsv4-1m",
            "2026-08-25",
        ),
        Claim("the guard is one of the model, not of the layer", "flashinfer-4644", "2026-08-20"),
        Claim("a fork takes nvfp4_ds_mla with its own B12X backend", "lil-vllm-82", "2026-07-07"),
    ),
    "--kv-cache-dtype fp8",
    holds="vLLM's own builds; a warning for other images, and B12X and Anemll's fork serve it",
)
def nvfp4_kv_latent(case: Case) -> Iterator[Hit]:
    if not case.latent or not _kv(case).startswith("nvfp4"):
        return
    # eugr's images have vLLM's own check; other forks than vLLM's have none, and GLM goes through B12X
    forked = "glm" in case.name or (case.image and "vllm-node" not in case.image)
    severity: Severity = "error" if case.official else "note" if forked else "warning"
    yield Hit(
        f"--kv-cache-dtype {_kv(case)}, and {case.called} has multi-head latent attention",
        severity=severity,
    )


@RULES.rule(
    "nvfp4-kv",
    "error",
    "vLLM's own images have no NVFP4 KV cache on SM12x",
    (
        Claim("0.25.1 refuses it: the path is for SM100 alone, and patches exist", "vllm-49011", "2026-07-18"),
        Claim("a pull request for SM120 and SM121 is open", "vllm-46329", "2026-06-22"),
    ),
    "--kv-cache-dtype fp8",
    holds="vLLM up to 0.33",
)
def nvfp4_kv(case: Case) -> Iterator[Hit]:
    if case.official and _kv(case).startswith("nvfp4") and not case.latent:
        yield Hit(f"--kv-cache-dtype {_kv(case)}")


@RULES.rule(
    "sparse-prefill",
    "warning",
    "GLM-5.2 is served by a vLLM whose sparse attention for SM12x can prefill",
    (
        Claim(
            "0.26.0 on six Sparks serves garbage, and ends with NotImplementedError in forward_mha",
            "vllm-49886",
            "2026-07-26",
        ),
        Claim("0.27.0 on four GB10 ends at its start: no masked_mha_available", "vllm-51920", "2026-08-12"),
    ),
    "an image that mends it: vllm-node-b12x",
    holds="vLLM's own images of 0.26 and 0.27; a note for forks",
    since=(0, 26),
    before=(0, 28),
)
def sparse_prefill(case: Case) -> Iterator[Hit]:
    if _GLM_SPARSE.search(case.name):
        yield Hit(
            f"{case.called} with FLASHINFER_MLA_SPARSE_SM120, the only backend that vLLM has for it on SM12x",
            severity=case.severity,
        )


@RULES.rule(
    "attention-unregistered",
    "error",
    "the attention backend is one for a language model",
    (
        Claim("vLLM ends: Backend TORCH_SDPA must be registered before use", "eugr-298", "2026-06-23"),
        Claim("its registry keeps that name for encoders of images alone", VLLM, READ),
    ),
    "leave it away: vLLM chooses",
    holds="every vLLM that has --attention-backend",
)
def attention_unregistered(case: Case) -> Iterator[Hit]:
    setting, backend = case.attention
    if backend == "TORCH_SDPA":
        yield Hit(setting)


@RULES.rule(
    "dflash-attention",
    "warning",
    "DFlash has an attention backend of its own",
    (
        Claim(
            "vLLM chooses FLASH_ATTN for it, which asserts on SM121 at the start of the engine",
            "vllm-50707",
            "2026-08-01",
        ),
        Claim("vLLM's recipe for Nemotron-3.5-Lightning pins FLASHINFER", "vllm-recipes", "2026-08-21"),
        Claim("a recipe for Laguna-S-2.1 and 0.26.0 has none", "eugr-laguna", "2026-08"),
    ),
    '"attention_backend": "TRITON_ATTN" in --speculative-config',
    holds="Qwen3.5 in vLLM's own images since 0.26; a note for others",
    since=(0, 21),
)
def dflash_attention(case: Case) -> Iterator[Hit]:
    if case.drafting == "dflash" and "attention_backend" not in case.speculative:
        yield Hit(
            "DFlash, and --speculative-config has no attention_backend",
            severity=None if case.official and _WIDE_HEADS.search(case.name) else "note",
        )


@RULES.rule(
    "mimo-async",
    "warning",
    "MiMo with speculative decoding has no asynchronous scheduling",
    (
        Claim(
            "MTP and DFlash with several requests at a time give garbage, and none with --no-async-scheduling",
            "vllm-46669",
            "2026-06-25",
        ),
        Claim("eugr's recipe for MiMo-V2.6-Flash has --no-async-scheduling", "eugr-mimo", "2026-09-21"),
    ),
    "--no-async-scheduling",
    holds="MiMo V2.5 and V2.6, as far as is known; asynchronous is the default",
)
def mimo_async(case: Case) -> Iterator[Hit]:
    alone = case.launch.whole_number("max-num-seqs", 0) == 1
    off = case.launch.flags.get("async-scheduling") is False
    if "mimo-v2" in case.name and case.drafting in ("mtp", "dflash") and not off and not alone:
        yield Hit(f"{case.drafting} without --no-async-scheduling")


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
    against=(
        Claim("a model in FP8 with heads of 256 dies of it in 0.26.0", "vllm-50331", "2026-07-29"),
        Claim("Nemotron-3.5-Lightning with DSpark does not start with it", "playbooks-107", "2026-08-23"),
        Claim("Qwen3.8-Flash-Next refuses it", "ainode-124", "2026-09-16"),
    ),
)
def kv_cache_fp8(case: Case) -> Iterator[Hit]:
    kind = _kv(case)
    wide = case.format == "fp8" and _WIDE_HEADS.search(case.name)
    fails = wide or _FLASH_NEXT.search(case.name) or "nemotron-3.5-lightning" in case.name
    if kind in ("", "auto", "bfloat16", "float16") and not fails and not case.pooling:
        yield Hit(f"--kv-cache-dtype {kind}" if kind else "no --kv-cache-dtype")
