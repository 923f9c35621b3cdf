"""T1: SGLang and llama.cpp by deploys/serve.py, on fake hosts."""

from __future__ import annotations

from base64 import b64decode
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sparkrig.serving import gguf, served
from tests.plan.conftest import A, B, Deploy, Run, well
from tests.plan.desk import Desk
from tests.plan.serve_runs import FILE, MODEL, PAIR, order, served_by, tail
from tests.plan.serving import (
    BOTH,
    GGUF_GIB,
    GIB,
    NAME,
    SOLO,
    Spark,
    answering,
    beside,
    files,
    hosts,
    ready,
    serving,
)
from tests.tables import each_row, table

GGUF = "ggml-org/gpt-oss-120b-GGUF/gpt-oss-120b-mxfp4-00001-of-00003.gguf"
THERE: dict[str, Any] = {"ggufs": dict.fromkeys(gguf.parts(GGUF), int(GGUF_GIB * GIB / 3))}
DATA: dict[str, dict[str, Any]] = {
    "sglang": {"serve_engine": "sglang"},
    "llama.cpp": {"serve_engine": "llama.cpp", "serve_gguf": GGUF},
}
ENGINES = pytest.mark.parametrize("engine", [*DATA])


def words(engine: str) -> list[str]:
    return [*MODEL, *(word for name, value in DATA[engine].items() for word in ("--data", f"{name}={value}"))]


def run_on(deploy: Deploy, engine: str, a: Spark, *more: str, **changes: Any) -> Run:
    """A deploy of it on the first host."""
    found = answering(hosts(a, Spark()), "gpt-oss-120b", engine=engine, **changes)
    return deploy(found, "-y", *words(engine), *more, file=FILE)


def there(engine: str, **changes: Any) -> Spark:
    """A host that serves it as this very code wants it."""
    up = serving(SOLO, files=files(SOLO, 0, 1, **DATA[engine]))
    return replace(up, **{**THERE, **changes})


# what is written travels on standard input, which the fake connector does not print
WRITTEN = """
from pyinfra.connectors.fake import FakeConnector as _Fake
if not hasattr(_Fake, "unread"):
    _Fake.unread = _Fake.run_shell_command
    def _run(self, command, *words, **more):
        with open({file!r}, "a") as file:
            file.writelines(f"{{self.host.name}} {{row}}\\n" for row in str(more.get("_stdin") or "").splitlines())
        return self.unread(command, *words, **more)
    _Fake.run_shell_command = _run
"""


@pytest.mark.parametrize("engine", [*DATA, "pair"])
def test_every_unit_has_its_brake_and_leaves_ssh_ahead(deploy: Deploy, engine: str, tmp_path: Path) -> None:
    file = tmp_path / "written"
    found, typed = hosts(ready(**THERE), Spark()), words(engine) if engine in DATA else PAIR
    if engine == "pair":
        found = hosts(ready(BOTH), ready(BOTH))
    name = typed[1].partition("=")[2]
    well(
        deploy(
            answering(found, name, engine=engine if engine in DATA else "vllm"),
            *("-y", *typed),
            file=FILE,
            head=WRITTEN.format(file=str(file)),
        )
    )
    rows = [row.split() for row in file.read_text().splitlines()]
    units = {row[0]: b64decode(row[-1]).decode() for row in rows if served.SERVICE.endswith(f"/{row[2:3][0]}")}
    assert set(units) == ({A, B} if engine == "pair" else {A})
    for host, unit in units.items():
        kept = [row for row in unit.splitlines() if served.BRAKE in row or "ssh.service" in row]
        assert kept == [
            "After=ssh.service ssh.socket sshd.service",
            f"ExecCondition={served.BRAKE} begin",
            f"ExecStartPost={served.BRAKE} loads" + (" 18000" if host == A else ""),
            f"ExecStopPost={served.BRAKE} end",
        ]


@ENGINES
def test_a_first_server_is_started_on_trial_asked_and_let_in(deploy: Deploy, engine: str) -> None:
    run = well(run_on(deploy, engine, ready(**THERE)))
    order(
        run,
        "spark-a",
        "docker run --rm --network none",
        "while read -r folder name mode content",
        "systemctl start sparkrig-serve.service",
        "port=$1 before=$2",
        "/v1/chat/completions",
        "systemctl start sparkrig-serve-port.socket",
    )
    assert "gpt-oss-120b answers on port 8000" in run.stderr and "are handed on, and not judged" in run.stderr
    assert ("the watch judges the memory of the host alone" in run.stderr) == (engine == "llama.cpp")


