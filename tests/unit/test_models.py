"""The catalogue of models: every row of the articles is in it, and no file says what it may not."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from rich.console import Console

from docs.make import MODELS, with_models
from sparkrig.command import models as verb
from sparkrig.picture.models import Listing, Page
from sparkrig.refusal import Refusal
from sparkrig.serving import arguments, catalogue_files, container, launch
from sparkrig.serving.budget import Use, fewest_nodes
from sparkrig.serving.model import Figure, Launch, Model, find
from tests.unit import test_launch

KNOWN = catalogue_files.catalogue()

# --- the articles, row by row

# article 000, Model comparison: model, architecture, active, formats, nodes, tok/s (low, high)
COMPARISON = {
    "gpt-oss-120b": ("moe", 5.1, {"mxfp4"}, 1, (32, 60)),
    "Qwen3-235B-A22B": ("moe", 22, {"int4-gptq"}, 2, (17, 36)),
    "Qwen3-30B-A3B": ("moe", 3.3, {"nvfp4", "fp8", "bf16"}, 1, (32, 50)),
    "Qwen3.6-27B": ("dense hybrid", 27, {"fp8"}, 1, (14, 21)),
    "Qwen3.5-122B-A10B": ("moe hybrid", 10, {"nvfp4"}, 1, (51, None)),
    "Qwen3.6-35B-A3B": ("moe hybrid", 3, {"fp8"}, 1, (100, None)),
    "Qwen3.5-397B-A17B": ("moe hybrid", 17, {"nvfp4"}, 2, None),
}


@pytest.mark.parametrize("title", COMPARISON)
def test_article_000_s_table(title: str) -> None:
    architecture, active, formats, nodes, rate = COMPARISON[title]
    model = found(title)
    assert (model.architecture, model.active_b, model.nodes) == (architecture, active, nodes)
    assert formats <= {each.format for each in model.checkpoints if not each.bad}
    told = {(each.value, each.high) for each in model.figures if each.source == "article-000"}
    assert rate is None or rate in told


# weights as articles say them, GB or GiB: checkpoint, GiB
WEIGHTS = {
    "article 000: ~61 GB": ("openai/gpt-oss-120b", 60.8),
    "article 002: 118 GB": ("Qwen/Qwen3-235B-A22B-GPTQ-Int4", 118 / 1.0737),
    "article 000: ~28 GB": ("Qwen/Qwen3.6-27B-FP8", 28 / 1.0737),
    "article 000: ~35 GB": ("Qwen/Qwen3.6-35B-A3B-FP8", 35 / 1.0737),
    "article 000: ~16 GB": ("nvidia/Qwen3-30B-A3B-NVFP4", 16 / 1.0737),
    "article 000: ~60 GB": ("Qwen/Qwen3-30B-A3B", 60 / 1.0737),
    "article 000: ~75 GB": ("bjk110/SPARK_Qwen3.5-122B-A10B-NVFP4", 75 / 1.0737),
    "article 004: 75.89 GiB": ("Sehyo/Qwen3.5-122B-A10B-NVFP4", 75.89),
    "article 004: 75.6 GB": ("txn545/Qwen3.5-122B-A10B-NVFP4", 75.6 / 1.0737),
    "article 001: 250 GB": ("Qwen/Qwen3.5-122B-A10B", 250 / 1.0737),
}


@pytest.mark.parametrize(("id", "gib"), WEIGHTS.values(), ids=WEIGHTS)
def test_weights_of_the_articles(id: str, gib: float) -> None:
    checkpoint = next(each for each in found(id).checkpoints if each.id == id)
    assert checkpoint.weights_gib == pytest.approx(gib, rel=0.01)


def test_what_else_the_tables_of_articles_000_and_001_say_of_sizes() -> None:
    assert found("gpt-oss-120b").context == 128 * 1024
    resident = found("Qwen3-235B-A22B").best().resident_gib[2]
    assert resident == pytest.approx(60 / 1.0737, rel=0.05)
    assert "234 GB" in found("Qwen3.5-122B-A10B").checkpoint("Qwen/Qwen3.5-122B-A10B").note


CHECKPOINTS = {
    "article 000, to avoid": ("nvidia/Qwen3-235B-A22B-NVFP4", "#?22906"),
    "article 001": ("bjk110/SPARK_Qwen3.5-122B-A10B-NVFP4", ""),
    "article 003": ("Qwen/Qwen3.5-35B-A3B", ""),
    "article 003, eugr": ("Qwen/Qwen3.5-35B-A3B-FP8", ""),
    "article 004, first": ("Sehyo/Qwen3.5-122B-A10B-NVFP4", ""),
    "article 004, second": ("txn545/Qwen3.5-122B-A10B-NVFP4", ""),
    "article 004, third": ("RedHatAI/Qwen3.5-122B-A10B-NVFP4", ""),
    "article 004, eugr's recipe": ("Qwen/Qwen3.5-122B-A10B-FP8", ""),
    "article 004, AutoRound": ("Intel/Qwen3.5-122B-A10B-int4-AutoRound", ""),
    "article 004, in production": ("Qwen/Qwen3.6-35B-A3B-FP8", ""),
    "peers.md section 5.6": ("nvidia/Qwen3.6-35B-A3B-NVFP4", ""),
}


@pytest.mark.parametrize(("id", "bad"), CHECKPOINTS.values(), ids=CHECKPOINTS)
def test_checkpoints_of_the_articles(id: str, bad: str) -> None:
    checkpoint = next(each for each in found(id).checkpoints if each.id == id)
    assert bool(checkpoint.bad) == bool(bad)
    assert bad.removeprefix("#?") in checkpoint.bad


@pytest.mark.parametrize(
    ("id", "draft"),
    [
        ("Sehyo/Qwen3.5-122B-A10B-NVFP4", True),
        ("RedHatAI/Qwen3.5-122B-A10B-NVFP4", True),
        ("txn545/Qwen3.5-122B-A10B-NVFP4", False),
    ],
)
def test_whether_the_draft_weights_are_in_it(id: str, draft: bool) -> None:
    assert next(each for each in found(id).checkpoints if each.id == id).draft is draft


# article 004: workload -> single-stream tok/s and time to first token, at 32K default, 32K tuned, 128K tuned
SPEED = {
    "qa": ((24.7, 25.2, 25.6), (0.27, 0.27, 0.27)),
    "code": ((30.1, 29.7, 30.1), (0.28, 0.28, 0.28)),
    "json": ((31.0, 30.7, 30.9), (0.44, 0.44, 0.44)),
    "hungarian": ((23.7, 23.9, 24.6), (0.30, 0.29, 0.29)),
    "long 8K": ((26.9, 25.7, 26.1), (4.41, 2.59, 2.55)),
}
SETUPS = ("32K default", "32K tuned", "128K tuned")


@pytest.mark.parametrize("workload", SPEED)
def test_article_004_s_single_stream(workload: str) -> None:
    for metric, values in zip(("decode tok/s", "time to first token s"), SPEED[workload], strict=True):
        told = [figure("122b", metric, f"{workload}, {setup}").value for setup in SETUPS]
        assert tuple(told) == values


# model, metric, of, concurrency, value, high
FIGURES: dict[str, tuple[str, str, str, int, float, float | None]] = {
    "004 long 32K": ("122b", "decode tok/s", "long 32K, 128K tuned", 1, 26.4, None),
    "004 long 32K first token, cached": (
        "122b",
        "time to first token s",
        "long 32K, 128K tuned, prefix cached",
        1,
        3.87,
        None,
    ),
    "004 long 32K first token, cold": (
        "122b",
        "time to first token s",
        "long 32K, 128K tuned, cold",
        1,
        18.11,
        None,
    ),
    "004 acceptance json": ("122b", "draft acceptance %", "json", 1, 100, None),
    "004 acceptance code": ("122b", "draft acceptance %", "code", 1, 94, 99),
    "004 acceptance long 32K": ("122b", "draft acceptance %", "long 32K", 1, 74, 81),
    "004 acceptance long 8K": ("122b", "draft acceptance %", "long 8K", 1, 71, 78),
    "004 acceptance qa": ("122b", "draft acceptance %", "qa", 1, 67, 74),
    "004 acceptance hungarian": ("122b", "draft acceptance %", "hungarian", 1, 63, 67),
    "004 short": ("122b", "aggregate tok/s", "uniform_short, 90 s", 4, 63.86, None),
    "004 mixed": ("122b", "aggregate tok/s", "mixed_typical, 90 s", 4, 57.65, None),
    "004 long, four": ("122b", "aggregate tok/s", "long_only_128k, 90 s", 4, 14.65, None),
    "004 long, two": ("122b", "aggregate tok/s", "long_only_128k, 180 s", 2, 6.54, None),
    "004 short, done": ("122b", "requests done", "uniform_short, 90 s", 4, 20, None),
    "004 mixed, done": ("122b", "requests done", "mixed_typical, 90 s", 4, 20, None),
    "004 long, four, done": ("122b", "requests done", "long_only_128k, 90 s", 4, 8, None),
    "004 long, two, done": ("122b", "requests done", "long_only_128k, 180 s", 2, 6, None),
    "004 all refused": ("122b", "requests done", "prompts one token too long, long_only_128k", 4, 0, None),
    "004 short, acceptance": ("122b", "draft acceptance %", "uniform_short, 90 s", 4, 76.13, None),
    "004 mixed, acceptance": ("122b", "draft acceptance %", "mixed_typical, 90 s", 4, 73.89, None),
    "004 long, four, acceptance": ("122b", "draft acceptance %", "long_only_128k, 90 s", 4, 75.89, None),
    "004 long, two, acceptance": ("122b", "draft acceptance %", "long_only_128k, 180 s", 2, 75.84, None),
    "004 long, two, p50": ("122b", "time to first token s", "long_only_128k, 180 s", 2, 20, None),
    "004 long, two, p95": ("122b", "time to first token p95 s", "long_only_128k, 180 s", 2, 112, None),
    "004 long, four, p50": ("122b", "time to first token s", "long_only_128k, 90 s", 4, 20.66, None),
    "004 long, four, p95": ("122b", "time to first token p95 s", "long_only_128k, 90 s", 4, 40.33, None),
    "004 long, two, decode": ("122b", "decode tok/s", "long_only_128k, 180 s", 2, 20.6, None),
    "004 long, four, decode": ("122b", "decode tok/s", "long_only_128k, 90 s", 4, 6.2, None),
    "004 weights": ("122b", "weights GiB", "NVFP4", 1, 76.02, None),
    "004 KV cache": ("122b", "KV cache GiB", "fp8, 128K, utilization 0.90", 1, 30.33, None),
    "004 KV tokens": ("122b", "KV cache tokens", "fp8, 128K, utilization 0.90", 1, 595_584, None),
    "004 concurrency": ("122b", "largest concurrency", "131072 tokens a request", 1, 12.89, None),
    "004 graphs": ("122b", "CUDA graphs GiB", "PIECEWISE", 1, 0.27, None),
    "004 compile": ("122b", "memory in use GiB", "torch.compile and FlashInfer", 1, 5, None),
    "004 container": ("122b", "memory in use GiB", "container, Python, scheduler", 1, 5, None),
    "004 all memory": ("122b", "memory in use GiB", "all of it", 1, 117, None),
    "004 power, idle": ("122b", "power W", "idle", 1, 3, 10),
    "004 power": ("122b", "power W", "full inference", 1, 150, 180),
    "004 a pair": ("122b", "aggregate tok/s", "a pair", 1, 70, None),
    "004 gain on JSON": ("122b", "draft speed-up x", "json", 1, 2.1, None),
    "004 gain on prose": ("122b", "draft speed-up x", "natural language", 1, 1.4, None),
    "004 four users": ("122b", "decode tok/s", "short prompts", 4, 16, None),
    "004 nvidia-smi": ("122b", "memory in use GiB", "by nvidia-smi", 1, 11, None),
    "004 CPU, idle": ("122b", "CPU %", "idle", 1, 3.22, None),
    "004 CPU": ("122b", "CPU %", "full inference", 1, 10, 20),
    "004 download": ("122b", "download s", "weights, 1 Gb/s", 1, 900, None),
    "004 KV cache at 32K": ("122b", "KV cache GiB", "fp8, 32K, utilization 0.90", 1, 31, None),
    "004 long, two, a request": ("122b", "seconds a request", "long_only_128k, 180 s", 2, 60, None),
    "004 long, four, a request": ("122b", "seconds a request", "long_only_128k, 90 s", 4, 52, None),
    "004 Albond v2": ("122b", "decode tok/s", "Albond v2: INT4 and FP8, INT8 head", 1, 51, None),
    "004 production, one": ("qwen3.6-35b", "decode tok/s", "json, FP8, in production", 1, 50, 60),
    "004 production, four": ("qwen3.6-35b", "aggregate tok/s", "FP8", 4, 80, 100),
    "001 serial": ("235b", "decode tok/s", "256 tokens", 1, 17.0, None),
    "001 serial, together": ("235b", "aggregate tok/s", "256 tokens", 1, 17.0, None),
    "001 two": ("235b", "decode tok/s", "256 tokens", 2, 12.1, None),
    "001 two, together": ("235b", "aggregate tok/s", "256 tokens", 2, 24.1, None),
    "001 four": ("235b", "decode tok/s", "256 tokens", 4, 9.1, None),
    "001 four, together": ("235b", "aggregate tok/s", "256 tokens", 4, 36.4, None),
    "001 prefix cache": ("235b", "prefix cache hits %", "the same system prompt again", 1, 97, None),
    "001 comparison, aggregate": ("235b", "aggregate tok/s", "", 1, 17, 36),
    "001 weights": ("235b", "weights GiB", "a node", 1, 57.64, None),
    "002 Ray": ("235b", "startup s", "Ray cluster", 1, 120, None),
    "002 weights": ("235b", "startup s", "weights, 118 GB", 1, 420, None),
    "002 graphs": ("235b", "startup s", "CUDA graphs and compile", 1, 300, None),
    "002 in all": ("235b", "startup s", "first answer", 1, 900, None),
    "002 120B on one": ("gpt-oss", "startup s", "total, 120B on one node", 1, 480, None),
    "003 stock": ("qwen3.5-35b", "decode tok/s", "stock image, no kernels for SM12x", 1, 13.3, None),
    "003 injected": ("qwen3.5-35b", "decode tok/s", "52 injected cubins, 600 tokens", 1, 48.6, None),
    "003 Spark-Arena": ("qwen3.5-35b", "decode tok/s", "tg128 of Spark-Arena", 1, 50.75, None),
    "003 eugr": ("qwen3.5-35b", "decode tok/s", "tg32", 1, 52.85, None),
    "003 eugr, prefill": ("qwen3.5-35b", "prefill tok/s", "pp2048", 1, 4240.97, None),
    "003 too little power": ("qwen3.5-35b", "decode tok/s", "tg32, a Spark with too little power", 1, 36.63, None),
    "003 too little power, prefill": (
        "qwen3.5-35b",
        "prefill tok/s",
        "pp2048, a Spark with too little power",
        1,
        2039.66,
        None,
    ),
    "003 BF16, 2": ("qwen3.5-35b", "decode tok/s", "BF16, prompt of 2 tokens", 1, 22.59, None),
    "003 BF16, 12288": ("qwen3.5-35b", "decode tok/s", "BF16, prompt of 12288 tokens", 1, 20.52, None),
    "003 BF16, 28672": ("qwen3.5-35b", "decode tok/s", "BF16, prompt of 28672 tokens", 1, 18.23, None),
    "003 BF16, 61440": ("qwen3.5-35b", "decode tok/s", "BF16, prompt of 61440 tokens", 1, 14.18, None),
    "000 fork": ("qwen3.6-27b", "decode tok/s", "mitkox/vllm-dflash-ddtree", 1, 136, 200),
}


# what the articles say beside a figure: model, metric, of, words of its note
REMARKS = {
    "004 no prefetch": ("122b", "startup s", "weights, cold", "41.40 GiB available"),
    "003 eugr": ("qwen3.5-35b", "decode tok/s", "tg32", "± 0.04, peak 54.57 ± 0.04"),
    "003 eugr, prefill": ("qwen3.5-35b", "prefill tok/s", "pp2048", "est_ppt 613.22, e2e_ttft 621.42 ± 332.18"),
    "003 too little power": (
        "qwen3.5-35b",
        "decode tok/s",
        "tg32, a Spark with too little power",
        "± 0.57, peak 37.82 ± 0.60",
    ),
    "003 too little power, prefill": (
        "qwen3.5-35b",
        "prefill tok/s",
        "pp2048, a Spark with too little power",
        "est_ppt 1082.63, e2e_ttft 1085.65 ± 319.33",
    ),
}


@pytest.mark.parametrize(("model", "metric", "of", "words"), REMARKS.values(), ids=REMARKS)
def test_remarks_on_the_figures(model: str, metric: str, of: str, words: str) -> None:
    assert words in figure(model, metric, of).note


@pytest.mark.parametrize("row", FIGURES.values(), ids=FIGURES)
def test_figures_of_the_articles(row: tuple[str, str, str, int, float, float | None]) -> None:
    model, metric, of, concurrency, value, high = row
    told = figure(model, metric, of, concurrency)
    assert (told.value, told.high) == (value, high)


# article 004: phase -> seconds, or from and to, cold and with warm caches
STARTUP = {
    "CUDA and tokenizer": (20, 20),
    "weights": (501, 557),
    "draft weights": (73, 84),
    "torch.compile": (36.5, 10.1),
    "torch.compile of the draft": (6.6, 0.25),
    "FlashInfer autotune": (10, 8),
    "CUDA graphs": ((12, 17), (11, 15)),
    "total": (720, 720),
}


@pytest.mark.parametrize("phase", STARTUP)
def test_article_004_s_startup(phase: str) -> None:
    told = [figure("122b", "startup s", f"{phase}, {state}") for state in ("cold", "warm")]
    assert tuple((each.value, each.high) if each.high else each.value for each in told) == STARTUP[phase]


# what was typed, word by word: model, title of its launch, text
TYPED = {
    "article 003": (
        "qwen3.5-35b-a3b",
        "one Spark, image with injected kernels, FP8 on the fly",
        test_launch.INJECTED,
    ),
    "article 003, the thread": (
        "qwen3.5-35b-a3b",
        "one Spark, eugr's image, BF16 from a local folder",
        test_launch.ASKED,
    ),
    "article 004": ("qwen3.5-122b-a10b", "one Spark, 128K context, draft of two tokens", test_launch.LARGE),
}


@pytest.mark.parametrize(("name", "title", "text"), TYPED.values(), ids=TYPED)
def test_a_launch_that_an_article_types_is_all_in_the_catalogue(name: str, title: str, text: str) -> None:
    (typed,) = launch.read(text)
    (kept,) = [each for each in KNOWN.models[name].launches if each.title == title]
    assert values(arguments.read(kept.arguments()).flags) == values(typed.flags)
    assert kept.environment == typed.environment
    assert options(kept.container) == options(text.partition("docker run")[2])
    assert typed.container is None or typed.container.image == kept.image


def values(flags: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers as numbers: the catalogue's 0.90 is typed as 0.9."""
    return {name: yaml.safe_load(value) if isinstance(value, str) else value for name, value in flags.items()}


