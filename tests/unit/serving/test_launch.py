"""How vLLM is launched, in every form that people have: read as the same typed launch, or refused in words."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from sparkrig.serving import arguments, container, launch_text
from sparkrig.serving.container import Container, Mount
from sparkrig.serving.launch import Launch, Unreadable
from tests.tables import each_row
from tests.unit.launches import ASKED, COMPOSED, INJECTED, INSPECTED, LARGE


def one(text: str) -> Launch:
    (found,) = launch_text.read(text)
    return found


def test_the_launch_of_article_003() -> None:
    found = one(INJECTED)
    assert found.model == "Qwen/Qwen3.5-35B-A3B"
    assert found.environment == {"VLLM_FLASHINFER_MOE_BACKEND": "latency", "VLLM_TEST_FORCE_FP8_MARLIN": "1"}
    assert found.flags == {
        "served-model-name": ["qwen3.5-35b"],
        "port": "8000",
        "host": "0.0.0.0",
        "max-model-len": "32768",
        "gpu-memory-utilization": "0.65",
        "quantization": "fp8",
        "kv-cache-dtype": "fp8",
    }
    assert found.container == Container(
        image="vllm-custom:sm121-inject",
        gpus=True,
        ipc="host",
        mounts=(Mount("/path/to/huggingface/cache", "/root/.cache/huggingface"),),
    )
    assert (found.whole, found.extra, found.broken) == (True, (), ())


def test_the_launch_of_a_reader_of_article_003_as_the_forum_shows_it() -> None:
    found = one(ASKED)
    assert found.model == "/model"
    assert found.names == ("/model", "/data/models/Qwen3.5-35B-A3B", "Qwen3.5-35B-A3B")
    assert (found.text("load-format"), found.text("gpu-memory-utilization")) == ("fastsafetensors", "0.7")
    assert (found.container, found.whole, found.wrapper, found.solo) == (None, False, "launch-cluster.sh", True)


def test_the_launch_of_article_004() -> None:
    found = one(LARGE)
    assert found.names[1].endswith("/Qwen3.5-122B-A10B-NVFP4-Sehyo")
    assert found.table("speculative-config") == {"method": "mtp", "num_speculative_tokens": 2}
    assert found.table("default-chat-template-kwargs") == {"enable_thinking": False}
    assert found.on("enable-prefix-caching")
    assert (found.number("gpu-memory-utilization"), found.whole_number("max-num-seqs", 0)) == (0.9, 4)
    assert found.container is not None
    assert (found.container.privileged, found.container.network, found.container.gpus) == (True, "host", True)


IMAGE = {"Id": "sha256:9", "Architecture": "amd64", "RepoTags": ["x"]}


def test_a_compose_file() -> None:
    found = one(COMPOSED)
    assert (found.source, found.model) == ("service head", "Qwen/Qwen3-235B-A22B-GPTQ-Int4")
    assert found.flags["tensor-parallel-size"] == "${TP}"
    assert found.table("speculative-config") == {"method": "mtp"}
    assert found.environment == {"NCCL_IGNORE_CPU_AFFINITY": "1", "VLLM_HOST_IP": "192.168.100.10"}
    assert found.container == Container(
        image="vllm-node",
        gpus=True,
        privileged=True,
        network="host",
        ipc="host",
        devices=("/dev/infiniband",),
        capabilities=("IPC_LOCK",),
        limits={"memlock": -1, "nofile": 1048576},
        mounts=(
            Mount("~/.cache/huggingface", "/root/.cache/huggingface"),
            Mount("/etc/nccl.conf", "/etc/nccl.conf"),
        ),
    )


def test_the_commands_of_a_service() -> None:
    def holds(service: str, model: str, flags: dict[str, str]) -> None:
        found = one(f"services:\n  vllm:\n    {service}\n")
        assert (found.model, found.flags) == (model, flags)

    each_row(
        {
            "list": (
                "image: vllm/vllm-openai\n    command: [--model, Q/M, -tp, 2]",
                "Q/M",
                {"tensor-parallel-size": "2"},
            ),
            "text": ("image: vllm/vllm-openai\n    command: --model Q/M --port 1", "Q/M", {"port": "1"}),
            "entrypoint": ("image: x\n    entrypoint: [vllm, serve]\n    command: Q/M", "Q/M", {}),
            "shell as entrypoint": (
                "image: x\n    entrypoint: bash -c\n    command: ['vllm serve Q/M --port 1']",
                "Q/M",
                {"port": "1"},
            ),
            "script": (
                "image: x\n    command: [sh, -c, 'pip install ray; vllm serve Q/M']",
                "Q/M",
                {},
            ),
        },
        holds,
    )


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


@pytest.mark.parametrize("env_file", ["env_file: .env\n    ", ""], ids=["with", "without"])
def test_an_environment_is_whole_where_no_file_of_it_is_named(env_file: str) -> None:
    found = one(f"services:\n  a:\n    {env_file}environment: [A=1, B]\n    image: x\n    command: vllm serve M\n")
    assert (found.whole, found.environment) == (not env_file, {"A": "1", "B": None})
    word = "--env-file x " if env_file else ""
    assert one(f"docker run {word}-e A=1 img vllm serve M").whole is not bool(env_file)


def test_a_running_container() -> None:
    found = one(json.dumps([INSPECTED]))
    assert (found.source, found.model) == ("container vllm", "Qwen/Qwen3-8B")
    assert found.environment["A"] == "1"
    assert found.container == Container(
        image="nvcr.io/nvidia/vllm:26.04-py3",
        gpus=True,
        network="host",
        ipc="private",
        devices=("/dev/infiniband",),
        capabilities=("IPC_LOCK",),
        limits={"memlock": -1},
        mounts=(Mount("/root/.cache", "/root/.cache"),),
    )


def test_a_running_container_whose_image_was_inspected_as_well() -> None:
    (found,) = launch_text.read(json.dumps([INSPECTED, IMAGE]))
    assert found.container is not None
    assert found.container.architecture == "amd64"


def test_each_way_to_write_a_flag() -> None:
    def holds(typed: str, flags: dict[str, Any]) -> None:
        for text in (f"vllm serve Q/M {typed}", f"vllm serve {typed} --model Q/M"):
            found = one(text)
            assert (found.model, found.flags, found.extra, found.broken) == ("Q/M", flags, (), ())

    each_row(
        [
            ("-tp 2", {"tensor-parallel-size": "2"}),
            ("-tp=2", {"tensor-parallel-size": "2"}),
            ("--tensor_parallel_size=2", {"tensor-parallel-size": "2"}),
            ("--tensor-parallel-size 2 --tensor-parallel-size 1", {"tensor-parallel-size": "1"}),
            ("--tensor-par 2", {"tensor-parallel-size": "2"}),
            (
                "-pp 2 -q fp8 -n 2 -r 1",
                {"pipeline-parallel-size": "2", "quantization": "fp8", "nnodes": "2", "node-rank": "1"},
            ),
            ("-O3", {"optimization-level": "3"}),
            ("--enforce-eager --port 1", {"enforce-eager": True, "port": "1"}),
            ("--no-enable-prefix-caching", {"enable-prefix-caching": False}),
            ("--no_enable_prefix_caching", {"enable-prefix-caching": False}),
            ("--served-model-name a b --port 1", {"served-model-name": ["a", "b"], "port": "1"}),
            ("--api-key a b", {"api-key": ["a", "b"]}),
            ("--brand-new 1", {"brand-new": "1"}),
            ("--brand-new --port 1", {"brand-new": True, "port": "1"}),
            ("--kv-cache-memory-bytes -1", {"kv-cache-memory-bytes": "-1"}),
            ("""--speculative-config '{"method": "mtp"}'""", {"speculative-config": {"method": "mtp"}}),
            (
                """--speculative_config={"method":"mtp"}""".replace('"', '\\"'),
                {"speculative-config": {"method": "mtp"}},
            ),
            (
                "--speculative-config.method mtp --speculative_config.num_speculative_tokens=2",
                {"speculative-config": {"method": "mtp", "num_speculative_tokens": 2}},
            ),
            (
                "--compilation-config.pass_config.fuse true",
                {"compilation-config": {"pass_config": {"fuse": True}}},
            ),
            ("-cc.mode 3", {"compilation-config": {"mode": 3}}),
        ],
        holds,
    )


def test_a_model_may_stand_behind_a_switch() -> None:
    assert one("vllm serve --enforce-eager Q/M").model == "Q/M"


def test_what_is_no_json_and_what_belongs_to_no_flag() -> None:
    found = one("vllm serve Q/M --speculative-config {method:mtp} --enforce-eager true")
    assert (found.broken, found.extra) == (("speculative-config",), ("true",))


def test_numbers_as_vllm_reads_them() -> None:
    def holds(text: str, number: int | None) -> None:
        assert arguments.whole_number(text) == number

    each_row(
        [
            ("131072", 131072),
            ("128K", 131072),
            ("128k", 128000),
            ("1.5k", 1500),
            ("1.5K", None),
            ("-1", -1),
            ("x", None),
        ],
        holds,
    )


def test_each_way_to_type_it() -> None:
    def holds(text: str) -> None:
        found = one(text)
        assert (found.model, found.flags) == ("Q/M", {"port": "1"})

    each_row(
        [
            "vllm serve Q/M --port 1",
            "$ vllm serve Q/M --port 1",
            "sudo nohup vllm serve Q/M --port 1 > log 2>&1 &",
            "/opt/venv/bin/vllm serve Q/M --port=1 | tee log",
            "vllm serve Q/M \\\n  --port 1",
            "vllm serve Q/M \\\r\n  --port 1\r\n",
            "vllm serve Q/M \\ \n  --port 1",
            "vllm serve Q/M\n  --port 1\n",
            "vllm serve \u2018Q/M\u2019 \u2013port 1",
            "# the model\nvllm serve Q/M --port 1  # and its port",
            "python3 -m vllm.entrypoints.openai.api_server --model Q/M --port 1",
            "python3 -m vllm.entrypoints.cli.main serve Q/M --port 1",
            "export MODEL=Q/M\nPORT=1\nvllm serve $MODEL --port ${PORT}",
            "vllm serve ${MODEL:-Q/M} --port ${PORT-1}",
            "cd /tmp && source venv/bin/activate; vllm serve Q/M --port 1",
            'bash -lc "vllm serve Q/M --port 1"',
            "docker exec -it node bash -c 'vllm serve Q/M --port 1'",
            "docker exec -it node bash -i -c 'vllm serve Q/M --port 1'",
            "docker run img bash -c -i 'vllm serve Q/M --port 1'",
            'COMMAND="vllm serve Q/M"\nCOMMAND="$COMMAND --port 1"\neval $COMMAND',
            'PORT=1\nCOMMAND="vllm serve Q/M \\\n  --port ${PORT}"\nexec ${COMMAND}',
            "docker exec node vllm serve Q/M --port 1",
            "docker compose exec vllm vllm serve Q/M --port 1",
            "docker run --rm -it --gpus=all img vllm serve Q/M --port 1",
            "docker container run --gpus all vllm/vllm-openai:latest --model Q/M --port 1",
            "podman run vllm/vllm-openai Q/M --port 1",
            "docker run --entrypoint vllm img serve Q/M --port 1",
            "docker run --rm -- img vllm serve Q/M --port 1",
            "docker run --entrypoint bash img -c 'vllm serve Q/M --port 1'",
            "docker run -dp8000:8000 -eA=1 -v/a:/b img vllm serve Q/M --port 1",
        ],
        holds,
    )


RECIPE = """
# Recipe: a pair
recipe_version: "1"
name: big
container: vllm-node
defaults:
  port: 8000
  tensor_parallel: 2
  draft: '{"method": "mtp"}'
