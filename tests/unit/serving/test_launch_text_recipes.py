"""Recipes of spark-pulse, and compose files with scripts."""

from __future__ import annotations

from sparkrig.serving import launch_text
from sparkrig.serving.container import Container
from sparkrig.serving.launch import Launch


def one(text: str) -> Launch:
    (found,) = launch_text.read(text)
    return found


PULSE = """
recipe_version: "2"
name: small
model: Q/M
engine: vllm
params:
  port: 8000
  tensor_parallel: 2
  gpu_memory_utilization: 0.7
  drafted: 3
engines:
  sglang: {image: lmsysorg/sglang, args: --tp 2}
  vllm:
    image: vllm-node
    env: {A: 1}
    args: >-
      --trust-remote-code --port 9000
      --speculative-config '{{"method":"mtp","num_speculative_tokens":{drafted}}}'
"""


def test_a_recipe_of_spark_pulse() -> None:
    found = one(PULSE)
    assert (found.source, found.model, found.wrapper, found.environment) == (
        "recipe small",
        "Q/M",
        "recipe",
        {"A": "1"},
    )
    assert found.flags == {
        "port": "9000",
        "tensor-parallel-size": "2",
        "gpu-memory-utilization": "0.7",
        "trust-remote-code": True,
        "speculative-config": {"method": "mtp", "num_speculative_tokens": 3},
    }
    assert (found.container, found.whole) == (Container("vllm-node", whole=False), False)
    other = one(PULSE.replace("engine: vllm", "engine: sglang"))
    assert (other.engine, other.model, other.flags["tensor-parallel-size"]) == ("sglang", "Q/M", "2")


def test_a_script_in_a_compose_file() -> None:
    text = """
services:
  a:
    image: ${IMAGE:-org/vllm:${TAG:-1}}
    entrypoint: []
    environment: {TOKENS: "${TOKENS:-5}", USE: "${USE:-0}"}
    command:
    - bash
    - -lc
    - >
      MORE=(--seed $${USE});
      exec vllm serve ${MODEL:-Q/M}
      "$${MORE[@]}"
      --max-cudagraph-capture-size $$(( ${SEQS:-6} * ($${TOKENS} + 1) ))
      --nnodes 2 --node-rank ${RANK}
      ${HEADLESS:+--headless}
      $${QUANT}
"""
    found = one(text)
    assert found.container is not None
    assert (found.container.image, found.model) == ("org/vllm:1", "Q/M")
    assert found.flags == {
        "max-cudagraph-capture-size": "$(( 6 * (${TOKENS} + 1) ))",
        "nnodes": "2",
        "node-rank": "${RANK}",
        "seed": "0",
    }
    assert found.extra == ("${HEADLESS:+--headless}", "${QUANT}")