def options(text: str) -> dict[str, list[str]]:
    """Those of docker that are of the server; the environment is a field of its own."""
    found = container.options(shlex.split(text.replace("\\\n", " ")))[0]
    return {name: given for name, given in found.items() if name not in ("detach", "name", "env")}


# what was told of a launch: model, source, nodes, flags that must be among the launch's, variables
LAUNCHES: dict[str, tuple[str, str, int, dict[str, Any], dict[str, str]]] = {
    "article 001": (
        "qwen3-235b-a22b",
        "article-001",
        2,
        {
            "tensor-parallel-size": 2,
            "enable-expert-parallel": True,
            "attention-backend": "TRITON_ATTN",
            "quantization": "gptq_marlin",
            "kv-cache-dtype": "fp8",
            "gpu-memory-utilization": 0.87,
            "distributed-executor-backend": "ray",
        },
        {},
    ),
    "article 004, eugr's recipe for a pair": (
        "qwen3.5-122b-a10b",
        "article-004",
        2,
        {"tensor-parallel-size": 2},
        {},
    ),
    "peers.md section 5.6": (
        "qwen3.6-35b-a3b",
        "nvidia-playbook",
        1,
        {
            "kv-cache-dtype": "fp8",
            "attention-backend": "flashinfer",
            "moe-backend": "marlin",
            "gpu-memory-utilization": 0.4,
            "load-format": "fastsafetensors",
            "speculative-config": {"method": "mtp", "num_speculative_tokens": 3, "moe_backend": "triton"},
        },
        {},
    ),
}


