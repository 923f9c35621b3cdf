"""What a node runs, as templates/serving/start.sh makes it of its orders; with stand-ins for vLLM and Ray."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.shells import tool, well
from tests.unit.sshd import free_ports

ROOT = Path(__file__).resolve().parents[3]
START = ROOT / "templates" / "serving" / "start.sh"
SERVE = ("vllm", "serve", "MODEL", "--served-model-name", "a b")
LONE = {"SPARKRIG_FORM": "solo", "SPARKRIG_PORT": "8123"}
# no node at all: TEST-NET-2 is no address of any machine (RFC 5737)
ELSEWHERE = "198.51.100.1"


def part(form: str, rank: int, address: str, head: str, nodes: int = 2) -> dict[str, str]:
    orders = {
        "form": form,
        "port": "8123",
        "rank": f"{rank}",
        "nodes": f"{nodes}",
        "head": head,
        "address": address,
    }
    named = {f"SPARKRIG_{name.upper()}": value for name, value in {**orders, "wait": "1"}.items()}
    return {**named, "GLOO_SOCKET_IFNAME": "lo"}


@pytest.fixture
def stand_ins(tmp_path: Path) -> Path:
    """A vLLM and a Ray that print what they are told, a word a line."""
    tool(tmp_path / "bin", "python3", f'exec {sys.executable} "$@"')
    for name in ("vllm", "ray"):
        tool(tmp_path / "bin", name, f"printf '{name}: %s\\n' \"$@\"; env | grep -E '^(VLLM|RAY)_' | sort")
    return tmp_path / "bin"


@pytest.fixture
def here() -> str:
    """An address of this machine, which is not loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((ELSEWHERE, 9))
        return str(probe.getsockname()[0])


def started(stand_ins: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    own = {"PATH": f"{stand_ins}:/usr/bin:/bin", "HOME": str(stand_ins)}
    return subprocess.run(
        ["sh", START, *SERVE], env={**own, **env}, capture_output=True, text=True, check=False, timeout=60
    )


def told(done: subprocess.CompletedProcess[str], program: str) -> list[str]:
    return [line.removeprefix(f"{program}: ") for line in done.stdout.splitlines() if line.startswith(program)]


@pytest.mark.slow
def test_one_node_serves_by_itself(stand_ins: Path) -> None:
    done = started(stand_ins, LONE)
    assert told(done, "vllm") == [*SERVE[1:], "--port", "8123"]
    phases = [line.split()[2] for line in done.stdout.splitlines() if line.startswith("sparkrig: phase")]
    assert phases == ["start", "server"]


@pytest.mark.slow  # starts a process for each row
@pytest.mark.parametrize(("rank", "role"), [(0, ["--port", "8123"]), (1, ["--headless"])], ids=["head", "other"])
def test_vllm_forms_the_pair_itself(stand_ins: Path, here: str, rank: int, role: list[str]) -> None:
    done = started(stand_ins, part("multinode", rank, here, here))
    assert told(done, "vllm") == [
        *SERVE[1:],
        *("--nnodes", "2", "--node-rank", str(rank), "--master-addr", here, "--master-port", "29501"),
        *("--distributed-executor-backend", "mp", *role),
    ]
    assert f"VLLM_HOST_IP={here}" in done.stdout and f"RAY_NODE_IP_ADDRESS={here}" in done.stdout


@pytest.mark.slow  # starts a process for each row
@pytest.mark.parametrize(("nodes", "rank"), [(3, 0), (3, 1), (3, 2), (4, 0), (4, 3)])
def test_vllm_forms_three_and_four_itself(stand_ins: Path, here: str, nodes: int, rank: int) -> None:
    done = started(stand_ins, part("multinode", rank, here, here, nodes))
    assert " ".join(told(done, "vllm")) == (
        f"serve MODEL --served-model-name a b --nnodes {nodes} --node-rank {rank} --master-addr {here} "
        "--master-port 29501 --distributed-executor-backend mp " + ("--port 8123" if rank == 0 else "--headless")
    )


@pytest.fixture
def head(here: str) -> Iterator[None]:
    """Something listens where a head of Ray does."""
    with socket.create_server((here, 6379)):
        yield


def test_a_worker_joins_by_its_own_address_and_stays(stand_ins: Path, here: str, head: None) -> None:
    done = started(stand_ins, part("ray", 1, here, here))
    joined = told(done, "ray")
    assert joined[:2] == ["start", f"--address={here}:6379"] and joined[-1] == "--block"
    assert {"--num-cpus=2", "--object-store-memory=1073741824"} <= {*joined}
    assert f"--node-ip-address={here}" in joined and "RAY_memory_monitor_refresh_ms=0" in done.stdout
    assert "vllm: " not in done.stdout


@pytest.mark.slow  # starts a process for each row
@pytest.mark.parametrize(
    ("form", "address", "head", "cause"),
    [
        ("ray", ELSEWHERE, ELSEWHERE, "address"),
        ("multinode", ELSEWHERE, ELSEWHERE, "address"),
        ("ray", "127.0.0.1", "127.0.0.1", "loopback"),
        ("both", "HERE", "HERE", "form"),
        ("ray", "HERE", "HERE", "no-head"),
    ],
    ids=["an address of nobody", "so without Ray", "loopback", "a form that is none", "nobody listens"],
)
def test_what_cannot_come_to_be_ends_at_once_and_says_why(
    stand_ins: Path, here: str, form: str, address: str, head: str, cause: str
) -> None:
    done = started(stand_ins, part(form, 1, address.replace("HERE", here), head.replace("HERE", here)))
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("sparkrig: trouble")]
    assert (done.returncode, line.split()[2]) == (1, cause)
    assert "vllm: " not in done.stdout and "ray: " not in done.stdout


