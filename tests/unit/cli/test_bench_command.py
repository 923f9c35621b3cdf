"""`sparkrig bench` as it is typed, against the stand-in for vLLM: its figures are what the server was told to do.

How near they must be. Time is only ever added between the two: the client's clock starts before the server's and
stops after it, so a first token is never measured earlier than told, nor an aggregate faster. Added are the
connection, Python at both ends, and the scheduler: of 600 requests on 2 cores at the lowest priority, 3 ms to the
first token at the median and 11 ms at p95. NEAR_S is 30 ms. A busy machine adds to that (with four busy processes
155 ms at p95), so a thread measures meanwhile how late the machine wakes who sleeps. Four such wakings are allowed
for, the server's two threads and the client's two. A rate is as exact as its two ends.
"""

from __future__ import annotations

import json
import os
import pty
import re
import socket
import ssl
import statistics
import subprocess
import sys
from functools import cache
from pathlib import Path
from threading import Event, Thread
from time import monotonic, sleep
from typing import Any

import httpx2
import pytest
from click.testing import CliRunner, Result

from sparkrig.cli.bench import bench
from sparkrig.io import catalogue_files
from sparkrig.serving.bench.workload import WORKLOADS
from tests import warm
from tests.schemas import complaints
from tests.unit.standin import Standin, serving

SPARKRIG = str(Path(sys.executable).with_name("sparkrig"))
NAMES = [each.name for each in WORKLOADS]
NOW = ("--first", "0", "--token", "0", "--tokens", "8")
CATALOGUE = cache(catalogue_files.catalogue)
NEAR_S = 0.03
WAKINGS = 4


class Machine:
    """How late it wakes who sleeps, at worst, while the block runs."""

    def __enter__(self) -> Machine:
        self.late, self._over = 0.0, Event()
        self._watching = Thread(target=self._watch, daemon=True)
        self._watching.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._watching.join()

    def _watch(self) -> None:
        while not self._over.is_set():
            began = monotonic()
            sleep(0.002)
            self.late = max(self.late, monotonic() - began - 0.002)

    @property
    def near(self) -> float:
        """Seconds within which two moments are one."""
        return NEAR_S + WAKINGS * self.late


