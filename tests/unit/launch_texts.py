"""Texts of launches for the lint."""

from __future__ import annotations

import re

# what belongs to a container of a pair, each option by its rule
OPTIONS = {
    "no-gpu": "--gpus all",
    "host-network": "--network host",
    "host-ipc": "--ipc=host",
    "infiniband": "--device /dev/infiniband",
    "memlock": "--ulimit memlock=-1 --cap-add IPC_LOCK",
    "nofile": "--ulimit nofile=1048576",
    "pair-addresses": "-e VLLM_HOST_IP=192.168.100.10 -e NCCL_SOCKET_IFNAME=f -e GLOO_SOCKET_IFNAME=f",
    "ray-memory-monitor": "-e RAY_memory_monitor_refresh_ms=0",
    "cpu-affinity": "-e NCCL_IGNORE_CPU_AFFINITY=1",
    "nccl-conf": "-v /etc/nccl.conf:/etc/nccl.conf:ro",
    "compile-caches": "-v ~/.cache:/root/.cache -v ~/.triton:/root/.triton",
}
IMAGE = "vllm-node@sha256:aa"
# flags with which no rule finds anything in a plain model
QUIET = "--gpu-memory-utilization 0.8 --max-model-len 32768 --kv-cache-dtype fp8 --max-cudagraph-capture-size 2048"
PLAIN = "org/Plain-8B"
SERVE = f"vllm serve {PLAIN} {QUIET}"
RAY = "-tp 2 --distributed-executor-backend ray"

_SHORT = {
    "image": IMAGE,
    "quiet": QUIET,
    "serve": SERVE,
    "ray": RAY,
    "two": "-tp 2 --nnodes 2 --node-rank 0 --master-addr 192.168.100.10",
    "run": f"docker run --gpus all {OPTIONS['compile-caches']}",
    "pair": " ".join(OPTIONS.values()),
    "caches": OPTIONS["compile-caches"],
}


def filled(text: str) -> str:
    """A text of a table with what `<pair>`, `<quiet but max-model-len>` and their like stand for."""
    return re.sub(
        r"<(\w+)(?: but ([\w-]+))?>", lambda found: _without(_SHORT.get(found[1], found[0]), found[2] or ""), text
    )


def _without(text: str, left_out: str) -> str:
    if left_out in OPTIONS:
        return text.replace(OPTIONS[left_out], "")
    return re.sub(rf"--{left_out} \S+", "", text) if left_out else text


def serve(model: str = PLAIN, flags: str = "", without: str = "") -> str:
    return f"vllm serve {model} {_without(QUIET, without)} {flags}"


def pair(without: str = "", image: str = IMAGE, flags: str = RAY) -> str:
    """A container of a pair with all that it should have, but for one thing."""
    return f"docker run {_without(_SHORT['pair'], without)} {image} {serve(PLAIN, flags)}"