@pytest.mark.parametrize("case", LAUNCHES.values(), ids=LAUNCHES)
def test_launches_of_the_articles(case: tuple[str, str, int, dict[str, Any], dict[str, str]]) -> None:
    name, source, nodes, flags, variables = case
    fitting = [each for each in KNOWN.models[name].launches if (each.source, each.nodes) == (source, nodes)]
    assert any(
        flags.items() <= each.flags.items() and variables.items() <= each.environment.items() for each in fitting
    )


def test_a_fork_of_vllm_is_not_taken_for_an_image() -> None:
    (fork,) = found("Qwen3.6-27B").launches
    assert (fork.image, "mitkox/vllm-dflash-ddtree" in fork.note) == ("", True)
    assert not re.search(r"^ +image *$", run("show", "qwen3.6-27b").stdout, re.MULTILINE)


def test_eugr_s_recipe_of_article_003() -> None:
    typed = [each.typed for each in found("Qwen/Qwen3.5-35B-A3B").launches]
    assert "./run-recipe.sh recipes/qwen3.5-35b-a3b-fp8.yaml --setup --solo" in typed


# what articles claim, and whether something stands against it: model, words
CLAIMS = {
    "000: no 72B": ("qwen3.6-27b", "no Qwen3.6-72B", False),
    "000: 122B is pure MoE": ("qwen3.5-122b-a10b", "pure MoE", True),
    "000: 35B is pure MoE": ("qwen3.6-35b-a3b", "pure MoE", True),
    "000: 397B fits a pair": ("qwen3.5-397b-a17b", "fits a pair", True),
    "001: NVFP4 is the only path": ("qwen3.5-122b-a10b", "NVFP4 is the only", True),
    "001: the only verified checkpoint": ("qwen3.5-122b-a10b", "bjk110", True),
    "003: rebuild loads Qwen3-0.6B": ("qwen3.5-35b-a3b", "Qwen3-0.6B", True),
    "003: SM120 is the datacenter's": ("qwen3.5-35b-a3b", "datacenter", True),
    "004: FLASHINFER_CUTLASS": ("qwen3.5-122b-a10b", "VLLM_USE_FLASHINFER_MOE_FP4=0", True),
    "004: three draft tokens": ("qwen3.5-122b-a10b", "three draft tokens", False),
    "004: prefix caching is experimental": ("qwen3.5-122b-a10b", "experimental", True),
}


