"""Launches in a config of llama-swap, in a Dockerfile, and in values of the Helm chart of production-stack."""

from __future__ import annotations

import pytest

from sparkrig.serving import launch_text
from sparkrig.serving.launch import Launch, Unreadable
from tests.tables import each_row

SWAP = """
healthCheckTimeout: 500
macros:
  "server": >
    docker run --rm --gpus all -e A=1
    -p ${PORT}:8000 org/vllm:1
  "length": 4096
  "all": "--max-model-len ${length}"
models:
  "big":
    macros: {length: 16384}
    env: ["B=2", "C=x=y"]
    cmd: |
      # ${server} is above
      ${server}
      vllm serve Q/M ${all} \\
      --served-model-name ${MODEL_ID} --port ${PORT} --api-key ${env.KEY}
  small:
    env: ["B=2"]
    cmd: vllm serve Q/S --port ${PORT}
  tiny: {cmd: "llama-server --port ${PORT} -m x.gguf"}
  other: {cmd: sleep 5}
"""
HELM = """
servingEngineSpec:
  runtimeClassName: ""
  modelSpec:
  - name: big
    repository: vllm/vllm-openai
    tag: v0.24.0
    modelURL: Q/M
    requestGPU: 1
    enableTool: true
    toolCallParser: hermes
    env: [{name: A, value: "1"}]
    vllmConfig:
      enableChunkedPrefill: false
      maxModelLen: 4096
      gpuMemoryUtilization: 0.8
      tensorParallelSize: 2
      extraArgs: ["--kv-cache-dtype", "fp8", "--enforce-eager"]
  - {name: off, enabled: false, repository: x, tag: "1", modelURL: Q/O}
  - {name: bare, repository: org/vllm, tag: "2", modelURL: Q/B}
routerSpec: {enableRouter: true}
"""
DOCKERFILE = """# syntax=docker/dockerfile:1
ARG TAG=v0.24.0
FROM vllm/vllm-openai:${TAG} AS base
ENV A=1 B="two words"
RUN pip install x && \\
    # a comment
    echo CMD
FROM scratch AS unused
CMD ["vllm", "serve", "Q/Unused"]
FROM base
ENV C three
RUN <<EOF
CMD ["vllm", "serve", "Q/No"]
EOF
ENTRYPOINT ["vllm", "serve"]
CMD ["Q/M", "--max-model-len", \\
     "4096", "--x=$HOME"]
"""


def read(text: str) -> list[Launch]:
    return launch_text.read(text)


def test_llama_swap_has_a_command_for_each_model() -> None:
    big, small, tiny = read(SWAP)
    assert (big.source, big.model, small.source, small.model) == ("model big", "Q/M", "model small", "Q/S")
    assert big.flags["max-model-len"] == "16384" and big.flags["served-model-name"] == ["big"]
    assert big.flags["port"] == "${PORT}" and big.flags["api-key"] == ["${KEY}"]
    assert big.container and (big.container.image, big.container.gpus) == ("org/vllm:1", True)
    assert big.environment == {"A": "1"}, "the variables are those of docker, not of the container"
    assert small.environment == {"B": "2"} and small.container is None
    assert (tiny.source, tiny.engine) == ("model tiny", "llama.cpp")


def test_helm_values_become_what_the_chart_makes_of_them() -> None:
    big, bare = read(HELM)
    assert (big.source, big.model, bare.model) == ("Model big", "Q/M", "Q/B")
    assert big.flags == {
        "enable-auto-tool-choice": True,
        "tool-call-parser": "hermes",
        "enable-chunked-prefill": False,
        "enable-prefix-caching": False,
        "max-model-len": "4096",
        "tensor-parallel-size": "2",
        "gpu-memory-utilization": "0.8",
        "kv-cache-dtype": "fp8",
        "enforce-eager": True,
    }
    assert big.container and (big.container.image, big.container.gpus) == ("vllm/vllm-openai:v0.24.0", True)
    assert big.environment == {"A": "1"}
    assert bare.flags == {} and bare.container and not bare.container.gpus


def test_a_dockerfile_starts_what_its_last_stage_has() -> None:
    (found,) = read(DOCKERFILE)
    assert (found.source, found.model) == ("the Dockerfile", "Q/M")
    assert found.flags["max-model-len"] == "4096"
    assert found.container and found.container.image == "vllm/vllm-openai:v0.24.0" and not found.container.whole
    assert found.environment == {"A": "1", "B": "two words", "C": "three"}
    assert found.replaced and not found.installs_vllm


def test_forms_of_a_command_in_a_dockerfile() -> None:
    def holds(body: str, model: str | None) -> None:
        text = f"FROM vllm/vllm-openai:v0.24.0\n{body}\n"
        if model is None:
            with pytest.raises(Unreadable, match="Dockerfile"):
                read(text)
            return
        (found,) = read(text)
        assert found.model == model

    each_row(
        [
            ('CMD ["--model", "Q/M"]', "Q/M"),  # for the entrypoint of the image
            ('CMD ["vllm", "serve", "Q/A"]\nCMD ["vllm", "serve", "Q/M"]', "Q/M"),
            ("CMD vllm serve Q/M --port 1", "Q/M"),
            ('ENTRYPOINT vllm serve Q/M\nCMD ["--port", "1"]', "Q/M"),
            ('entrypoint ["vllm", "serve", "Q/M"]', "Q/M"),
            ('CMD ["bash", "-c", "exec vllm serve Q/M"]', "Q/M"),
            ('CMD ["vllm", "serve", "Q/M"]\nENTRYPOINT ["/start"]', "Q/M"),
            ('CMD ["vllm", "serve", "Q/M"]\nFROM vllm/vllm-openai:v0.24.0', None),
            ("CMD ['vllm', 'serve', 'Q/M']", None),  # no JSON: a shell gets it
            ('ENTRYPOINT ["sleep"]', None),
            ("ENV A=1", None),
        ],
        holds,
    )
    with pytest.raises(Unreadable, match="Dockerfile"):  # an entrypoint ends the command of its base
        read('FROM org/x:1 AS a\nCMD ["vllm", "serve", "Q/M"]\nFROM a\nENTRYPOINT ["/start"]')
    (again,) = read('FROM org/x:1\nRUN pip install -U vllm\nCMD ["vllm", "serve", "Q/M"]')
    assert again.installs_vllm


def test_what_has_no_launch_is_said_in_one_sentence() -> None:
    def holds(text: str, said: str) -> None:
        with pytest.raises(Unreadable) as caught:
            read(text)
        assert said in str(caught.value) and "\n" not in str(caught.value)

    doubled = "".join(f'  m{at}: "{f"${{m{at - 1}}}" * 50}"\n' for at in range(1, 8))
    each_row(
        [
            ("models:\n  a: {cmd: sleep 5}\n", "no cmd of the llama-swap config runs a server (a)"),
            ('models:\n  a: {cmd: "vllm serve \'x"}\n', "a quotation mark in the cmd of model a is not closed"),
            (f'macros:\n  m0: "{"x" * 50}"\n{doubled}models:\n  a: {{cmd: "${{m7}}"}}\n', "more than 65,536"),
            ("servingEngineSpec: {modelSpec: [{name: a}, 7]}\n", "no modelSpec of the Helm values has a modelURL"),
        ],
        holds,
    )
