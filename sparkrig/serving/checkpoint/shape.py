"""What decides the size of the KV cache of a model, and its longest sequence, from its config.json.

Formulas and names: docs/models.md. A shape that the budget cannot compute is None, and a sentence says why.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from typing import Literal

from sparkrig.serving.checkpoint.config import Config
from sparkrig.serving.checkpoint.layers import Mixer
from sparkrig.serving.model import Full, Latent, Layers, Recurrent, Shape, Sliding

_INDEX_BYTES = 4  # of the scale beside each 128 values of an indexer's key (vLLM, DeepseekV32IndexerCache)
_WORKSPACE_KEYS = 40  # for each token of --max-model-len (vLLM, v1/attention/backends/mla/indexer.py)
_ORDER: tuple[Mixer, ...] = ("full", "latent", "sliding", "chunked", "deltanet", "mamba")
# kinds of rope scaling that config.json has already put into max_position_embeddings (vLLM, config/model.py)
_INCLUDED = frozenset({"su", "longrope", "llama3", "default", "mrope", "proportional"})
_MTP = re.compile(r"(?:^|\.)mtp\.(?:layers\.)?(\d+)?")
_LAYER = re.compile(r"(?:^|\.)layers\.(\d+)\.")


def shape(config: Config, mixers: Sequence[Mixer], said: list[str], source: str) -> Shape | None:
    """mixers: of each layer; said: takes what had to be assumed, in sentences."""
    cached = sorted((mixer for mixer in _cached(config, mixers, said) if mixer in _ORDER), key=_ORDER.index)
    if not cached or "unknown" in mixers:
        return None
    if config.under("sparse_attention_config"):  # MiniMax M3
        said.append("its sparse attention keeps an index beside each token, which is not counted")
    kinds = [_layers(config, mixer, len([*group]), said) for mixer, group in groupby(cached)]
    layers, hidden = (*kinds, *_indexer(config, said)), config.count("hidden_size", "n_embd")
    heads = config.count("num_attention_heads", "n_head")
    return Shape(layers=layers, hidden=hidden, draft=draft_layers(config), heads=heads, source=source)


def _cached(config: Config, mixers: Sequence[Mixer], said: list[str]) -> Sequence[Mixer]:
    """The kinds of all layers that have a cache of their own."""
    shared = config.count("num_kv_shared_layers") or 0
    if shared:
        said.append(f"the last {shared} layers read the KV cache of earlier ones, and have none of their own")
    return mixers[: len(mixers) - shared]


def _layers(config: Config, mixer: Mixer, count: int, said: list[str]) -> Layers:
    if mixer == "latent":
        width = config.must("kv_lora_rank") + (config.count("qk_rope_head_dim") or 0)
        return Latent(kind="latent", count=count, width=width)
    if mixer in ("deltanet", "mamba"):
        return _recurrent(config, mixer, count, said)
    heads, width = kv_heads(config, mixer, said), _kept_width(config, mixer, said)
    if mixer == "full":
        return Full(kind="full", count=count, kv_heads=heads, head_dim=width)
    window = config.must("sliding_window" if mixer == "sliding" else "attention_chunk_size")
    return Sliding(kind="sliding", count=count, kv_heads=heads, head_dim=width, window=window)


def kv_heads(config: Config, mixer: Mixer, said: list[str]) -> int:
    """Heads of keys in a layer of that kind."""
    if mixer == "sliding" and (other := config.under("attention_other_setting")):  # Step
        return Config({}, other).must("num_attention_groups")
    if mixer == "full" and config.on("attention_k_eq_v") and (whole := config.count("num_global_key_value_heads")):
        return whole  # Gemma 4
    found = config.count("num_key_value_heads", "num_attention_groups", "n_head_kv", "multi_query_group_num")
    if found is None:
        said.append("config.json has no num_key_value_heads, so each head of attention has its own")
        found = attention_heads(config, mixer)
    return found


def attention_heads(config: Config, mixer: Mixer) -> int:
    """Heads of queries in a layer of that kind."""
    if mixer == "sliding" and (other := config.under("attention_other_setting")):
        return Config({}, other).must("num_attention_heads")
    return config.must("num_attention_heads", "n_head")


def head_width(config: Config, mixer: Mixer) -> int:
    """Values of a key of one head."""
    if mixer == "full" and (whole := config.count("global_head_dim")):  # Gemma 4
        return whole
    found = config.count("head_dim", "attention_head_dim", "kv_channels")
    return found or max(1, config.must("hidden_size", "n_embd") // attention_heads(config, mixer))


def _kept_width(config: Config, mixer: Mixer, said: list[str]) -> int:
    key, value = head_width(config, mixer), config.count("v_head_dim")
    if value and value != key:
        said.append(f"keys have {key} values and values {value}; both are counted with the larger number")
    return max(key, value or 0)


def _recurrent(config: Config, mixer: Mixer, count: int, said: list[str]) -> Recurrent:
    if mixer == "deltanet":
        heads, values = config.must("linear_num_value_heads"), config.must("linear_value_head_dim")
        keys = config.must("linear_key_head_dim")
        state, channels = heads * keys * values, 2 * config.must("linear_num_key_heads") * keys + heads * values
        kernel = config.count("linear_conv_kernel_dim") or 4
    else:
        inner, groups, states = mamba(config)
        state, channels = inner * states, inner + 2 * groups * states
        kernel = config.count("conv_kernel", "mamba_d_conv") or 4
    found = {"count": count, "state": state, "channels": channels, "kernel": kernel}
    return Recurrent(kind="recurrent", state_bytes=_state_bytes(config, said), **found)


def mamba(config: Config) -> tuple[int, int, int]:
    """Of Mamba 2, named as by Nemotron-H or Granite: heads x width of a head, groups, and values of a state."""
    inner = config.must("mamba_num_heads", "mamba_n_heads") * config.must("mamba_head_dim", "mamba_d_head")
    return inner, config.count("n_groups", "mamba_n_groups") or 1, config.must("ssm_state_size", "mamba_d_state")


def _state_bytes(config: Config, said: list[str]) -> Literal[2, 4]:
    told = config.text("mamba_ssm_cache_dtype", "mamba_ssm_dtype")
    if not told:
        said.append("config.json does not name the type of the recurrent state, so 4 bytes a value are counted")
    return 2 if told in ("bfloat16", "float16") else 4


def _indexer(config: Config, said: list[str]) -> list[Latent]:
    """Of sparse attention as DeepSeek V3.2 and GLM 5 have it: a key of the indexer beside each token."""
    width = config.count("index_head_dim")
    if not width or not config.count("kv_lora_rank"):
        return []
    said.append("the keys of the indexer are counted in the format of the KV cache; vLLM keeps them in fp8")
    kinds = config.each("indexer_types")
    count = sum(kind == "full" for kind in kinds) if kinds else config.layers
    kept = width + max(1, width // 128) * _INDEX_BYTES
    return [Latent(kind="latent", count=count, width=kept)] if count else []


def indexer_bytes(config: Config) -> int:
    """What vLLM keeps for each token of the longest sequence, beside the cache: 40 keys of the indexer.

    One key in `compress_ratios` of DeepSeek V4 (get_max_prefill_buffer_size) [@vllm-51252].
    """
    width = config.count("index_head_dim")
    if not width:
        return 0
    ratios = [each for each in config.each("compress_ratios") if isinstance(each, int) and each > 0]
    return _WORKSPACE_KEYS * (width + max(1, width // 128) * _INDEX_BYTES) // min(ratios, default=1)


def draft_layers(config: Config) -> int:
    """Layers with attention of the model's own head for multi-token prediction."""
    if config.on("use_mtp") is False:
        return 0
    modules = config.count("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules") or 0
    pattern = config.text("mtp_hybrid_override_pattern")
    return modules * (pattern.count("*") if pattern else 1)


def draft_weights(config: Config, names: Sequence[str]) -> bool | None:
    """Whether the weights of that head are among the names; None where there are no names."""
    if not names:
        return None
    layers = (int(each[1]) for name in names for each in _LAYER.finditer(name) if len(each[1]) < 6)
    return any(map(_MTP.search, names)) or any(layer >= config.layers for layer in layers)


def context(config: Config, said: list[str]) -> int | None:
    """The longest sequence, as vLLM derives it (config/model.py, _get_and_verify_max_len)."""
    names = ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "max_target_positions")
    longest = config.count(*names)
    if longest is None:
        said.append("config.json has no max_position_embeddings, so its longest sequence is not known")
        return None
    rope = config.under("rope_scaling") or config.under("rope_parameters")
    scaling = Config({}, rope)
    kind, factor = scaling.text("rope_type", "type"), rope.get("factor")
    if kind in _INCLUDED or config.kind.startswith("gemma3") or not isinstance(factor, int | float):
        return longest
    if kind == "yarn":
        longest = scaling.count("original_max_position_embeddings") or longest
    scaled = int(longest * factor) if 1 <= factor <= 10_000 else longest
    said.append(f"the longest sequence counts with rope scaling: {kind or 'a factor'} of {factor:g}")
    return scaled