@pytest.mark.parametrize(("name", "words", "contested"), CLAIMS.values(), ids=CLAIMS)
def test_claims_of_the_articles(name: str, words: str, contested: bool) -> None:
    claim = next(each for each in KNOWN.models[name].claims if words in each.says)
    assert bool(claim.against) is bool(claim.against_source) is contested


MENTIONED = ("Qwen3-Coder-30B-A3B", "Qwen3-Next-80B-A3B", "Mixtral-8x7B", "Qwen3.5-35B-A3B")


@pytest.mark.parametrize("title", MENTIONED)
def test_models_that_the_articles_mention(title: str) -> None:
    assert found(title).title == title


def found(wanted: str) -> Model:
    model = KNOWN.find(wanted)
    assert model, f"{wanted} is not in the catalogue"
    return model


def figure(model: str, metric: str, of: str, concurrency: int = 1) -> Figure:
    (name,) = [each for each in KNOWN.models if model in each]
    (told,) = [
        each
        for each in KNOWN.models[name].figures
        if (each.metric, each.of, each.concurrency) == (metric, of, concurrency)
    ]
    return told


# --- the catalogue as a whole


@pytest.mark.parametrize("name", KNOWN.models)
def test_the_declared_nodes_are_what_the_budget_says(name: str) -> None:
    model = KNOWN.models[name]
    assert fewest_nodes(model, model.best(), Use()) in (model.nodes, None)


