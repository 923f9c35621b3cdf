"""What many requests come to, what a server counts, what others measured, and what a benchmark asks."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from io import StringIO
from time import sleep

import pytest
from rich.console import Console

from sparkrig.io import catalogue_files
from sparkrig.io.bench_run import Lateness
from sparkrig.render.bench import Page
from sparkrig.serving.bench import counters, report
from sparkrig.serving.bench.answer import Answer, Spread, figures, spread
from sparkrig.serving.bench.beside import METRICS, otherwise, served, told
from sparkrig.serving.bench.counters import Counted, between
from sparkrig.serving.bench.report import Left, Measured, exit_code, verdict
from sparkrig.serving.bench.workload import LONG_8K, QA, USUAL, WORKLOADS, Workload, prose
from sparkrig.serving.model import Model

CATALOGUE = catalogue_files.catalogue()
BY_NAME = {each.name: each for each in WORKLOADS}


def answer(began: float = 0.0, first: float = 1.0, last: float = 3.0, tokens: int = 21, error: str = "") -> Answer:
    return Answer("qa", began, last, first, last, tokens, 20, error, "said" if error else "")


def measured(name: str = "qa", *errors: str, done: int = 1) -> Measured:
    found = figures([answer() for _ in range(done)] + [answer(error=error) for error in errors])
    return Measured(
        name=name, meaning="", concurrency=1, figures=found, cold_first_token_s=None, counted=Counted(), others=[]
    )


@pytest.mark.parametrize(
    ("values", "low", "expected"),
    [
        ([], True, None),
        ([2.0], True, Spread(p50=2, p95=2)),
        ([1.0, 3.0], True, Spread(p50=2, p95=2.9)),
        ([1.0, 3.0], False, Spread(p50=2, p95=1.1)),
        ([float(each) for each in range(101)], True, Spread(p50=50, p95=95)),
        ([float(each) for each in range(100, -1, -1)], False, Spread(p50=50, p95=5)),
    ],
    ids=["none", "one", "two times", "two rates", "many times", "many rates"],
)
def test_p95_is_the_bad_end(values: list[float], low: bool, expected: Spread | None) -> None:
    found = spread(values, low=low)
    assert (found and found.model_dump()) == (expected and pytest.approx(expected.model_dump()))


def test_the_figures_of_answers_that_overlap() -> None:
    found = figures([answer(0, 1, 3, 21), answer(1, 3, 7, 41)])
    assert found.first_token_s == Spread(p50=1.5, p95=1.95)
    assert found.decode_rate == Spread(
        p50=10, p95=10
    )  # 20 tokens in 2 s, 40 in 4 s: the first of each is not counted
    assert (found.seconds, found.tokens) == (7, 62)
    assert found.aggregate == pytest.approx(62 / 7)
    assert (found.asked, found.done, found.errors, found.prompt_tokens) == (2, 2, [], 20)


def test_what_failed_is_counted_and_in_no_figure_but_its_time_is_spent() -> None:
    found = figures(
        [answer(), answer(0, 0, 100, 0, "timeout"), answer(last=9, error="timeout")], [answer(error="closed")]
    )
    assert (found.asked, found.done) == (4, 1)
    assert [(each.kind, each.count, each.said) for each in found.errors] == [
        ("timeout", 2, "said"),
        ("closed", 1, "said"),
    ]
    assert found.first_token_s == Spread(p50=1, p95=1)
    assert found.aggregate == pytest.approx(21 / 100)


def test_a_warm_up_that_was_answered_is_in_no_figure() -> None:
    found = figures([answer()], [answer(-100, 0, 0)])
    assert (found.asked, found.done, found.tokens, found.seconds) == (2, 2, 21, 3)


@pytest.mark.parametrize("one", [answer(tokens=1), answer(first=3.0)], ids=["one token", "all at once"])
def test_a_rate_that_nothing_tells_is_none(one: Answer) -> None:
    assert figures([one]).decode_rate is None


def test_nothing_answered_has_no_figures() -> None:
    found = figures([answer(error="HTTP 400")])
    assert (found.first_token_s, found.decode_rate, found.aggregate, found.prompt_tokens) == (None,) * 4


METRICS_TEXT = """\
# TYPE vllm:prefix_cache_queries_total counter
vllm:prefix_cache_queries_total{engine="0",model_name="m"} 100.0
vllm:prefix_cache_queries_total{engine="1",model_name="m"} 50.0
# TYPE vllm:prefix_cache_hits_total counter
vllm:prefix_cache_hits_total{engine="0",model_name="m"} 6e+01
# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total{engine="0",model_name="m"} 7.0
# TYPE process_cpu_seconds_total counter
process_cpu_seconds_total 12.5
"""
OLD_TEXT = "vllm:gpu_prefix_cache_queries_total 10.0\nvllm:gpu_prefix_cache_hits_total 4.0\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (METRICS_TEXT, {"queries": 150, "hits": 60, "generated": 7}),
        (OLD_TEXT, {"queries": 10, "hits": 4}),
        ("<html>not found</html>", {}),
        ("", {}),
    ],
    ids=["two engines", "vLLM 0.8", "no metrics", "nothing"],
)
def test_counters_are_read_and_added_up(text: str, expected: dict[str, float]) -> None:
    assert counters.read(text) == expected


DRAFTED = {"drafts": 10.0, "drafted": 20.0, "accepted": 15.0, "generated": 25.0, "preemptions": 0.0}


@pytest.mark.parametrize(
    ("before", "after", "ours", "expected"),
    [
        ({}, {}, 5, Counted()),
        ({"queries": 10, "hits": 10}, {"queries": 110, "hits": 85}, None, Counted(prefix_hits_percent=75)),
        ({"queries": 10, "hits": 10}, {"queries": 10, "hits": 10}, None, Counted()),
        ({}, DRAFTED, 25, Counted(acceptance_percent=75, tokens_per_step=2.5, preemptions=0, others=0)),
        ({}, DRAFTED, 20, Counted(acceptance_percent=75, tokens_per_step=2.5, preemptions=0, others=5)),
        (DRAFTED, DRAFTED, None, Counted(preemptions=0)),
        (DRAFTED, {"generated": 3.0, "preemptions": 1.0}, 3, Counted()),
    ],
    ids=["no metrics", "cache", "cache unused", "draft", "somebody else", "no draft meanwhile", "restarted"],
)
def test_what_lies_between_two_readings(
    before: counters.Counters, after: counters.Counters, ours: int | None, expected: Counted
) -> None:
    assert between(before, after, ours) == expected


def model(name: str) -> Model:
    return CATALOGUE.models[name]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("openai/gpt-oss-120b", ""), "gpt-oss-120b"),
        (("it", "/models/gpt-oss-120b"), "gpt-oss-120b"),
        (("qwen35-122b-nvfp4", "/models/qwen35-122b-nvfp4"), "qwen3.5-122b-a10b"),
        (("QWEN3.5-35B", ""), "qwen3.5-35b-a3b"),
        (("stand-in", "stand-in"), None),
        (("", ""), None),
    ],
    ids=["hub", "weights", "served as", "served as, shouted", "unknown", "nothing"],
)
def test_the_catalogue_knows_a_server_by_any_of_its_names(names: tuple[str, str], expected: str | None) -> None:
    found = served(CATALOGUE, names)
    assert (found and found.name) == expected


def shown(name: str, workload: Workload) -> dict[tuple[str, bool], tuple[float, float]]:
    return {(each.metric, each.cold): (each.low, each.high) for each in told(model(name), workload)}


def test_the_figures_beside_are_those_of_that_workload_at_that_many_at_a_time() -> None:
    name = "qwen3.5-122b-a10b"
    qa, long, mix = (shown(name, BY_NAME[each]) for each in ("qa", "long-32k", "uniform-short"))
    assert qa["decode tok/s", False] == (24.7, 25.6)
    assert qa["draft acceptance %", False] == (67, 74)
    assert long["time to first token s", False] == (3.87, 3.87)
    assert long["time to first token s", True] == (18.11, 18.11)
    assert mix["aggregate tok/s", False] == (63.86, 63.86)
    assert mix["requests done", False] == (20, 20)
    assert ("requests done", False) not in shown(
        name, BY_NAME["uniform-short"].asked(runs=None, seconds=30, at=None)
    )
    deep = BY_NAME["long-only-128k"]
    assert shown(name, deep)["time to first token p95 s", False] == (112, 112)
    assert shown(name, deep.asked(runs=None, seconds=None, at=4))["decode tok/s", False] == (6.2, 6.2)
    assert shown(name, deep.asked(runs=None, seconds=None, at=3)) == {}


def test_batches_are_compared_with_article_001() -> None:
    batch = BY_NAME["batch"]
    for at, aggregate in ((2, 24.1), (4, 36.4)):
        found = told(model("qwen3-235b-a22b"), batch.asked(runs=None, seconds=None, at=at))
        assert [(each.low, each.nodes) for each in found if each.metric == "aggregate tok/s"] == [(aggregate, 2)]


def test_every_figure_of_a_workload_in_the_catalogue_is_beside_some_workload() -> None:
    ours = {label for each in WORKLOADS for label in each.figures}
    figures = [each for found in CATALOGUE.models.values() for each in found.figures if each.metric in METRICS]
    compared = [each for each in figures if each.of.partition(",")[0] in ours]
    at = {(label, each.concurrency) for each in WORKLOADS for label in each.figures}
    at |= {
        (label, many) for each in WORKLOADS for label in each.figures if each.concurrency > 1 for many in (1, 2, 4)
    }
    assert len(compared) > 60
    assert {(each.of.partition(",")[0], each.concurrency) for each in compared} <= at


def test_other_rates_of_a_model_are_shown_elsewhere_and_none_twice() -> None:
    found = otherwise(model("qwen3.5-35b-a3b"))
    assert [each.low for each in found if each.source == "forum-365083"] == [13.3, 48.6]
    assert not any("qa" in each.of[0] for each in otherwise(model("qwen3.5-122b-a10b")))


@pytest.mark.parametrize(
    ("found", "code", "said"),
    [
        ([measured()], 0, "all 1 requests were answered"),
        ([measured(), measured("code", "HTTP 500")], 2, "1 of 3 requests failed: 1 x HTTP 500"),
        ([measured("qa", "HTTP 400", "HTTP 400", done=0)], 2, "not one of 2 requests was answered: 2 x HTTP 400"),
        ([measured("qa", "no connection", done=0)], 3, "not one of 1 requests was answered: 1 x no connection"),
        (
            [measured("qa", "timeout", "HTTP 500", done=0)],
            2,
            "not one of 2 requests was answered: 1 x timeout and 1 x HTTP 500",
        ),
        ([measured(), measured("code", "timeout", done=0)], 2, "1 of 2 requests failed: 1 x timeout"),
        ([], 3, "nothing was measured: away"),
    ],
    ids=["good", "one failed", "all refused", "no server", "both", "server lost", "nothing"],
)
def test_an_error_is_never_exit_code_0(found: list[Measured], code: int, said: str) -> None:
    left = [] if found else [Left(name="qa", why="away"), Left(name="code", why="away")]
    assert (exit_code(found), verdict(found, left)) == (code, said)


def test_what_was_left_out_is_said() -> None:
    assert (
        verdict([measured()], [Left(name="long-8k", why="")])
        == "all 1 requests were answered; long-8k not measured"
    )


@pytest.mark.slow  # waits for a late machine
def test_a_machine_that_is_late_itself_is_found_out() -> None:
    async def busy(seconds: float) -> float:
        async with Lateness() as late:
            for _ in range(4):
                await asyncio.sleep(0.05)
                sleep(seconds)
        return late.p95

    assert asyncio.run(busy(0.2)) > 0.1


@pytest.mark.parametrize(("late", "said"), [(0.019, False), (0.05, True)])
def test_a_figure_of_a_busy_machine_says_so(late: float, said: bool) -> None:
    page = Page(
        report.report(
            CATALOGUE,
            None,
            [measured().model_copy(update={"late_s": late})],
            [],
            version="0",
            url="http://it",
            started=datetime(2026, 11, 21, tzinfo=UTC),
            seconds=1,
            served="it",
            longest=None,
            thinking=False,
        )
    )
    console = Console(record=True, width=80, file=StringIO())
    console.print(page, soft_wrap=True)
    assert ("50 ms late itself" in console.export_text()) is said


def test_the_workloads_are_those_of_the_article() -> None:
    assert [len(BY_NAME[each].seats) for each in USUAL] == [1, 1, 1, 1, 1, 4, 4]
    assert [each[0].name for each in BY_NAME["uniform-short"].seats] == ["qa", "code", "json", "hungarian"]
    assert [each[0].name for each in BY_NAME["mixed-typical"].seats] == ["qa", "code", "json", "long 8K"]
    assert len({each.name for each in WORKLOADS}) == len(WORKLOADS)


def test_a_long_prompt_is_new_in_each_run_and_the_same_within_one() -> None:
    one, again, other = (LONG_8K.text(0.8, mark) for mark in ("a", "a", "b"))
    assert one == again != other
    assert one[:60] != other[:60]
    assert abs(len(one.split()) - 7_500 * 0.8) < 50
    assert QA.text(0.8, "a") == QA.question


@pytest.mark.parametrize("words", [0, 1, 12, 13, 600])
def test_prose_has_as_many_words_as_asked_for(words: int) -> None:
    assert len(prose(words, "seed").split()) == words


@pytest.mark.parametrize(("longest", "fits"), [(None, True), (7_756, True), (7_755, False)])
def test_a_workload_fits_what_a_server_takes(longest: int | None, fits: bool) -> None:
    assert BY_NAME["long-8k"].fits(longest) is fits


def test_numbers_change_what_they_are_of() -> None:
    single, mix = (BY_NAME[each].asked(runs=7, seconds=5.0, at=6) for each in ("qa", "uniform-short"))
    assert (single.runs, single.seconds, single.concurrency) == (7, None, 1)
    assert (mix.seconds, mix.concurrency, mix.seats[4]) == (5.0, 6, mix.seats[0])