@pytest.fixture(autouse=True)
def read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What every command reads anew, and no test changes: the catalogue, and certificates that no http needs."""
    monkeypatch.setattr(catalogue_files, "catalogue", CATALOGUE)
    monkeypatch.setattr(ssl.SSLContext, "load_verify_locations", lambda *_, **__: None)


def typed(*words: str) -> Result:
    return CliRunner().invoke(bench, words)


def document(*words: str) -> Any:
    result = typed(*words, "--json")
    assert result.stdout, result.output
    made = json.loads(result.stdout)
    assert complaints("bench", made) == []
    assert made["exit"] == result.exit_code
    return made


def one(made: Any, number: int = 0) -> Any:
    return made["workloads"][number]


def did(server: Standin, workload: Any, before: int = 0) -> list[dict[str, Any]]:
    """What the server did for the requests of a workload; before: how many it had before those."""
    return server.journal(before + workload["figures"]["asked"])[before:]


def rate(requests: list[dict[str, Any]]) -> float:
    """Tokens a second at which the server sent, at the median."""
    return float(
        statistics.median((each["tokens"] - 1) / (each["sent"][-1] - each["sent"][0]) for each in requests)
    )


def errors(workload: Any) -> dict[str, int]:
    return {each["kind"]: each["count"] for each in workload["figures"]["errors"]}


@pytest.mark.slow  # measures a server for seconds
@pytest.mark.parametrize(("first", "token"), [pytest.param(0.3, 0.02, marks=pytest.mark.slow), (0.05, 0.005)])
def test_one_at_a_time_is_as_fast_as_the_server_was_told_to_be(first: float, token: float, tmp_path: Path) -> None:
    tokens = 1 + round(0.6 / token)
    options = ("--first", str(first), "--token", str(token), "--tokens", str(tokens))
    with serving(tmp_path, *options) as server, Machine() as machine:
        workload = one(document(server.url, "qa", "--runs", "2"))
        _, *requests = did(server, workload)
    found = workload["figures"]
    late = max(each["sent"][0] - each["began"] - first for each in requests)
    assert first <= found["first_token_s"]["p50"] <= first + late + machine.near
    assert found["first_token_s"]["p50"] <= found["first_token_s"]["p95"] <= first + late + machine.near
    assert found["decode_rate"]["p50"] == pytest.approx(rate(requests), rel=machine.near / 0.6)
    assert found["decode_rate"]["p50"] == pytest.approx(1 / token, rel=machine.near / 0.6)
    assert (found["asked"], found["done"], found["tokens"], found["errors"]) == (3, 3, 2 * tokens, [])


@pytest.mark.slow  # it measures real delays
def test_several_at_a_time_add_up(tmp_path: Path) -> None:
    first, token, tokens, at = 0.2, 0.01, 61, 4
    options = ("--first", str(first), "--token", str(token), "--tokens", str(tokens))
    with serving(tmp_path, *options) as server, Machine() as machine:
        found = one(document(server.url, "batch", "--runs", "1"))
        requests = did(server, found)[at:]
    took = first + (tokens - 1) * token
    served = max(each["ended"] for each in requests) - min(each["began"] for each in requests)
    assert (found["concurrency"], found["figures"]["asked"], found["figures"]["done"]) == (at, 2 * at, 2 * at)
    assert at * tokens / (served + machine.near) <= found["figures"]["aggregate"] <= at * tokens / took
    assert found["figures"]["decode_rate"]["p50"] == pytest.approx(rate(requests), rel=machine.near / 0.6)


@pytest.mark.slow  # it measures real delays
def test_who_waits_for_a_seat_waits_for_the_first_token(tmp_path: Path) -> None:
    options = ("--first", "0.2", "--token", "0.02", "--tokens", "11", "--max-num-seqs", "1")
    with serving(tmp_path, *options) as server, Machine() as machine:
        found = one(document(server.url, "batch", "--at", "2", "--runs", "1"))["figures"]
    answer = 0.2 + 10 * 0.02
    first, second = 0.2, answer + 0.2  # the other one waits for a whole answer
    assert (first + second) / 2 <= found["first_token_s"]["p50"] <= (first + second) / 2 + machine.near
    assert found["decode_rate"]["p50"] == pytest.approx(50, rel=machine.near / 0.2)


@pytest.mark.slow  # it measures real delays
def test_a_mix_asks_for_its_time_and_no_longer(tmp_path: Path) -> None:
    options = ("--first", "0.05", "--token", "0.002", "--tokens", "21", "--prefill", "0.01")
    with serving(tmp_path, *options) as server, Machine() as machine:
        found = one(document(server.url, "mixed-typical", "--seconds", "0.8"))
        lengths = [each["prompt"] for each in did(server, found, before=1)]
    assert 0.8 <= found["figures"]["seconds"] <= 0.8 + 0.05 + 0.075 + 20 * 0.002 + machine.near
    assert found["figures"]["asked"] == found["figures"]["done"] == len(lengths)
    long = [each for each in lengths if each > 1000]
    assert long, "one of four asks long ones"
    assert all(each == pytest.approx(7_500, rel=0.05) for each in long), "the server's own tokenizer is measured"
    assert len(long) < len(lengths) / 2


@pytest.mark.slow  # measures a server for seconds
def test_a_context_that_no_cache_has_is_told_apart(tmp_path: Path) -> None:
    options = ("--first", "0.1", "--token", "0", "--tokens", "4", "--prefill", "0.1", "--characters", "3.1")
    with serving(tmp_path, *options) as server, Machine() as machine:
        found = one(document(server.url, "long-8k", "--runs", "1"))
        cold, warm = journal = did(server, found, before=1)
        again = one(document(server.url, "long-8k", "--runs", "1"))
        assert [each["cached"] > 7_000 for each in did(server, again, before=4)] == [False, True], (
            "of this run alone"
        )
    assert cold["prompt"] == pytest.approx(7_500, rel=0.05)
    assert (cold["cached"], warm["cached"] > 7_000) == (0, True)
    told = [0.1 + 0.1 * (each["prompt"] - each["cached"]) / 1000 for each in journal]
    assert told[0] <= found["cold_first_token_s"] <= told[0] + machine.near
    assert told[1] <= found["figures"]["first_token_s"]["p50"] <= told[1] + machine.near
    hits = sum(each["cached"] for each in journal) / sum(each["prompt"] for each in journal)
    assert found["counted"]["prefix_hits_percent"] == pytest.approx(100 * hits)


@pytest.mark.slow
@pytest.mark.parametrize(("draft", "acceptance"), [(2, 0.75), (3, 1.0)])
def test_the_draft_is_accepted_as_often_as_told(draft: int, acceptance: float, tmp_path: Path) -> None:
    config = json.dumps({"method": "mtp", "num_speculative_tokens": draft})
    options = (
        "--first",
        "0",
        "--token",
        "0.0001",
        "--speculative-config",
        config,
        "--acceptance",
        f"{acceptance}",
    )
    with serving(tmp_path, *options) as server:
        found = one(document(server.url, "code"))["counted"]
    assert found["acceptance_percent"] == pytest.approx(100 * acceptance, abs=100 * draft / 300)
    assert found["tokens_per_step"] == pytest.approx(1 + draft * acceptance, rel=0.02)
    assert (found["others"], found["preemptions"]) == (0, 0)


@pytest.mark.slow  # it measures real delays
def test_a_chunk_of_several_tokens_does_not_make_it_slower(tmp_path: Path) -> None:
    options = ("--token", "0.01", "--draft", "3", "--acceptance", "1", "--tokens", "61")
    with serving(tmp_path, *options) as server, Machine() as machine:
        found = one(document(server.url, "qa", "--runs", "1"))["figures"]
    assert found["decode_rate"]["p50"] == pytest.approx(100, rel=machine.near / 0.6)


def test_without_metrics_nothing_is_made_up(tmp_path: Path) -> None:
    with serving(tmp_path, *NOW, "--no-metrics") as server:
        found = one(document(server.url, "qa"))["counted"]
    assert set(found.values()) == {None}


FAULTS = {
    "400": "HTTP 400",
    "503": "HTTP 503",
    "reset": "closed",
    "cut": "cut off",
    "unfinished": "cut off",
    "error": "error in the stream",
    "garbled": "unreadable",
    "unstreamed": "unreadable",
    "empty": "empty",
    "uncounted": "no count",
    "hang": "timeout",
    "stall": "timeout",
}


@pytest.mark.slow  # measures a server for seconds
@pytest.mark.parametrize(("fault", "kind"), FAULTS.items(), ids=FAULTS)
def test_each_error_is_counted_as_what_it_is(fault: str, kind: str, tmp_path: Path) -> None:
    with serving(tmp_path, *NOW, "--fail", f"{fault}:2") as server:
        made = document(server.url, "qa", "--runs", "3", "--limit", "0.4")
        found = one(made)
        failed = sum(bool(each["fault"]) for each in did(server, found))
    assert errors(found) == {kind: failed} == {kind: 2}
    assert (found["figures"]["asked"], found["figures"]["done"], made["exit"]) == (4, 2, 2)
    assert found["figures"]["tokens"] == 8, "of the one answer that is no warm-up"


def test_errors_of_several_kinds_each_have_their_count(tmp_path: Path) -> None:
    with serving(tmp_path, *NOW, "--fail", "500:4", "--fail", "cut:3") as server:
        found = one(document(server.url, "qa", "--runs", "11"))
    assert errors(found) == {"HTTP 500": 3, "cut off": 3}  # of 12: 4, 8 and 12; 3, 6 and 9
    assert found["figures"]["done"] == 6


@pytest.mark.slow  # measures a server for seconds
@pytest.mark.parametrize(
    ("fault", "code", "kind"),
    [("400", 2, "HTTP 400"), ("500", 2, "HTTP 500"), ("reset", 2, "closed"), ("hang", 3, "timeout")],
)
def test_a_run_in_which_every_request_fails_says_so(fault: str, code: int, kind: str, tmp_path: Path) -> None:
    """The script of [@docai-122b] reported no error while vLLM refused every request."""
    with serving(tmp_path, *NOW, "--fail", fault) as server:
        made = document(server.url, "qa", "uniform-short", "--limit", "0.4", "--seconds", "30")
    assert made["exit"] == code
    asked = sum(each["figures"]["asked"] for each in made["workloads"])
    assert made["verdict"].startswith(f"not one of {asked} requests was answered: {asked} x {kind}")
    assert all(each["given_up"] for each in made["workloads"]), "it does not go on for its time"
    assert [each["name"] for each in made["left"]] == (["uniform-short"] if code == 3 else [])


def test_prompts_that_are_a_little_too_long_are_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The very case of [@docai-122b]: by estimate they fit, the server counts more and refuses them all."""
    monkeypatch.setattr("secrets.token_hex", lambda _: "three")  # a text whose words are longer than its sample's
    with serving(tmp_path, *NOW, "--max-model-len", "7756") as server:
        made = document(server.url, "long-8k")
    assert (made["exit"], errors(one(made))) == (2, {"HTTP 400": 3})
    (said,) = one(made)["figures"]["errors"]
    assert "maximum context length is 7756 tokens" in said["said"]


