"""How vLLM is launched, in every form that people have: read as the same typed launch, or refused in words."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from sparkrig.serving import arguments, engines, launch_text
from sparkrig.serving.container import Container, Mount
from sparkrig.serving.launch import Launch, NotRead, Unreadable
from tests.tables import data, each_row
from tests.unit.launches import COMPOSED, INJECTED, INSPECTED

TABLE: list[dict[str, Any]] = data(Path(__file__).with_name("launches.yaml"))
# forms in which the words of a row are tried, by the row's key
FORMS = {
    "text": ("{}",),
    "flags of": ("vllm serve Q/M {}", "vllm serve {} --model Q/M"),
    "command": ("{}", "docker run --gpus all img {}", "docker exec box bash -c '{}'"),
}


def one(text: str) -> Launch:
    (found,) = launch_text.read(text)
    return found


def plain(value: Any) -> Any:
    """As YAML has it; of a container what differs from an empty one."""
    if isinstance(value, Container):
        given = {each.name: getattr(value, each.name) for each in fields(value)}
        return {name: plain(each) for name, each in given.items() if each != getattr(Container(), name)}
    if isinstance(value, Mount):
        return [value.source, value.target]
    return [*map(plain, value)] if isinstance(value, tuple) else value


def texts(row: dict[str, Any]) -> list[str]:
    given = [form.replace("{}", row[key]) for key, forms in FORMS.items() if key in row for form in forms]
    return given or row["each"]


def read_as(row: dict[str, Any]) -> None:
    expected = {name: value for name, value in row.items() if name not in (*FORMS, "each")}
    assert expected
    for text in texts(row):
        if refused := expected.get("refused"):
            with pytest.raises(Unreadable, match=refused) as said:
                launch_text.read(text)
            assert "\n" not in str(said.value)
        elif why := expected.get("not_read"):
            with pytest.raises(NotRead) as said:
                launch_text.read(text)
            assert str(said.value) == f"{why}, which is not read; start it, and read its container"
        else:
            launch = one(text)
            if "command" in row or "flags of" in row:
                assert (launch.model, launch.extra, launch.broken) == ("Q/M", (), ())
            given = {name: plain(getattr(launch, name)) for name in expected if name != "image"}
            if "command" in row:  # its model may stand behind a flag
                given["flags"] = {name: value for name, value in launch.flags.items() if value != "Q/M"}
            given |= {"image": launch.container.image} if "image" in expected and launch.container else {}
            assert given == expected, text


def test_what_is_read_of_each_text() -> None:
    each_row(TABLE, read_as)


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


def test_words_of_a_shell_are_read_like_a_text() -> None:
    text = 'docker run --gpus all img vllm serve Q/M --speculative-config \'{"method": "mtp"}\''
    words = ["docker", "run", "--gpus", "all", "img", "vllm", "serve", "Q/M"]
    assert launch_text.typed([*words, "--speculative-config", '{"method": "mtp"}']) == launch_text.read(text)


def test_one_text_may_have_several_launches_of_several_engines() -> None:
    found = launch_text.read(
        "vllm serve Q/A --port 1 &\nvllm serve Q/B --port 2 &\nllama-server -m Q/C --port 3\n"
    )
    assert [(each.engine, each.model) for each in found] == [
        ("vllm", "Q/A"),
        ("vllm", "Q/B"),
        ("llama.cpp", "Q/C"),
    ]


def test_an_image_is_of_one_engine() -> None:
    def holds(image: str, engine: str) -> None:
        assert engines.of_image(image) == engine

    each_row(
        [
            ("vllm/vllm-openai:v1", ""),
            ("vllm-node", ""),
            ("org/vllm-sglang:1", ""),
            ("nvcr.io/nvidia/tritonserver:25.01-trtllm-python-py3", "trt-llm"),
            ("scitrera/dgx-spark-sglang:1", "sglang"),
            ("local/llama.cpp:server", "llama.cpp"),
            ("nvcr.io/nim/openai/gpt-oss-20b:2.0.9", "nim"),
            ("nvcr.io/nimbus/server:1", ""),
            ("mongodb/atlas:1", ""),
            ("postgres", ""),
        ],
        holds,
    )