@pytest.mark.parametrize("name", KNOWN.models)
def test_a_file_names_its_schema(name: str) -> None:
    first = (catalogue_files.FOLDER / f"{name}.yaml").read_text().splitlines()[0]
    assert first == "# yaml-language-server: $schema=../docs/schema/model-file.json"


def test_no_source_is_without_use() -> None:
    used = {key for model in KNOWN.models.values() for key in model.sources()}
    assert set(KNOWN.sources) == used


def test_no_checkpoint_is_of_two_models() -> None:
    ids = [each.id.lower() for model in KNOWN.models.values() for each in model.checkpoints]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize(
    ("wanted", "name"),
    [
        ("gpt-oss-120b", "gpt-oss-120b"),
        ("openai/gpt-oss-120b", "gpt-oss-120b"),
        ("OpenAI/GPT-OSS-120B", "gpt-oss-120b"),
        ("/models/gpt-oss-120b/", "gpt-oss-120b"),
        ("nvidia/Qwen3-235B-A22B-NVFP4", "qwen3-235b-a22b"),
        ("Qwen3-235B-A22B", "qwen3-235b-a22b"),
        ("/data/Qwen3.5-122B-A10B-NVFP4", "qwen3.5-122b-a10b"),
        ("/data/Qwen3.5-122B-A10B-NVFP4-Sehyo", "qwen3.5-122b-a10b"),
        ("gpt-oss", None),
        ("", None),
        ("/", None),
    ],
)
def test_a_model_is_found_by_name_title_checkpoint_and_path(wanted: str, name: str | None) -> None:
    model = find(KNOWN.models.values(), wanted)
    assert (model.name if model else None) == name