env:
  A: 1
command: |
  vllm serve Q/M --port {port} -tp {tensor_parallel} \\
    --max-model-len {length} \\
    --speculative-config '{draft}' \\
    --hf-overrides '{{"a": {tensor_parallel}}}'
"""


def test_a_recipe() -> None:
    found = one(RECIPE)
    assert (found.source, found.model, found.wrapper) == ("recipe big", "Q/M", "recipe")
    assert found.environment == {"A": "1"}
    assert found.flags == {
        "port": "8000",
        "tensor-parallel-size": "2",
        "max-model-len": "${length}",
        "speculative-config": {"method": "mtp"},
        "hf-overrides": {"a": 2},
    }


def test_a_file_of_flags() -> None:
    found = one(
        "model: Q/M\ntensor_parallel_size: 2\nenforce-eager: true\nenable-prefix-caching: false\n"
        "served-model-name: [a, b]\nspeculative-config: {method: mtp}\n"
    )
    assert (found.source, found.model, found.container) == ("the --config file", "Q/M", None)
    assert found.flags == {
        "tensor-parallel-size": "2",
        "enforce-eager": True,
        "enable-prefix-caching": False,
        "served-model-name": ["a", "b"],
        "speculative-config": {"method": "mtp"},
    }


@pytest.mark.parametrize(
    ("image", "words", "model"),
    [
        ("vllm/vllm-openai:latest", "$MODEL --port 1", "$MODEL"),
        ("vllm/vllm-openai", "gpt2", "gpt2"),
        ("org/vllm-dgx:1", "Q/M", "Q/M"),
        ("org/vllm-dgx:1", "/models/m", "/models/m"),
    ],
)
def test_an_image_of_vllm_takes_the_words_as_arguments(image: str, words: str, model: str) -> None:
    assert one(f"docker run {image} {words}").model == model


@pytest.mark.parametrize("words", ["/bin/bash /scripts/start.sh Q/M", "sleep infinity", "/usr/bin/env", "bash"])
def test_what_else_an_image_of_vllm_runs_is_no_model(words: str) -> None:
    with pytest.raises(Unreadable):
        launch_text.read(f"docker run org/vllm-dgx:1 {words}")
    with pytest.raises(Unreadable):
        launch_text.read(
            f"services:\n  a:\n    image: vllm/vllm-openai\n    entrypoint: {words}\n    command: Q/M\n"
        )


def test_a_script_of_two_launches() -> None:
    found = launch_text.read("vllm serve Q/A --port 1 &\nvllm serve Q/B --port 2\n")
    assert [each.model for each in found] == ["Q/A", "Q/B"]


def test_the_environment_that_vllm_gets() -> None:
    def holds(text: str, environment: dict[str, str | None]) -> None:
        assert one(text).environment == environment

    each_row(
        [
            ("A=1 vllm serve M", {"A": "1"}),
            ("export A=1 B=2\nvllm serve M", {"A": "1", "B": "2"}),
            ("A=1\nvllm serve M", {}),
            ("A=1 docker run -e B=2 img vllm serve M", {"B": "2"}),
            ("export A=1; docker run -e A img vllm serve M", {"A": "1"}),
            ("docker run -e A img vllm serve M", {"A": None}),
            ("docker run img env C=3 vllm serve M", {}),
            ("docker exec -e F=1 node bash -c 'G=2 vllm serve M'", {"F": "1", "G": "2"}),
        ],
        holds,
    )


def test_what_a_container_is_given() -> None:
    def holds(text: str, expected: Container) -> None:
        assert one(text).container == expected

    each_row(
        [
            ("docker run --platform linux/amd64 i vllm serve M", Container("i", architecture="amd64")),
            ("docker run --platform=linux/arm64/v8 i vllm serve M", Container("i", architecture="arm64")),
            ("docker run --net=host --ipc host i vllm serve M", Container("i", network="host", ipc="host")),
            ("docker run --gpus '\"device=0\"' i vllm serve M", Container("i", gpus=True)),
            ("docker run --device nvidia.com/gpu=all i vllm serve M", Container("i", gpus=True)),
            (
                "docker run --device=/dev/infiniband:/dev/infiniband --cap-add=CAP_IPC_LOCK i vllm serve M",
                Container("i", devices=("/dev/infiniband",), capabilities=("IPC_LOCK",)),
            ),
            (
                "docker run --ulimit memlock=-1:-1 --ulimit nofile=1024:2048 --ulimit stack=x i vllm serve M",
                Container("i", limits={"memlock": -1, "nofile": 1024, "stack": 0}),
            ),
            ("docker run -m 100g i vllm serve M", Container("i", memory="100g")),
            (
                "docker run --mount type=bind,src=/a,dst=/b -v /c i vllm serve M",
                Container("i", mounts=(Mount("", "/c"), Mount("/a", "/b"))),
            ),
            ("docker run -v ${HOME:-/root}/x:/y i vllm serve M", Container("i", mounts=(Mount("/root/x", "/y"),))),
        ],
        holds,
    )


@pytest.mark.parametrize(
    ("model", "mount", "name"),
    [
        ("/m", "/data/Qwen3-8B:/m", "/data/Qwen3-8B"),
        ("/models/a/", "/data:/models", "/data/a"),
        ("/models/a", "/data:/model", "/models/a"),
        ("/hub/models--Qwen--Qwen3-8B/snapshots/1", "/hub:/hub", "Qwen/Qwen3-8B"),
    ],
)
def test_a_model_is_known_by_what_is_mounted_there(model: str, mount: str, name: str) -> None:
    assert name in one(f"docker run -v {mount} img vllm serve {model}").names


def test_a_node_of_ray() -> None:
    found = one("docker run --network host img ray start --block --address=192.168.100.10:6379")
    assert (found.ray, found.model) == (True, "")
    assert found.container is not None
    script = one("docker run img bash -c 'ray start --head && vllm serve M --distributed-executor-backend ray'")
    assert (script.ray, script.model) == (False, "M")
    with pytest.raises(Unreadable):
        launch_text.read("docker run img ray status")


def test_ray_that_is_installed_first() -> None:
    words = "docker run img bash -c \"pip install 'ray[default]>=2.9' && vllm serve M\""
    assert one(words).installs_ray
    assert not one("pip install raylib; vllm serve M").installs_ray


@pytest.mark.parametrize(
    ("typed", "wrapper", "solo"),
    [
        ("./launch-cluster.sh exec", "launch-cluster.sh", False),
        ("./launch-cluster.sh --solo exec", "launch-cluster.sh", True),
        ("sudo", "", False),
    ],
)
def test_a_script_that_may_add_flags_is_named(typed: str, wrapper: str, solo: bool) -> None:
    found = one(f"{typed} vllm serve M")
    assert (found.wrapper, found.solo) == (wrapper, solo)


def test_words_of_a_shell_are_read_like_a_text() -> None:
    text = 'docker run --gpus all img vllm serve Q/M --speculative-config \'{"method": "mtp"}\''
    words = ["docker", "run", "--gpus", "all", "img", "vllm", "serve", "Q/M"]
    assert launch_text.typed([*words, "--speculative-config", '{"method": "mtp"}']) == launch_text.read(text)


SLEEPS: dict[str, Any] = {**INSPECTED, "Path": "sleep", "Args": ["infinity"], "Config": {"Image": "x", "Env": []}}


def test_what_is_no_launch_is_said_in_a_sentence() -> None:
    def holds(text: str, words: str) -> None:
        with pytest.raises(Unreadable, match=words) as refused:
            launch_text.read(text)
        assert "\n" not in str(refused.value)

    each_row(
        [
            ("", "nothing was given"),
            ("  \n", "nothing was given"),
            ("hello world", "no `vllm serve`"),
            ("vllm bench serve", "no `vllm serve`"),
            ("vllm serve 'Q/M", "quotation mark"),
            ("docker run --gpus all", "names no image"),
            ("docker run ubuntu sleep infinity", "no `vllm serve`"),
            ("[1, 2", "no JSON|is none"),
            ("[]", "no container"),
            ('{"a": 1}', "no container"),
            (json.dumps([SLEEPS]), "runs `sleep`, which is no vLLM"),
            ("command: vllm serve M\nenv: A\n", "defaults and env of the recipe"),
            ("a: 1\n", "no services .* no command .* no model"),
            ("apiVersion: v1\nkind: Pod\n", "^it is an object of Kubernetes, which is not read; start it"),
            ("---\n# x\n---\nkind: Pod\nspec: {}\napiVersion: v1\n", "it is an object of Kubernetes"),
            ("apiVersion: v1\nkind: HelmRelease\nspec: {values: {a: 1}}\n", "it is an object of Kubernetes"),
            ("servingEngineSpec: {modelSpec: [{modelURL: Q/M}]}\n", "it is a values file of a Helm chart"),
            ("controllers: {a: {containers: {b: {command: [vllm]}}}}\n", "it is a values file of a Helm chart"),
            ("models:\n  a: {cmd: vllm serve Q/M}\n", "it is a llama-swap config"),
            ("model: Q/M\nengines: {vllm: {args: --port 1}}\n", "it is a recipe of spark-pulse"),
            ("# syntax=x\n\nARG T=1\nFROM i:$T\nCMD vllm serve Q/M\n", "it is a Dockerfile"),
            ("from --platform=linux/arm64 i as a\r\nCMD vllm serve Q/M\r\n", "it is a Dockerfile"),
            ("FROM i", "it is a Dockerfile"),
            ("[Service]\nExecStart=vllm serve Q/M\n", "it is a systemd unit"),
            ("# a\n; b\n\n[X-Container]\r\nImage=vllm/vllm-openai\r\n", "it is a systemd unit"),
            ("vllm serve {{ model }} --port 1\n", "it is a template with {{ }} or {% %}"),
            ("vllm serve M --port {{p.of|default(8000)}}\n", "it is a template"),
            ("vllm serve {{ m['a'] }}\n", "it is a template"),
            ("{%- if x %}\nvllm serve M\n{% endif %}\n", "it is a template"),
            ("{{- if .Values.x }}\napiVersion: v1\n", "it is a template"),
            ("apiVersion: v1\nkind: {{ .Values.kind }}\n", "it is a template"),
            ('metadata:\n  labels:\n    {{- include "a" . | nindent 4 }}\n', "it is a template"),
            ("services:\n  a: [", "begins like YAML and is none near line"),
            ("services: {a: 1}\nservices:\n", "no services"),
            ("services:\n  a:\n    command: vllm serve 'M\n", "quotation mark in the command of service a"),
            ("services:\n  a:\n    image: postgres\n", "no service of the compose file runs vLLM"),
        ],
        holds,
    )


def test_what_looks_like_a_form_that_is_not_read() -> None:
    """Braces of docker's own templates and of JSON in a recipe; words that begin like a Dockerfile."""

    def holds(text: str) -> None:
        assert one(text).model == "Q/M"

    each_row(
        [
            "docker ps --format '{{.Names}}: {{json .State}}'\nvllm serve Q/M",
            "docker inspect -f '{{range .A}}{{.B}}{{else}}x{{end}}' x\nvllm serve Q/M",
            "From my notes:\nvllm serve Q/M",
            "[ -f /x ] && vllm serve Q/M",
            "services: {a: {image: vllm/vllm-openai, command: [Q/M]}}\nmodels: {b: {model: x}}\n",
            "recipe_version: '1'\ncommand: |\n  vllm serve Q/M\n    --hf-overrides '{{\"a\": {{}}}}'\n",
            "model: Q/M\nkind: x\n",
        ],
        holds,
    )


def test_the_container_of_a_launch_is_the_one_that_was_described() -> None:
    described = container.typed(["-e", "A=1", "img", "vllm", "serve", "M"])
    assert described == container.Described(Container("img"), ("vllm", "serve", "M"), {"A": "1"})
    assert replace(one("docker run -e A=1 img vllm serve M"), source="").container == described.container
