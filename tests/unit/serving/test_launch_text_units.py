"""Units of systemd, .container files of Podman Quadlet, recipes of spark-pulse, and compose files with scripts."""

from __future__ import annotations

import pytest

from sparkrig.serving import launch_text
from sparkrig.serving.container import Container, Mount
from sparkrig.serving.launch import Launch, Unreadable
from tests.tables import each_row

UNIT = """
[Unit]
Description=the server
After=network.target

[Service]
Environment="KEY=a b" PORT=8000
Environment=FILE=/x
EnvironmentFile=-/etc/default/vllm
ExecStartPre=-/usr/bin/docker rm -f server
ExecStartPre=/bin/sh -c 'echo vllm serve Q/OLD'
ExecStart=
ExecStart=/usr/bin/docker run --rm --gpus all --name server \\
  -e KEY -e SPARK=%H \\
  ; a comment
  # another one
  -v %h/hub:/hub org/vllm:1 vllm serve Q/M \\
  --port ${PORT} --speculative-config '{"method": "mtp"}'
ExecStop=/usr/bin/docker stop server
"""


def one(text: str) -> Launch:
    (found,) = launch_text.read(text)
    return found


def test_what_ansible_would_fill_in_is_not_known() -> None:
    """roles/inference/templates of epappas/gx10-cluster at b59ca4a, shortened: its braces were called no JSON."""
    script = (
        'MODEL="${1:?usage}"\n{% if x %}\n'
        'exec docker run --gpus all {{ more }} "{{ vllm_image }}" vllm serve "$MODEL" \\\n    {# a comment #}\n'
        "    --gpu-memory-utilization {{ share }} --port {{ p.of | default(8000, true) }}\n"
    )
    (found,) = launch_text.read(script)
    assert found.flags == {"gpu-memory-utilization": "${share}", "port": "8000"} and not found.extra
    image = "vllm/vllm-openai:{{ t|d('v0.29.0') }}"
    (found,) = launch_text.read(
        f"[Service]\nExecStart=docker run -p {{{{ b }}}}:80 {image} --model {{{{ m['a'] }}}}\n"
    )
    assert found.container and found.container.image == "vllm/vllm-openai:v0.29.0" and found.model == "${m_a}"
    (found,) = launch_text.read("services:\n  a:\n    image: {{ i }}\n    command: vllm serve {{ m }}\n")
    assert found.model == "${m}"


def test_a_unit() -> None:
    for text in (UNIT, f"# a comment\n\n; another\n{UNIT}", UNIT.replace("\n", "\r\n")):
        found = one(text)
        assert (found.source, found.model) == ("docker run org/vllm:1", "Q/M")
        assert found.flags == {"port": "8000", "speculative-config": {"method": "mtp"}}
        assert found.environment == {"KEY": "a b", "SPARK": "$SPECIFIER"}
        assert found.container == Container("org/vllm:1", gpus=True, mounts=(Mount("$HOME/hub", "/hub"),))


def test_each_way_to_write_what_a_unit_starts() -> None:
    def holds(start: str, before: str = "") -> None:
        found = one(f"[Service]\nEnvironment=M=Q/M\n{before}\nExecStart={start}\n")
        assert (found.model, found.flags) == ("Q/M", {"port": "1"})

    each_row(
        [
            "/opt/vllm serve Q/M --port 1",
            # vllm-aeon-27b-dflash.service of [@gb10-services]
            "/usr/bin/env -i A=/x docker run --entrypoint python3 a/vllm:1 /o/vllm_wrapper.py serve Q/M --port 1",
            "-/opt/vllm serve $M --port 1",
            "+!!/opt/vllm serve ${M} --port 1",
            "@/opt/vllm vllm serve Q/M --port 1",
            '/bin/bash -lc "exec vllm serve \\"$M\\" --port 1 >> /var/log/x 2>&1"',
            "/bin/sh -c 'M=$$M; vllm serve Q/M --port 1'",
            (
                "/usr/bin/docker exec box vllm serve Q/M --port 1",
                "ExecStartPre=docker run -d --name box img sleep 9",
            ),
        ],
        holds,
    )


def test_two_units_one_after_the_other() -> None:
    text = "[Unit]\nDescription=a\n[Service]\nExecStart=vllm serve Q/A\n[Install]\nWantedBy=x\n"
    found = launch_text.read(text + text.replace("=a\n", f"={'b' * 99}\n").replace("Q/A", "Q/B"))
    assert [(each.source, each.model) for each in found] == [("unit a", "Q/A"), ("the unit", "Q/B")]


QUADLET = """
[Container]
Image=docker.io/vllm/vllm-openai:v0.24.0@sha256:1a
ContainerName=server
Exec=--model Q/M \\
  --port 1
Environment=A=1 "B=2 3"
AddDevice=nvidia.com/gpu=all
AddDevice=/dev/infiniband
AddCapability=CAP_IPC_LOCK
Network=host
Ulimit=memlock=-1
Volume=%h/hub:/hub:ro
PodmanArgs=--ipc=host --memory 100g

[Install]
WantedBy=default.target
"""


def test_a_container_of_quadlet() -> None:
    found = one(QUADLET)
    assert (found.model, found.flags, found.whole) == ("Q/M", {"port": "1"}, True)
    assert found.environment == {"A": "1", "B": "2 3"}
    assert found.container == Container(
        image="docker.io/vllm/vllm-openai:v0.24.0@sha256:1a",
        gpus=True,
        network="host",
        ipc="host",
        devices=("/dev/infiniband",),
        capabilities=("IPC_LOCK",),
        limits={"memlock": -1},
        memory="100g",
        mounts=(Mount("$HOME/hub", "/hub"),),
    )
    for more in ("EnvironmentFile=/x", "EnvironmentHost=true"):
        assert not one(QUADLET.replace("Network=host", more)).whole
    shell = QUADLET.replace("Exec=--model Q/M", "Entrypoint=/bin/bash\nExec=-c 'vllm serve Q/M --port 1'")
    assert one(shell).model == "Q/M"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[Unit]\nDescription=x\n", "no ExecStart and no Image"),
        ("[Service]\nExecStart=/bin/true\n", "no ExecStart and no Image"),
        ("[Service]\nExecStart=vllm serve 'Q/M\n", "a quotation mark is not closed in the unit"),
        ("[Service]\nExecStart=docker run --gpus all\n", "names no image"),
        ("[Container]\nExec=--model Q/M\n", "names no image"),
    ],
)
def test_what_has_no_launch_is_said_in_a_sentence(text: str, said: str) -> None:
    with pytest.raises(Unreadable, match=said):
        launch_text.read(text)


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
      MORE=(); if [ "$${USE}" = "1" ]; then MORE+=(--seed 1); QUANT="--quantization fp8"; fi;
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
    assert found.flags == {"max-cudagraph-capture-size": "36", "nnodes": "2", "node-rank": "${RANK}"}
    assert found.extra == ("${HEADLESS:+--headless}", "${QUANT}")
    configured = "configs:\n  run.sh:\n    content: |\n      vllm serve Q/M --port $$P\n"
    assert one(
        f"{configured}services:\n  a: {{image: i, command: [sh, /run.sh], environment: {{P: 1}}}}\n"
    ).flags == {"port": "1"}