def test_a_server_that_dies_on_the_way_is_not_asked_for_ever(tmp_path: Path) -> None:
    def kill() -> None:
        server.journal(3)
        server.process.kill()

    with serving(tmp_path, "--first", "0.01", "--token", "0.002", "--tokens", "32") as server:
        killing = Thread(target=kill)
        killing.start()
        made = document(server.url, "qa", "code", "json", "--runs", "20")
        killing.join()
        server.process.wait()
        assert made["exit"] == 2
        assert sum(errors(one(made)).values()) >= 3 and one(made)["figures"]["done"] >= 3
        assert errors(one(made, 1)) == {"no connection": 3}
        assert [each["name"] for each in made["left"]] == ["json"]


def test_a_server_that_is_not_there_is_exit_code_3(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    result = typed(url)
    assert (result.exit_code, result.stdout) == (
        3,
        f"? nothing was measured: {url} cannot be reached: connection refused\n",
    )
    assert f"Try: curl -i {url}/v1/models" in result.stderr
    made = document(url, "qa")
    assert (made["exit"], made["workloads"], len(made["left"])) == (3, [], 1)


@pytest.mark.slow  # measures a server for seconds
@pytest.mark.parametrize(
    ("words", "said", "cure"),
    [
        (("spark-a:8000",), "is no address of a server", "sparkrig bench http://spark-a:8000"),
        (("http://",), "is no address of a server", "sparkrig bench http://spark-a:8000"),
        (("http://spark-a:port",), "is no address of a server", "sparkrig bench http://spark-a:8000"),
        (("http://me:canary@spark-a:8000",), "more than a place", "bench http://spark-a:8000 --key-file FILE"),
        (("http://spark-a:8000/?key=canary",), "more than a place", "bench http://spark-a:8000 --key-file FILE"),
        (("http://spark-a", "tetris"), "no workload tetris", "sparkrig bench --list"),
        (("http://spark-a", "qa", "--at", "4"), "--at is of batches and mixes", "sparkrig bench --list"),
        (("http://spark-a", "batch", "--seconds", "4"), "--seconds is of mixes", "sparkrig bench --list"),
        (("http://spark-a", "--as", "llama"), "no model and no checkpoint llama", "sparkrig models"),
        (("http://spark-a", "--key-file", "/nowhere/key"), "no such file", "ls -l /nowhere"),
        ((), "Missing argument 'URL'", "--help"),
    ],
)
def test_a_mistyped_command_is_refused_before_anything_is_asked(
    words: tuple[str, ...], said: str, cure: str
) -> None:
    result = warm.run("sparkrig", "bench", *words, timeout=30)
    assert (result.returncode, result.stdout) == (1, "")
    assert said in result.stderr and cure in result.stderr
    assert "Traceback" not in result.stderr and "canary" not in result.stderr


@pytest.mark.slow
def test_what_a_server_does_not_have_is_refused(tmp_path: Path) -> None:
    with serving(tmp_path, *NOW, "--served-model-name", "one", "two", "--max-model-len", "4096") as server:
        model = typed(server.url, "qa", "--model", "three")
        long = typed(server.url, "long-8k")
        rest = document(server.url, "--seconds", "0.1")
        other = document(f"{server.url}/v1/", "qa", "--runs", "1", "--model", "two")
        no_api = typed(f"{server.url}/somewhere", "qa")
    assert (model.exit_code, long.exit_code, no_api.exit_code) == (1, 1, 1)
    assert "serves one and two, and not three" in model.stderr
    assert "it takes about 7,756 tokens, and the server 4,096 at most" in long.stderr
    assert "Try: vllm serve ... --max-model-len 8192" in long.stderr
    assert "/somewhere cannot be asked: HTTP 404 Not Found" in no_api.stderr
    assert [each["name"] for each in rest["left"]] == ["long-8k", "mixed-typical"] and rest["exit"] == 0
    assert "long-8k and mixed-typical not measured" in rest["verdict"]
    assert (other["model"], other["url"]) == ("two", server.url)


def test_a_key_comes_from_a_file_for_its_owner_alone_and_is_shown_nowhere(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("canary\n")
    key.chmod(0o644)
    with serving(tmp_path, *NOW, "--api-key", "canary") as server:
        without = typed(server.url, "qa")
        open_to_all = typed(server.url, "qa", "--key-file", str(key))
        key.chmod(0o600)
        made = typed(server.url, "qa", "--key-file", str(key), "--json")
        key.write_text("two words\n")
        wrong = typed(server.url, "qa", "--key-file", str(key))
    assert (without.exit_code, open_to_all.exit_code, made.exit_code, wrong.exit_code) == (1, 1, 0, 1)
    assert "HTTP 401 Unauthorized. Try: the same with --key-file FILE" in without.stderr
    assert f"chmod 600 {key}" in open_to_all.stderr
    assert not any("canary" in each.output for each in (without, open_to_all, made, wrong))


def test_no_proxy_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with serving(tmp_path, *NOW) as server:
        assert document(server.url, "qa", "--runs", "1")["exit"] == 0


@pytest.mark.parametrize("thinking", [True, False])
def test_the_model_thinks_only_where_it_is_told_to(
    thinking: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bodies: list[dict[str, Any]] = []
    stream = httpx2.AsyncClient.stream

    def kept(self: httpx2.AsyncClient, *words: Any, **more: Any) -> Any:
        bodies.append(more["json"])
        return stream(self, *words, **more)

    monkeypatch.setattr(httpx2.AsyncClient, "stream", kept)
    with serving(tmp_path, *NOW) as server:
        made = document(server.url, "qa", "--runs", "1", *(["--thinking"] if thinking else []))
    assert [each.get("chat_template_kwargs") for each in bodies] == [
        None if thinking else {"enable_thinking": False}
    ] * 2
    assert made["thinking"] is thinking
    assert all(each["stream"] and each["stream_options"] == {"include_usage": True} for each in bodies)


def test_the_screen_has_the_figures_the_articles_and_the_errors(tmp_path: Path) -> None:
    options = ("--served-model-name", "qwen35-122b-nvfp4", "--draft", "2", "--fail", "500:4")
    with serving(tmp_path, *NOW, *options) as server:
        result = typed(server.url, "qa", "long-32k", "--runs", "3")
    assert result.exit_code == 2
    lines = result.stdout.splitlines()
    assert lines[0] == f"qwen35-122b-nvfp4 at {server.url}, qwen3.5-122b-a10b of the catalogue"
    line = next(each for each in lines if each.startswith("qa "))
    assert line.split()[1] == "1" and line.split()[-1] == "3/4"
    article = lines[lines.index(line) + 1]
    assert article.split() == ["docai-122b", "0.27", "24.7-25.6"]
    column = [*re.finditer(r"\S+", line)][4]  # the next one may have the same figure
    assert article.index("24.7-25.6") + len("24.7-25.6") == column.end()
    for said in (
        "  ✗ 1 x HTTP 500: told to fail with 500",
        "first token after",
        "(docai-122b: 18.11 s)",
        "tokens a step (docai-122b: 67-74 %)",
        'docai-122b: "A 122B model on a single DGX Spark',
        "2026-04-25",
        "Elsewhere, tok/s of one: 51 (NVFP4; conselara-models, reported)",
    ):
        assert said in result.stdout, said
    assert lines[-1].startswith("✗ 2 of 8 requests failed: 2 x HTTP 500 (")


@pytest.mark.slow
def test_at_80_columns_no_line_is_longer(tmp_path: Path) -> None:
    options = ("--served-model-name", "qwen35-122b-nvfp4", "--draft", "2", "--fail", "400:3")
    with serving(tmp_path, *NOW, *options) as server:
        shown = on_a_terminal(SPARKRIG, "bench", server.url, "qa", "json", "long-8k", "--runs", "2")
    drawn = re.split(r"[\r\n]+", shown)  # a line that is drawn again begins with a carriage return
    lines = [re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", each).rstrip() for each in drawn]
    assert any(each.startswith("✗ 3 of 9 requests failed: 3 x HTTP 400") for each in lines)
    assert max(map(len, lines)) <= 80


def on_a_terminal(*words: str) -> str:
    """What a program writes on a terminal of 80 columns."""
    ours, its = pty.openpty()
    environment = {"COLUMNS": "80", "TERM": "xterm", "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    running = subprocess.Popen(words, stdin=its, stdout=its, stderr=its, env=environment)
    os.close(its)
    said = b""
    while True:
        try:
            said += os.read(ours, 65536)
        except OSError:  # its other end is closed
            break
    os.close(ours)
    assert running.wait(30) == 2
    return said.decode()


def test_the_workloads_are_listed() -> None:
    result = typed("--list")
    assert (result.exit_code, [each.split()[0] for each in result.stdout.splitlines()]) == (0, [*NAMES])
