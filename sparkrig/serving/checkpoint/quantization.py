"""The format of a checkpoint's weights, from quantization_config in config.json or from hf_quant_config.json.

Of compressed-tensors (config_groups), NVIDIA's Model Optimizer (quant_algo, quantized_layers), and of each method
that transformers names: models/vllm/checkpoints.yaml.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sparkrig.serving.checkpoint.config import TABLES, Config, UnreadableCheckpoint, word
from sparkrig.serving.model import Format

_Found = dict[Format, int]  # how many parts have each format

_METHODS: dict[str, Format] = TABLES["methods"]
_WHOLE: dict[str, Format] = TABLES["whole"]
_ALGORITHMS: dict[str, Format] = TABLES["algorithms"]
# where several formats are in one checkpoint, the one whose kernels are rarest names it
_RARE: tuple[Format, ...] = ("nvfp4", "mxfp4", "int4", "int8", "fp8")
_MICRO = 32  # values a scale of MXFP4; NVFP4 has one for 16


@dataclass(frozen=True)
class Quantization:
    """format: of the weights; note: the method, other formats beside it, and what its makers had in mind."""

    format: Format
    note: str = ""


def quantization(config: Config, beside: Mapping[str, Any], said: list[str]) -> Quantization:
    """What a checkpoint is quantized to. Raises UnreadableCheckpoint for what vLLM does not load.

    beside: hf_quant_config.json, empty where there is none; said: takes what had to be assumed, in sentences.
    """
    told = config.under("quantization_config") or config.under("compression_config")
    block = "aqlm" if config.under("aqlm") else _method(told)  # AQLM's first checkpoints have a block of that name
    if other := TABLES["others"].get(block) or _mlx(told or config.under("quantization")):
        raise UnreadableCheckpoint(f"its weights are in {other} loads and vLLM does not")
    if not told and not beside:
        return _plain(config, said)
    method, found = _method(told or beside), _formats(told or beside)
    optimized = _modelopt(beside) if told and beside else {}
    if optimized and {*optimized} != {*found}:
        said.append(f"config.json says {_list(found)}, and hf_quant_config.json {_list(optimized)}")
        found = found | optimized
    return Quantization(_named(found, method, said), "; ".join(_notes(config, told or beside, found, said)))


def _mlx(told: Mapping[str, Any]) -> str:
    """MLX names no method, only how it rounds: vLLM ends with an unknown method of no name [@mlx-nemotron]."""
    return "MLX, which MLX on a Mac" if not _method(told) and {"group_size", "bits"} <= told.keys() else ""


def _plain(config: Config, said: list[str]) -> Quantization:
    told = config.text("torch_dtype", "dtype").removeprefix("torch.")
    if told in TABLES["plain"]:
        return Quantization(TABLES["plain"][told])
    said.append("config.json names neither a quantization nor a type of its weights, which are taken to be bf16")
    return Quantization("bf16")


def _method(told: Mapping[str, Any]) -> str:
    return word(told, "quant_method") or ("modelopt" if "quantization" in told or "producer" in told else "")


def _formats(told: Mapping[str, Any]) -> _Found:
    method = _method(told)
    if method in _METHODS:
        return {_METHODS[method]: 1}
    if method in _WHOLE:
        bits = told.get("bits", told.get("w_bit", 4))
        return {_WHOLE[method]: 1} if bits == 4 else {"int8": 1} if bits == 8 else {}
    return _modelopt(told) if method.startswith("modelopt") else _groups(told)


def _named(found: _Found, method: str, said: list[str]) -> Format:
    name = next((each for each in _RARE if each in found), None) or next(iter(found), None)
    if name is None:
        said.append(f"the format of its weights is not known: {method or 'its quantization'} is none known here")
    return name or "unknown"


def _notes(config: Config, told: Mapping[str, Any], found: _Found, said: list[str]) -> Iterator[str]:
    if method := _method(told):
        yield method
    if len(found) > 1:
        yield "several formats: " + ", ".join(f"{kind} in {count:,} of its parts" for kind, count in found.items())
    if told.get("kv_cache_scheme") or word(_inner(told), "kv_cache_quant_algo") == "FP8":
        yield "made for a KV cache in fp8"
    if config.text("expert_dtype") == "fp4" and "fp8" in found:
        said.append("its experts are in FP4 (expert_dtype), so 8 bits for each parameter are too many")
        yield "experts in fp4"


def _list(found: _Found) -> str:
    return " and ".join(found) or "nothing known"


def _inner(told: Mapping[str, Any]) -> Mapping[str, Any]:
    inner = told.get("quantization")
    return inner if isinstance(inner, dict) else told


def _modelopt(told: Mapping[str, Any]) -> _Found:
    """By quant_algo: of all weights, or of each layer where it is mixed."""
    layers = _inner(told).get("quantized_layers")
    if isinstance(layers, dict) and layers:
        return _counted(
            _algorithm(word(layer, "quant_algo")) for layer in layers.values() if isinstance(layer, dict)
        )
    kind = _algorithm(word(_inner(told), "quant_algo"))
    return {kind: 1} if kind else _groups(told)


def _algorithm(name: str) -> Format | None:
    return next((kind for part, kind in _ALGORITHMS.items() if part in name.upper()), None)


def _groups(told: Mapping[str, Any]) -> _Found:
    """Of compressed-tensors: the weights of each group, as often as it has targets."""
    groups = told.get("config_groups")
    tables = [group for group in groups.values() if isinstance(group, dict)] if isinstance(groups, dict) else []
    return _counted(kind for table in tables for kind in _targets(table))


def _targets(group: Mapping[str, Any]) -> list[Format | None]:
    weights, targets = group.get("weights"), group.get("targets")
    kind = _weights(weights) if isinstance(weights, dict) else None
    return [kind] * (len(targets) if isinstance(targets, list) else 1)


def _weights(weights: Mapping[str, Any]) -> Format | None:
    bits, floating = weights.get("num_bits"), weights.get("type") == "float"
    if bits == 4 and floating:
        return "mxfp4" if weights.get("group_size") == _MICRO else "nvfp4"
    if bits == 8:
        return "fp8" if floating else "int8"
    return "int4" if bits == 4 else None


def _counted(kinds: Iterator[Format | None]) -> _Found:
    found: _Found = {}
    for kind in kinds:
        if kind:
            found[kind] = found.get(kind, 0) + 1
    return found
