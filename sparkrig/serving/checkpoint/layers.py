"""Which kind of attention each layer of a config.json has, or what stands in its place.

Its names, and what families leave out: models/vllm/checkpoints.yaml.
"""

from __future__ import annotations

from typing import Any, Literal

from sparkrig.serving.checkpoint.config import TABLES, Config

Mixer = Literal["full", "sliding", "chunked", "latent", "deltanet", "mamba", "unknown", ""]
"""What a layer mixes tokens with; empty for one that is a feed-forward alone."""

# a letter or a word for each layer; of Nemotron-H a layer has one part alone
_LISTS = ("hybrid_override_pattern", "layer_types", "layers_block_type")
_TYPES: dict[str, Mixer] = TABLES["layers"]
_EACH: dict[str, int] = TABLES["each"]
_FOREIGN: dict[str, str] = TABLES["foreign"]


def mixers(config: Config, said: list[str]) -> list[Mixer]:
    """Of each layer. said: takes what had to be assumed, in sentences. Raises UnreadableCheckpoint."""
    count = config.layers
    foreign = next((name for name in _FOREIGN if config.values.get(name)), None)
    if foreign:
        said.append(f"its attention {_FOREIGN[foreign]} ({foreign}), which the budget does not compute")
        return ["unknown"] * count
    types = next(filter(None, map(config.each, _LISTS)), ())
    mixers = [_told(config, type_) for type_ in types] or _derived(config, said)
    if "unknown" in mixers:
        said.append("config.json has a kind of layer that the budget does not compute")
    return ["latent" if mixer == "full" and config.count("kv_lora_rank") else mixer for mixer in mixers]


def _told(config: Config, name: Any) -> Mixer:
    found = _TYPES.get(name, "unknown") if isinstance(name, str) else "unknown"
    if found == "deltanet" and not config.count("linear_num_value_heads"):
        return "unknown"
    return found


def _derived(config: Config, said: list[str]) -> list[Mixer]:
    """Of a config.json that has no list of layers."""
    count = config.layers
    if config.count("linear_num_value_heads"):
        every = config.count("full_attention_interval") or 4
        return [_nth(place, every, "deltanet") for place in range(count)]
    if any(each != 1 for each in config.each("attn_type_list")):  # MiniMax: 0 is lightning attention
        return ["unknown"] * count
    if config.count("attention_chunk_size") and config.kind.startswith("llama4"):
        said.append("config.json has no layer_types, and of Llama 4 each fourth layer attends to all tokens")
        return [_nth(place, 4, "chunked") for place in range(count)]
    if config.count("sliding_window") and config.on("use_sliding_window") is not False:
        return _sliding(config, said)
    return ["full"] * count


def _sliding(config: Config, said: list[str]) -> list[Mixer]:
    count, kind = config.layers, config.kind
    every = config.count("sliding_window_pattern", "_sliding_window_pattern")
    if not every and kind in _EACH:
        every = _EACH[kind]
        said.append(f"config.json has no layer_types, and of {kind} one layer in {every} attends to all tokens")
    if every:
        return [_nth(place, every, "sliding") for place in range(count)]
    if kind in TABLES["all"]:
        return ["sliding"] * count
    if config.on("use_sliding_window"):
        whole = min(count, config.count("max_window_layers") or 0)
        return [*["full"] * whole, *["sliding"] * (count - whole)]  # type: ignore[list-item]
    said.append(
        "config.json has a sliding_window and does not tell whose, so all layers are taken to keep all tokens"
    )
    return ["full"] * count


def _nth(place: int, every: int, else_: Mixer) -> Mixer:
    return "full" if (place + 1) % every == 0 else else_
