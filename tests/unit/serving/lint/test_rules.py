"""Each rule on launching vLLM: a launch that breaks it, the same one mended, and who says so.

The rules, the checkpoints to avoid and the launch commands of the articles are walked one by one; their
models and figures are the catalogue's.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from sparkrig.io import catalogue_files, lint_rules, vllm_flags
from sparkrig.serving import launch_text
from sparkrig.serving.lint import judgement
from sparkrig.serving.lint.case import Case, Find
from sparkrig.serving.lint.judgement import Finding
from sparkrig.serving.lint.version import Version, version
from tests.tables import each_row
from tests.unit import launches
from tests.unit.launch_texts import IMAGE, OPTIONS, PLAIN, RAY, SERVE, pair, serve

RULES = lint_rules.rules()
BY_ID = {rule.id: rule for rule in RULES}


@dataclass(frozen=True)
class Weights:
    """A checkpoint as the catalogue has it."""

    id: str
    format: str
    weights_gib: float | None = None
    nodes: int = 1
    draft: bool | None = None
    bad: str = ""


@dataclass(frozen=True)
class Known:
    """A model as the catalogue has it."""

    name: str
    checkpoints: tuple[Weights, ...]
    architecture: str = "moe"
    parameters_b: float = 8
    standing: str = "works"
    why: str = ""


MODELS = (
    Known(
        "giant",
        (
            Weights("org/Giant", "bf16", 230.0),
            Weights("org/Giant-NVFP4", "nvfp4", 75.0, draft=False),
            Weights("org/Giant-FP8", "fp8", 117.0),
            Weights("org/Giant-Broken", "nvfp4", 70.0, bad="the loader does not know it"),
        ),
    ),
    Known(
        "middle", (Weights("org/Middle", "bf16", 100.0), Weights("org/Middle-GPTQ", "int4-gptq", 30.0)), "dense"
    ),
    Known("mixed", (Weights("org/Mixed", "bf16", 30.0),), "moe hybrid"),
    Known("wide", (Weights("org/Wide-FP8", "fp8", nodes=2),), "dense"),
    Known("newcomer", (Weights("org/Newcomer", "fp8", 20.0),), "dense"),
    Known(
        "shunned", (Weights("org/Shunned", "fp8", 20.0),), "dense", standing="avoid", why="nobody knows its speed"
    ),
)


def find(name: str) -> Known | None:
    last = name.lower().rpartition("/")[2]
    return next((each for each in MODELS for one in each.checkpoints if one.id.lower().endswith(f"/{last}")), None)


KNOWN, TABLES = catalogue_files.catalogue(), vllm_flags.knowledge()
SEHYO, TXN545 = "Sehyo/Qwen3.5-122B-A10B-NVFP4", "txn545/Qwen3.5-122B-A10B-NVFP4"


def judged(
    text: str, *, sparks: int | None = None, vllm: Version | None = None, find: Find = find
) -> list[Finding]:
    (one,) = launch_text.read(text)
    return judgement.judge(Case(one, find, sparks, vllm, TABLES), RULES)


def ids(text: str, *, sparks: int | None = None, vllm: Version | None = None, find: Find = find) -> set[str]:
    return {each.rule.id for each in judged(text, sparks=sparks, vllm=vllm, find=find)}


PUZZLE = "nvidia/NVIDIA-Nemotron-Labs-3-Puzzle-75B-A9B-NVFP4"
PAIR = "-tp 2 --nnodes 2 --node-rank 0 --master-addr 192.168.100.10"


def run(options: str = "--gpus all", image: str = IMAGE, model: str = PLAIN, flags: str = "") -> str:
    return f"docker run {options} {OPTIONS['compile-caches']} {image} {serve(model, flags)}"


@pytest.mark.parametrize("text", [serve(), run(), pair(flags=PAIR)], ids=["command", "container", "pair"])
def test_nothing_is_said_of_a_launch_that_keeps_all_rules(text: str) -> None:
    assert ids(text) == set()
    assert judgement.exit_code(judged(text)) == 0


DEEPSEEK, MIMO = "deepseek-ai/DeepSeek-V4-Flash-0731", "XiaomiMiMo/MiMo-V2.6-Flash-RL"
FLASH_NEXT, M27, DRAFT = (
    "RadixArk/Qwen3.8-Flash-Next-NVFP4",
    "cyankiwi/MiniMax-M2.7-AWQ-4bit",
    "--speculative-config",
)
MXFP8 = "VLLM_USE_FLASHINFER_MOE_MXFP4_MXFP8"
LIGHTNING = "nvidia/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-NVFP4"
COMPOSED = "services:\n  a:\n    image: {}\n    gpus: all\n    platform: {}\n    command: " + serve() + "\n"

SUPER, GLM_NVFP4 = "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4", "lukealonso/GLM-4.6-NVFP4"
DSPARK = "--speculative-config.method dspark --speculative-config.num_speculative_tokens {}"
GEMMA, ASSISTANT = "google/gemma-4-26B-A4B-it", '"model":"google/gemma-4-26B-A4B-it-assistant"'
TWICE = "services:\n  a:\n    image: i\n    entrypoint: [/bin/bash]\n    command: [{}, " + serve() + "]\n"

# rule: (a launch that breaks it, the same one mended)
BROKEN: dict[str, list[tuple[str, str]]] = {
    "heads-not-divided": [
        (serve(flags="-tp 3 --nnodes 3 --master-addr 192.168.100.10"), serve(flags="-pp 3 --nnodes 3")),
        (serve(flags="-tp 6 --nnodes 6 --master-addr 192.168.100.10"), serve(flags="-tp 4 --nnodes 4")),
    ],
    "draft-with-stages": [
        (
            serve(flags="-pp 3 --nnodes 3 --speculative-config.method mtp"),
            serve(flags="-tp 4 --nnodes 4 --speculative-config.method mtp"),
        ),
    ],
    "shell-twice": [
        (
            f"docker run --gpus all --entrypoint /bin/bash {IMAGE} bash -c '{serve()}'",
            f"docker run --gpus all --entrypoint /bin/bash {IMAGE} -c '{serve()}'",
        ),
        (TWICE.format("bash, -c"), TWICE.format("-c")),
    ],
    "utilization-refused": [
        (serve(without="gpu-memory-utilization", flags=f"--gpu-memory-utilization {share}"), serve())
        for share in ("0.95", "1.0", "95")
    ],
    "utilization-above-0.91": [
        (
            serve(without="gpu-memory-utilization", flags=f"--gpu-memory-utilization {share}"),
            serve(without="gpu-memory-utilization", flags=f"--gpu-memory-utilization {kept}"),
        )
        for share, kept in (("0.913", "0.912"), ("0.94", "0.95"))
    ],
    "utilization-high": [
        (serve(without="gpu-memory-utilization", flags=f"--gpu_memory_utilization={share}"), serve())
        for share in ("0.81", "0.87", "0.90")
    ],
    "utilization-unset": [
        (serve(without="gpu-memory-utilization"), serve(flags="--kv-cache-memory-bytes 9G")),
        (
            serve(without="gpu-memory-utilization"),
            serve("Qwen/Qwen3-Embedding-8B", without="gpu-memory-utilization"),
        ),
    ],
    "utilization-unset-large": [
        (
            serve("x/Y-120B-A12B-NVFP4", without="gpu-memory-utilization"),
            serve("x/Y-30B-A3B-NVFP4", without="gpu-memory-utilization"),
        ),
        (serve("org/Middle", without="gpu-memory-utilization"), serve("org/Middle")),
    ],
    "weights-too-large": [
        (serve("org/Giant"), serve("org/Giant-NVFP4")),
        (serve("org/Giant", RAY), serve("org/Giant", f"{RAY} --quantization fp8")),
        (serve("org/Giant-FP8"), serve("org/Giant-FP8", RAY)),
        # by the parameters and the format in a name, of which the least is known
        (serve("x/Big-405B-w4a16"), serve("x/Big-405B-w4a16", RAY)),
        (serve("mistralai/Mixtral-8x22B-v0.1"), serve("mistralai/Mixtral-8x7B-v0.1")),
        (serve("Qwen/Qwen3-235B-A22B", RAY), serve("x/Plain-405B")),  # whose format is not told
        (serve("Qwen/Qwen3-72B"), serve("Qwen/Qwen3-72B", "--quantization bitsandbytes")),
        (serve("Qwen/Qwen3-111B", "--quantization fp8"), serve("Qwen/Qwen3-72B", "--quantization fp8")),
    ],
    "pair-needed": [(serve("org/Wide-FP8"), serve("org/Wide-FP8", RAY))],
    "bf16-large": [
        (serve("org/Middle", "--gpu-memory-utilization 0.9"), serve("org/Middle", f"{RAY}")),
        (serve("Qwen/Qwen3-51B"), serve("Qwen/Qwen3-51B", RAY)),
        (serve("Qwen/Qwen3-51B"), serve("org/Qwen3-51B-FP8")),
        (serve("Qwen/Qwen3-51B"), serve("Qwen/Qwen3-30B-A3B")),
    ],
    "memory-limit": [(run("--gpus all --memory 100g"), run())],
    "quantization-differs": [
        (serve("org/X-GPTQ-Int4", "-q fp8"), serve("org/X-GPTQ-Int4", "-q gptq_marlin")),
        (serve("org/Giant-NVFP4", "-q awq"), serve("org/Giant-NVFP4", "-q modelopt_fp4")),
        (serve("org/Giant-NVFP4", "-q awq"), serve("org/Giant-NVFP4", "-q fp4")),
        (serve("org/Giant-NVFP4", "-q awq"), serve("org/Giant-NVFP4", "-q modelopt_gb10_hybrid")),
        (serve("Qwen/Qwen3-8B", "-q awq"), serve("newmaker/Plain-8B", "-q awq")),
    ],
    "quantized-on-the-fly": [
        (serve("Qwen/Qwen3.5-35B-A3B", "-q fp8"), serve("Qwen/Qwen3.5-35B-A3B-FP8", "-q fp8"))
    ],
    "checkpoint-bad": [(serve("org/Giant-Broken"), serve("org/Giant-NVFP4"))],
    "model-avoided": [(serve("org/Shunned"), serve("org/Newcomer"))],
    "mtp-weights": [
        (
            serve("org/Giant-NVFP4", "--speculative-config.method mtp"),
            serve("org/Giant-NVFP4", "--speculative-config.method ngram"),
        )
    ],
    "cache-snapshot": [
        (
            run(f"--gpus all -v ~/.cache/huggingface/hub/models--a--b{tail}:/m"),
            run("--gpus all -v ~/.cache/huggingface:/h"),
        )
        for tail in ("/snapshots/123", "/snapshots")
    ]
    + [
        (
            run(f"--gpus all -v /srv/snapshots/{'0123456789' * 4}:/m"),
            run("--gpus all -v /srv/models/snapshots/deepseek-v4-flash-0731:/m"),  # [@dgx-forge]
        )
    ],
    "compile-caches": [(f"docker run --gpus all {IMAGE} {SERVE}", run())],
    "gpus-beyond-sparks": [
        (serve(flags="-tp 4 --distributed-executor-backend ray"), serve(flags=RAY)),
        (
            serve(flags="-tp 2 -pp 2 --distributed-executor-backend ray"),
            serve(flags="-tp 1 -pp 2 --distributed-executor-backend ray"),
        ),
        (serve(flags="-tp 2 -dp 2 --nnodes 2 --master-addr 192.168.100.10"), serve(flags="-dp 2")),
        (serve(flags="-dp 4 --data-parallel-backend ray"), serve(flags="-dp 2 --data-parallel-backend ray")),
    ],
    "second-node": [
        (serve(flags="-tp 2"), serve(flags=PAIR)),
        (serve(flags="-pp 2"), serve(flags="-pp 2 --distributed-executor-backend ray")),
        (serve(flags="-dp 2"), serve(flags="-dp 2 --data-parallel-size-local 1 --data-parallel-address 10.0.0.1")),
        (f"./launch-cluster.sh --solo exec {SERVE} -tp 2", f"./launch-cluster.sh exec {SERVE} -tp 2"),
    ],
    "ray-with-nnodes": [
        (
            serve(flags=f"{PAIR} --distributed-executor-backend ray"),
            serve(flags=f"{PAIR} --distributed-executor-backend mp"),
        )
    ],
    "nnodes-not-gpus": [(serve(flags="--nnodes 2 --master-addr 192.168.100.10"), serve(flags=PAIR))],
    "node-rank": [
        (serve(flags="-tp 2 --nnodes 2 --master-addr 192.168.100.10 --headless --node-rank 2"), serve(flags=PAIR)),
        (serve(flags="--node-rank 1"), serve(flags="--node-rank 0")),
    ],
    "master-address": [
        (serve(flags=f"-tp 2 --nnodes 2{given}"), serve(flags=PAIR))
        for given in ("", " --master-addr localhost", " --master-addr 127.0.1.1", " --master-addr 0.0.0.0")
    ],
    "headless": [(serve(flags=f"{PAIR} --node-rank 1"), serve(flags=f"{PAIR} --node-rank 1 --headless"))],
    "ray-dropped": [
        (pair(image="vllm/vllm-openai:v0.20.1"), pair(image=image)) for image in ("vllm-node", "me/fork:1")
    ]
    + [(pair(image="nvcr.io/nvidia/vllm:26.07-py3"), pair(image="nvcr.io/nvidia/vllm:26.02-py3"))],
    "ray-or-not": [(serve(flags=RAY), serve(flags=PAIR))],
    "infiniband": [
        (pair("infiniband"), pair()),
        (pair("infiniband"), pair("infiniband", flags="-tp 1 --distributed-executor-backend ray")),
        (pair("infiniband"), pair("infiniband").replace("run", "run --privileged")),
    ],
    "image-architecture": [
        (run("--gpus all --platform linux/amd64"), run("--gpus all --platform linux/arm64")),
        (run(image="org/vllm:nightly-x86_64"), run(image="org/vllm:nightly-aarch64")),
        (COMPOSED.format("x/vllm", "linux/amd64"), COMPOSED.format("x/vllm", "linux/arm64")),
    ],
    "entrypoint-replaced": [
        (
            f"docker run --gpus all --entrypoint vllm nvcr.io/nvidia/vllm:{tag}-py3 serve {PLAIN}",
            f"docker run --gpus all {kept} serve {PLAIN}",
        )
        for tag, kept in (
            ("26.08", "nvcr.io/nvidia/vllm:26.08-py3 vllm"),
            ("26.10", "--entrypoint vllm nvcr.io/nvidia/vllm:26.05-py3"),
        )
    ],
    "patched-file": [
        (
            run("--gpus all -v ~/g.py:/usr/local/lib/python3.12/dist-packages/vllm/models/g.py"),
            run("--gpus all -v ~/g.py:/opt/patches/g.py"),
        )
    ],
    "image-digest": [(pair(image="vllm-node"), pair())],
    "no-gpu": [
        (run(""), run()),
        (run(""), run("--runtime nvidia")),
        (run(""), run("--device nvidia.com/gpu=all")),
    ],
    "host-network": [(pair("host-network"), pair())],
    "host-ipc": [(pair("host-ipc"), pair())],
    "memlock": [
        (pair("memlock"), pair()),
        (pair("memlock"), pair("memlock").replace("run", "run --cap-add IPC_LOCK")),
    ],
    "nofile": [
        (pair("nofile"), pair()),
        (pair("nofile"), pair("nofile").replace("run", "run --ulimit nofile=65536")),
    ],
    "pair-addresses": [(pair("pair-addresses"), pair()), (pair("pair-addresses", flags=PAIR), pair(flags=PAIR))],
    "ray-memory-monitor": [
        (pair("ray-memory-monitor"), pair()),
        (pair("ray-memory-monitor"), pair("ray-memory-monitor", flags=PAIR)),
        (pair("ray-memory-monitor"), pair("ray-memory-monitor", flags="-tp 1 --distributed-executor-backend ray")),
        (f"RAY_memory_monitor_refresh_ms=250 {SERVE} {RAY}", f"RAY_memory_monitor_refresh_ms=0 {SERVE} {RAY}"),
    ],
    "nccl-conf": [
        (pair("nccl-conf"), pair()),
        (pair("nccl-conf"), pair("nccl-conf").replace("run", "run -e NCCL_IB_HCA=a")),
    ],
    "flag-unknown": [
        (serve(flags="--frobnicate 3"), serve(flags="--max-num-seqs 3")),
        (serve(flags="--swap-space 16"), serve(flags="--cpu-offload-gb 16")),
        (
            run(image="vllm/vllm-openai:v0.18.0", flags="--swap-space 16"),
            run(image="vllm/vllm-openai:v0.17.1", flags="--swap-space 16"),
        ),
        (
            run(image="vllm/vllm-openai:v0.12.0", flags="--reasoning-config {}"),
            run(image="vllm/vllm-openai:v0.30.0"),
        ),
    ]
    + [
        (serve(flags="--frobnicate 3"), run(image="vllm/vllm-openai:v0.29.0", flags=kept))
        for kept in (
            '--pipeline-parallel_size 1 --mamba_ssm_cache_dtype float32 --speculative_config \'{"method":"mtp"}\'',
            "-cc.mode=3 -sc.method mtp --tensor-parallel 1 --no-async-scheduling",
        )
    ],
    "flag-value": [
        (
            run(image="vllm/vllm-openai:v0.29.0", flags=f"--attention-backend {wrong}"),
            run(image="vllm/vllm-openai:v0.29.0", flags=f"--attention-backend {right}"),
        )
        for wrong, right in (("FLASHINFR", "flashinfer"), ("B12X", "TRITON_ATTN"))
    ]
    + [
        (
            run(image="vllm/vllm-openai:v0.29.0", flags=f"{DRAFT}.moe_backend tritn"),
            run(image="vllm/vllm-openai:v0.29.0", flags=f"{DRAFT}.moe_backend triton"),
        )
    ],
    "variable-unknown": [
        (f"VLLM__USE_TRITON_MOE=1 {SERVE}", f"VLLM_USE_DEEP_GEMM=0 {SERVE}"),
        (f"VLLM_ATTENTION_BACKEND=FLASHINFER {SERVE}", f"VLLM_IMAGE=x {SERVE}"),
        (
            run("--gpus all -e VLLM_FLASHINFER_MOE_BACKEND=latency", "vllm/vllm-openai:v0.26.0"),
            run("--gpus all -e VLLM_FLASHINFER_MOE_BACKEND=latency", "vllm/vllm-openai:v0.22.0"),
        ),
    ],
    "llama-load-mode": [
        (
            f"docker run --gpus all ghcr.io/ggml-org/llama.cpp:server-cuda13-{build} -m x.gguf {flag}",
            f"docker run --gpus all ghcr.io/ggml-org/llama.cpp:server-cuda13-{other} -m x.gguf {instead}",
        )
        for build, flag, other, instead in (
            ("b10884", "--no-mmap", "b10105", "--no-mmap"),
            ("b10920", "--mlock", "b10920", "--load-mode mlock"),
        )
    ]
    + [("llama-server -m x.gguf -dio", "llama-server -m x.gguf -lm dio")],
    "version-newer": [(run(image="vllm/vllm-openai:v9.1.0"), run(image="vllm/vllm-openai:v0.33.0"))],
    "not-json": [(serve(flags="--speculative-config {method:mtp}"), serve(flags="--hf-overrides '{\"a\": 1}'"))],
    "not-a-number": [
        (serve(flags="--max-num-seqs four"), serve(flags="--max-num-seqs 4")),
        (serve(flags="--gpu-memory-utilization 80%"), serve(flags="--max-model-len auto")),
        (serve(flags="--gpu-memory-utilization nan"), serve(flags="--max-model-len -1")),
        (serve(flags="--tensor-parallel-size 0"), serve(flags="--tensor-parallel-size 1")),
    ],
    "extra-words": [
        (serve(flags="--enforce-eager true"), serve(flags="--enforce-eager")),
        (serve(flags="--enforce-eager true"), serve(flags="--enforce-eager $MORE")),
        (serve(flags="--enforce-eager true"), serve(flags="--enforce-eager ...")),
    ],
    "no-model": [("vllm serve --port 1", serve())],
    "unseen": [
        (serve(flags="--config x.yaml"), serve()),
        (run("--gpus all --env-file x"), run()),
        (serve(flags="$MORE"), serve()),
        (serve(flags="--max-num-seqs $SEQS"), f"SEQS=4\n{serve(flags='--max-num-seqs $SEQS')}"),
        (run("--gpus all $OPTIONS"), run()),
    ],
    "secret-argument": [
        (
            f"sglang serve --model-path {PLAIN} --api-key x",
            f"sglang serve --model-path {PLAIN} --api-key-file /run/key",
        ),
        (serve(flags="--api-key x"), f"VLLM_API_KEY=$KEY {serve()}"),
        (serve(flags="--api-key $KEY"), serve(flags="--served-model-name x")),
        # vllm-querit-4b-reranker.service of [@gb10-services] at 46f16f1, which serves
        (serve(flags="--hf-token x"), serve(flags="--long-prefill-token-threshold 512")),
        (f"llama-server -m {PLAIN}.gguf --api-key x", f"llama-server -m {PLAIN}.gguf --api-key-file /run/key"),
    ],
    "other-engine": [
        (f"sglang serve --model-path {PLAIN}", serve()),
        (f"docker run --gpus all img llama-server -m {PLAIN}.gguf", run()),
    ],
}
PAIRS = {f"{rule} {number}": (rule, *pair) for rule, cases in BROKEN.items() for number, pair in enumerate(cases)}


def test_each_rule() -> None:
    def holds(rule: str, broken: str, kept: str) -> None:
        told = [each for each in judged(broken) if each.rule.id == rule]
        assert told, broken
        assert all(each.found and each.better for each in told)
        assert rule not in ids(kept), kept

    each_row(PAIRS, holds)


def test_every_rule_is_tested_and_judged() -> None:
    computed = {"kv-cache-short"}  # of the catalogue's own models, below
    assert {*BROKEN} | computed == {*judgement.CHECKS} == {rule.id for rule in RULES if not rule.when}
    assert len(BY_ID) == len(RULES)


# what the rules find by the catalogue alone, in names that the articles have
REAL: dict[str, tuple[str, ...]] = {
    "weights-too-large": (serve("Qwen/Qwen3-235B-A22B-GPTQ-Int4"), serve("Qwen/Qwen3.5-122B-A10B")),
    "pair-needed": (serve("Qwen/Qwen3.5-122B-A10B-FP8", "--gpu-memory-utilization 0.94"),),
    "checkpoint-bad": (serve("nvidia/Qwen3-235B-A22B-NVFP4", RAY),),
    "model-avoided": (serve("nvidia/Llama-3.3-70B-Instruct-NVFP4"),),
    "mtp-weights": (serve(TXN545, "--speculative-config.method mtp"),),
}


def test_each_rule_finds_something_with_the_real_catalogue() -> None:
    def holds(rule: str) -> None:
        invented = [each.id for model in MODELS for each in model.checkpoints]
        texts = REAL.get(rule) or [text for text, _ in BROKEN[rule] if not any(id in text for id in invented)]
        assert texts, "an invented model is no proof"
        assert [text for text in texts if rule not in ids(text, find=KNOWN.find)] == []

    each_row([*BROKEN], holds)


# --- which checkpoint of the catalogue is served

CHECKPOINTS = [each.id for model in KNOWN.models.values() for each in model.checkpoints]


def checkpoint(text: str) -> str:
    (one,) = launch_text.read(text)
    found = Case(one, KNOWN.find).checkpoint
    return found.id if found else ""


def test_a_model_is_called_by_its_name_in_the_cache_and_not_by_its_revision() -> None:
    """vllm-aeon-27b-dflash.service of [@gb10-services] mounts a checkpoint of the cache, serves its snapshot."""
    mounted = "-v /home/obj/.cache/huggingface/hub/models--AEON-7--Qwen3.6-27B-NVFP4:/models/aeon-cache:ro"
    (found,) = launch_text.read(
        f"docker run --gpus all {mounted} a/vllm:1 vllm serve /models/aeon-cache/snapshots/{'6394' * 10}"
    )
    assert Case(found, find).called == "AEON-7/Qwen3.6-27B-NVFP4"


def test_a_checkpoint_is_known_by_its_id_and_where_it_lies() -> None:
    def holds(id: str) -> None:
        owner, _, name = id.partition("/")
        assert checkpoint(f"vllm serve {id}") == id
        assert checkpoint(f"docker run -v /srv/models/{id}:/m img vllm serve /m") == id
        assert checkpoint(f"vllm serve /models/{name}-{owner}/") == id
        cached = f"~/.cache/huggingface/hub/models--{owner}--{name}/snapshots/1"
        assert checkpoint(f"docker run -v {cached}:/m img vllm serve /m") == id

    each_row(CHECKPOINTS, holds)


def test_a_checkpoint_of_another_owner_is_not_taken_for_one_of_the_same_name() -> None:
    def holds(text: str, expected: str) -> None:
        assert checkpoint(text) == expected

    each_row(
        [
            (launches.LARGE, SEHYO),
            ("vllm serve /models/Qwen3.5-122B-A10B-NVFP4", SEHYO),
            ("vllm serve RedHatAI/Qwen3-235B-A22B-NVFP4", ""),
            ("vllm serve RedHatAI/Qwen3-235B-A22B-NVFP4 --served-model-name Qwen3-235B-A22B-NVFP4", ""),
            ("vllm serve /model --served-model-name Qwen3.5-122B-A10B-NVFP4", SEHYO),
            ("vllm serve /model --served-model-name Qwen3.5-122B-A10B", ""),
            ("vllm serve /models/Qwen3.5-122B-A10B", "Qwen/Qwen3.5-122B-A10B"),
            ("vllm serve /models/mine", ""),
        ],
        holds,
    )


def test_weights_of_unknown_size_are_told_by_the_catalogue_s_parameters() -> None:
    told = judged("vllm serve Qwen/Qwen3-235B-A22B", find=KNOWN.find)
    size = "438 GiB of weights on each Spark at least, by the parameters in its name, and 112 GiB for vLLM at 0.92"
    assert [(each.found, each.severity) for each in told if each.rule.id == "weights-too-large"] == [
        (size, "error")
    ]


def test_the_only_checkpoint_without_draft_weights_is_told() -> None:
    draft = """--speculative-config '{"method":"mtp","num_speculative_tokens":2}'"""
    assert "mtp-weights" in ids(f"vllm serve {TXN545} {draft}", find=KNOWN.find)
    assert "mtp-weights" not in ids(f"vllm serve {SEHYO} {draft}", find=KNOWN.find)
    at = "--gpu-memory-utilization 0.6"
    assert "weights-too-large" in ids(f"vllm serve {SEHYO} {at}", find=KNOWN.find)
    assert "weights-too-large" not in ids(f"vllm serve {TXN545} {at}", find=KNOWN.find)


# --- versions, nodes, and what is not seen


def test_mods_of_a_recipe_change_an_official_image() -> None:
    """[@flash-next-tp-2]: recipes/latest/flashnext-vllm-cached.yaml at 4de21a9, which serves with its overlays."""
    recipe = (
        "recipe_version: '1'\nmodel: nvidia/Qwen3.8-Flash-Next-NVFP4\n"
        "container: vllm/vllm-openai@sha256:f5df5cc3302b5f404848c4eca88d7bf7ed5226e151c056da22816d7734644d67\n"
        "command: vllm serve {model} --kv-cache-dtype fp8_e4m3 --gpu-memory-utilization 0.70\n"
    )

    def severity(text: str) -> set[str]:
        return {each.severity for each in judged(text) if each.rule.id == "kv-needs-bf16"}

    assert severity(recipe) == {"error"}
    assert severity(f"{recipe}mods: [vllm-flashnext-nightly-8a728663]\n") == {"note"}


def test_a_gguf_file_is_that_whatever_it_was_made_of() -> None:
    """tools/arm.sh of jlaustill/dgx-spark-cc at 6c80b3f has the first, which was shown as FP4 and FP8."""

    def holds(file: str, expected: str) -> None:
        (one,) = launch_text.read(f"llama-server -m /models/{file}")
        assert Case(one, find, tables=TABLES).format == expected

    each_row(
        [
            ("DeepSeek-V4-Flash-UD-IQ3_XXS-00001-of-00004.gguf", "gguf"),
            ("Qwen3.6-27B-MXFP4-Q4_K_M.gguf", "gguf"),
            ("gpt-oss-120b-mxfp4-00001-of-00003.gguf", "mxfp4"),
        ],
        holds,
    )


def test_the_version_that_an_image_tells() -> None:
    def holds(image: str, expected: Version | None) -> None:
        (one,) = launch_text.read(run(image=image))
        assert Case(one, find, tables=TABLES).version == expected
        assert Case(one, find, None, (1, 0, 0)).version == (1, 0, 0)

    each_row(
        [
            ("vllm/vllm-openai:v0.19.0", (0, 19, 0)),
            ("docker.io/vllm/vllm-openai:v0.19.0-aarch64", (0, 19, 0)),
            ("nvcr.io/nvidia/vllm:26.04-py3", (0, 19, 0)),
            ("nvcr.io/nvidia/vllm:26.05.post1-py3", (0, 20, 1)),
            ("nvcr.io/nvidia/vllm:26.08-py3", (0, 27, 1)),
            ("nvcr.io/nvidia/vllm:26.09-py3", (0, 29, 0)),
            ("nvcr.io/nvidia/vllm:27.01-py3", None),
            ("vllm/vllm-openai@sha256:aa", None),
            ("vllm/vllm-openai:v0.24.0-ubuntu2404@sha256:aa", (0, 24, 0)),
            ("vllm/vllm-openai:latest", None),
            ("my/image:1.2.3", None),
        ],
        holds,
    )


def test_versions_are_read() -> None:
    assert version("0.19.2rc1.dev154+g1c2c1eb8b") == (0, 19, 2)
    assert version("v1.0") == (1, 0, 0)
    assert version("nightly") is None


def test_how_many_sparks_there_are() -> None:
    def holds(flags: str, sparks: int | None, rules: set[str]) -> None:
        assert ids(serve(flags=flags), sparks=sparks) == rules

    each_row(
        [
            ("-tp 2", 1, {"gpus-beyond-sparks"}),
            (RAY, 1, {"gpus-beyond-sparks", "ray-or-not"}),
            (RAY, 2, {"ray-or-not"}),
            ("-tp 4 --distributed-executor-backend ray", 4, {"ray-or-not"}),
            ("-tp 4 --nnodes 4 --master-addr 10.0.0.1", None, set()),
            ("-tp 4 --nnodes 4 --master-addr 10.0.0.1", 2, {"gpus-beyond-sparks"}),
            ("-tp 2 --distributed-executor-backend external_launcher", 2, set()),
        ],
        holds,
    )


def test_a_command_is_not_asked_for_what_it_does_not_show() -> None:
    containers = {rule.id for rule in RULES if rule.topic in ("container", "environment")}
    assert not ids(serve(flags=RAY)) & containers
    assert "pair-addresses" not in ids(pair("pair-addresses").replace("run", "run --env-file x"))


def test_a_node_of_ray_is_asked_for_its_container_alone() -> None:
    given = " ".join(option for rule, option in OPTIONS.items() if rule != "infiniband")
    text = f"docker run {given} {IMAGE} ray start --block --address=192.168.100.10:6379"
    assert ids(text) == {"infiniband"}


def test_the_format_of_a_checkpoint() -> None:
    def holds(name: str, expected: str) -> None:
        (one,) = launch_text.read(f"vllm serve {name}")
        assert Case(one, find, tables=TABLES).format == expected

    each_row(
        [
            ("openai/gpt-oss-120b", "mxfp4"),
            ("unsloth/gpt-oss-20b-BF16", "bf16"),
            ("Qwen/Qwen3-235B-A22B-GPTQ-Int4", "int4-gptq"),
            ("nvidia/Llama-3.3-70B-Instruct-FP4", "nvfp4"),
            ("RedHatAI/Qwen3-32B-NVFP4", "nvfp4"),
            ("cpatonn/Qwen3-Next-80B-A3B-Instruct-AWQ-4bit", "int4-awq"),
            ("Intel/Qwen3-Next-80B-A3B-Instruct-int4-AutoRound", "int4"),
            ("RedHatAI/Mistral-Small-quantized.w4a16", "int4"),
            ("zai-org/GLM-4.5-Air-FP8", "fp8"),
            ("deepseek-ai/DeepSeek-V3.1", "fp8"),
            ("unsloth/Qwen3-8B-GGUF", "gguf"),
            ("meta-llama/Llama-3.3-70B-Instruct", "bf16"),
            ("/models/mine", ""),
            ("org/Newcomer", "fp8"),
        ],
        holds,
    )


def test_what_a_name_tells_of_the_architecture() -> None:
    def holds(name: str, mixture: bool, hybrid: bool) -> None:
        (one,) = launch_text.read(f"vllm serve {name}")
        case = Case(one, find, tables=TABLES)
        assert (case.mixture, case.hybrid) == (mixture, hybrid)

    each_row(
        [
            ("Qwen/Qwen3-30B-A3B", True, False),
            ("Qwen/Qwen3-Coder-480B-A35B-Instruct", True, False),
            ("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4", True, False),
            ("mistralai/Mixtral-8x22B-v0.1", True, False),
            ("openai/gpt-oss-20b", True, False),
            ("zai-org/GLM-4.5-Air", True, False),
            ("Qwen/Qwen3-Next-80B-A3B-Instruct", True, True),
            ("Qwen/Qwen3.6-27B", False, True),
            ("qwen35-122b", False, True),
            ("Qwen/Qwen3-8B", False, False),
            ("meta-llama/Llama-3.3-70B-Instruct", False, False),
            ("google/gemma-3-27b-it", False, False),
            ("org/Mixed", True, True),
        ],
        holds,
    )


def test_what_was_found_is_in_words() -> None:
    def holds(text: str, rule: str, found: str) -> None:
        assert [each.found for each in judged(text) if each.rule.id == rule] == [found]

    each_row(
        [
            (pair("nofile"), "nofile", "nofile is docker's own limit"),
            (
                serve("Qwen/Qwen3-51B"),
                "bf16-large",
                "102 GB of BF16 weights on each Spark, by the parameters in its name",
            ),
            (serve(flags="--node-rank 1"), "node-rank", "--node-rank 1 of 1 node"),
            (serve(flags=f"{PAIR} --node-rank 2 --headless"), "node-rank", "--node-rank 2 of 2 nodes"),
            (pair("nofile").replace("run", "run --ulimit nofile=1024"), "nofile", "nofile is 1024"),
            (
                serve(flags="-tp 4 --distributed-executor-backend ray"),
                "gpus-beyond-sparks",
                "--tensor-parallel-size 4 wants 4 GPUs, and 2 Sparks have one each",
            ),
            (
                serve("org/Mixed", "--moe-backend marlin"),
                "moe-backend-unquantized",
                "--moe-backend marlin, and org/Mixed is bf16",
            ),
            (
                serve("x/Y-120B-A12B-NVFP4", without="gpu-memory-utilization"),
                "utilization-unset-large",
                "no --gpu-memory-utilization, and 75 GiB of weights",
            ),
        ],
        holds,
    )


def test_a_word_that_is_not_known_counts_as_much_as_the_version_is_known() -> None:
    def holds(text: str, vllm: Version | None, rule: str, severity: str) -> None:
        assert [each.severity for each in judged(text, vllm=vllm) if each.rule.id == rule] == [severity]

    stock, fork = "vllm/vllm-openai:v0.29.0", "ghcr.io/some/fork:1"
    variable = "--gpus all -e VLLM_FLASHINFER_MOE_BACKEND"
    each_row(
        [
            (run(image=stock, flags="--frobnicate 3"), None, "flag-unknown", "error"),
            (serve(flags="--frobnicate 3"), (0, 29, 0), "flag-unknown", "error"),
            (run(image=fork, flags="--frobnicate 3"), (0, 29, 0), "flag-unknown", "note"),
            (run(image=fork, flags="--frobnicate 3"), None, "flag-unknown", "note"),
            (serve(flags="--frobnicate 3"), None, "flag-unknown", "note"),
            (serve(flags="--max-model-lenn 3"), None, "flag-unknown", "warning"),
            (serve(flags="--gpu-memory-utilization-gb 90"), None, "flag-unknown", "note"),
            (serve(flags="--mxfp4-backend CUTLASS"), None, "flag-unknown", "note"),
            (serve(flags="--swap-space 16"), None, "flag-unknown", "warning"),
            (run(image=fork, flags="--swap-space 16"), None, "flag-unknown", "note"),
            (run(image=fork, flags="--attention-backend B12X_OWN"), (0, 29, 0), "flag-value", "note"),
            (run(f"{variable}=latency", stock), None, "variable-unknown", "warning"),
            (run(f"{variable}=latency", fork), (0, 29, 0), "variable-unknown", "note"),
            (run(f"{variable}=latency", stock, flags="--moe-backend marlin"), None, "variable-unknown", "note"),
            (run("--gpus all -e VLLM_USE_V1=1", stock), None, "variable-unknown", "note"),
            # switch-to-nemotron-super.sh of [@styles01], and a script of nmadhire-agents at d562b19; both serve
            (run("--gpus all -e VLLM_NVFP4_GEMM_BACKEND=marlin", stock), None, "variable-unknown", "note"),
            (
                run("--gpus all -e VLLM_FP8_MOE_BACKEND=flashinfer_cutlass", stock, "nvidia/X-35B-A3B-NVFP4"),
                None,
                "variable-unknown",
                "note",
            ),
            ("llama-server -m x.gguf --no-mmap", None, "llama-load-mode", "note"),
            (run("--gpus all -e VLLM_USE_FLASHINFER_MOE_FP4=0", stock), None, "variable-unknown", "note"),
            (f"VLLM_ATTENTION_BACKEND=FLASHINFER {SERVE}", None, "variable-unknown", "warning"),
        ],
        holds,
    )


def test_what_is_meant_by_a_misspelt_word_is_named() -> None:
    def holds(text: str, better: str) -> None:
        assert better in [each.better for each in judged(text, vllm=(0, 29, 0))]

    each_row(
        [
            (serve(flags="--max-model-lenn 3"), "--max-model-len, if that is meant"),
            (serve(flags="--attention-backend TRITON_ATN"), "--attention-backend TRITON_ATTN, if that is meant"),
            (f"VLLM_ATTENTION_BACKEND=FLASHINFER {SERVE}", "--attention-backend FLASHINFER"),
        ],
        holds,
    )


def test_a_cache_of_a_model_of_the_catalogue_is_computed() -> None:
    def holds(flags: str, severity: str) -> None:
        told = judged(serve("Qwen/Qwen3-30B-A3B", flags, without="gpu-memory-utilization"), find=KNOWN.find)
        assert [each.severity for each in told if each.rule.id == "kv-cache-short"] == severity.split()

    each_row(
        [
            ("--max-model-len 131072 --kv-cache-memory-bytes 4G", "warning"),
            ("--max-model-len 65536 --kv-cache-memory-bytes 4G", ""),
            ("--max-model-len 131072 --gpu-memory-utilization 0.5", "warning"),
            ("--max-model-len 131072 --gpu-memory-utilization 0.53", "note"),
            ("--max-model-len 131072 --gpu-memory-utilization 0.8", ""),
        ],
        holds,
    )


def test_more_sparks_than_two_are_asked_for_where_the_launch_reaches_them() -> None:
    def holds(text: str, sparks: int | None, severity: str) -> None:
        told = [each.severity for each in judged(text, sparks=sparks) if each.rule.id == "gpus-beyond-sparks"]
        assert told == severity.split()

    four = serve(flags="-tp 4 --distributed-executor-backend ray")
    each_row(
        [
            (four, None, "note"),
            (four, 2, "error"),
            (four, 4, ""),
            (serve(flags="-tp 4"), None, "error"),
            (f"./launch-cluster.sh exec {serve(flags='-tp 4')}", None, "note"),
            (f"./launch-cluster.sh --solo exec {serve(flags='-tp 4')}", None, "error"),
        ],
        holds,
    )


def test_one_spark_has_one_gpu() -> None:
    told = [each.found for each in judged(serve(flags="-tp 2"), sparks=1)]
    assert told == ["--tensor-parallel-size 2 wants 2 GPUs, and one Spark has one"]


def test_facts_come_first_then_what_is_contested_then_advice() -> None:
    kinds = [
        "contested" if each.contested else each.severity
        for each in judged("vllm serve Qwen/Qwen3-30B-A3B --moe-backend marlin --enforce-eager -tp 2 stray")
    ]
    assert kinds == sorted(kinds, key=("error", "warning", "contested", "note").index)
    assert {*kinds} == {"error", "warning", "contested", "note"}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (serve(), 0),
        (serve(without="max-model-len"), 0),
        (serve(flags="--gpu-memory-utilization 0.87"), 0),
        (serve(flags="--gpu-memory-utilization 0.92"), 2),
        (serve(flags="-tp 2"), 2),
    ],
)
def test_notes_and_what_is_contested_are_no_failure(text: str, code: int) -> None:
    assert judgement.exit_code(judged(text)) == code
