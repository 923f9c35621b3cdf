"""The engines that deploys/serve.py starts, by the names that `serve_engine` has: one module an engine."""

from __future__ import annotations

from collections.abc import Mapping

from sparkrig.serving.runtimes.llama import LlamaCpp
from sparkrig.serving.runtimes.runtime import Runtime
from sparkrig.serving.runtimes.sglang import SGLang
from sparkrig.serving.runtimes.vllm import Vllm

VLLM, SGLANG, LLAMA = Vllm(), SGLang(), LlamaCpp()
RUNTIMES: Mapping[str, Runtime] = {each.id: each for each in (VLLM, SGLANG, LLAMA)}


def runtime(id: str) -> Runtime:
    """The engine of that id; vLLM for one that this version does not know."""
    return RUNTIMES.get(id, VLLM)
