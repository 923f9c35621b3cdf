"""What is claimed about launching vLLM on a Spark: each rule with who says so, why, when, and of what versions.

An error is a hard fact: vLLM, docker or arithmetic refuses, whoever is asked. What people disagree on is a warning
that names both sides, for community lore goes stale [@docai-122b]. A note is advice. sparkrig.serving.lint decides
when a rule applies; both have the same ids.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

Severity = Literal["error", "warning", "note"]
Topic = Literal[
    "memory", "quantization", "kernels", "weights", "nodes", "container", "environment", "serving", "input"
]
TOPICS: tuple[Topic, ...] = get_args(Topic)
Version = tuple[int, ...]


@dataclass(frozen=True)
class Claim:
    """What somebody says.

    says: a sentence without a full stop; source: a key of models/sources.yaml, after a comma the version or the
    person, or else a path of this repository; date: ISO 8601, as far as known, of a page without one the day when
    we read it.
    """

    says: str
    source: str
    date: str


@dataclass(frozen=True)
class Rule:
    """One thing that a launch should be.

    id: stable; meaning: what holds where the rule is kept; reasons: who asks for it and why; against: who says
    otherwise, empty where nobody does; holds: versions in words; since, before: the same of vLLM for a comparison,
    empty where they are not known; better: a setting to try; composed: the same in a compose file, where it
    differs.
    """

    id: str
    severity: Severity
    topic: Topic
    meaning: str
    reasons: tuple[Claim, ...]
    better: str
    composed: str = ""
    holds: str = "any version"
    against: tuple[Claim, ...] = ()
    since: Version = ()
    before: Version = ()

    def concerns(self, version: Version | None) -> bool:
        """Whether the rule holds for a version of vLLM; None: not known, so it may."""
        if version is None:
            return True
        return (not self.since or version >= self.since) and (not self.before or version < self.before)


def version(text: str) -> Version | None:
    """`0.19.2rc1.dev154+g1c2c1eb8b` as (0, 19, 2); None where the text begins with no version."""
    found = re.match(r"v?(\d+)\.(\d+)(?:\.(\d+))?", text)
    return tuple(int(each or 0) for each in found.groups()) if found else None


_MODELS, _BENCH = "conselara-models, vLLM 0.19.0", "conselara-benchmarks, vLLM 0.19.0"
_COMPARISON, _HARDWARE = "conselara-comparison, vLLM 0.19.0", "conselara-hardware, vLLM 0.19.0"
_THREAD, _DOCAI = "forum-365083, vLLM 0.17.0rc1", "docai-122b, vLLM 0.19.2rc1"
_READER = "forum-365083-thread, a reader"
_MIA, _CORTI, _VLLM, _NVIDIA = "mia-exl3-47", "corti-nemotron", "vllm-source", "nvidia-playbook"
_CATALOGUE = "models/"

_MAY, _MARCH, _APRIL, _NOVEMBER, _READ = "2026-05-09", "2026-03", "2026-04-25", "2026-11-20", "2026-11-21"
_MID_MAY, _JUNE, _AUGUST = "2026-05-14", "2026-06-14", "2026-08-30"
_0190 = "vLLM 0.19.0 in NGC 26.04; not known beyond"


RULES: tuple[Rule, ...] = (
    # memory
    Rule(
        "utilization-above-0.90",
        "error",
        "memory",
        "--gpu-memory-utilization is at most 0.90",
        (
            Claim(
                "CPU and GPU share the memory, so what vLLM takes above 0.90 ends in out-of-memory", _MODELS, _MAY
            ),
            Claim("CUDA graphs allocate at run time: 0.92 buys 1 GiB of KV cache for that risk", _DOCAI, _APRIL),
            Claim("the host hangs without ssh, and only a hard reset helps", "capetron", _NOVEMBER),
        ),
        "--gpu-memory-utilization 0.80",
    ),
    Rule(
        "utilization-high",
        "warning",
        "memory",
        "--gpu-memory-utilization leaves the host room",
        (
            Claim("0.80 is what NVIDIA's playbook takes", _NVIDIA, _NOVEMBER),
            Claim(
                "at 0.80 the head of a pair was reset by a prompt of 128K tokens (NVRM, out of memory)",
                "playbooks-97",
                "2026-08-12",
            ),
            Claim("0.87 did not pass vLLM's check: 102 of 121.7 GiB were free", _MIA, _AUGUST),
            Claim("it is no bound while vLLM profiles: a host hung at 0.70", "vllm-46307", "2026-06-21"),
        ),
        "--gpu-memory-utilization 0.80 (each 0.01 is 1.2 GiB)",
        against=(
            Claim(
                "0.85 to 0.87 is the safe range, and less where long contexts fill a large KV cache",
                _HARDWARE,
                _MID_MAY,
            ),
            Claim("a 122B model at 0.90 ran for 90 minutes without a restart", _DOCAI, _APRIL),
        ),
    ),
    Rule(
        "utilization-unset",
        "warning",
        "memory",
        "--gpu-memory-utilization is said",
        (
            Claim(
                "the default is 0.92, formerly 0.90: both are meant for a GPU with memory of its own",
                _VLLM,
                _READ,
            ),
            Claim("0.85 to 0.87 is the safe range where CPU and GPU share the memory", _HARDWARE, _MID_MAY),
        ),
        "--gpu-memory-utilization 0.80",
    ),
    Rule(
        "weights-too-large",
        "error",
        "memory",
        "the weights fit into what vLLM may take",
        (
            Claim(
                "vLLM takes 121.7 GiB times the utilization, and weights, KV cache and CUDA graphs share that",
                _DOCAI,
                _APRIL,
            ),
            Claim("Qwen3.5-122B in BF16 is 234 GB, so NVFP4 is the only way on one Spark", _COMPARISON, _MAY),
            Claim("Qwen3-235B-A22B in GPTQ-Int4 takes about 60 GB a node, and needs two", _MODELS, _MAY),
        ),
        "a smaller format of the model, or both Sparks: sparkrig models",
    ),
    Rule(
        "pair-needed",
        "warning",
        "memory",
        "what was only run on two Sparks is run on two",
        (Claim("eugr's recipe for Qwen3.5-122B in FP8 is for two Sparks only", _DOCAI, _APRIL),),
        "--tensor-parallel-size 2 on both, or a smaller format: sparkrig models",
        holds="as the catalogue says",
    ),
    Rule(
        "bf16-large",
        "warning",
        "memory",
        "BF16 weights stay below 100 GB a Spark",
        (Claim("BF16 fits only below about 100 GB of weights", _MODELS, _MAY),),
        "a quantized checkpoint: GPTQ-Int4 before FP8 (docs/lint.md)",
    ),
    Rule(
        "memory-limit",
        "note",
        "memory",
        "a limit on the container's memory is not taken for protection",
        (
            Claim("docker's --memory does not count what the GPU allocates", "pygraphistry-1671", "2026-07-01"),
            Claim("nor does a limit of systemd: the control group does not see it", "minefield-57", "2026-08-23"),
        ),
        "--gpu-memory-utilization is the limit that counts",
        holds="driver 580",
    ),
    # quantization
    Rule(
        "mxfp4-on-bf16",
        "error",
        "quantization",
        "--quantization mxfp4 is kept for gpt-oss",
        (
            Claim(
                "the loader takes gpt-oss's 3D uint8 tensors alone; BF16 ends in IndexError (fused_moe/layer.py)",
                _MODELS,
                _MAY,
            ),
            Claim("IndexError and a shape mismatch", _HARDWARE, _MID_MAY),
        ),
        "no --quantization for BF16, or a checkpoint that is quantized",
        holds="vLLM 0.19.0 in NGC 26.04, and any whose loader is for gpt-oss alone",
    ),
    Rule(
        "mxfp4-not-gpt-oss",
        "warning",
        "quantization",
        "a model with --quantization mxfp4 is gpt-oss by its name",
        (
            Claim("the loader only takes gpt-oss's own 3D uint8 tensors", _MODELS, _MAY),
            Claim("mxfp4 works for gpt-oss's own checkpoints only", _HARDWARE, _MID_MAY),
        ),
        "leave --quantization away: vLLM reads the format from the checkpoint's config.json",
        holds=_0190,
    ),
    Rule(
        "gpt-oss-mxfp4",
        "note",
        "quantization",
        "gpt-oss is given --quantization mxfp4",
        (Claim("first branch of the decision tree: openai/gpt-oss-* is mxfp4", _MODELS, _MAY),),
        "--quantization mxfp4",
        against=(Claim("without the flag vLLM takes the format of the checkpoint's config.json", _VLLM, _READ),),
    ),
    Rule(
        "gptq-marlin",
        "note",
        "quantization",
        "a GPTQ-Int4 checkpoint is given --quantization gptq_marlin",
        (
            Claim("second branch of the decision tree, and the recommended one", _MODELS, _MAY),
            Claim("gptq_marlin is fully supported on SM121", _HARDWARE, _MID_MAY),
            Claim("Qwen3-235B ran with it on two Sparks", _BENCH, "2026-05-03"),
        ),
        "--quantization gptq_marlin",
        against=(Claim("without the flag vLLM chooses gptq_marlin itself where it can", _VLLM, _READ),),
    ),
    Rule(
        "quantization-differs",
        "warning",
        "quantization",
        "--quantization is the checkpoint's own format",
        (Claim("vLLM refuses a method other than the one in the checkpoint's config.json", _VLLM, _READ),),
        "leave --quantization away: vLLM reads the format from the checkpoint's config.json",
    ),
    Rule(
        "quantized-on-the-fly",
        "note",
        "quantization",
        "an FP8 checkpoint is taken where there is one",
        (
            Claim(
                "FP8 made while loading makes no sense where the publisher has an FP8 checkpoint",
                _READER,
                _MARCH,
            ),
        ),
        "the model's FP8 checkpoint, without --quantization",
        against=(
            Claim("48.6 tok/s with --quantization fp8 on the BF16 checkpoint of Qwen3.5-35B-A3B", _THREAD, _MARCH),
        ),
    ),
    Rule(
        "better-format",
        "note",
        "quantization",
        "the best format of a model is taken: mxfp4 of gpt-oss, else GPTQ-Int4, else FP8, else BF16",
        (
            Claim(
                "the decision tree: GPTQ-Int4 runs through Marlin, FP8 needs care on SM121, BF16 needs room",
                _MODELS,
                _MAY,
            ),
        ),
        "the checkpoint that is named",
        holds=_0190,
    ),
    # kernels
    Rule(
        "enforce-eager",
        "warning",
        "kernels",
        "CUDA graphs are on",
        (
            Claim("--enforce-eager costs about 55 % of the throughput", _MODELS, _MAY),
            Claim("a model that needs it is one to avoid", _MODELS, _MAY),
        ),
        "leave --enforce-eager away",
        holds=_0190,
        against=(
            Claim("eager is faster for TP=4 with expert parallelism", "capetron", _NOVEMBER),
            Claim("capturing graphs deadlocked on two nodes, in SGLang", "al-engr", _NOVEMBER),
        ),
    ),
    Rule(
        "moe-backend",
        "warning",
        "kernels",
        "a mixture of experts is given --moe-backend marlin",
        (
            Claim("the default backend produces garbage on SM121, without an error", _MODELS, _MAY),
            Claim("marlin is required for mixtures of experts", _HARDWARE, _MID_MAY),
            Claim("FlashInfer's MoE backends are absent on SM121", _HARDWARE, _MID_MAY),
        ),
        "--moe-backend marlin, or read some answers before you trust another one",
        holds=_0190,
        against=(
            Claim("FLASHINFER_CUTLASS chosen by vLLM itself gives sensible answers with NVFP4", _DOCAI, _APRIL),
            Claim("48.6 tok/s with FP8 and VLLM_FLASHINFER_MOE_BACKEND=latency", _THREAD, _MARCH),
            Claim(
                "Marlin widens NVFP4 so much that a model that fits did not load",
                "vllm-50925",
                "2026-08-03",
            ),
        ),
    ),
    Rule(
        "cutlass-fp4",
        "warning",
        "kernels",
        "FP4 does not go through CUTLASS",
        (
            Claim("CUTLASS FP4 produces garbage on SM121, without an error: never use it", _MODELS, _MAY),
            Claim("NVFP4 kernels cannot be compiled for SM121 (cvt.e2m1x2 is missing)", _THREAD, _MARCH),
            Claim(
                "illegal instruction with NVFP4 on SM12x before CUTLASS knew its tiles",
                "vllm-38423",
                "2026-03-28",
            ),
        ),
        "--moe-backend marlin, or an image built for 12.1a that is newer than 2026-04, and a look at its answers",
        holds="images without the fix of vLLM's pull request 38423 (merged 2026-03-28)",
        against=(
            Claim("FLASHINFER_CUTLASS compiles for SM121 and works: the lore is stale", _DOCAI, _APRIL),
            Claim(
                "VLLM_CUTLASS, built from source, serves a model that does not fit with Marlin",
                "vllm-50925",
                "2026-08-03",
            ),
        ),
    ),
    Rule(
        "fp4-workaround",
        "note",
        "kernels",
        "VLLM_USE_FLASHINFER_MOE_FP4=0 is set only where it is needed",
        (
            Claim(
                "FlashInfer's FP4 works on SM121 again, so the variable shuts out the better backend",
                _DOCAI,
                _APRIL,
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
            Claim("set it to 0, with --moe-backend marlin", "vllm-41477", _NOVEMBER),
        ),
    ),
    Rule(
        "flashinfer-attention",
        "warning",
        "kernels",
        "attention goes through TRITON_ATTN",
        (
            Claim("FlashInfer crashes with FP8 models on SM121", _MODELS, _MAY),
            Claim("it has accuracy bugs with FP8 on Blackwell (vLLM's issue 35138)", _HARDWARE, _MID_MAY),
        ),
        "--attention-backend TRITON_ATTN",
        holds=_0190,
        against=(
            Claim(
                "NVIDIA's recipe for Qwen3.6-35B-A3B-NVFP4 takes --attention-backend flashinfer",
                _NVIDIA,
                _NOVEMBER,
            ),
        ),
    ),
    Rule(
        "fp8-marlin",
        "warning",
        "kernels",
        "FP8 weights go through Marlin (VLLM_TEST_FORCE_FP8_MARLIN=1)",
        (
            Claim("without it vLLM may take a CUTLASS path that produces NaN on SM121", _THREAD, _MARCH),
            Claim("FP8 checkpoints are to be tested carefully on SM121", _MODELS, _MAY),
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
    ),
    Rule(
        "gdn-stock-image",
        "warning",
        "kernels",
        "a model with GatedDeltaNet layers is not served by the stock NGC image",
        (
            Claim("a kernel is missing: 14 to 21 tok/s where a fork of vLLM has 136 to 200", _MODELS, _MAY),
            Claim("vLLM names Qwen3_5MoeForConditionalGeneration a hybrid with Mamba layers", _DOCAI, _APRIL),
            Claim("by their config.json, three layers in four of Qwen3.5 and Qwen3.6 are such", _CATALOGUE, _READ),
        ),
        "a community image built for 12.1a (eugr/spark-vllm-docker)",
        holds=_0190,
        against=(
            Claim(
                "Qwen3.5-122B-A10B and Qwen3.6-35B-A3B have no such layers and run at 51 and 100 tok/s",
                _MODELS,
                _MAY,
            ),
        ),
    ),
    Rule(
        "stock-kernels",
        "warning",
        "kernels",
        "the image has kernels that were built for SM121",
        (
            Claim(
                "vllm/vllm-openai:cu130-nightly has no Blackwell cubin: 13.3 tok/s, and 48.6 with them",
                _THREAD,
                _MARCH,
            ),
            Claim("it builds no CUTLASS NVFP4 kernel for SM121", _DOCAI, _APRIL),
        ),
        "eugr/spark-vllm-docker, or the image of deploys/image.py",
        holds="images of 2026-03-06 (0.17.0rc1) to 2026-04; check with cuobjdump -lelf _C.abi3.so",
        against=(
            Claim("the test was of a nightly a month old", _READER, _MARCH),
            Claim("NVIDIA's playbook serves with vllm/vllm-openai:latest", _NVIDIA, _NOVEMBER),
        ),
    ),
    Rule(
        "cudagraph-size",
        "note",
        "kernels",
        "CUDA graphs are captured up to 2048",
        (Claim("--max-cudagraph-capture-size=2048 is required for full throughput", _HARDWARE, _MID_MAY),),
        "--max-cudagraph-capture-size 2048",
        holds=_0190,
        against=(Claim("all figures of the 122B model were measured without it", _DOCAI, _APRIL),),
    ),
    Rule(
        "kv-cache-fp8",
        "note",
        "kernels",
        "the KV cache is FP8",
        (
            Claim(
                "--kv-cache-dtype fp8 is safe and recommended: twice the tokens in the same memory",
                _HARDWARE,
                _MID_MAY,
            ),
            Claim("595,584 tokens in 30.33 GiB with it", _DOCAI, _APRIL),
        ),
        "--kv-cache-dtype fp8",
    ),
    Rule(
        "arch-list",
        "warning",
        "kernels",
        "kernels that are compiled at run time are compiled for 12.1",
        (Claim("TORCH_CUDA_ARCH_LIST=12.1a, FLASHINFER_CUDA_ARCH_LIST=12.1a", "vllm-30163", _NOVEMBER),),
        "12.1a in the list",
        against=(Claim("SM121 runs code for 12.0 as it is", _THREAD, _MARCH),),
    ),
    # weights
    Rule(
        "checkpoint-bad",
        "warning",
        "weights",
        "the checkpoint is one that is known to load",
        (Claim("the catalogue has it as bad, with the reason", _CATALOGUE, _READ),),
        "another checkpoint of the model: sparkrig models show NAME",
        holds="as the catalogue says",
    ),
    Rule(
        "model-avoided",
        "note",
        "weights",
        "the model is none that the catalogue advises against",
        (
            Claim("the catalogue has it as one to avoid, with the reason", _CATALOGUE, _READ),
            Claim("Qwen3.5-397B is not yet recommended; Qwen3.6-27B is slow in the stock image", _MODELS, _MAY),
        ),
        "another model: sparkrig models",
        holds="as the catalogue says",
    ),
    Rule(
        "mtp-weights",
        "warning",
        "weights",
        "a checkpoint has the layers that predict ahead",
        (
            Claim(
                "NVIDIA Model Optimizer left the MTP weights out; they have to be merged by hand",
                _DOCAI,
                _APRIL,
            ),
        ),
        "a checkpoint with MTP weights (Sehyo's, RedHatAI's), or no --speculative-config",
    ),
    Rule(
        "fastsafetensors",
        "warning",
        "weights",
        "--load-format fastsafetensors is asked of an image that has it",
        (Claim("ImportError in NGC 26.03 and 26.04", _HARDWARE, _MID_MAY),),
        "leave --load-format away",
        holds="NGC 26.03 and 26.04",
        against=(Claim("NVIDIA's recipes take it", _NVIDIA, _NOVEMBER),),
    ),
    Rule(
        "cache-snapshot",
        "warning",
        "weights",
        "the whole Hugging Face cache is mounted",
        (
            Claim(
                "the files of a snapshot are relative links to blobs beside it, which the container then lacks",
                "hf-cache",
                _NOVEMBER,
            ),
        ),
        "-v ~/.cache/huggingface:/root/.cache/huggingface",
    ),
    Rule(
        "compile-caches",
        "note",
        "weights",
        "what is compiled outlives the container",
        (Claim("with ~/.cache/vllm mounted the second start compiles in 10 s instead of 43 s", _DOCAI, _APRIL),),
        "-v ~/.cache/vllm:/root/.cache/vllm, and the same for ~/.cache/flashinfer and ~/.triton",
    ),
    # nodes
    Rule(
        "gpus-beyond-sparks",
        "error",
        "nodes",
        "there are as many Sparks as the launch wants GPUs",
        (Claim("a Spark has one GPU, and no NVLink to a second one", _HARDWARE, _MID_MAY),),
        "--tensor-parallel-size of the number of Sparks; with more of them say so: --sparks N",
    ),
    Rule(
        "second-node",
        "error",
        "nodes",
        "a launch on more than one GPU says how the other node is reached",
        (
            Claim(
                "vLLM refuses a world size above the GPUs of the node, unless Ray or --nnodes is named",
                _VLLM,
                _READ,
            ),
            Claim("copies (data parallelism) all start on this node unless it is said", _VLLM, _READ),
        ),
        "--nnodes 2 --node-rank 0 --master-addr ADDRESS, or --distributed-executor-backend ray",
        holds="vLLM 0.12 and later; older ones took Ray by themselves",
        since=(0, 12),
    ),
    Rule(
        "ray-with-nnodes",
        "error",
        "nodes",
        "--nnodes is not used with Ray",
        (Claim("nnodes above 1 is refused unless the executor is mp, uni or external_launcher", _VLLM, _READ),),
        "--distributed-executor-backend mp, or Ray without --nnodes",
        holds="every vLLM that has --nnodes",
    ),
    Rule(
        "nnodes-not-gpus",
        "error",
        "nodes",
        "--nnodes is tensor times pipeline parallelism",
        (Claim("each node takes its equal part of the GPUs, and a Spark has one", _VLLM, _READ),),
        "--nnodes 2 --tensor-parallel-size 2",
        holds="every vLLM that has --nnodes",
    ),
    Rule(
        "node-rank",
        "error",
        "nodes",
        "--node-rank counts from 0 to one less than --nnodes",
        (Claim("ranks count from 0: the head is 0, the other Spark 1", "eugr", _NOVEMBER),),
        "--node-rank 0 on the head, 1 on the other",
        holds="every vLLM that has --nnodes",
    ),
    Rule(
        "master-address",
        "error",
        "nodes",
        "all nodes name the head's address on the fabric",
        (
            Claim("the default is 127.0.0.1, where the other node finds itself", _VLLM, _READ),
            Claim("rank 0 that binds to loopback hangs", "epappas", _NOVEMBER),
        ),
        "--master-addr with the head's fabric address: sparkrig topology INVENTORY",
        holds="every vLLM that has --nnodes",
    ),
    Rule(
        "headless",
        "warning",
        "nodes",
        "only the head serves requests",
        (Claim("--headless on each rank but 0, and workers first", "eugr", _NOVEMBER),),
        "--headless",
        holds="every vLLM that has --nnodes",
    ),
    Rule(
        "ray-not-in-image",
        "error",
        "nodes",
        "an image that is to use Ray has it",
        (
            Claim(
                "nvcr.io/nvidia/vllm:26.05-py3 ships without Ray, and the playbook installs it",
                _NVIDIA,
                _NOVEMBER,
            ),
            Claim("no ray binary in NVIDIA's newest image", _CORTI, _JUNE),
        ),
        "pip install 'ray[default]>=2.9' before it, or --nnodes 2 without Ray",
        holds="NGC 26.05",
    ),
    Rule(
        "ray-dropped",
        "warning",
        "nodes",
        "Ray was added to an image of vLLM that does not bring it",
        (
            Claim(
                "since 0.19.1 vLLM does not bring Ray; `ray: not found` in images built on it",
                "dynamo-8515",
                "2026-04-22",
            ),
            Claim("Ray is not in the aarch64 images", "capetron", _NOVEMBER),
            Claim("no ray binary in NVIDIA's newest image", _CORTI, _JUNE),
        ),
        "docker run --rm --entrypoint ray IMAGE --version tells; else --nnodes 2 without Ray",
        holds="vLLM 0.19.1 and later, where the image does not add it",
        since=(0, 19, 1),
        against=(Claim("eugr's images have it where they are built so", "eugr", _NOVEMBER),),
    ),
    Rule(
        "ray-or-not",
        "note",
        "nodes",
        "a pair can be formed without Ray",
        (
            Claim(
                "eugr forms pairs by --nnodes unless it is told otherwise",
                "eugr",
                _NOVEMBER,
            ),
            Claim("so do epappas and capetron", "epappas", _NOVEMBER),
        ),
        "--nnodes 2 --node-rank RANK --master-addr ADDRESS --distributed-executor-backend mp",
        holds="vLLM 0.12 and later",
        since=(0, 12),
        against=(
            Claim("more than one GPU needs a Ray cluster", _HARDWARE, _MID_MAY),
            Claim("NVIDIA's playbook for two Sparks takes Ray", _NVIDIA, _NOVEMBER),
        ),
    ),
    # container
    Rule(
        "infiniband",
        "error",
        "container",
        "a container of a pair has /dev/infiniband",
        (
            Claim("without it NCCL goes over TCP and says nothing", "epappas", _NOVEMBER),
            Claim("--device /dev/infiniband belongs to two-node containers", "capetron", _NOVEMBER),
        ),
        "--device /dev/infiniband",
        composed="devices: [/dev/infiniband]",
    ),
    Rule(
        "image-architecture",
        "error",
        "container",
        "the image is for arm64",
        (
            Claim("a Spark's processor is arm64, and runs no amd64 image", "epappas", _NOVEMBER),
            Claim("vllm/vllm-openai was amd64 alone until 0.10.1", "vllm-22206", "2025-08-04"),
        ),
        "an image with arm64: docker manifest inspect IMAGE",
    ),
    Rule(
        "image-cuda",
        "warning",
        "container",
        "the image is for CUDA 13",
        (Claim("only the builds for CUDA 13 (cu130) run on GB10", "epappas", _NOVEMBER),),
        "a tag with cu130",
        against=(Claim("a CUDA 12.9 image for arm64 is published", "model-optimizer-2042", "2026"),),
    ),
    Rule(
        "image-other-model",
        "warning",
        "container",
        "the image is made for more than one model",
        (Claim("hellohal2064's is for Qwen3-Next-80B and CUDA 13.1, and crashed in a loop", _THREAD, _MARCH),),
        "eugr/spark-vllm-docker",
    ),
    Rule(
        "image-digest",
        "note",
        "container",
        "both nodes run the same image, by digest",
        (Claim("NCCL says `Message truncated` where the images of two nodes differ", "eugr", _NOVEMBER),),
        "IMAGE@sha256:..., as docker image inspect shows it",
    ),
    Rule(
        "no-gpu",
        "warning",
        "container",
        "the container is given the GPU",
        (Claim("--gpus all or the nvidia runtime", _NVIDIA, _NOVEMBER),),
        "--gpus all",
        composed="gpus: all",
        against=(Claim("not needed where nvidia is docker's default runtime", "epappas", _NOVEMBER),),
    ),
    Rule(
        "host-network",
        "warning",
        "container",
        "a container of a pair is in the host's network",
        (Claim("--network host: fabric addresses and GIDs are the host's", "eugr", _NOVEMBER),),
        "--network host",
        composed="network_mode: host",
    ),
    Rule(
        "host-ipc",
        "warning",
        "container",
        "a container of a pair shares the host's memory segments",
        (Claim("--ipc=host", _NVIDIA, _NOVEMBER),),
        "--ipc host",
        composed="ipc: host",
    ),
    Rule(
        "memlock",
        "warning",
        "container",
        "a container of a pair may lock memory",
        (
            Claim("RDMA registers memory, which fails with ENOMEM at docker's limit", "epappas", _NOVEMBER),
            Claim("both nodes need --cap-add=IPC_LOCK --ulimit memlock=-1:-1", _CORTI, _JUNE),
        ),
        "--ulimit memlock=-1 --cap-add IPC_LOCK",
        composed="ulimits: {memlock: -1}, and cap_add: [IPC_LOCK]",
    ),
    Rule(
        "nofile",
        "note",
        "container",
        "a container of a pair may open many files",
        (
            Claim(
                "a rank opens devices, sockets and files of weights, for which 1024 are few: our own reasoning",
                "sparkrig/serving/plan.py",
                _READ,
            ),
        ),
        "--ulimit nofile=1048576",
        composed="ulimits: {nofile: 1048576}",
    ),
    # environment
    Rule(
        "pair-addresses",
        "warning",
        "environment",
        "each node of a pair is told its own address and the netdev of its sockets",
        (
            Claim(
                "without VLLM_HOST_IP the default route is taken, and the nodes wait for each other",
                _VLLM,
                _READ,
            ),
            Claim("VLLM_HOST_IP per node; NCCL_SOCKET_IFNAME and GLOO_SOCKET_IFNAME", _NVIDIA, _NOVEMBER),
        ),
        "--env-file of the cluster deploy (deploys/cluster.py writes it)",
        against=(Claim("the management netdev for the sockets works as well", "epappas", _NOVEMBER),),
    ),
    Rule(
        "ray-memory-monitor",
        "warning",
        "environment",
        "Ray's memory monitor is off",
        (
            Claim("it takes the page cache for pressure and kills vLLM while it answers", _HARDWARE, _MID_MAY),
            Claim(
                "it kills workers at 95 % of the memory, which loading the weights reaches",
                "mia-nvfp4-2",
                "2026-08-28",
            ),
            Claim("NVIDIA's playbook switches it off", _NVIDIA, _NOVEMBER),
        ),
        "RAY_memory_monitor_refresh_ms=0",
    ),
    Rule(
        "cpu-affinity",
        "note",
        "environment",
        "NCCL leaves the choice of processors to the kernel",
        (
            Claim("NCCL_IGNORE_CPU_AFFINITY=1", "eugr", _NOVEMBER),
            Claim("set for all measurements", _DOCAI, _APRIL),
        ),
        "NCCL_IGNORE_CPU_AFFINITY=1",
    ),
    Rule(
        "gid-index",
        "note",
        "environment",
        "the GID index is looked up on each node",
        (
            Claim("it is stable neither over nodes nor over ports: never write one down", "capetron", _NOVEMBER),
            Claim("it moves when a port flaps", "nccl-2183", _NOVEMBER),
            Claim("on one pair it is 5", _MIA, _AUGUST),
        ),
        "sparkrig topology INVENTORY shows it; the cluster deploy's env file keeps it current",
        against=(Claim("index 3 is RoCE v2 with IPv4 on both Sparks", _HARDWARE, _MID_MAY),),
    ),
    Rule(
        "nccl-conf",
        "note",
        "environment",
        "the container sees the host's settings of NCCL",
        (
            Claim(
                "NCCL reads the /etc/nccl.conf that it sees, which in a container is the image's",
                "nccl-docs",
                _NOVEMBER,
            ),
        ),
        "-v /etc/nccl.conf:/etc/nccl.conf:ro, or --env-file",
    ),
    # serving
    Rule(
        "mtp-batch",
        "note",
        "serving",
        "speculative decoding has 8192 tokens a batch",
        (Claim("vLLM warns of its default of 4096; a single stream gains nothing, several do", _DOCAI, _APRIL),),
        "--max-num-batched-tokens 8192",
    ),
    Rule(
        "hybrid-prefix-cache",
        "note",
        "serving",
        "prefix caching of a model with Mamba layers is known to be experimental",
        (Claim("vLLM says so in its log", _DOCAI, _APRIL),),
        "keep it, watch the answers, and keep the system prompt: one that changes with each request hits no cache",
        against=(Claim("no worse answers seen, and the first token of 8K contexts 41 % sooner", _DOCAI, _APRIL),),
    ),
    Rule(
        "prefix-cache",
        "note",
        "serving",
        "prefixes are cached",
        (
            Claim("the first token of 8K contexts came after 2.59 s instead of 4.41 s", _DOCAI, _APRIL),
            Claim("97 % hits on a repeated system prompt", _BENCH, "2026-05-03"),
        ),
        "--enable-prefix-caching",
    ),
    Rule(
        "context-unset",
        "note",
        "serving",
        "--max-model-len is said",
        (Claim("131072 once, for all: 128K is as fast as 32K on short requests", _DOCAI, _APRIL),),
        "--max-model-len 131072",
    ),
    Rule(
        "long-contexts",
        "note",
        "serving",
        "few requests of 100K tokens run at once",
        (
            Claim(
                "four of 108K at once decode at 6.2 tok/s each, two at 20.6; first tokens take 20 to 112 s",
                _DOCAI,
                _APRIL,
            ),
        ),
        "--max-num-seqs 2 where contexts are that long, or both Sparks",
        holds="Qwen3.5-122B-A10B-NVFP4 on one Spark",
    ),
    # input
    Rule(
        "not-json",
        "error",
        "input",
        "JSON arguments are JSON",
        (Claim("vLLM reads it as JSON, or ends; most often a shell took the quotation marks", _VLLM, _READ),),
        "single quotes around the whole, double ones inside",
    ),
    Rule(
        "not-a-number",
        "error",
        "input",
        "numbers are numbers",
        (Claim("vLLM ends with the usage", _VLLM, _READ),),
        "a plain number",
    ),
    Rule(
        "extra-words",
        "warning",
        "input",
        "each word belongs to a flag",
        (
            Claim(
                "vLLM refuses what it does not know; switches such as --enforce-eager take no value", _VLLM, _READ
            ),
        ),
        "leave it away",
    ),
    Rule(
        "no-model",
        "warning",
        "input",
        "a model is named",
        (
            Claim("vLLM serves a small default model where none is named", _VLLM, _READ),
            Claim("an image that was built anew served Qwen3-0.6B in place of the model", _THREAD, _MARCH),
        ),
        "vllm serve MODEL ...",
    ),
    Rule(
        "unseen",
        "note",
        "input",
        "all that is set can be seen",
        (
            Claim(
                "a file of settings is not read here, so what it sets is not judged",
                "sparkrig/serving/lint.py",
                _READ,
            ),
        ),
        "docker inspect NAME | sparkrig lint -, once it runs",
    ),
)

BY_ID: Mapping[str, Rule] = {rule.id: rule for rule in RULES}
