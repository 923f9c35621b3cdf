"""vLLM, which the catalogue's launches are of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sparkrig.serving.arguments import read, whole_number
from sparkrig.serving.budget import DEFAULT_STEP, Use
from sparkrig.serving.model import flag_words
from sparkrig.serving.runtimes.runtime import Flags, Metrics, Runtime


class Vllm(Runtime):
    """`vllm serve`. start.sh adds what makes a node a part of one server."""

    id = "vllm"
    name = "vLLM"
    shown = "command -v vllm"
    share, context, names = "gpu-memory-utilization", "max-model-len", "served-model-name"
    cache = "kv-cache-memory-bytes"  # what it takes for the KV cache instead of profiling what is left for it
    usual = 0.80  # NVIDIA's playbook; above it `sparkrig lint` warns
    most_nodes = 8
    key = "VLLM_API_KEY"
    stretches = frozenset({"hf-overrides", "VLLM_ALLOW_LONG_MAX_MODEL_LEN"})
    ours = frozenset(
        {
            "config",
            "distributed-executor-backend",
            "headless",
            "host",
            "master-addr",
            "master-port",
            "model",
            "nnodes",
            "node-rank",
            "port",
        }
    )
    metrics = Metrics("", ())  # those that watch.py asks for by itself

    def words(self, path: str, names: Sequence[str], flags: Sequence[str]) -> list[str]:
        called = [f"--{self.names}", *names] if names else []
        return ["vllm", "serve", path, *called, *flags, "--host", "127.0.0.1"]

    def use(self, flags: Flags, base: Use) -> Use:
        """vLLM's own defaults where a flag is not given."""
        found = read([word for flag in flag_words(flags) for word in flag]).flags
        drafts = found.get("speculative-config")
        context = whole_number(str(found.get(self.context, "")))
        step = whole_number(str(found.get("max-num-batched-tokens", "")))
        return replace(
            base,
            context=context or base.context,
            kv="fp8" if str(found.get("kv-cache-dtype", "")).startswith("fp8") else "bf16",
            drafted=int(drafts.get("num_speculative_tokens", 0)) if isinstance(drafts, Mapping) else 0,
            step=step or DEFAULT_STEP,
            prefix_caching=found.get("enable-prefix-caching", True) is not False,
            graphs=found.get("enforce-eager", False) is False,
            stages=whole_number(str(found.get("pipeline-parallel-size", ""))) or 1,
        )
