"""The stand-in for vLLM does what it is told, and takes vLLM's own command line."""

from __future__ import annotations

import ast
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

from lab import standin
from tests.tables import rows
from tests.unit.sshd import free_ports

FILE = Path(standin.__file__)
_LIMIT_S = 20.0


@dataclass(frozen=True)
class Standin:
    """url: where it listens; process: itself."""

    url: str
    process: subprocess.Popen[str]


@contextmanager
def serving(*options: str) -> Iterator[Standin]:
    """One that listens; it is ended with the context, and must end well."""
    command = [sys.executable, str(FILE), "--port", "0", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    limit = Timer(_LIMIT_S, process.kill)
    limit.start()
    try:
        url = ""
        for line in process.stdout or ():
            if "Starting vLLM server on" in line:
                url = line.split()[-1]
            if "startup complete" in line:
                break
        assert url, "the stand-in did not come up"
        limit.cancel()
        drain = subprocess.Popen(["cat"], stdin=process.stdout, stdout=subprocess.DEVNULL)
        yield Standin(url, process)
        if process.poll() is None:  # a test may have killed it
            process.terminate()
            limit = Timer(_LIMIT_S, process.kill)  # a wait with a limit of its own looks again and again
            limit.start()
            assert process.wait() == 0
        drain.wait()
    finally:
        limit.cancel()
        process.kill()
        process.wait()


CHAT = {"messages": [{"role": "user", "content": "What is the capital of France?"}], "max_tokens": 6}


def asked(url: str, body: dict[str, Any] | None = None, key: str = "") -> tuple[int, str]:
    """Status and text of an answer."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    request = urllib.request.Request(url, json.dumps(body).encode() if body else None, headers)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


WRONG = [
    (["--tool-call-parser", "x"], "unrecognized arguments: --tool-call-parser"),
    (["--fail", "unknown"], "unknown is no fault"),
    (["--fail", "200"], "200 is no fault"),
    (["--fail", "500:0"], "0 is no number of requests"),
]


def metrics(url: str) -> dict[str, float]:
    lines = asked(f"{url}/metrics")[1].splitlines()
    return {line.partition("{")[0]: float(line.split()[-1]) for line in lines if not line.startswith("#")}


def test_it_is_one_file_of_the_standard_library_for_python_3_9() -> None:
    tree = ast.parse(FILE.read_text(), feature_version=(3, 9))
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    modules = {node.module if isinstance(node, ast.ImportFrom) else node.names[0].name for node in found}
    assert modules - sys.stdlib_module_names - {"http.server", "collections.abc"} == set()


def test_answers_are_what_the_api_says(tmp_path: Path) -> None:
    with serving("some/model", "--served-model-name", "it", "--first", "0", "--token", "0") as server:
        listed = json.loads(asked(f"{server.url}/v1/models")[1])["data"][0]
        chat = json.loads(asked(f"{server.url}/v1/chat/completions", CHAT)[1])
        plain = json.loads(asked(f"{server.url}/v1/completions", {"prompt": "x", "max_tokens": 2})[1])
        unknown = asked(f"{server.url}/v1/chat/completions", CHAT | {"model": "other"})
        health = asked(f"{server.url}/health")[0]
        found = metrics(server.url)
    assert (listed["id"], listed["root"], listed["max_model_len"]) == ("it", "some/model", 32768)
    assert chat["choices"][0]["message"]["content"] == "The capital of France is Paris. "
    assert chat["usage"] == {"prompt_tokens": 8, "completion_tokens": 6, "total_tokens": 14}
    assert plain["choices"][0] == {"index": 0, "text": "The capital ", "finish_reason": "length"}
    assert (unknown[0], health) == (404, 200)
    assert (found["vllm:generation_tokens_total"], found["vllm:prompt_tokens_total"]) == (8, 9)


def test_each_second_request_fails_where_it_is_told_so(tmp_path: Path) -> None:
    with serving("--first", "0", "--token", "0", "--fail", "503:2") as server:
        answers = [asked(f"{server.url}/v1/chat/completions", CHAT)[0] for _ in range(4)]
    assert answers == [200, 503, 200, 503]


def test_what_is_refused_is_not_computed(tmp_path: Path) -> None:
    with serving("--fail", "400") as server:
        assert asked(f"{server.url}/v1/chat/completions", CHAT)[0] == 400
        found = metrics(server.url)
    assert (found["vllm:generation_tokens_total"], "vllm:prompt_tokens_total" in found) == (0, False)


def test_a_prompt_that_is_too_long_by_a_token_is_refused_as_vllm_refuses_it(tmp_path: Path) -> None:
    with serving("--max-model-len", "100", "--first", "0", "--token", "0") as server:
        fits = asked(f"{server.url}/v1/completions", {"prompt": "x" * 360, "max_tokens": 10})
        status, text = asked(f"{server.url}/v1/completions", {"prompt": "x" * 361, "max_tokens": 10})
    assert (fits[0], status) == (200, 400)
    assert "maximum context length is 100 tokens" in json.loads(text)["error"]["message"]


def test_as_vllm_serve_it_takes_vllms_flags_and_its_own_from_the_variable() -> None:
    words = ["serve", "a/b", "--port", "81", "--tool-call-parser", "x", "--kv-cache-dtype", "fp8"]
    options = standin.told(words, "--fail 500:3 --startup 2")
    assert (options.model, options.port) == ("a/b", 81)
    assert (options.fail, options.startup) == ([(500, 3)], 2.0)


@pytest.mark.parametrize(("words", "said"), WRONG)
def test_a_wrong_option_of_its_own_is_an_error(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        standin.told(words, "")
    assert said in capsys.readouterr().err


def test_a_key_is_asked_for_where_one_is_set(tmp_path: Path) -> None:
    with serving("--api-key", "canary") as server:
        assert asked(f"{server.url}/v1/models")[0] == 401
        assert asked(f"{server.url}/v1/models", key="canary")[0] == 200


@pytest.mark.parametrize(
    ("told", "code", "last"),
    [("--crash compile", 1, "Engine core initialization failed"), ("--stuck graphs", 0, "KV cache size")],
)
def test_a_startup_that_dies_or_hangs_says_so_in_its_log_and_ends_when_told(
    told: str, code: int, last: str
) -> None:
    command = [sys.executable, str(FILE), "serve", "m", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "STANDIN": told})
    assert process.stdout
    lines = []
    for line in process.stdout:
        lines.append(line)
        if last in line and not code:
            process.send_signal(signal.SIGTERM)
    assert process.wait(10) == code
    assert last in lines[-1]
    assert not any("startup complete" in line for line in lines)


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_frozen_engine_answers_health_and_no_request_until_it_goes_on(tmp_path: Path) -> None:
    """As on GB10 [@eugr-260]: requests run, and no counter moves."""
    frozen, answers = tmp_path / "frozen", list[int]()

    def ask() -> None:
        answers.append(asked(f"{it.url}/v1/chat/completions", CHAT)[0])

    with serving("--frozen", str(frozen)) as it:
        ask()
        until(lambda: metrics(it.url)["vllm:num_requests_running"] == 0)  # its answer came before it left its seat
        queried = metrics(it.url)["vllm:prefix_cache_queries_total"]
        frozen.touch()
        first, second = threading.Thread(target=ask), threading.Thread(target=ask)
        first.start()
        until(lambda: metrics(it.url)["vllm:prefix_cache_queries_total"] == 2 * queried)
        stands = metrics(it.url)
        assert stands["vllm:num_requests_running"] == 1
        second.start()
        assert [asked(f"{it.url}{path}")[0] for path in ("/health", "/v1/models")] == [200, 200]
        assert metrics(it.url) == stands and answers == [200]
        frozen.unlink()
        first.join()
        second.join()
        assert answers == [200] * 3
        until(lambda: metrics(it.url)["vllm:num_requests_running"] == 0)


def test_a_node_of_several_stays_connected_to_the_head_and_does_not_end_with_it(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    several = ("--nnodes", "2", "--master-port", str(port))
    worker = [sys.executable, str(FILE), "serve", "MODEL", "--headless", "--node-rank", "1", *several]
    with subprocess.Popen(worker, stdout=subprocess.DEVNULL) as node:
        try:
            with serving("--node-rank", "0", *several):
                until(lambda: f":{port:04X} 01 " in Path(f"/proc/{node.pid}/net/tcp").read_text())
            until(lambda: f":{port:04X} 01 " not in Path(f"/proc/{node.pid}/net/tcp").read_text())
            assert node.poll() is None
            node.terminate()
            assert node.wait(10) == 0
        finally:
            node.kill()


SHARED = {
    "three by stages": (3, "--tensor-parallel-size 1 --pipeline-parallel-size 3"),
    "four by parts": (4, "--tensor-parallel-size 4"),
    "two by two": (4, "--tensor-parallel-size 2 --pipeline-parallel-size 2"),
}


@pytest.mark.parametrize(("nodes", "sizes"), SHARED.values(), ids=[*SHARED])
def test_three_and_four_play_vllms_own_multi_node_launch(nodes: int, sizes: str) -> None:
    """In the words of start.sh: each rank stays connected to the head, which alone answers, and does not end."""
    port, api = free_ports(2)
    words = ["serve", "MODEL", *sizes.split(), "--host", "127.0.0.1", "--nnodes", str(nodes)]

    def rank(number: int, *role: str) -> subprocess.Popen[bytes]:
        meeting = ["--node-rank", str(number), "--master-addr", "127.0.0.1", "--master-port", str(port)]
        command = [sys.executable, str(FILE), *words, *meeting, "--distributed-executor-backend", "mp", *role]
        orders = {**os.environ, "STANDIN": "--startup 0 --first 0 --token 0"}
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, env=orders)

    def answers() -> bool:
        try:
            return asked(f"http://127.0.0.1:{api}/health")[0] == 200
        except OSError:
            return False

    def joined() -> int:
        """Connections to the head that stand, of all processes of this network."""
        rows = [row.split() for row in Path("/proc/self/net/tcp").read_text().splitlines()[1:]]
        return sum(row[2].endswith(f":{port:04X}") and row[3] == "01" for row in rows)

    workers = [rank(number, "--headless") for number in range(1, nodes - 1)]
    head = rank(0, "--port", str(api))
    try:
        until(lambda: joined() == nodes - 2)
        assert not answers(), "one is missing"
        workers.append(rank(nodes - 1, "--headless"))
        until(lambda: joined() == nodes - 1 and answers())
        assert asked(f"http://127.0.0.1:{api}/v1/chat/completions", CHAT)[0] == 200
        head.terminate()
        assert head.wait(10) == 0
        until(lambda: joined() == 0)
        assert [each.poll() for each in workers] == [None] * (nodes - 1)
    finally:
        for each in (head, *workers):
            each.terminate()
            each.wait(10)


@pytest.fixture
def program(tmp_path: Path) -> Callable[[str], Path]:
    """The stand-in under a name of its own, as an image has it."""

    def called(name: str) -> Path:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.symlink_to(FILE)
        return file

    return called


OTHERS = rows(__file__, "others")


@pytest.mark.parametrize("name", [*OTHERS])
def test_it_answers_as_another_engine_by_what_it_is_called(name: str, program: Callable[[str], Path]) -> None:
    words, switch, running, last = OTHERS[name]
    (port,) = free_ports(1)
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, str(program(name)), *words, switch, "--port", str(port)]
    environment = {**os.environ, "STANDIN": "--first 0 --token 0", "LLAMA_API_KEY": "canary"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout
        try:
            for line in process.stdout:
                if last in line:
                    break
            key = "canary" if name == "llama-server" else ""
            done = asked(f"{url}/v1/chat/completions", CHAT, key)
            assert (done[0], json.loads(done[1])["model"]) == (200, "it")
            assert json.loads(asked(f"{url}/v1/models")[1])["data"][0]["max_model_len"] == 4096
            assert asked(f"{url}/health")[0] == 200
            assert running in asked(f"{url}/metrics", key=key)[1]
            assert asked(f"{url}/metrics")[0] == (401 if key else 200)
            assert asked(f"{url}/v1/chat/completions", CHAT)[0] == (401 if key else 200)
        finally:
            process.terminate()


def test_another_engine_has_metrics_only_where_they_are_asked_for() -> None:
    for role in (standin.SGLANG, standin.LLAMA):
        assert not standin.told([], "", role).metrics
    assert standin.told([], "", standin.VLLM).metrics
