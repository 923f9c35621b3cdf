"""What a checkpoint is where it is no decoder with weights of its own, and what loads it.

By the names of its files, and by the model_type of config.json: models/vllm/checkpoints.yaml.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from sparkrig.cure import local, quoted
from sparkrig.parsing import hub
from sparkrig.serving.checkpoint.config import TABLES, Config, UnreadableCheckpoint, table, word

ADAPTER, DIFFUSERS = "adapter_config.json", "model_index.json"
_GGUF = re.compile(r"[-_.]gguf$", re.IGNORECASE)  # of a file, or of a checkpoint's name
_SERVED: Mapping[str, str] = TABLES["served"]
_UNSERVED: Mapping[str, str] = TABLES["unserved"]


def refuse(id: str, config: str, names: Collection[str], adapter: str) -> None:
    """Raises UnreadableCheckpoint for files that are no model of their own, or none that vLLM loads.

    config, adapter: texts of config.json and adapter_config.json, empty where there is none; names: of all files.
    """
    weights = [name for name in names if name.endswith((".safetensors", ".bin")) and "adapter" not in name]
    if adapter and not weights:
        raise _adapter(adapter)
    if not weights and any(map(_GGUF.search, [id, *names])):
        raise UnreadableCheckpoint(
            f"{id} has its weights in GGUF, which llama.cpp loads (serve_runtime, serve_gguf), and vLLM's own "
            "images do not",
            local("sparkrig docs serving"),
        )
    if not config and DIFFUSERS in names:
        raise UnreadableCheckpoint(f"{id} is a pipeline of Diffusers ({DIFFUSERS}), which vLLM does not load")
    if not config:
        raise UnreadableCheckpoint(f"{id} has no config.json, without which vLLM loads nothing")


def _adapter(text: str) -> UnreadableCheckpoint:
    base = word(table(text, ADAPTER), "base_model_name_or_path")
    of = f" of {base}" if base else ""
    cure = local(f"sparkrig models show {quoted(base)}") if hub.ID.fullmatch(base) else ""
    return UnreadableCheckpoint(
        f"it is a LoRA adapter{of} ({ADAPTER}) and no model: vLLM serves that model with --enable-lora and "
        "--lora-modules NAME=PATH",
        cure,
    )


def other(config: Config) -> str:
    """What it is and how vLLM serves it, empty for a decoder. Raises UnreadableCheckpoint for others."""
    if unserved := _UNSERVED.get(config.kind):
        raise UnreadableCheckpoint(
            f"it is {unserved} ({config.kind}), which Transformers loads and vLLM does not serve",
            local("sparkrig models"),
        )
    return _SERVED.get(config.kind, "")
