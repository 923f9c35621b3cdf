"""The catalogue's entry of a checkpoint, made from its files: config.json, hf_quant_config.json, index of weights.

Nothing of it was tried: each number that the files do not state is estimated, and a sentence says how.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from sparkrig.parsing import hub
from sparkrig.serving.budget import BITS, GIB, Use, fewest_nodes
from sparkrig.serving.checkpoint import blocks, parameters, quantization, shape
from sparkrig.serving.checkpoint.blocks import Block
from sparkrig.serving.checkpoint.config import Config, Missing, Unreadable, table
from sparkrig.serving.checkpoint.parameters import Parameters
from sparkrig.serving.model import Checkpoint, Format, Model, Shape

SOURCE = "checkpoint-files"
INDEX_CHARS = 67_108_864  # an index of 200,000 tensors has 25 MB
UNVERIFIED = "not verified by anyone: computed from its own config.json"
# families whose count was compared with their publishers' figures (tests/unit/serving/test_checkpoint_files.py)
_COMPARED = """
deepseek_v3 deepseek_v32 deepseek_v4 gemma3_text gemma4_text glm4_moe glm_moe_dsa gpt_oss kimi_k2 llama
minimax_m2 mistral mixtral nemotron_h phi3 qwen3 qwen3_5_moe_text qwen3_5_text qwen3_moe qwen3_next
qwen3_vl_moe_text qwen3_vl_text step3p5
"""
_APART = 0.1  # of a count of parameters from what the files hold
# the same weights once more, for other programs; templates/serving leaves them out of a download, too
_ELSEWHERE = re.compile(r"consolidated|adapter|/")


@dataclass(frozen=True)
class Files:
    """What a checkpoint consists of.

    config, index, quantization: texts of config.json, model.safetensors.index.json and hf_quant_config.json, empty
    where there is none; sizes: bytes of each *.safetensors file by its name, empty where they are not there.
    """

    config: str
    index: str = ""
    quantization: str = ""
    sizes: Mapping[str, int] = field(default_factory=dict)


def read(id: str, files: Files) -> Model:
    """The model of a checkpoint. id: OWNER/NAME on the hub. Raises Unreadable, in one sentence."""
    if not hub.ID.fullmatch(id):
        raise Unreadable(f"{id} is no OWNER/NAME of a checkpoint")
    config, said = Config.of(files.config), list[str]()
    index = table(files.index, "model.safetensors.index.json", INDEX_CHARS) if files.index else {}
    beside = table(files.quantization, "hf_quant_config.json") if files.quantization else {}
    found = blocks.blocks(config, said)
    kind = quantization.quantization(config, beside, said)
    size, names = _size(files, index, said), _names(index)
    counted = _counted(config, found, kind.format, size, said)
    return _made(id, config, found, kind, size, names, counted, said)


def _made(
    id: str,
    config: Config,
    found: Sequence[Block],
    kind: quantization.Quantization,
    size: int | None,
    names: Sequence[str],
    counted: Parameters,
    said: list[str],
) -> Model:
    draft = shape.draft_weights(config, names)
    checkpoint = Checkpoint(
        id=id,
        format=kind.format,
        weights_gib=None if size is None else max(0.01, round(size / GIB, 2)),
        draft=draft,
        note=kind.note,
        source=SOURCE,
    )
    title = id.partition("/")[2]
    cache = _shape(config, found, said)
    longest = shape.context(config, said)
    if config.whole.get("vision_config"):
        said.append("its vision part is not among the parameters, but in the size of the files")
    model = Model(
        name=entry_name(title),
        title=title,
        architecture=_architecture(found),
        parameters_b=_billions(counted.total),
        active_b=_billions(counted.active),
        context=longest,
        nodes=1,
        standing="unknown",
        why=UNVERIFIED,
        shape=cache,
        checkpoints=(checkpoint,),
        assumed=tuple(dict.fromkeys(said)),
        source=SOURCE,
    )
    return model.model_copy(update={"nodes": fewest_nodes(model, checkpoint, Use()) or 2})


def _shape(config: Config, found: Sequence[Block], said: list[str]) -> Shape | None:
    try:
        return shape.shape(config, found, said, SOURCE)
    except Missing as error:
        said.append(f"the KV cache cannot be computed: {error}")
        return None


def entry_name(title: str) -> str:
    """The name of its file in models/."""
    name = re.sub(r"[^a-z0-9.-]+", "-", title.lower()).strip(".-")
    if not name:
        raise Unreadable(f"{title} leaves no name for a file")
    return name


def _architecture(found: Sequence[Block]) -> Literal["dense", "moe", "dense hybrid", "moe hybrid"]:
    hybrid = any(each.mixer in ("deltanet", "mamba") for each in found)
    if any(each.feed in ("experts", "both") for each in found):
        return "moe hybrid" if hybrid else "moe"
    return "dense hybrid" if hybrid else "dense"


def _billions(count: int) -> float:
    return max(0.001, float(f"{count / 1e9:.3g}"))


def _names(index: Mapping[str, Any]) -> Sequence[str]:
    names = index.get("weight_map")
    return [*names] if isinstance(names, dict) else []


def _size(files: Files, index: Mapping[str, Any], said: list[str]) -> int | None:
    """Bytes of all weights."""
    sizes = {name: size for name, size in files.sizes.items() if not _ELSEWHERE.search(name)}
    mapped = index.get("weight_map")
    wanted = {each for each in mapped.values() if isinstance(each, str)} if isinstance(mapped, dict) else set()
    missing = wanted - set(sizes)
    if sizes and not missing:
        return sum(size for name, size in sizes.items() if not wanted or name in wanted)
    metadata = index.get("metadata")
    total = metadata.get("total_size") if isinstance(metadata, dict) else None
    if isinstance(total, int | float) and not isinstance(total, bool) and 0 < total < 10**15:
        said.append("the size of the weights is the index's total_size; the files themselves were not seen")
        return int(total)
    if missing and sizes:
        said.append(f"{len(missing)} of {len(wanted)} files of weights are not there, so their size is not known")
    else:
        said.append("neither the files of the weights nor an index with their size is there")
    return None


def _counted(
    config: Config, found: Sequence[Block], kind: Format, size: int | None, said: list[str]
) -> Parameters:
    """The count by the shapes; where it cannot be made, all that the files can hold."""
    bits = BITS.get(kind)
    held = int(size * 8 / bits) if size and bits else None
    foreign = any(each.mixer == "unknown" for each in found) and not config.values.get("compress_ratios")
    try:
        counted = None if foreign else parameters.parameters(config, found, said)
    except Missing as error:
        said.append(f"the parameters cannot be counted: {error}")
        counted = None
    if counted is None:
        if held is None:
            raise Unreadable(
                f"the parameters of {config.kind or 'the model'} can be counted neither by its config.json nor by "
                "the size of its files"
            )
        said.append(f"the parameters are estimated by the size of the files at {bits:g} bits, all of them active")
        return Parameters(held, held)
    if config.kind not in _COMPARED.split():
        said.append(f"{config.kind or 'its model_type'} is no family whose count was compared with anything")
    said.append("the parameters are estimated: the matrices of the language model, counted by their shapes")
    if held and kind in ("bf16", "fp16") and abs(held / counted.total - 1) > _APART:
        said.append(f"the files hold {held / 1e9:.3g} billion parameters at 16 bits, and the count does not")
    return counted