@pytest.mark.parametrize(
    ("wanted", "id"),
    [
        ("qwen3.5-122b-a10b", "Sehyo/Qwen3.5-122B-A10B-NVFP4"),
        ("Qwen3.5-122B-A10B", "Sehyo/Qwen3.5-122B-A10B-NVFP4"),
        ("qwen/qwen3.5-122b-a10b", "Qwen/Qwen3.5-122B-A10B"),
        ("txn545/Qwen3.5-122B-A10B-NVFP4", "txn545/Qwen3.5-122B-A10B-NVFP4"),
        ("/models/Qwen3.5-122B-A10B-NVFP4-txn545/", "txn545/Qwen3.5-122B-A10B-NVFP4"),
        ("/srv/models/txn545/Qwen3.5-122B-A10B-NVFP4", "txn545/Qwen3.5-122B-A10B-NVFP4"),
        ("/models/SPARK_Qwen3.5-122B-A10B-NVFP4", "bjk110/SPARK_Qwen3.5-122B-A10B-NVFP4"),
        ("/models/Qwen3.5-122B-A10B", "Sehyo/Qwen3.5-122B-A10B-NVFP4"),
    ],
)
def test_which_checkpoint_is_meant(wanted: str, id: str) -> None:
    assert KNOWN.models["qwen3.5-122b-a10b"].checkpoint(wanted).id == id


VERDICTS = {
    "neither": (
        ("Qwen/Qwen3.5-122B-A10B",),
        "does not fit a pair: the weights leave no KV cache on each",
    ),
    "the pair alone": (("qwen3-235b-a22b",), "does not fit one Spark: the weights leave no KV cache"),
    "too long": (
        ("mixtral-8x7b", "--context", "262144"),
        "does not fit one Spark: a sequence of 262,144 tokens takes 16 GiB",
    ),
    "one of four": (
        ("mixtral-8x7b", "--context", "131072"),
        "tight on one Spark: 4 sequences of 131,072 tokens take 32 GiB",
    ),
    "a guess": (
        ("RedHatAI/Qwen3.5-122B-A10B-NVFP4",),
        "no source says how large the weights are, and 4.5 bits for each is the least",
    ),
}


@pytest.mark.parametrize(("words", "said"), VERDICTS.values(), ids=VERDICTS)
def test_verdicts_of_a_page(words: tuple[str, ...], said: str) -> None:
    assert said in " ".join(run("show", *words).stdout.split())


def test_the_words_of_a_launch() -> None:
    told = Launch(
        title="a test",
        checkpoint="",
        image="vllm",
        flags={"port": 8000, "trust-remote-code": True, "enforce-eager": False, "x": {"a": 1, "b": False}},
        source="a test",
    )
    assert told.arguments() == ["--port", "8000", "--trust-remote-code", "--x", '{"a":1,"b":false}']


