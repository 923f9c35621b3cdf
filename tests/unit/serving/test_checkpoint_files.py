"""Models made from the files of public checkpoints (tests/fixtures/checkpoints), each beside a sum by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sparkrig.io.catalogue_files import catalogue
from sparkrig.serving.budget import GIB, Use, budget
from sparkrig.serving.checkpoint import blocks, files, parameters
from sparkrig.serving.checkpoint.config import Config, Unreadable
from sparkrig.serving.model import Full, Latent, Layers, Model, Recurrent, Sliding
from tests.tables import each_row

FOLDER = Path(__file__).parents[2] / "fixtures" / "checkpoints"


def text(name: str, file: str = "config.json") -> str:
    path = FOLDER / name.replace("/", "--") / file
    return path.read_text(encoding="utf-8") if path.exists() else ""


def made(id: str, **changed: Any) -> Model:
    index = text(id, "model.safetensors.index.json")
    given = files.Files(text(id), index, text(id, "hf_quant_config.json"))
    return files.read(id, files.Files(**{**given.__dict__, **changed}))


def total(id: str) -> parameters.Parameters:
    config = Config.of(text(id))
    return parameters.parameters(config, blocks.blocks(config, []), [])


def full(count: int, kv_heads: int, head_dim: int) -> Full:
    return Full(kind="full", count=count, kv_heads=kv_heads, head_dim=head_dim)


def sliding(count: int, kv_heads: int, head_dim: int, window: int) -> Sliding:
    return Sliding(kind="sliding", count=count, kv_heads=kv_heads, head_dim=head_dim, window=window)


def latent(count: int, width: int) -> Latent:
    return Latent(kind="latent", count=count, width=width)


def recurrent(count: int, state: int, channels: int) -> Recurrent:
    return Recurrent(kind="recurrent", count=count, state=state, channels=channels)


def moe(count: int, each: int, chosen: int, beside: int = 0) -> tuple[int, int]:
    """Of one layer: all experts, and those of one token; beside: router and shared experts."""
    return count * each + beside, chosen * each + beside


def by_id(table: Mapping[str, tuple[Any, ...]]) -> dict[str, tuple[Any, ...]]:
    return {id: (id, *row) for id, row in table.items()}


# --- parameters: a sum by hand for each family


def gated(hidden: int, width: int) -> int:
    return 3 * hidden * width


def attention(hidden: int, heads: int, kv: int, width: int) -> int:
    """Queries and way out of `heads`, keys and values of `kv`."""
    return hidden * width * (2 * heads + 2 * kv)


def gdn(hidden: int, keys: int, values: int, heads: int) -> int:
    """Gated DeltaNet: in (q, k, v, z; b, a), a convolution of 4 over q, k, v, and out."""
    return hidden * (2 * keys + 2 * values + 2 * heads) + 4 * (2 * keys + values) + values * hidden


def mamba2(hidden: int, inner: int, groups: int, state: int, heads: int) -> int:
    mixed = inner + 2 * groups * state
    return hidden * (inner + mixed + heads) + 4 * mixed + inner * hidden


def mla(hidden: int, heads: int, low: int, rank: int, plain: int, values: int, rope: int = 64) -> int:
    query = hidden * low + low * heads * (plain + rope)
    return query + hidden * (rank + rope) + rank * heads * (plain + values) + heads * values * hidden


def two(one: tuple[int, int], count: int, more: int) -> parameters.Parameters:
    return parameters.Parameters(more + count * one[0], more + count * one[1])


def dense(count: int) -> parameters.Parameters:
    return parameters.Parameters(count, count)


QWEN3_MOE = two(
    moe(128, gated(2048, 768), 8, beside=2048 * 128), 48, 48 * attention(2048, 32, 4, 128) + 2 * 151936 * 2048
)
SUMS = {
    "Qwen/Qwen3-8B": dense(36 * (attention(4096, 32, 8, 128) + gated(4096, 12288)) + 2 * 151936 * 4096),
    "meta-llama/Llama-3.3-70B-Instruct": dense(
        80 * (attention(8192, 64, 8, 128) + gated(8192, 28672)) + 2 * 128256 * 8192
    ),
    "jpacifico/Chocolatine-3B-Instruct-DPO-Revised": dense(
        32 * (attention(3072, 32, 32, 96) + gated(3072, 8192)) + 2 * 32064 * 3072
    ),
    "cognitivecomputations/Dolphin3.0-Mistral-24B": dense(
        40 * (attention(5120, 32, 8, 128) + gated(5120, 32768)) + 2 * 131074 * 5120
    ),
    "google/medgemma-27b-it": dense(62 * (attention(5376, 32, 16, 128) + gated(5376, 21504)) + 262208 * 5376),
    "Qwen/Qwen3-30B-A3B": QWEN3_MOE,
    "Qwen/Qwen3-VL-30B-A3B-Instruct": QWEN3_MOE,
    "mistralai/Mixtral-8x7B-v0.1": two(
        moe(8, gated(4096, 14336), 2, 4096 * 8), 32, 32 * attention(4096, 32, 8, 128) + 2 * 32000 * 4096
    ),
    "openai/gpt-oss-120b": two(
        moe(128, gated(2880, 2880), 4, 2880 * 128), 36, 36 * attention(2880, 64, 8, 64) + 2 * 201088 * 2880
    ),
    "zai-org/GLM-4.5-Air": two(
        moe(128, gated(4096, 1408), 8, 4096 * 128 + gated(4096, 1408)),
        45,
        46 * attention(4096, 96, 8, 128) + gated(4096, 10944) + 2 * 151552 * 4096,
    ),
    "MiniMaxAI/MiniMax-M2.7": two(
        moe(256, gated(3072, 1536), 8, 3072 * 256), 62, 62 * attention(3072, 48, 8, 128) + 2 * 200064 * 3072
    ),
    "deepseek-ai/DeepSeek-V3": two(
        moe(256, gated(7168, 2048), 8, 7168 * 256 + gated(7168, 2048)),
        58,
        61 * mla(7168, 128, 1536, 512, 128, 128) + 3 * gated(7168, 18432) + 2 * 129280 * 7168,
    ),
    # gated attention: queries twice
    "Qwen/Qwen3-Next-80B-A3B-Thinking": two(
        moe(512, gated(2048, 512), 10, 2048 * 512 + gated(2048, 512)),
        48,
        12 * 2048 * 256 * (3 * 16 + 2 * 2) + 36 * gdn(2048, 2048, 4096, 32) + 2 * 151936 * 2048,
    ),
    "Qwen/Qwen3.5-122B-A10B": two(
        moe(256, gated(3072, 1024), 8, 3072 * 256 + gated(3072, 1024)),
        48,
        12 * 3072 * 256 * (3 * 32 + 2 * 2) + 36 * gdn(3072, 2048, 8192, 64) + 2 * 248320 * 3072,
    ),
    "nvidia/Qwen3.6-27B-NVFP4": dense(
        16 * 5120 * 256 * (3 * 24 + 2 * 4)
        + 48 * gdn(5120, 2048, 6144, 48)
        + 64 * gated(5120, 17408)
        + 2 * 248320 * 5120
    ),
    # a dense feed-forward beside the experts; keys are the values of its global layers
    "google/gemma-4-26B-A4B": two(
        moe(128, gated(2816, 704), 8, 2816 * 128 + gated(2816, 2112)),
        30,
        25 * attention(2816, 16, 8, 256) + 5 * 2816 * 512 * (2 * 16 + 2) + 262144 * 2816,
    ),
    # one part a layer, a feed-forward of two matrices
    "nvidia/Nemotron-H-56B-Base-8K": dense(
        54 * mamba2(8192, 16384, 8, 256, 256)
        + 10 * attention(8192, 64, 8, 128)
        + 54 * 2 * 8192 * 32768
        + 2 * 131072 * 8192
    ),
    "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4": two(
        moe(128, 2 * 2688 * 1856, 6, 2688 * 128 + 2 * 2688 * 3712),
        23,
        23 * mamba2(2688, 4096, 8, 128, 64) + 6 * attention(2688, 32, 2, 128) + 2 * 131072 * 2688,
    ),
    # experts in a latent space of 1,024
    "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4": two(
        moe(512, 2 * 1024 * 2688, 22, 4096 * 512 + 2 * 4096 * 5376 + 2 * 4096 * 1024),
        40,
        40 * mamba2(4096, 8192, 8, 128, 128) + 8 * attention(4096, 32, 2, 128) + 2 * 131072 * 4096,
    ),
    "stepfun-ai/Step-3.7-Flash-NVFP4": two(
        moe(288, gated(4096, 1280), 8, 4096 * 288 + gated(4096, 1280)),
        42,
        12 * attention(4096, 64, 8, 128)
        + 33 * attention(4096, 96, 8, 128)
        + 3 * gated(4096, 11264)
        + 2 * 128896 * 4096,
    ),
    "moonshotai/Kimi-K2.5": two(
        moe(384, gated(7168, 2048), 8, 7168 * 384 + gated(7168, 2048)),
        60,
        61 * mla(7168, 64, 1536, 512, 128, 128) + gated(7168, 18432) + 2 * 163840 * 7168,
    ),
}


def test_parameters_are_those_of_a_sum_by_hand() -> None:
    def holds(id: str) -> None:
        assert total(id) == SUMS[id]

    each_row([*SUMS], holds)


# what the publishers call their models, in billions
PUBLISHED = {
    "Qwen/Qwen3-8B": (8.2, 8.2),
    "Qwen/Qwen3-30B-A3B": (30.5, 3.3),
    "Qwen/Qwen3-235B-A22B": (235, 22),
    "Qwen/Qwen3.5-122B-A10B": (122, 10),
    "Qwen/Qwen3.5-397B-A17B": (397, 17),
    "Qwen/Qwen3-Next-80B-A3B-Thinking": (80, 3.9),
    "meta-llama/Llama-3.3-70B-Instruct": (70.6, 70.6),
    "mistralai/Mixtral-8x7B-v0.1": (46.7, 12.9),
    "openai/gpt-oss-120b": (117, 5.7),
    "zai-org/GLM-4.5-Air": (106, 12),
    "zai-org/GLM-5": (744, 40),
    "MiniMaxAI/MiniMax-M2.7": (229, 10),
    "deepseek-ai/DeepSeek-V3": (671, 37),
    "deepseek-ai/DeepSeek-V4-Flash": (284, 13),
    "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4": (31.6, 3.6),
    "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4": (120, 12.7),
    "nvidia/Nemotron-H-56B-Base-8K": (56, 56),
    "google/gemma-4-26B-A4B": (25.2, 3.8),
    "stepfun-ai/Step-3.7-Flash-NVFP4": (196, 11),
    "moonshotai/Kimi-K2.5": (1026, 32),
}


def test_parameters_are_near_what_the_publishers_say() -> None:
    def holds(id: str, whole: float, active: float) -> None:
        model = made(id)
        assert model.parameters_b == pytest.approx(whole, rel=0.02)
        assert model.active_b == pytest.approx(active, rel=0.12)
        assert any("estimated" in each for each in model.assumed)

    each_row(by_id(PUBLISHED), holds)


def test_a_width_may_hold_gate_and_up_together() -> None:
    """Molmo-7B-D-0924's config.json [@molmo]: 7.6 billion without its vision part, and not 13.3."""
    config = changed(
        model_type="molmo",
        architectures=["MolmoForCausalLM"],
        hidden_size=3584,
        intermediate_size=37888,
        num_hidden_layers=28,
        num_attention_heads=28,
        num_key_value_heads=4,
        head_dim=None,
        vocab_size=152064,
        tie_word_embeddings=False,
    )
    by_hand = 28 * (gated(3584, 37888 // 2) + attention(3584, 28, 4, 128)) + 2 * 152064 * 3584
    assert files.read("a/b", files.Files(config)).parameters_b == pytest.approx(by_hand / 1e9, rel=0.01)


def test_files_in_16_bits_hold_what_is_counted() -> None:
    def holds(id: str, rel: float) -> None:
        held = json.loads(text(id, "model.safetensors.index.json"))["metadata"]["total_size"] / 2
        assert total(id).total == pytest.approx(held, rel=rel)

    rows = {
        "Qwen/Qwen3-30B-A3B": (1e-4,),
        "meta-llama/Llama-3.3-70B-Instruct": (1e-4,),
        "mistralai/Mixtral-8x7B-v0.1": (1e-4,),
        "jpacifico/Chocolatine-3B-Instruct-DPO-Revised": (1e-4,),
        "google/medgemma-27b-it": (0.02,),  # its vision part has 0.4 billion
    }
    each_row(by_id(rows), holds)


# --- shapes: (layers of the KV cache, of the draft, architecture, longest sequence)

SHAPES: dict[str, tuple[tuple[Layers, ...], int, str, int]] = {
    "Qwen/Qwen3-8B": ((full(36, 8, 128),), 0, "dense", 40960),
    "Qwen/Qwen3-30B-A3B": ((full(48, 4, 128),), 0, "moe", 40960),
    "Qwen/Qwen3-VL-30B-A3B-Instruct": ((full(48, 4, 128),), 0, "moe", 262144),
    "meta-llama/Llama-3.3-70B-Instruct": ((full(80, 8, 128),), 0, "dense", 131072),
    "cognitivecomputations/Dolphin3.0-Mistral-24B": ((full(40, 8, 128),), 0, "dense", 32768),
    "mistralai/Mixtral-8x7B-v0.1": ((full(32, 8, 128),), 0, "moe", 32768),
    "openai/gpt-oss-120b": ((full(18, 8, 64), sliding(18, 8, 64, 128)), 0, "moe", 131072),
    "zai-org/GLM-4.5-Air": ((full(46, 8, 128),), 1, "moe", 131072),
    "zai-org/GLM-5": ((latent(78, 576), latent(78, 132)), 1, "moe", 202752),
    "MiniMaxAI/MiniMax-M2.7": ((full(62, 8, 128),), 3, "moe", 204800),
    "deepseek-ai/DeepSeek-V3": ((latent(61, 512 + 64),), 1, "moe", 4096 * 40),
    "deepseek-ai/DeepSeek-V3.2": ((latent(61, 576), latent(61, 128 + 4)), 1, "moe", 163840),
    "moonshotai/Kimi-K2.5": ((latent(61, 576),), 0, "moe", 262144),
    "Qwen/Qwen3-Next-80B-A3B-Thinking": (
        (full(12, 2, 256), recurrent(36, 32 * 128 * 128, 2 * 16 * 128 + 32 * 128)),
        0,
        "moe hybrid",
        262144,
    ),
    "Qwen/Qwen3.5-122B-A10B": (
        (full(12, 2, 256), recurrent(36, 64 * 128 * 128, 2 * 16 * 128 + 64 * 128)),
        1,
        "moe hybrid",
        262144,
    ),
    "nvidia/Qwen3.6-27B-NVFP4": (
        (full(16, 4, 256), recurrent(48, 48 * 128 * 128, 2 * 16 * 128 + 48 * 128)),
        1,
        "dense hybrid",
        262144,
    ),
    # five layers in six slide
    "google/medgemma-27b-it": ((full(10, 16, 128), sliding(52, 16, 128, 1024)), 0, "dense", 131072),
    "google/gemma-4-26B-A4B": ((full(5, 2, 512), sliding(25, 8, 256, 1024)), 0, "moe", 262144),
    "nvidia/Gemma-4-31B-IT-NVFP4": ((full(10, 4, 512), sliding(50, 16, 256, 1024)), 0, "dense", 262144),
    "jpacifico/Chocolatine-3B-Instruct-DPO-Revised": ((sliding(32, 32, 96, 2047),), 0, "dense", 4096),
    "nvidia/Nemotron-H-56B-Base-8K": (
        (full(10, 8, 128), recurrent(54, 256 * 64 * 256, 256 * 64 + 2 * 8 * 256)),
        0,
        "dense hybrid",
        8192,
    ),
    "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4": (
        (full(6, 2, 128), recurrent(23, 64 * 64 * 128, 64 * 64 + 2 * 8 * 128)),
        0,
        "moe hybrid",
        262144,
    ),
    "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4": (
        (full(8, 2, 128), recurrent(40, 128 * 64 * 128, 128 * 64 + 2 * 8 * 128)),
        1,
        "moe hybrid",
        262144,
    ),
    "nvidia/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-NVFP4": (
        (full(6, 2, 128), recurrent(23, 64 * 64 * 128, 64 * 64 + 2 * 8 * 128)),
        1,
        "moe hybrid",
        1048576,
    ),
    "stepfun-ai/Step-3.7-Flash-NVFP4": ((full(12, 8, 128), sliding(33, 8, 128, 512)), 3, "moe", 262144),
}


def test_the_shape_of_the_cache() -> None:
    def holds(id: str, layers: tuple[Layers, ...], draft: int, architecture: str, context: int) -> None:
        model = made(id)
        assert model.shape is not None
        assert (model.shape.layers, model.shape.draft) == (layers, draft)
        assert (model.architecture, model.context) == (architecture, context)

    each_row(by_id(SHAPES), holds)


# checkpoints here by the catalogue's model of the same shape
SAME = {
    "openai/gpt-oss-120b": "gpt-oss-120b",
    "mistralai/Mixtral-8x7B-v0.1": "mixtral-8x7b",
    "Qwen/Qwen3-30B-A3B": "qwen3-30b-a3b",
    "Qwen/Qwen3-235B-A22B": "qwen3-235b-a22b",
    "Qwen/Qwen3-Next-80B-A3B-Thinking": "qwen3-next-80b-a3b",
    "Qwen/Qwen3.5-35B-A3B": "qwen3.5-35b-a3b",
    "Qwen/Qwen3.5-122B-A10B": "qwen3.5-122b-a10b",
    "Qwen/Qwen3.5-397B-A17B": "qwen3.5-397b-a17b",
    "nvidia/Qwen3.6-27B-NVFP4": "qwen3.6-27b",
    "nvidia/Qwen3.6-35B-A3B-NVFP4": "qwen3.6-35b-a3b",
}


def test_the_catalogue_agrees() -> None:
    known = catalogue().models

    def holds(id: str, name: str) -> None:
        model, kept = made(id), known[name]
        assert model.shape is not None and kept.shape is not None
        assert (model.shape.layers, model.shape.draft) == (kept.shape.layers, kept.shape.draft)
        assert model.architecture == kept.architecture
        assert model.parameters_b == pytest.approx(kept.parameters_b, rel=0.02)
        assert kept.context in (None, model.context)

    each_row(SAME.items(), holds)


def test_what_the_budget_cannot_compute_is_said_to_be_unknown() -> None:
    model = made("deepseek-ai/DeepSeek-V4-Flash")
    assert model.shape is None
    assert any("compress_ratios" in each for each in model.assumed)
    assert any("expert_dtype" in each for each in model.assumed)
    with pytest.raises(Unreadable, match="parameters of kimi_linear can be counted neither by its config"):
        made("moonshotai/Kimi-K3")
    estimated = made("moonshotai/Kimi-K3", sizes={"model-00001.safetensors": 200 * GIB})
    assert estimated.shape is None and estimated.parameters_b == estimated.active_b
    assert any("estimated by the size of the files at 4.25 bits" in each for each in estimated.assumed)


# --- formats

FORMATS = {
    "Qwen/Qwen3-8B": ("bf16", ""),
    "Qwen/Qwen3-30B-A3B-FP8": ("fp8", "fp8"),
    "openai/gpt-oss-120b": ("mxfp4", "mxfp4"),
    "moonshotai/Kimi-K2.5": ("int4", "compressed-tensors"),
    "nvidia/Gemma-4-31B-IT-NVFP4": ("nvfp4", "modelopt; made for a KV cache in fp8"),
    "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4": ("nvfp4", "made for a KV cache in fp8"),
    "nvidia/Qwen3.6-27B-NVFP4": ("nvfp4", "several formats: fp8"),
    "nvidia/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-NVFP4": ("nvfp4", "several formats: fp8"),
    "deepseek-ai/DeepSeek-V4-Flash": ("fp8", "experts in fp4"),
}


def test_the_format_of_the_weights() -> None:
    def holds(id: str, kind: str, note: str) -> None:
        (checkpoint,) = made(id).checkpoints
        assert checkpoint.format == kind and note in checkpoint.note

    each_row(by_id(FORMATS), holds)


# quantization_config, as transformers' documentation and public checkpoints have it; the format
METHODS: dict[str, tuple[dict[str, Any], str]] = {
    "gptq": ({"quant_method": "gptq", "bits": 4, "group_size": 128}, "int4-gptq"),
    "gptq of 8": ({"quant_method": "gptq", "bits": 8}, "int8"),
    "gptq of 3": ({"quant_method": "gptq", "bits": 3}, "unknown"),
    "awq": ({"quant_method": "awq", "w_bit": 4, "version": "gemm"}, "int4-awq"),
    "auto-round": (
        {"quant_method": "auto-round", "bits": 4, "packing_format": "auto_round:auto_gptq"},
        "int4-autoround",
    ),
    "bitsandbytes": ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "bitsandbytes"),
    "compressed-tensors NVFP4": (
        {
            "quant_method": "compressed-tensors",
            "format": "nvfp4-pack-quantized",
            "config_groups": {
                "group_0": {"targets": ["Linear"], "weights": {"num_bits": 4, "type": "float", "group_size": 16}}
            },
        },
        "nvfp4",
    ),
    "compressed-tensors FP8": (
        {
            "quant_method": "compressed-tensors",
            "config_groups": {"group_0": {"targets": ["Linear"], "weights": {"num_bits": 8, "type": "float"}}},
        },
        "fp8",
    ),
    "compressed-tensors W8A8": (
        {
            "quant_method": "compressed-tensors",
            "config_groups": {"group_0": {"targets": ["Linear"], "weights": {"num_bits": 8, "type": "int"}}},
        },
        "int8",
    ),
    "compressed-tensors, mixed": (
        {
            "quant_method": "compressed-tensors",
            "config_groups": {
                "group_0": {"targets": ["re:.*attn.*"], "weights": {"num_bits": 8, "type": "float"}},
                "group_1": {"targets": ["Linear"], "weights": {"num_bits": 4, "type": "float", "group_size": 16}},
            },
        },
        "nvfp4",
    ),
    "a method of tomorrow": ({"quant_method": "quark"}, "unknown"),
    "a method that is no word": ({"quant_method": "a\nb"}, "unknown"),
}


# what other programs load, by what their converters write into config.json
OTHERS: dict[str, tuple[str, dict[str, Any], str]] = {
    "exl3": ("quantization_config", {"quant_method": "exl3", "version": "0.0.6", "bits": 3.21}, "EXL3"),
    "exl2": ("quantization_config", {"quant_method": "exl2", "bits": 4.0}, "EXL2"),
    "MLX": ("quantization_config", {"group_size": 64, "bits": 4}, "MLX"),
    "MLX of before": ("quantization", {"group_size": 64, "bits": 8, "mode": "affine"}, "MLX"),
}


def test_a_format_that_vllm_does_not_load_never_fits() -> None:
    config = json.loads(text("Qwen/Qwen3-8B"))

    def holds(key: str, told: dict[str, Any], name: str) -> None:
        with pytest.raises(Unreadable, match=rf"^its weights are in {name}, a format that vLLM does not load$"):
            files.read("a/b", files.Files(json.dumps({**config, key: told})))

    each_row(OTHERS, holds)


def test_methods_of_quantization() -> None:
    config = json.loads(text("Qwen/Qwen3-8B"))

    def holds(told: dict[str, Any], kind: str) -> None:
        model = files.read("a/b", files.Files(json.dumps({**config, "quantization_config": told})))
        assert model.best().format == kind
        assert any("is not known" in each for each in model.assumed) == (kind == "unknown")

    each_row(METHODS, holds)


# --- sizes, and what is in the weights


def test_the_size_is_that_of_the_files_else_the_index_s() -> None:
    id, index = "openai/gpt-oss-120b", text("openai/gpt-oss-120b", "model.safetensors.index.json")
    assert made(id).best().weights_gib == pytest.approx(65248815744 / GIB, abs=0.01)
    assert any("the index's total_size" in each for each in made(id).assumed)
    whole = {"model-00000-of-00014.safetensors": 3 * GIB, "consolidated.safetensors": GIB, "x.safetensors": GIB}
    assert made(id, sizes=whole).best().weights_gib == 3  # of these, the index names the first alone
    assert made(id, index="", sizes=whole).best().weights_gib == 4
    unknown = made(id, index="")
    assert unknown.best().weights_gib is None
    assert any("neither the files of the weights nor an index" in each for each in unknown.assumed)
    bare = json.dumps({"weight_map": json.loads(index)["weight_map"]})
    assert any(
        "1 of 1 files of weights are not there" in each for each in made(id, index=bare, sizes={"x": 1}).assumed
    )


def test_whether_the_draft_s_weights_are_there() -> None:
    assert made("deepseek-ai/DeepSeek-V3").best().draft is True  # a layer beyond the last
    assert made("stepfun-ai/Step-3.7-Flash-NVFP4").best().draft is False
    assert made("zai-org/GLM-4.5-Air").best().draft is None
    index = json.dumps({"weight_map": {"mtp.layers.0.norm.weight": "m.safetensors"}})
    assert made("Qwen/Qwen3.5-122B-A10B", index=index).best().draft is True


def test_how_many_sparks_it_takes() -> None:
    assert made("openai/gpt-oss-120b").nodes == 1
    assert made("meta-llama/Llama-3.3-70B-Instruct").nodes == 2
    huge = made("deepseek-ai/DeepSeek-V3")
    assert budget(huge, huge.best(), Use(nodes=2)).fit == "no"


def test_which_layers_slide() -> None:
    def holds(values: dict[str, Any], layers: tuple[Layers, ...]) -> None:
        model = files.read("a/b", files.Files(changed(**values)))
        assert model.shape is not None and model.shape.layers == layers

    window = {"sliding_window": 4096, "use_sliding_window": None}
    some = (full(6, 8, 128), sliding(30, 8, 128, 4096))
    rows: dict[str, tuple[dict[str, Any], tuple[Layers, ...]]] = {
        "none, by Qwen2's switch": ({**window, "use_sliding_window": False}, (full(36, 8, 128),)),
        "those behind a number of Qwen2's": (
            {**window, "use_sliding_window": True, "max_window_layers": 6},
            some,
        ),
        "all of Mistral's first": ({**window, "model_type": "mistral"}, (sliding(36, 8, 128, 4096),)),
        "five in six of Gemma 3's": ({**window, "model_type": "gemma3_text"}, some),
        "by a pattern": ({**window, "sliding_window_pattern": 6}, some),
        "chunks of Llama 4's": (
            {"model_type": "llama4_text", "attention_chunk_size": 8192},
            (full(9, 8, 128), sliding(27, 8, 128, 8192)),
        ),
        "not those that share": ({"num_kv_shared_layers": 6}, (full(30, 8, 128),)),
    }
    each_row(rows, holds)


def test_a_family_that_was_compared_with_nothing_is_said() -> None:
    said = "is no family whose count was compared with anything"
    assert any(said in each for each in files.read("a/b", files.Files(changed(model_type="tomorrow"))).assumed)
    for id in SUMS:
        assert not any(said in each for each in made(id).assumed), id


# --- what cannot stand


def changed(**values: Any) -> str:
    return json.dumps({**json.loads(text("Qwen/Qwen3-8B")), **values})


HOSTILE = {
    "nothing": ("", "config.json is no JSON"),
    "no JSON": ("{", "config.json is no JSON"),
    "a list": ("[]", "an object with fields expected"),
    "too deep": ("[" * 50, "nests deeper than 32 levels"),
    "too long": ('{"a": "' + "x" * 4_200_000 + '"}', "at most 4,194,304 expected"),
    "a huge number": ('{"num_hidden_layers": ' + "9" * 30 + "}", "a number of 30 digits"),
    "half a pair": (r'{"model_type": "\ud800"}', "half of a surrogate pair"),
    "no layers": ("{}", "no num_hidden_layers"),
    "too many layers": (changed(num_hidden_layers=100_000), "100,000 layers, at most 1,000"),
    "a text": (changed(num_key_value_heads="8"), "num_key_value_heads of config.json is no whole number"),
    "below zero": (changed(hidden_size=-1), "hidden_size of config.json is no whole number"),
    "a switch": (changed(vocab_size=True), "vocab_size of config.json is no whole number"),
    "too few kinds": (changed(layer_types=["full_attention"]), "layer_types of config.json has 1 entries for 36"),
    "letters": (changed(hybrid_override_pattern="M?" * 18), "'?' in the pattern"),
    "too few letters": (changed(hybrid_override_pattern="M-"), "has 2 letters for 36 layers"),
    "no width": (changed(hidden_size=None), "neither by its config.json nor by the size"),
}


def test_what_cannot_stand_is_refused_in_one_sentence() -> None:
    def holds(config: str, said: str) -> None:
        with pytest.raises(Unreadable) as refused:
            files.read("a/b", files.Files(config))
        assert said in str(refused.value) and "\n" not in str(refused.value)

    each_row(HOSTILE, holds)


def test_a_name_that_is_none_is_refused() -> None:
    for id in ("qwen3", "a/b/c", "../x", "a/..", "a/b\n"):
        with pytest.raises(Unreadable, match="is no OWNER/NAME"):
            files.read(id, files.Files(text("Qwen/Qwen3-8B")))


def test_unknown_kinds_of_layers_are_not_guessed() -> None:
    odd = changed(layer_types=["full_attention", "tomorrow_attention"] * 18)
    model = files.read("a/b", files.Files(odd, sizes={"m.safetensors": GIB}))
    assert model.shape is None
    assert any("a kind of layer that the budget does not compute" in each for each in model.assumed)


def test_what_a_config_leaves_out_is_a_sentence() -> None:
    def holds(values: dict[str, Any], said: str) -> None:
        assert any(said in each for each in files.read("a/b", files.Files(changed(**values))).assumed)

    rows: dict[str, tuple[dict[str, Any], str]] = {
        "no type": ({"torch_dtype": None}, "taken to be bf16"),
        "no heads of keys": ({"num_key_value_heads": None}, "each head of attention has its own"),
        "no embeddings": ({"tie_word_embeddings": None}, "counted as two matrices"),
        "no context": ({"max_position_embeddings": None}, "its longest sequence is not known"),
        "a window of unknown layers": ({"sliding_window": 4096, "use_sliding_window": None}, "taken to keep all"),
        "rope": ({"rope_scaling": {"rope_type": "yarn", "factor": 4.0}}, "rope scaling: yarn of 4"),
    }
    each_row(rows, holds)


def test_rope_scaling_counts_as_vllm_counts_it() -> None:
    def holds(rope: dict[str, Any], context: int) -> None:
        assert files.read("a/b", files.Files(changed(rope_scaling=rope))).context == context

    rows: dict[str, tuple[dict[str, Any], int]] = {
        "yarn": ({"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}, 131072),
        "llama3": ({"rope_type": "llama3", "factor": 8.0}, 40960),
        "linear": ({"rope_type": "linear", "factor": 2}, 81920),
        "nonsense": ({"rope_type": "yarn", "factor": 1e18}, 40960),
    }
    each_row(rows, holds)


def test_numbers_without_an_end_are_no_numbers() -> None:
    """Nemotron-H's time_step_limit ends at Infinity in one release and at 1e308 in another."""
    for endless in ("Infinity", "-Infinity", "NaN", "1e308"):
        config = changed().rstrip("}") + f', "time_step_limit": [0.0, {endless}]' + "}"
        assert Config.of(config).values["time_step_limit"] == [0.0, None]
