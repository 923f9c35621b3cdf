"""T1: deploys/serve.py on fake hosts of a ring and of a switch: more than two."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from sparkrig.serving import served
from tests.plan.conftest import Deploy, Run, well
from tests.plan.serve_runs import FILE, order, tail
from tests.plan.serving import BOTH, GIB, SOLO, Spark, answers
from tests.plan.serving_clusters import Serving

NAME = "qwen3-235b-a22b"
RING = Serving(3, "ring", BOTH)  # two of the three hold it
STAGES = Serving(3, "ring", BOTH, {"serve_nodes": 3})
FOUR = Serving(4, "switch", BOTH, {"serve_nodes": 4})
BOTH_ODD = "@fake/spark-b and @fake/spark-d"
A, B, C, D = (f"spark-{letter}" for letter in "abcd")
BEGIN, START, ASK = 'mv -T "$before.new" "$before"', "systemctl start sparkrig-serve.service", "VLLM_API_KEY"
WRITE = "while read -r folder name mode content"
PULSE, BACK = "port=$1 before=$2", 'cp -a --remove-destination "$before$path"'
FILES = "tar -c -P -b 1 --format=gnu"  # of the look before a trial
COPY = "path_of()"
COMMIT = f"rm -f {served.TRIAL} "
LOST: dict[str, Any] = {"stderr": ["lost"], "success": False}


def run(deploy: Deploy, serving: Serving, *sparks: Spark, without: tuple[str, str] | None = None) -> Run:
    """One run; without: a host and a piece of what it does not answer."""
    hosts = serving.hosts(*sparks, **answers(NAME))
    for host in hosts:
        if without and host.name.endswith(without[0]):
            host.first = {without[1]: LOST}
            host.responses = {piece: rows for piece, rows in host.responses.items() if piece != without[1]}
    return deploy(hosts, "-y", file=FILE)


def those(found: Run, piece: str) -> list[str]:
    """The hosts with a command that has this piece, each once."""
    return sorted({host for host, text in found.commands if piece in text})


@pytest.mark.parametrize("serving", [RING, STAGES, FOUR], ids=["a spare", "three", "four"])
def test_what_a_cluster_serves_costs_one_exec_a_host_and_changes_nothing(deploy: Deploy, serving: Serving) -> None:
    found = well(run(deploy, serving, *serving.up()))
    assert (len(found.commands), found.changes) == (serving.count, [])


def test_three_are_started_on_trial_and_the_head_is_let_in_first(deploy: Deploy) -> None:
    found = well(run(deploy, STAGES, *STAGES.ready()))
    for name in (A, B, C):
        order(found, name, BEGIN, START, PULSE, COMMIT)
    commits = [host for host, text in found.commands if COMMIT in text]
    assert commits[0] == A and sorted(commits) == [A, B, C]
    assert those(found, "/v1/chat/completions") == [A], "the head alone is asked"
    assert f"{NAME} answers on port 8000" in found.stderr


def test_a_spare_gets_a_record_and_starts_nothing(deploy: Deploy) -> None:
    found = well(run(deploy, RING, *RING.ready()))
    assert those(found, BEGIN) == those(found, COMMIT) == [A, B, C]
    assert those(found, START) == those(found, PULSE) == [A, B]
    assert "spark-a and spark-b serve it, and spark-a answers; spark-c is left free" in found.stderr, tail(found)


def test_the_hosts_that_serve_can_be_named(deploy: Deploy) -> None:
    serving = Serving(3, "ring", BOTH, {"serve_on": [C, B]})
    found = well(run(deploy, serving, *serving.ready()))
    assert those(found, START) == [B, C] and those(found, "/v1/chat/completions") == [C]
    again = run(deploy, serving, *serving.up())
    assert (again.code, again.changes) == (0, []), tail(again)


# --- weights and image


def copies(found: Run) -> list[str]:
    said = (line.partition("copy ")[2].partition(" over the fabric")[0] for line in found.stderr.splitlines())
    return [" ".join(line.split()[-3:]) for line in said if line]


def test_a_ring_copies_over_both_cables_at_once(deploy: Deploy) -> None:
    bare = [STAGES.ready()[0], *STAGES.ready(weights={})[1:]]
    found = well(run(deploy, STAGES, *bare))
    assert copies(found) == ["@fake/spark-a to @fake/spark-b", "@fake/spark-a to @fake/spark-c"]
    assert found.stderr.index("to @fake/spark-c over the fabric") < found.stderr.index(COPY), "none waits"


def test_on_a_switch_each_that_has_the_weights_copies_them_on(deploy: Deploy) -> None:
    bare = [FOUR.ready()[0], *FOUR.ready(weights={})[1:]]
    found = well(run(deploy, FOUR, *bare))
    assert copies(found) == [
        "@fake/spark-a to @fake/spark-b",
        "@fake/spark-a to @fake/spark-c",
        "@fake/spark-b to @fake/spark-d",
    ]


def test_a_copy_that_broke_off_is_the_only_one_of_the_next_run(deploy: Deploy) -> None:
    bare = [FOUR.ready()[0], *FOUR.ready(weights={})[1:]]
    found = run(deploy, FOUR, *bare, without=(C, COPY))
    assert found.code == 1, tail(found)
    assert not those(found, BEGIN), "nothing was served yet"
    assert "@fake/spark-c: " in found.stderr and "Try: the same again, which goes on from there" in found.stderr
    partial = FOUR.ready(weights={BOTH: ("partial", GIB)})[2]
    again = well(run(deploy, FOUR, FOUR.ready()[0], FOUR.ready()[1], partial, FOUR.ready()[3]))
    assert copies(again) == ["@fake/spark-a to @fake/spark-c"]


@pytest.mark.parametrize(("odd", "on"), [((1,), "@fake/spark-b"), ((0,), "@fake/spark-a"), ((1, 3), BOTH_ODD)])
def test_weights_of_another_commit_are_moved_where_they_are(deploy: Deploy, odd: tuple[int, ...], on: str) -> None:
    sparks = FOUR.ready(commit="1" * 40)
    for place in odd:
        sparks[place] = replace(sparks[place], commit="2" * 40)
    found = run(deploy, FOUR, *sparks)
    assert found.code == 1 and those(found, START) == [], tail(found)
    assert f".other, on {on}\n" in found.stderr, tail(found)
    if odd == (1,):
        assert "111111111111 on @fake/spark-a, @fake/spark-c and @fake/spark-d and 222222222222 on" in found.stderr


# --- a host that is lost, in each window


def one_sentence(found: Run, said: str) -> None:
    assert found.code == 1, tail(found)
    lines = [line for line in found.stderr.splitlines() if "Try: " in line and not line.startswith("--> ")]
    assert len(lines) == 1 and said in lines[0], lines or tail(found)
    assert "Traceback" not in found.stderr


def test_lost_before_the_trial_nothing_is_changed(deploy: Deploy) -> None:
    found = run(deploy, STAGES, *STAGES.ready(), without=(C, FILES))
    one_sentence(found, "it broke off (@fake/spark-c: ")
    assert those(found, BEGIN) == [] and those(found, START) == []


@pytest.mark.parametrize("piece", [WRITE, PULSE], ids=["is written", "is watched"])
def test_lost_in_the_trial_all_have_the_old_one_again(deploy: Deploy, piece: str) -> None:
    found = run(deploy, STAGES, *STAGES.ready(), without=(C, piece))
    one_sentence(found, f"Changed and rolled back: {NAME}: ")
    assert "@fake/spark-c" in found.stderr.partition("rolled back: ")[2]
    assert those(found, BACK) == [A, B, C] and those(found, COMMIT) == []


def test_lost_while_the_old_one_comes_back_the_sentence_says_who_has_which(deploy: Deploy) -> None:
    found = run(deploy, STAGES, *STAGES.ready(), without=(C, START))  # which the way back has, too
    one_sentence(found, "what was there before is not all back (@fake/spark-c: ")
    assert "@fake/spark-a and @fake/spark-b have it again, and @fake/spark-c still the new one" in found.stderr
    assert those(found, COMMIT) == []


def test_the_head_lost_before_the_commit_the_trial_goes_on_with_the_next_run(deploy: Deploy) -> None:
    found = run(deploy, STAGES, *STAGES.ready(), without=(A, COMMIT))
    one_sentence(found, "it broke off (@fake/spark-a: ")
    assert those(found, COMMIT) == [A] and those(found, BACK) == [], "no other one is let in without it"
    sparks = STAGES.up()
    for spark in sparks:
        spark.trial, spark.port, spark.listening = True, "inactive", (22, 18000)
    again = run(deploy, STAGES, *sparks)
    assert again.code == 0 and those(again, COMMIT) == [A, B, C] and those(again, BEGIN) == [], tail(again)


def test_lost_after_the_head_s_commit_the_others_keep_it(deploy: Deploy) -> None:
    found = run(deploy, STAGES, *STAGES.ready(), without=(C, COMMIT))
    said = "answered and is kept on all hosts, and its trial could not be ended on @fake/spark-c"
    one_sentence(found, f"{NAME} {said}")
    assert "Try: ssh spark-c true, then the same again, which ends it there" in found.stderr
    assert those(found, COMMIT) == [A, B, C] and those(found, BACK) == []


# --- what cannot be


def test_what_a_cluster_cannot_share_is_refused_before_any_change(deploy: Deploy) -> None:
    serving = Serving(3, "ring", BOTH, {"serve_nodes": 3, "serve_flags": {"tensor-parallel-size": 3}})
    found = deploy(serving.hosts(*(Spark() for _ in serving.names)), "-y", file=FILE)
    assert found.code == 1 and found.changes == []
    assert "--tensor-parallel-size is 3: each Spark would not get equally many" in found.stderr, tail(found)


def test_a_model_that_needs_more_sparks_says_how_many_would_hold_it(deploy: Deploy) -> None:
    serving = Serving(4, "switch", BOTH, {"serve_nodes": 1})
    found = deploy(serving.hosts(*serving.ready()), "-y", file=FILE)
    assert found.code == 1 and found.changes == []
    assert "Try: the same with --data serve_nodes=2, on which it fits" in found.stderr, tail(found)


def test_a_model_for_one_leaves_the_others_free(deploy: Deploy) -> None:
    serving = Serving(3, "ring", SOLO)
    found = well(deploy(serving.hosts(*serving.ready(), **answers("gpt-oss-120b")), "-y", file=FILE))
    assert those(found, START) == [A]


def test_the_image_of_a_switch_goes_to_one_host_at_a_time_from_the_head(deploy: Deploy) -> None:
    """The fake hosts have after a copy what they had before, so that the first round is the last."""
    a, *others = FOUR.ready()
    found = run(deploy, FOUR, a, *(replace(each, images={}) for each in others))
    assert found.code == 1, tail(found)
    said = [line.partition("] ")[2] for line in found.stderr.splitlines() if "] copy vllm-standin" in line]
    assert said == ["copy vllm-standin:1 from @fake/spark-a to @fake/spark-b over the fabric ..."]
    assert "@fake/spark-b still has no image sha256:a1a1a1a1a1a1 after it was copied" in found.stderr