BROKEN = {
    "no number": (
        "weights_gib: 87",
        "weights_gib: much",
        "checkpoints.0.weights_gib: Input should be a valid number",
    ),
    "a size of nothing": (
        "weights_gib: 87",
        "weights_gib: 0",
        "checkpoints.0.weights_gib: Input should be greater than 0",
    ),
    "an unknown field": ("nodes: 1", "nodes: 1\nspeed: 9", "speed: Extra inputs are not permitted"),
    "a field that is missing": ("active_b: 12.9\n", "", "active_b: Field required"),
    "three nodes": ("nodes: 1", "nodes: 3", "nodes: Input should be 1 or 2"),
    "a format": ("format: bf16", "format: int3", "checkpoints.0.format: Input should be 'bf16'"),
    "a kind of layers": ("kind: full", "kind: fall", "shape.layers.0: Input tag 'fall'"),
    "no layers": ("count: 32", "count: 0", "shape.layers.0.full.count: Input should be greater than 0"),
    "a source": ("source: shape-mixtral", "source: hearsay", "nothing is known of the source hearsay"),
    "another name": ("name: mixtral-8x7b", "name: mixtral", "the name is mixtral, mixtral-8x7b expected"),
    "no YAML": ("name: mixtral-8x7b", "name: [", "is no YAML"),
    "no fields": (None, "just words", "fields with their values expected"),
    "a checkpoint of a figure": (
        "shape:",
        "figures: [{metric: power W, value: 1, checkpoint: a/b, source: article-000}]\nshape:",
        "the file: a/b is none of its checkpoints",
    ),
    "a range": (
        "shape:",
        "figures: [{metric: power W, value: 9, high: 1, source: article-000}]\nshape:",
        "figures.0: the range ends at 1, below 9",
    ),
}


