"""How many parameters a model has, counted from the shapes in its config.json.

Counted are the matrices of the language model. Norms, biases, a vision part and the head that drafts are not: they
are a few in a thousand, but for a large vision part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sparkrig.serving.checkpoint.blocks import EXPERTS, Block
from sparkrig.serving.checkpoint.config import Config
from sparkrig.serving.checkpoint.shape import attention_heads, head_width, kv_heads, mamba

_TIED = ("gemma",)  # families whose input and output embeddings are one where config.json does not tell
_PLAIN = frozenset({"relu2", "relu", "gelu", "gelu_new"})  # a feed-forward of two matrices, not three
# whose intermediate_size holds gate and up together: mlp_hidden_size of [@molmo], ff_dim_in of Qwen's first models
_TOGETHER = frozenset({"molmo", "qwen"})


@dataclass(frozen=True)
class Parameters:
    """total: of the language model; active: of them, what one token goes through."""

    total: int
    active: int


def parameters(config: Config, found: Sequence[Block], said: list[str]) -> Parameters:
    """said: takes what had to be assumed, in sentences. Raises Unreadable where a field is missing."""
    mixers = sum(_mixer(config, each) for each in found)
    embeddings = _embeddings(config, said)
    feeds = [_feed(config, each) for each in found]
    base = mixers + embeddings
    return Parameters(base + sum(total for total, _ in feeds), base + sum(active for _, active in feeds))


def _embeddings(config: Config, said: list[str]) -> int:
    one = config.must("vocab_size") * _hidden(config)
    tied = config.on("tie_word_embeddings")
    if tied is None:
        tied = config.kind.startswith(_TIED)
        how = "one matrix" if tied else "two matrices"
        said.append(f"config.json has no tie_word_embeddings, so embeddings are counted as {how}")
    layers = config.count("hidden_size_per_layer_input")  # Gemma 3n, Gemma 4 E2B and E4B: a table for each layer
    extra = config.layers * layers * config.must("vocab_size_per_layer_input", "vocab_size") if layers else 0
    return one * (1 if tied else 2) + extra


def _hidden(config: Config) -> int:
    return config.must("hidden_size", "n_embd")


def _mixer(config: Config, block: Block) -> int:
    """Matrices of the attention of one layer, or of what stands in its place."""
    if block.mixer == "":
        return 0
    if block.mixer == "unknown":
        return _compressed(config)
    if block.mixer == "latent":
        return _latent(config)
    if block.mixer == "deltanet":
        return _deltanet(config)
    if block.mixer == "mamba":
        return _mamba(config)
    hidden, width = _hidden(config), head_width(config, block.mixer)
    values = config.count("v_head_dim") or width
    heads, kept = attention_heads(config, block.mixer), kv_heads(config, block.mixer, [])
    query = 2 if config.on("attn_output_gate") or config.kind == "qwen3_next" else 1
    shared = block.mixer == "full" and config.on("attention_k_eq_v")
    return hidden * (heads * (query * width + values) + kept * (width + (0 if shared else values)))


def _latent(config: Config) -> int:
    hidden, heads = _hidden(config), config.must("num_attention_heads")
    rope, rank = config.count("qk_rope_head_dim") or 0, config.must("kv_lora_rank")
    plain, values = config.must("qk_nope_head_dim"), config.must("v_head_dim")
    wide = heads * (plain + rope)
    low = config.count("q_lora_rank")
    query = hidden * low + low * wide if low else hidden * wide
    indexed = _index(config, hidden, low or hidden)
    return query + hidden * (rank + rope) + rank * heads * (plain + values) + heads * values * hidden + indexed


def _compressed(config: Config) -> int:
    """Of DeepSeek V4, which has keys and values in one, and a way out by groups; without its compressors."""
    hidden, low, out = _hidden(config), config.must("q_lora_rank"), config.must("o_lora_rank")
    wide = config.must("num_attention_heads") * config.must("head_dim")
    query, kept = hidden * low + low * wide, hidden * config.must("head_dim")
    return query + kept + wide * out + config.must("o_groups") * out * hidden + _index(config, hidden, low)


def _index(config: Config, hidden: int, low: int) -> int:
    width, heads = config.count("index_head_dim"), config.count("index_n_heads")
    return low * heads * width + hidden * (width + heads) if width and heads else 0


def _deltanet(config: Config) -> int:
    hidden, heads = _hidden(config), config.must("linear_num_value_heads")
    keys = config.must("linear_num_key_heads") * config.must("linear_key_head_dim")
    values = heads * config.must("linear_value_head_dim")
    convolution = (2 * keys + values) * (config.count("linear_conv_kernel_dim") or 4)
    return hidden * (2 * keys + 2 * values + 2 * heads) + convolution + values * hidden


def _mamba(config: Config) -> int:
    hidden, heads = _hidden(config), config.must("mamba_num_heads", "mamba_n_heads")
    inner, groups, states = mamba(config)
    mixed = inner + 2 * groups * states
    convolution = mixed * (config.count("conv_kernel", "mamba_d_conv") or 4)
    return hidden * (inner + mixed + heads) + convolution + inner * hidden


def _feed(config: Config, block: Block) -> tuple[int, int]:
    """All matrices behind the attention of one layer, and those that one token goes through."""
    dense = _matrices(config) * _hidden(config) * _dense_width(config) if block.feed in ("dense", "both") else 0
    if block.feed in ("", "dense"):
        return dense, dense
    each, beside = _expert(config)
    chosen = config.must("num_experts_per_tok", "moe_top_k", "top_k_experts", "experts_per_token")
    count = config.must(*EXPERTS)
    return dense + beside + count * each, dense + beside + min(chosen, count) * each


def _matrices(config: Config) -> int:
    told = config.text("mlp_hidden_act", "hidden_act", "hidden_activation", "activation_function")
    return 2 if told in _PLAIN and config.kind in ("nemotron_h", "phi", "gpt2", "gpt_neox", "falcon") else 3


def _dense_width(config: Config) -> int:
    names = ("intermediate_size_mlp", "dense_intermediate_size", "intermediate_size", "ffn_hidden_size")
    return config.must(*names) // (2 if config.kind in _TOGETHER else 1)


def _expert(config: Config) -> tuple[int, int]:
    """Matrices of one expert, and those beside the experts: router, shared ones, the way into a latent space."""
    hidden, count = _hidden(config), config.must(*EXPERTS)
    latent = config.count("moe_latent_size")  # Nemotron 3 Super: its experts work on fewer values
    width = config.must("moe_intermediate_size", "intermediate_size")
    each = _matrices(config) * (latent or hidden) * width
    shared = _matrices(config) * hidden * _shared_width(config, width)
    return each, hidden * count + shared + (2 * hidden * latent if latent else 0)


def _shared_width(config: Config, width: int) -> int:
    """Of all shared experts together."""
    names = ("shared_expert_intermediate_size", "share_expert_dim", "shared_intermediate_size")
    told = config.count("moe_shared_expert_intermediate_size", *names)
    shared = config.count("n_shared_experts", "num_shared_experts") or 0
    if told:
        return told * max(1, shared)
    return width if config.kind == "llama4_text" else width * shared