@pytest.mark.parametrize(("token", "mode"), [("", "disabled"), ("c4n4ry", "token")], ids=["none", "one"])
def test_ray_asks_for_a_token_where_there_is_one(
    stand_ins: Path, here: str, head: None, token: str, mode: str
) -> None:
    done = started(stand_ins, {**part("ray", 1, here, here), "RAY_AUTH_TOKEN": token})
    assert f"RAY_AUTH_MODE={mode}\n" in done.stdout
    assert "c4n4ry" not in "".join(
        line for line in done.stdout.splitlines() if not line.startswith("RAY_AUTH_TOKEN=")
    )


def test_an_image_without_ray_says_so(stand_ins: Path, here: str) -> None:
    (stand_ins / "ray").unlink()
    done = started(stand_ins, part("ray", 0, here, here))
    assert done.returncode == 1 and "sparkrig: trouble no-ray" in done.stdout


def test_another_way_to_the_head_is_told_and_tried_all_the_same(stand_ins: Path, here: str) -> None:
    done = started(stand_ins, part("multinode", 1, here, "127.0.0.1"))
    assert f"this node speaks to 127.0.0.1 from 127.0.0.1, not from {here}" in done.stdout
    assert told(done, "vllm")


def test_an_interface_of_another_node_is_told(stand_ins: Path, here: str) -> None:
    done = started(stand_ins, {**part("multinode", 1, here, here), "GLOO_SOCKET_IFNAME": "enp1s0f9np9"})
    assert "sparkrig: trouble interface" in done.stdout
    assert "GLOO_SOCKET_IFNAME is enp1s0f9np9, which this node has not" in done.stdout
    assert told(done, "vllm"), "it may be that vLLM needs no Gloo"


@pytest.mark.parametrize("missing", ["FORM", "PORT", "RANK", "NODES", "HEAD", "ADDRESS"])
def test_an_order_that_is_missing_is_named(stand_ins: Path, here: str, missing: str) -> None:
    env = part("multinode", 0, here, here)
    del env[f"SPARKRIG_{missing}"]
    done = started(stand_ins, env)
    assert done.returncode != 0 and f"SPARKRIG_{missing}: " in done.stderr and not told(done, "vllm")


