"""What a tool saved, whose server it is, what others measured, and what a benchmark asks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyinfra.api.exceptions import FactProcessError

from sparkrig.facts.servers import Servers
from sparkrig.serving.bench import tool
from sparkrig.serving.bench.beside import METRICS, otherwise, told
from sparkrig.serving.bench.report import Left, Measured, exit_code, verdict
from sparkrig.serving.bench.server import chosen
from sparkrig.serving.bench.tool import CommandLine, Spread
from sparkrig.serving.bench.workload import USUAL, WORKLOADS, Workload
from sparkrig.serving.io import catalogue_files
from sparkrig.serving.model import Model
from tests.tables import each_row, table
from tests.unit.benches import figures, record
from tests.unit.serving_host import Spark
from tests.unit.shells import tool as program

CATALOGUE = catalogue_files.catalogue()


def measured(asked: int = 1, done: int = 1) -> Measured:
    found = tool.parse(figures("vllm", completed=done), asked)
    return Measured(name="short", meaning="", concurrency=1, figures=found, others=[])


def test_a_recorded_result_is_read_whole() -> None:
    vllm, sglang = tool.parse(figures("vllm"), 1000), tool.parse(figures("sglang"), 50)
    assert vllm.first_token_s == Spread(p50=162.54340455850025, p99=336.54851582016953)
    assert (vllm.prompt_tokens, vllm.tokens, vllm.acceptance_percent) == (1024000, 256000, None)
    assert sglang.decode_rate == Spread(p50=1000 / 5.136430060075035, p99=1000 / 7.765636412456393)
    assert (sglang.done, sglang.seconds, sglang.tokens_per_step) == (50, 2.2138570342212915, None)


# by the names that vllm/benchmarks/serve.py and sglang's bench_serving.py give them
def test_what_a_draft_gave_is_read() -> None:
    def holds(changed: dict[str, float], percent: float | None, step: float) -> None:
        found = tool.parse(figures("vllm", **changed), 1000)
        assert (found.acceptance_percent, found.tokens_per_step) == (percent, step)

    each_row(table(__file__, "what a draft gave is read"), holds)


ODD = {
    "nothing answered": {"completed": 0},
    "no rate": {"median_tpot_ms": 0, "p99_tpot_ms": None, "median_ttft_ms": True},
    "no numbers": {"median_tpot_ms": "x", "p99_ttft_ms": float("nan"), "output_throughput": float("inf")},
}


def test_a_figure_that_is_none_is_left_out() -> None:
    def holds(changed: dict[str, object]) -> None:
        found = tool.parse(figures("vllm", **changed), 1000)
        assert found.decode_rate is None and found.first_token_s is None

    each_row({name: (changed,) for name, changed in ODD.items()}, holds)


def test_what_is_no_result_is_refused() -> None:
    for text in ("", "x", "[]", "{}", '{"completed": 4}', '{"completed": -1}', '{"completed": 1.5}'):
        with pytest.raises(ValueError, match=r"."):
            tool.parse(text, 3)


def test_a_server_is_known_by_its_command() -> None:
    def holds(
        engine: str, line: str, path: str, name: str, context: int | None = None, tokenizer: Any = ()
    ) -> None:
        assert tool.launched(engine, line.split()) == CommandLine(path, name, context, tuple(tokenizer))

    each_row(table(__file__, "a server is known by its command"), holds)


@pytest.mark.parametrize(
    ("engine", "line"), [("vllm", "sleep 9"), ("sglang", "vllm serve x"), ("vllm", "vllm serve")]
)
def test_a_container_without_the_server_is_refused(engine: str, line: str) -> None:
    with pytest.raises(ValueError, match="no "):
        tool.launched(engine, line.split())


def test_a_host_tells_of_its_servers_in_one_look(tmp_path: Path) -> None:
    spark = Spark(tmp_path / "root")
    spark.unit.write_text("LoadState=loaded\nActiveState=active\nNRestarts=0\n")
    file = record().file()
    spark.has(file.path, file.content)
    program(spark.root / "bin", "curl", "printf 200")
    found = Servers().process(spark.prints(Servers().command()).splitlines())
    own = {path.removeprefix(str(spark.root)): each for path, each in found.files.items()}
    server = chosen({"a": replace(found, files=own)})
    assert server is not None and (server.host, server.record) == ("a", record())
    with pytest.raises(FactProcessError, match="could not be read"):
        Servers().process([])


def test_the_command_is_the_tools_own() -> None:
    its, asked = CommandLine("/models/x", "a", None), Workload("w", 10, 20, 4, ())
    vllm, sglang = (" ".join(tool.words(engine, its, asked, "/tmp/d", 7)) for engine in ("vllm", "sglang"))
    shared = "--random-input-len 10 --random-output-len 20 --num-prompts 12 --max-concurrency 4 --seed 7"
    assert vllm.startswith("vllm bench serve --backend openai --model /models/x --served-model-name a ")
    assert shared in vllm and vllm.endswith("--save-result --result-dir /tmp/d --result-filename result.json")
    assert sglang.startswith("python3 -m sglang.bench_serving --backend sglang --model /models/x ")
    assert shared in sglang and sglang.endswith("--output-file /tmp/d/result.json")


def model(name: str) -> Model:
    return CATALOGUE.models[name]


def shown(name: str, workload: Workload) -> dict[tuple[str, bool], tuple[float, float]]:
    return {(each.metric, each.cold): (each.low, each.high) for each in told(model(name), workload)}


def test_the_figures_beside_are_those_of_that_workload_at_that_many_at_a_time() -> None:
    name = "qwen3.5-122b-a10b"
    short, long, batch = (shown(name, WORKLOADS[each]) for each in ("short", "long-32k", "batch"))
    assert short["decode tok/s", False] == (23.7, 31)
    assert short["draft acceptance %", False] == (63, 100)
    assert long["time to first token s", True] == (18.11, 18.11)
    assert ("time to first token s", False) not in long, "of a prompt that a cache had"
    assert batch["aggregate tok/s", False] == (63.86, 63.86)
    deep = WORKLOADS["long-128k"]
    assert shown(name, deep.asked(runs=None, at=4))["decode tok/s", False] == (6.2, 6.2)
    assert shown(name, deep.asked(runs=None, at=3)) == {}


def test_batches_are_compared_with_article_001() -> None:
    batch = WORKLOADS["batch"]
    for at, aggregate in ((2, 24.1), (4, 36.4)):
        found = told(model("qwen3-235b-a22b"), batch.asked(runs=None, at=at))
        assert [(each.low, each.nodes) for each in found if each.metric == "aggregate tok/s"] == [(aggregate, 2)]


def test_every_figure_of_a_workload_in_the_catalogue_is_beside_some_workload() -> None:
    ours = {label for each in WORKLOADS.values() for label in each.figures}
    found = [each for model in CATALOGUE.models.values() for each in model.figures if each.metric in METRICS]
    compared = [each for each in found if each.of.partition(",")[0] in ours]
    at = {(label, each.concurrency) for each in WORKLOADS.values() for label in each.figures}
    at |= {
        (label, many)
        for each in WORKLOADS.values()
        for label in each.figures
        if each.concurrency > 1
        for many in (1, 2, 4)
    }
    assert len(compared) > 50
    assert {(each.of.partition(",")[0], each.concurrency) for each in compared} <= at


def test_other_rates_of_a_model_are_shown_elsewhere_and_none_twice() -> None:
    found = otherwise(model("qwen3.5-35b-a3b"))
    assert [each.low for each in found if each.source == "forum-365083"] == [13.3, 48.6]
    assert not any("qa" in each.of[0] for each in otherwise(model("qwen3.5-122b-a10b")))


def test_an_error_is_never_exit_code_0() -> None:
    def holds(code: int, said: str, done: Sequence[Sequence[int]] = (), left: Sequence[Any] = ()) -> None:
        found, missing = [measured(*each) for each in done], [Left(*each) for each in left]
        assert (exit_code(found, missing), verdict(found, missing)) == (code, said)

    each_row(table(__file__, "an error is never exit code 0"), holds)


def test_numbers_change_what_they_are_of() -> None:
    short, batch = (WORKLOADS[each].asked(runs=7, at=6) for each in ("short", "batch"))
    assert (short.runs, short.concurrency, short.requests) == (7, 1, 7)
    assert (batch.concurrency, batch.requests) == (6, 42)
    assert {*USUAL} <= {*WORKLOADS}


@pytest.mark.parametrize(("longest", "fits"), [(None, True), (7_756, True), (7_755, False)])
def test_a_workload_fits_what_a_server_takes(longest: int | None, fits: bool) -> None:
    assert WORKLOADS["long-8k"].fits(longest) is fits