@ENGINES
def test_a_second_run_changes_nothing_and_needs_no_setting(deploy: Deploy, engine: str) -> None:
    up, idle = there(engine), serving(SOLO, "b", files=files(SOLO, -1, 1, **DATA[engine]))
    for flags in (words(engine), []):
        run = well(served_by(deploy, up, idle, "-y", *flags))
        assert (len(run.commands), run.changes) == (2, [])


@ENGINES
def test_one_that_does_not_answer_is_rolled_back(deploy: Deploy, engine: str) -> None:
    run = run_on(deploy, engine, replace(serving(SOLO), **THERE), code=500)
    assert run.code == 1
    assert "Changed and rolled back: gpt-oss-120b: it answered a question with HTTP status 500" in run.stderr


def test_an_image_of_another_engine_is_refused_before_anything_stops(deploy: Deploy) -> None:
    found = answering(hosts(ready(), Spark()), "gpt-oss-120b")
    run = deploy(found, "-y", *words("sglang"), file=FILE)
    assert run.code == 1 and f"Refused: {NAME} has no sglang, as its own shell finds it" in run.stderr
    assert "serve-port" not in "".join(text for _, text in run.commands if "systemctl stop" in text)


@pytest.mark.slow
def test_what_cannot_be_served_is_refused_before_any_change(deploy: Deploy) -> None:
    def holds(engine: str, said: str, gib: int = 0, flag: str = "", changes: Any = None) -> None:
        given: dict[str, Any] = {"ggufs": dict.fromkeys(gguf.parts(GGUF), gib * GIB // 3)} if gib else {}
        flags = ["--data", flag] if flag else []
        run = served_by(deploy, ready(**given | (changes or {})), Spark(), "-y", *words(engine), *flags)
        assert run.code == 1 and run.changes == [] and said in run.stderr, tail(run)

    each_row(table(__file__, "what cannot be served"), holds)


def test_a_second_server_of_another_engine_has_what_is_left(deploy: Deploy) -> None:
    """Its memory is counted beside a server of vLLM that takes 0.2."""
    found = answering(hosts(replace(beside(serving(SOLO)), **THERE), Spark()), "gpt-oss-120b", engine="llama.cpp")
    run = well(deploy(found, "-y", *words("llama.cpp"), file=FILE))
    assert "--ctx-size 131072, 62% of the memory" in run.stderr
    heavy = [
        "--data",
        f"serve_image={NAME}",
        "--data",
        "serve_name=more",
        "--data",
        "serve_port=8009",
        "--data",
        "serve_trial_port=18009",
    ]
    refused = served_by(deploy, there("sglang"), Spark(), "-y", *words("sglang"), *heavy)
    assert refused.code == 1 and refused.changes == []
    assert (
        "beside the server without a name" in refused.stderr and "--mem-fraction-static for the" in refused.stderr
    )


@ENGINES
def test_drift_holds_the_host_against_what_was_deployed(desk: Desk, engine: str) -> None:
    idle = serving(SOLO, "b", files=files(SOLO, -1, 1, **DATA[engine]))
    done = desk.has(hosts(there(engine), idle, **DATA[engine])).drift()
    assert not {id for id in done.wrong[A] if id.startswith("serve.")}, done.wrong
    memory = done.row(A, "serve.memory")
    assert ("--mem-fraction-static" if engine == "sglang" else "--ctx-size") in str(memory)
    lost = desk.has(hosts(there(engine, ggufs={}, weights={}), idle, **DATA[engine])).drift()
    assert "serve.weights" in lost.wrong[A]


def test_a_recipe_for_sglang_is_served_by_it(deploy: Deploy, tmp_path: Path) -> None:
    file = tmp_path / "recipe.yaml"
    command = "python3 -m sglang.launch_server --model-path {model} --host 0.0.0.0 --port 30000 --tp 1"
    file.write_text(
        f'recipe_version: "2"\nruntime: sglang\nmodel: {SOLO}\ncontainer: {NAME}\ncommand: {command}\n',
        encoding="utf-8",
    )
    found = answering(hosts(ready(), Spark(), serve_image=None), "gpt-oss-120b", engine="sglang")
    run = well(deploy(found, "-y", "--data", f"recipe={file}", file=FILE))
    assert "gpt-oss-120b answers" in run.stderr and "--mem-fraction-static" in run.stderr