def other(stand_ins: Path, name: str, engine: str, more: dict[str, str], *words: str) -> list[str]:
    """What another engine is started with, and the variables of its key."""
    tool(stand_ins, name, f"printf '{name}: %s\\n' \"$@\"; env | grep -E '^LLAMA_' | sed 's/^/{name}: /'")
    own = {"PATH": f"{stand_ins}:/usr/bin:/bin", "HOME": str(stand_ins), "SPARKRIG_ENGINE": engine}
    done = well(
        subprocess.run(
            ["sh", START, *words], env={**own, **more}, capture_output=True, text=True, check=False, timeout=60
        )
    )
    return told(done, name)


def test_llama_cpp_has_the_key_as_its_own_variable_and_in_no_argument(stand_ins: Path) -> None:
    words = ("llama-server", "--model", "/models/a.gguf")
    found = other(stand_ins, "llama-server", "llama.cpp", {**LONE, "VLLM_API_KEY": "c4n4ry"}, *words)
    assert found == [*words[1:], "--port", "8123", "LLAMA_API_KEY=c4n4ry"]
    assert other(stand_ins, "llama-server", "llama.cpp", LONE, *words) == [*words[1:], "--port", "8123"]


@pytest.mark.parametrize("rank", [0, 1])
def test_sglang_forms_the_pair_itself(stand_ins: Path, here: str, rank: int) -> None:
    orders = part("multinode", rank, here, here)
    found = other(stand_ins, "sglang", "sglang", orders, "sglang", "--model-path", "/models/a/b")
    assert found == [
        *("--model-path", "/models/a/b", "--nnodes", "2", "--node-rank", str(rank)),
        *("--dist-init-addr", f"{here}:29501", "--port", "8123"),
    ]


def first_word(stand_ins: Path, path: str, orders: str, *words: str) -> str:
    """What the start has to say of the first answer of lab/standin.py, which serves as vLLM."""
    (port,) = free_ports(1)
    tool(stand_ins, "vllm", f'exec {sys.executable} {ROOT / "lab/standin.py"} "$@"')
    env = {"PATH": path, "HOME": str(stand_ins), **LONE, "SPARKRIG_PORT": str(port), "STANDIN": orders}
    command = ["/bin/sh", str(START), "vllm", "serve", "it", *words]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            return next(
                " ".join([*line.split()[1:3], *line.split()[4:]])
                for line in process.stdout
                if line.startswith(("sparkrig: phase answered", "sparkrig: trouble"))
            )
        finally:
            process.terminate()


@pytest.mark.slow  # starts a server for each row
@pytest.mark.parametrize(
    ("orders", "words", "said"),
    [
        ("", (), "phase answered model=it"),
        ("", ("--convert", "embed"), "phase answered model=it"),
        ("", ("--convert", "classify"), "phase answered model=it"),
        ("--fail 500", (), "trouble no-answer <HTTPError 500:"),
    ],
    ids=["generates", "embeds", "ranks", "fails"],
)
@pytest.mark.parametrize("python", [True, False], ids=["python", "curl"])
def test_a_model_that_generates_nothing_has_answered_all_the_same(
    stand_ins: Path, python: bool, orders: str, words: tuple[str, ...], said: str
) -> None:
    path = f"{stand_ins}:/usr/bin:/bin"
    if not python:  # an image of llama.cpp
        path = str(stand_ins)
        (stand_ins / "python3").unlink()
        for name in ("curl", "date", "sleep"):
            (stand_ins / name).symlink_to(shutil.which(name) or f"no {name} here")
        said = said.replace("model=it", "model=unknown").replace("<HTTPError 500:", "HTTP status 500")
    told = ("--startup 0 --first 0 --token 0 " + orders).strip()
    assert first_word(stand_ins, path, told, *words).startswith(said)
