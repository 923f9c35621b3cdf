"""The catalogue's entry of a checkpoint, made from its files: config.json, hf_quant_config.json, index of weights.

Nothing of it was tried: each number that the files do not state is estimated, and a sentence says how. How many
parameters it has is in its name, and not computed: no judgement of its memory needs them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from sparkrig.parsing import hub
from sparkrig.serving.budget import GIB, Use, fewest_nodes
from sparkrig.serving.checkpoint import kinds, layers, quantization, shape
from sparkrig.serving.checkpoint.config import Config, Missing, UnreadableCheckpoint, table
from sparkrig.serving.checkpoint.layers import Mixer
from sparkrig.serving.model import Checkpoint, Model, Shape

SOURCE = "checkpoint-files"
INDEX_CHARS = 67_108_864  # an index of 200,000 tensors has 25 MB
UNVERIFIED = "not verified by anyone: computed from its own config.json"
_EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts")
# the same weights once more, for other programs; templates/serving leaves them out of a download, too
_ELSEWHERE = re.compile(r"consolidated|adapter|training_args|/|\.fp32")
_WEIGHTS = (".safetensors", ".bin")  # the second where there is none of the first


@dataclass(frozen=True)
class Files:
    """What a checkpoint consists of.

    config, index, quantization, adapter: texts of config.json, model.safetensors.index.json, hf_quant_config.json
    and adapter_config.json, empty where there is none; sizes: bytes of each file by its name, empty where they are
    not there.
    """

    config: str
    index: str = ""
    quantization: str = ""
    sizes: Mapping[str, int] = field(default_factory=dict)
    adapter: str = ""


def read(id: str, files: Files) -> Model:
    """The model of a checkpoint. id: OWNER/NAME on the hub. Raises UnreadableCheckpoint, in one sentence."""
    if not hub.ID.fullmatch(id):
        raise UnreadableCheckpoint(f"{id} is no OWNER/NAME of a checkpoint")
    kinds.refuse(id, files.config, files.sizes, files.adapter)
    config, said = Config.of(files.config), ["its figures are computed from its own files"]
    index = table(files.index, "model.safetensors.index.json", INDEX_CHARS) if files.index else {}
    beside = table(files.quantization, "hf_quant_config.json") if files.quantization else {}
    other = kinds.other(config)
    mixers = [] if other else layers.mixers(config, said)
    kind, size = quantization.quantization(config, beside, said), _size(files, index, said)
    checkpoint = Checkpoint(
        id=id,
        format=kind.format,
        weights_gib=None if size is None else max(0.01, round(size / GIB, 2)),
        draft=None if other else shape.draft_weights(config, _names(index)),
        note=kind.note,
        source=SOURCE,
    )
    title = id.partition("/")[2]
    cache = None if other else _shape(config, mixers, said)
    longest = shape.context(config, said)
    if config.whole.get("vision_config"):
        said.append("its vision part is in the size of the files")
    model = Model(
        name=entry_name(title),
        title=title,
        architecture=_architecture(config, mixers),
        context=longest,
        indexer_bytes=shape.indexer_bytes(config),
        nodes=1,
        standing="unknown",
        why=f"{UNVERIFIED}; {other}" if other else UNVERIFIED,
        shape=cache,
        checkpoints=(checkpoint,),
        assumed=tuple(dict.fromkeys(said)),
        source=SOURCE,
    )
    return model.model_copy(update={"nodes": fewest_nodes(model, checkpoint, Use()) or 2})


def _shape(config: Config, mixers: Sequence[Mixer], said: list[str]) -> Shape | None:
    try:
        return shape.shape(config, mixers, said, SOURCE)
    except Missing as error:
        said.append(f"the KV cache cannot be computed: {error}")
        return None


def entry_name(title: str) -> str:
    """The name of its file in models/."""
    name = re.sub(r"[^a-z0-9.-]+", "-", title.lower()).strip(".-")
    if not name:
        raise UnreadableCheckpoint(f"{title} leaves no name for a file")
    return name


def _architecture(
    config: Config, mixers: Sequence[Mixer]
) -> Literal["dense", "moe", "dense hybrid", "moe hybrid"]:
    hybrid = any(mixer in ("deltanet", "mamba") for mixer in mixers)
    if config.count(*_EXPERTS):
        return "moe hybrid" if hybrid else "moe"
    return "dense hybrid" if hybrid else "dense"


def _names(index: Mapping[str, Any]) -> Sequence[str]:
    names = index.get("weight_map")
    return [*names] if isinstance(names, dict) else []


def _size(files: Files, index: Mapping[str, Any], said: list[str]) -> int | None:
    """Bytes of all weights."""
    own = {name: size for name, size in files.sizes.items() if not _ELSEWHERE.search(name)}
    ending = next((each for each in _WEIGHTS if any(name.endswith(each) for name in own)), _WEIGHTS[0])
    sizes = {name: size for name, size in own.items() if name.endswith(ending)}
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