@pytest.mark.parametrize("case", BROKEN.values(), ids=BROKEN)
def test_a_file_that_says_what_it_may_not_is_refused(
    case: tuple[str | None, str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new, said = case
    file = copied(tmp_path, monkeypatch) / "mixtral-8x7b.yaml"
    text = file.read_text()
    assert old is None or old in text
    file.write_text(text.replace(old, new) if old else new)
    done = run()
    assert done.exit_code == 1 and done.stdout == ""
    assert said in done.stderr and "mixtral-8x7b.yaml" in done.stderr and "Try: " in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_catalogue_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refusal, match=r"sources\.yaml cannot be read: no such file"):
        catalogue_files.catalogue(tmp_path / "models")
    (tmp_path / "sources.yaml").write_text("{}")
    with pytest.raises(Refusal, match="there is no model in"):
        catalogue_files.catalogue(tmp_path)
    assert catalogue_files.names(tmp_path / "models") == []


def test_a_source_that_is_broken_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = copied(tmp_path, monkeypatch) / "sources.yaml"
    file.write_text(file.read_text() + "\nlater:\n  where: here\n  day: soon\n")
    with pytest.raises(Refusal, match=r"sources\.yaml: later\.day: Input should be a valid date"):
        catalogue_files.catalogue(file.parent)


def copied(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A catalogue of one model, which is all that the verb sees."""
    made = folder / "models"
    made.mkdir()
    for name in ("mixtral-8x7b.yaml", "sources.yaml"):
        shutil.copy(catalogue_files.FOLDER / name, made)
    monkeypatch.setattr(catalogue_files.catalogue, "__defaults__", (made,))
    return made


# --- the verb


def run(*words: str) -> Result:
    return CliRunner().invoke(verb.models, words)


def test_the_list_says_what_fits_where() -> None:
    lines = run().stdout.splitlines()
    order = [
        next(number for number, line in enumerate(lines) if part in line)
        for part in (
            "Fits one Spark",
            " gpt-oss-120b ",
            "Needs the pair",
            " qwen3-235b-a22b ",
            "Fits neither",
            "397b",
        )
    ]
    assert order == sorted(order)
    assert max(map(len, lines)) <= 80
    assert all(any(f" {name} " in line for line in lines) for name in KNOWN.models)


def test_a_longer_context_leaves_less() -> None:
    row = {use: cells("qwen3-235b-a22b", *use) for use in ((), ("--context", "131072"), ("--utilization", "0.5"))}
    assert row[()][-2] == "28"
    assert row["--context", "131072"][-2] == "7"
    assert row["--utilization", "0.5"] == []  # it moved


def cells(name: str, *words: str) -> list[str]:
    """The row of a model that needs the pair."""
    part = run(*words).stdout.partition("Needs the pair")[2].partition("Fits neither")[0]
    return next((line.split() for line in part.splitlines() if f" {name} " in line), [])


def test_a_page_has_all_of_a_model() -> None:
    shown = run("show", "qwen3.5-122b-a10b", "--context", "131072", "--utilization", "0.9", "--draft", "2").stdout
    for text in (
        "weights         76 GiB",
        "608,256",
        "fits one Spark: 4 sequences of 131,072 tokens take 9.2 GiB",
        "fits a pair: 4 sequences of 131,072 tokens take ",
        "bjk110/SPARK_Qwen3.5-122B-A10B-NVFP4",
        """--speculative-config '{"method":"mtp","num_speculative_tokens":2}'""",
        "json: 30.7-31",
        "against it: 36 of its 48 layers are Gated DeltaNet",
        "2026-04-25",
    ):
        assert text in shown
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize("words", [(), ("show", "gpt-oss-120b")], ids=["list", "page"])
def test_too_much_of_the_memory_is_said(words: tuple[str, ...]) -> None:
    said = "above 0.9 of utilization a Spark runs out of memory"
    assert said in " ".join(run(*words, "--utilization", "0.91").stdout.split())
    assert said not in " ".join(run(*words, "--utilization", "0.90").stdout.split())


@pytest.mark.parametrize("name", KNOWN.models)
def test_a_command_can_be_copied_from_80_columns(name: str) -> None:
    """The shell reads the same words as were recorded, whatever the lines."""
    shown = run("show", name).stdout
    typed = [shlex.split(each.replace("\\\n", "")) for each in re.findall(r"vllm serve (?:.*\\\n)*.*", shown)]
    for each in KNOWN.models[name].launches:
        words = ["vllm", "serve", each.checkpoint, *each.arguments()]
        assert not each.flags or words in typed, each.title


def test_a_bad_checkpoint_says_why() -> None:
    shown = " ".join(run("show", "nvidia/Qwen3-235B-A22B-NVFP4").stdout.split())
    assert "do not use: vLLM cannot parse it (vLLM issue 22906)" in shown


@pytest.mark.parametrize("name", KNOWN.models)
@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_every_page_can_be_drawn(name: str, encoding: str) -> None:
    for drawing in (
        Page(KNOWN.models[name], KNOWN.models[name].best(), KNOWN.sources, Use()),
        Listing([KNOWN.models[name]], Use()),
    ):
        console = Console(width=80)
        options = console.options
        options.encoding = encoding
        text = "".join(part.text for part in console.render(drawing, options))
        assert name in text or KNOWN.models[name].title in text
        assert encoding != "ascii" or text.isascii()


ERRORS = {
    "an unknown model": (
        ("show", "gpt-oss-120"),
        "no model and no checkpoint gpt-oss-120. Try: sparkrig models show gpt-oss-120b",
    ),
    "a model that there is not": (
        ("show", "Qwen/Qwen3.6-72B"),
        "Qwen3.6-72B: there is no Qwen3.6-72B; the family ends at 27B dense and 35B-A3B (May 2026). "
        "Try: sparkrig models show qwen3.6-27b",
    ),
    "nothing like it": (("show", "xyz"), "no model and no checkpoint xyz. Try: sparkrig models"),
    "an option too early": (("--context", "5", "show", "gpt-oss-120b"), "--context belongs behind NAME"),
    "json too early": (("--json", "show", "gpt-oss-120b"), "--json belongs behind NAME"),
    "a share of more than all": (("--utilization", "1.5"), "1.5 is not in the range"),
    "no context": (("--context", "0"), "0 is not in the range"),
    "another cache": (("--kv-cache", "int4"), "'int4' is not one of"),
}


@pytest.mark.parametrize(("words", "said"), ERRORS.values(), ids=ERRORS)
def test_errors_say_what_to_try(words: tuple[str, ...], said: str) -> None:
    done = run(*words)
    assert done.exit_code != 0 and said in done.stderr


def test_show_may_be_left_out() -> None:
    assert run("gpt-oss-120b").stdout == run("show", "gpt-oss-120b").stdout
    assert "Try: sparkrig models show gpt-oss-120b" in run("gpt-oss-120").stderr


def test_json_has_every_number_that_the_screen_has() -> None:
    words = ("--context", "131072", "--utilization", "0.9", "--draft", "2", "--json")
    document = json.loads(run("show", "Sehyo/Qwen3.5-122B-A10B-NVFP4", *words).stdout)
    (listed,) = document["models"]
    assert document["use"]["context"] == 131072
    assert listed["fewest_nodes"] == 1
    room = listed["rooms"][0]
    assert (room["checkpoint"], room["nodes"], room["tokens"]) == ("Sehyo/Qwen3.5-122B-A10B-NVFP4", 1, 608_256)
    assert len(listed["rooms"]) == 2 * len(listed["model"]["checkpoints"])
    assert set(document["sources"]) == KNOWN.models["qwen3.5-122b-a10b"].sources()


def test_json_without_a_name_has_all_models() -> None:
    document = json.loads(run("--json").stdout)
    assert [each["model"]["name"] for each in document["models"]] == list(KNOWN.models)


def test_nothing_of_pyinfra_is_loaded() -> None:
    code = (
        "import sys\nfrom click.testing import CliRunner\nfrom sparkrig.command.models import models\n"
        "assert not {'rich', 'pydantic', 'yaml'} & set(sys.modules)\n"
        "assert CliRunner().invoke(models, []).exit_code == 0\n"
        "assert not {'pyinfra', 'paramiko', 'gevent'} & {name.split('.')[0] for name in sys.modules}\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_the_table_of_models_is_current() -> None:
    text = MODELS.read_text(encoding="utf-8")
    assert text == with_models(text), "make docs"
