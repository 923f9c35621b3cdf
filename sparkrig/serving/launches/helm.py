"""Values of the Helm chart of vllm-project/production-stack: one server for each entry of `modelSpec`.

The words are those of its helm/templates/deployment-vllm-multi.yaml at 010004e, which makes a pod of each. What
`lmcacheConfig` adds is not read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sparkrig.serving.launch import Launch, Unreadable
from sparkrig.serving.launches import kubernetes
from sparkrig.serving.launches.documents import rows, table

_VALUES = {
    "maxModelLen": "--max-model-len",
    "dtype": "--dtype",
    "tensorParallelSize": "--tensor-parallel-size",
    "maxNumSeqs": "--max-num-seqs",
    "gpuMemoryUtilization": "--gpu-memory-utilization",
    "maxLoras": "--max-loras",
}


def is_one(document: Mapping[str, Any]) -> bool:
    """Whether these are such values."""
    return isinstance(table(document.get("servingEngineSpec")).get("modelSpec"), list)


def read(document: Mapping[str, Any]) -> list[Launch]:
    """The launches of all models. Raises Unreadable where there is none."""
    made = pods(document)
    if not made:
        raise Unreadable("no modelSpec of the Helm values has a modelURL")
    return kubernetes.read(made)


def pods(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What the chart makes of such values."""
    engine = table(document["servingEngineSpec"])
    models = [each for each in map(table, rows(engine["modelSpec"])) if each.get("enabled") is not False]
    return [_pod(engine, each) for each in models if each.get("modelURL")]


def _pod(engine: Mapping[str, Any], model: Mapping[str, Any]) -> dict[str, Any]:
    image = f"{model.get('repository', '')}:{model['tag']}" if "tag" in model else str(model.get("repository", ""))
    container = {
        "image": image,
        "command": ["vllm", "serve", model["modelURL"], *_words(model)],
        "env": rows(model.get("env")),
        "resources": {"limits": {"nvidia.com/gpu": model["requestGPU"]} if model.get("requestGPU") else {}},
    }
    # values.yaml at 00c38d1: a model's own, else the engine's, which is nvidia where none is given
    runtime = model.get("runtimeClassName", engine.get("runtimeClassName", "nvidia"))
    spec = {"containers": [container], "runtimeClassName": runtime}
    return {"apiVersion": "v1", "kind": "Model", "metadata": {"name": model.get("name", "")}, "spec": spec}


def _words(model: Mapping[str, Any]) -> Iterator[Any]:
    config = table(model.get("vllmConfig"))
    if model.get("enableLoRA"):
        yield "--enable-lora"
    if model.get("enableTool"):
        yield "--enable-auto-tool-choice"
    if model.get("toolCallParser"):
        yield from ("--tool-call-parser", model["toolCallParser"])
    if "enableChunkedPrefill" in config:
        yield "--enable-chunked-prefill" if config["enableChunkedPrefill"] else "--no-enable-chunked-prefill"
    if config:
        yield "--enable-prefix-caching" if config.get("enablePrefixCaching") else "--no-enable-prefix-caching"
    for name, flag in _VALUES.items():
        if name in config:
            yield from (flag, config[name])
    yield from rows(config.get("extraArgs"))
    if model.get("chatTemplate"):
        yield from ("--chat-template", f"/templates/{model['chatTemplate']}")
