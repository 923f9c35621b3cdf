"""Rules of checkpoints, their loading and the caches beside them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sparkrig.serving.lint.case import Case, Hit
from sparkrig.serving.lint.claims import (
    APRIL,
    CATALOGUE,
    DOCAI,
    MAY,
    MODELS,
    NOVEMBER,
    READ,
    Claim,
)
from sparkrig.serving.lint.rule import Rules
from sparkrig.text import listed

# of the hub's cache; whole copies in a folder of that name work, as [@dgx-forge] mounts one
_SNAPSHOT = re.compile(r"models--[^/]{1,200}/snapshots(?:/|$)|/snapshots/[0-9a-f]{40}(?:/|$)")


# the first minor version of vLLM that has a model, of those that are newer than 0.24 [@vllm-recipes]
_LEAST = (
    (r"nemotron-3\.5-lightning", (0, 27)),
    (r"muse-glimmer", (0, 27)),
    (r"kimi-k3", (0, 27)),
)


RULES = Rules("weights")


@RULES.rule(
    "load-wide",
    "warning",
    "Hy3 on a pair is loaded file by file",
    (
        Claim(
            "instanttensor wants 121 GiB of a node while it loads, and the worker is killed; fastsafetensors ends "
            "in a timeout of NCCL's broadcast; auto leaves 28 GiB free",
            "leo-dcfa",
            "2026-07-09",
        ),
    ),
    "leave --load-format away",
    holds="Hy3-NVFP4-W4A16, 168 GiB, on two Sparks",
)
def load_wide(case: Case) -> Iterator[Hit]:
    asked = case.launch.text("load-format")
    if re.search(r"\bhy3-", case.name) and asked in ("instanttensor", "fastsafetensors"):
        yield Hit(f"--load-format {asked}")


@RULES.rule(
    "checkpoint-bad",
    "warning",
    "the checkpoint is one that is known to load",
    (Claim("the catalogue has it as bad, with the reason", CATALOGUE, READ),),
    "another checkpoint of the model: sparkrig models show NAME",
    holds="as the catalogue says",
)
def checkpoint_bad(case: Case) -> Iterator[Hit]:
    if case.checkpoint and case.checkpoint.bad:
        yield Hit(f"{case.checkpoint.id}: {case.checkpoint.bad}", _instead(case))


def _instead(case: Case) -> str:
    """The first checkpoint of the model that nothing speaks against."""
    known = case.model.checkpoints if case.model else ()
    return next((each.id for each in known if not each.bad), "")


@RULES.rule(
    "model-newer",
    "warning",
    "the image's vLLM is not older than the model",
    (Claim("vLLM's recipes have the least version of each model", "vllm-recipes", "2026-08-21"),),
    "a newer image",
    holds="models of 2026 that have an architecture of their own",
)
def model_newer(case: Case) -> Iterator[Hit]:
    least = next((least for name, least in _LEAST if re.search(name, case.name)), None)
    if case.official and least and case.version and case.version[:2] < least:
        told, asked = (".".join(map(str, each)) for each in (case.version, least))
        yield Hit(f"{case.called} with vLLM {told}, {asked} expected", f"an image with vLLM {asked} or later")


@RULES.rule(
    "model-avoided",
    "note",
    "the model is none that the catalogue advises against",
    (
        Claim("the catalogue has it as one to avoid, with the reason", CATALOGUE, READ),
        Claim("Qwen3.5-397B is not yet recommended; Qwen3.6-27B is slow in the stock image", MODELS, MAY),
    ),
    "another model: sparkrig models",
    holds="as the catalogue says",
    against=(Claim("Qwen3.6-27B is verified on GB10 with vLLM 0.24.0", "vllm-recipes", "2026-08-21"),),
)
def model_avoided(case: Case) -> Iterator[Hit]:
    if case.model and case.model.standing == "avoid":
        yield Hit(f"{case.model.name}: {case.model.why}")


@RULES.rule(
    "mtp-weights",
    "warning",
    "a checkpoint has the layers that predict ahead",
    (
        Claim(
            "NVIDIA Model Optimizer left the MTP weights out; they have to be merged by hand",
            DOCAI,
            APRIL,
        ),
    ),
    "a checkpoint with MTP weights (Sehyo's, RedHatAI's), or no --speculative-config",
)
def mtp_weights(case: Case) -> Iterator[Hit]:
    method = str(case.launch.table("speculative-config").get("method", ""))
    if case.checkpoint and case.checkpoint.draft is False and "mtp" in method:
        yield Hit(f"speculative decoding by MTP, and {case.checkpoint.id} has no weights for it")


@RULES.rule(
    "cache-snapshot",
    "warning",
    "the whole Hugging Face cache is mounted",
    (
        Claim(
            "the files of a snapshot are relative links to blobs beside it, which the container then lacks",
            "hf-cache",
            NOVEMBER,
        ),
    ),
    "-v ~/.cache/huggingface:/root/.cache/huggingface",
)
def cache_snapshot(case: Case) -> Iterator[Hit]:
    for each in case.launch.mounts:
        if _SNAPSHOT.search(each.source):
            yield Hit(f"-v {each.source}:{each.target}")


@RULES.rule(
    "compile-caches",
    "note",
    "what is compiled outlives the container",
    (Claim("with ~/.cache/vllm mounted the second start compiles in 10 s instead of 43 s", DOCAI, APRIL),),
    "-v ~/.cache/vllm:/root/.cache/vllm, and the same for ~/.cache/flashinfer and ~/.triton",
)
def compile_caches(case: Case) -> Iterator[Hit]:
    if not case.contained:
        return
    targets = " ".join(f"{each.target.rstrip('/')}/" for each in case.launch.mounts)
    whole = re.search(r"/\.cache/ ", f"{targets} ") is not None
    wanted = ("/.cache/vllm/", "/.cache/flashinfer/", "/.triton/")
    lost = [name for name in wanted if name not in targets and not (whole and "cache" in name)]
    if lost:
        are = "are" if len(lost) > 1 else "is"
        yield Hit(f"{listed(f'~{name[:-1]}' for name in lost)} of the container {are} not mounted")
