"""`sparkrig bench` as it is typed: its scripts run here, in a container that is none, with a tool that saves.

The results are those of public runs (tests/fixtures/bench).
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from lab import standin
from sparkrig.cli.bench import bench
from sparkrig.serving.bench import tool
from sparkrig.serving.bench.server import Look
from sparkrig.serving.bench.tool import CommandLine
from sparkrig.serving.bench.workload import WORKLOADS
from sparkrig.serving.io import bench_run
from sparkrig.ssh.remote import Failed, Lost
from tests.attacks.texts import WORST, codes
from tests.tables import each_row, table
from tests.unit import shells
from tests.unit.benches import FIXTURES, KEY, RECORDED, figures, host, look, record, typed
from tests.unit.shells import sh


@pytest.mark.parametrize("engine", RECORDED)
def test_the_figures_are_those_that_the_tool_saved(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, engine: str
) -> None:
    there = host(tmp_path, figures(engine, completed=3), engine)
    done = typed(monkeypatch, tmp_path, {"spark-a": look(record(engine))}, "short", "--json", programs=there)
    told = json.loads(done.stdout)
    found, saved = told["workloads"][0]["figures"], json.loads(figures(engine))
    assert (done.exit_code, told["exit"], told["verdict"]) == (0, 0, "all 3 requests were answered")
    assert (told["schema"], told["host"], told["engine"]) == ("sparkrig.bench/2", "spark-a", engine)
    assert (told["known"], told["longest"]) == ("gpt-oss-120b", 8192)
    assert found["first_token_s"]["p50"] == saved["median_ttft_ms"] / 1000
    assert found["decode_rate"]["p99"] == 1000 / saved["p99_tpot_ms"]
    assert (found["aggregate"], found["seconds"]) == (saved["output_throughput"], saved["duration"])


def test_it_is_run_in_the_container_with_the_key_in_no_argument(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    there = host(tmp_path, figures("vllm", completed=6))
    done = typed(monkeypatch, tmp_path, {"a": look(record())}, "batch", "--at", "2", programs=there)
    words = (tmp_path / "words").read_text().splitlines()
    environment = (tmp_path / "environment").read_text().splitlines()
    assert done.exit_code == 0 and words[:2] == ["bench", "serve"], done.output
    pairs = dict(pairwise(words))
    assert (pairs["--model"], pairs["--served-model-name"]) == ("/models/x", "gpt-oss-120b")
    assert (pairs["--host"], pairs["--port"]) == ("127.0.0.1", "8001")
    assert (pairs["--num-prompts"], pairs["--max-concurrency"]) == ("6", "2")
    assert KEY not in " ".join(words) and f"OPENAI_API_KEY={KEY}" in environment
    assert not Path(pairs["--result-dir"]).exists()
    again = typed(monkeypatch, tmp_path, {"a": look(record())}, "batch", "--at", "2", programs=there)
    seeds = [words[words.index("--seed") + 1], (tmp_path / "words").read_text().split("--seed\n")[1].split()[0]]
    assert again.exit_code == 0 and seeds[0] != seeds[1], "the second run would measure the prefix cache"


def test_what_others_measured_stands_beside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    there = host(tmp_path, figures("vllm", completed=3, spec_decode_acceptance_rate=71.4))
    served = record(model="qwen3.5-122b-a10b")
    done = typed(monkeypatch, tmp_path, {"spark-a": look(served)}, "short", programs=there)
    lines = done.stdout.splitlines()
    assert "gpt-oss-120b on spark-a, vLLM, qwen3.5-122b-a10b of the catalogue" in lines[0]
    assert any(line.startswith("short ") and line.split()[-2:] == ["737.4", "3/3"] for line in lines), done.stdout
    assert any(line.startswith("  docai-122b") and "23.7-31" in line for line in lines), done.stdout
    assert "draft: 71 % accepted (docai-122b: 63-100 %)" in done.stdout


def test_what_went_wrong_is_no_success(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def holds(changed: dict[str, object], status: int, code: int, said: str) -> None:
        there = host(tmp_path, figures("vllm", **changed), status=status)
        done = typed(monkeypatch, tmp_path, {"a": look(record())}, "short", programs=there)
        assert (done.exit_code, said in done.stdout) == (code, True), done.output
        assert done.output.replace("\n", "").isprintable()

    each_row(table(__file__, "what went wrong is no success"), holds)
    for saved in ("", "[]", "{", '{"completed": 3}' + "}" * 9, '"' + "x" * 3_000_000):
        done = typed(monkeypatch, tmp_path, {"a": look(record())}, "short", programs=host(tmp_path, saved))
        assert done.exit_code == 3 and "nothing was measured: " in done.stdout, done.output


def test_what_a_container_is_called_steers_no_terminal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def shell(_: object, text: str, *words: str, seconds: int) -> str:
        if text == bench_run._INSPECT:
            return json.dumps(["vllm", "serve", f"/models/{WORST}", "--served-model-name", f"x{WORST}"])
        assert f"/models/{WORST}" in words, "a word, and no part of the script"
        return figures("vllm", completed=3)

    for more in ((), ("--json",)):
        done = typed(monkeypatch, tmp_path, {"a": look(record())}, "short", *more, shell=shell)
        assert done.exit_code == 0 and not codes(done.output), done.output


def test_one_that_comes_to_nothing_is_the_last(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    there = host(tmp_path, "", status=1)
    done = typed(monkeypatch, tmp_path, {"a": look(record())}, "--json", programs=there)
    left = json.loads(done.stdout)["left"]
    assert [each["why"] for each in left[1:]] == ["not begun after short"] * 2 and left[0]["failed"]


def test_what_the_server_cannot_take_is_left_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    there = host(tmp_path, figures("vllm", completed=3))
    done = typed(monkeypatch, tmp_path, {"a": look(record())}, "short", "long-32k", programs=there)
    assert done.exit_code == 1 and "long-32k: it takes 30,256 tokens, and the server 8,192 at most" in done.stderr
    done = typed(monkeypatch, tmp_path, {"a": look(record())}, "all", "--at", "1", programs=there)
    assert done.exit_code == 0 and "all 9 requests were answered; long-32k and long-128k not" in done.stdout


ONE, TWO = record(), record(service="embed")
REFUSED: dict[str, tuple[dict[str, Look], tuple[str, ...], str]] = {
    "no server": ({"a": look()}, (), "no host has a server of deploys/serve.py. Try: pyinfra "),
    "none of that name": ({"a": look(ONE)}, ("--service", "x"), "no host has such a server"),
    "one that only computes": ({"a": look(record(rank=1))}, (), "no host has a server"),
    "one that is down": ({"a": look(ONE, active="failed")}, (), "does not run. Try: sparkrig startup "),
    "one that loads": (
        {"a": look(ONE, health=503)},
        (),
        "is not ready: its /health answers 503. Try: sparkrig start",
    ),
    "one that is silent": ({"a": look(ONE, health=0)}, (), "is not ready: its /health does not answer. Try: "),
    "several on a host": (
        {"a": look(ONE, TWO)},
        (),
        "there are several servers: the server without a name on a and ",
    ),
    "several hosts": ({"a": look(ONE), "b": look(ONE)}, (), "Try: the same with --host a"),
    "llama.cpp": ({"a": look(record("llama.cpp"))}, (), "llama.cpp has no benchmark of a server in its image"),
}


def test_it_refuses_before_anything_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def holds(looks: dict[str, Look], words: tuple[str, ...], said: str) -> None:
        done = typed(monkeypatch, tmp_path, looks, *words, shell=pytest.fail)
        assert done.exit_code == 1 and said in done.stderr, done.output

    each_row(REFUSED, holds)


def test_one_of_several_is_measured_where_it_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    there = host(tmp_path, figures("vllm", completed=3))
    looks = {"a": look(ONE, TWO), "b": look(ONE)}
    done = typed(
        monkeypatch, tmp_path, looks, "short", "--host", "a", "--service", "embed", "--json", programs=there
    )
    assert (json.loads(done.stdout)["host"], json.loads(done.stdout)["service"]) == ("a", "embed")


def test_a_host_that_is_away_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    looks: dict[str, Look | Lost] = {"a": Lost("no route"), "b": look()}
    done = typed(monkeypatch, tmp_path, looks, "--json", shell=pytest.fail)
    told = json.loads(done.stdout)
    assert (done.exit_code, told["exit"], told["host"], told["workloads"]) == (3, 3, "", [])
    assert told["verdict"] == "nothing was measured: a: no route" and "Try: sparkrig doctor" in done.stderr
    done = typed(monkeypatch, tmp_path, looks, shell=pytest.fail)
    assert done.stdout.splitlines() == ["? nothing was measured: a: no route"], done.output


def test_what_may_go_on_behind_a_broken_connection_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def shell(_: object, text: str, *words: str, seconds: int) -> str:
        if text == bench_run._INSPECT:
            return '["vllm", "serve", "/models/x"]'
        raise Lost("a does not answer")

    done = typed(monkeypatch, tmp_path, {"a": look(record())}, "short", "--limit", "60", shell=shell)
    said = "nothing was measured: a does not answer; what runs there ends itself within 60 s"
    assert done.exit_code == 3 and said in done.stdout, done.output


def test_a_container_that_is_no_server_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for printed in ("", "{}", '["sleep"]', "[" * 999):
        shell = lambda *_, seconds, printed=printed: printed  # noqa: E731
        done = typed(monkeypatch, tmp_path, {"a": look(record())}, "short", shell=shell)
        assert done.exit_code == 3 and "nothing was measured: " in done.stdout, done.output


def test_one_who_has_had_enough_ends_the_tool(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[tuple[str, ...]] = []

    def shell(_: object, text: str, *words: str, seconds: int) -> str:
        asked.append((text, *words))
        if "container inspect" in text:
            return '["vllm", "serve", "/models/x"]'
        if text == bench_run._RUN:
            raise KeyboardInterrupt
        raise Failed("no such container")

    done = typed(monkeypatch, tmp_path, {"a": look(record())}, "short", shell=shell)
    _, run, end = asked
    assert (done.exit_code, done.stdout) == (1, "") and end == (bench_run._END, *run[1:3])


def test_the_tool_that_is_ended_ends_at_once_and_leaves_nothing(tmp_path: Path) -> None:
    programs_, folder = tmp_path / "bin", tmp_path / "made"
    shells.tool(programs_, "docker", 'shift 2; SPARKRIG_PORT=1 exec "$@"')
    shells.tool(programs_, "slow", f"echo $$ >{tmp_path}/slow; exec sleep 60")
    environment = {**os.environ, "PATH": f"{programs_}:{os.environ['PATH']}"}
    words = ["sh", "-c", bench_run._RUN, "sparkrig", "c", str(folder), "50", "result.json", "slow"]
    with subprocess.Popen(words, env=environment, stderr=subprocess.DEVNULL) as running:
        until = time.monotonic() + 10
        while not (tmp_path / "slow").exists() and time.monotonic() < until:
            time.sleep(0.01)
        pid = int((tmp_path / "slow").read_text())
        assert sh(bench_run._END, "c", str(folder), path=programs_).returncode == 0
        assert running.wait(10) != 0 and not folder.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, signal.SIG_DFL)


def test_the_tool_has_an_end_of_its_own(tmp_path: Path) -> None:
    programs_ = tmp_path / "bin"
    shells.tool(programs_, "docker", 'shift 2; SPARKRIG_PORT=1 exec "$@"')
    shells.tool(programs_, "slow", "exec sleep 60")
    done = sh(bench_run._RUN, "c", str(tmp_path / "made"), "0.1", "result.json", "slow", path=programs_)
    assert done.returncode == 124 and done.stderr.strip() == "it was ended after its 0.1 s"


def test_what_makes_no_sense_is_refused(tmp_path: Path) -> None:
    for words, said in ((("tetris",), "'tetris' is not one of"), (("short", "--at", "4"), "--at is of parallel")):
        done = CliRunner().invoke(bench, [str(tmp_path / "none.py"), *words])
        assert done.exit_code in (1, 2) and said in done.stderr, done.output


@pytest.mark.parametrize("engine", RECORDED)
def test_the_stand_in_saves_what_the_tool_saved(tmp_path: Path, engine: str) -> None:
    """It is one file that is put into a container, so it has the figures in itself."""
    own: dict[str, Any] = {"vllm": standin.FIGURES_OF_VLLM, "sglang": standin.FIGURES_OF_SGLANG}[engine]
    assert own.items() <= json.loads((FIXTURES / RECORDED[engine]).read_text()).items()
    words = tool.words(engine, CommandLine("/models/x", "x", None), WORKLOADS["short"], str(tmp_path), 1)
    with socket.create_server(("127.0.0.1", 0)) as server:
        place = ["--host", "127.0.0.1", "--port", str(server.getsockname()[1])]
        assert standin.benchmark([*words, *place]) == 0
    found = tool.parse((tmp_path / tool.RESULT).read_text(), 3)
    assert (found.done, found.aggregate) == (3, own["output_throughput"])
    with pytest.raises(SystemExit, match="Initial test run failed"):
        standin.benchmark([*words, *place])
