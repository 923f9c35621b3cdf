"""T1: deploys/serve.py on fake hosts that have more than one server."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from sparkrig.serving.served import Service
from sparkrig.serving.wish import Sizing
from tests.plan.conftest import A, B, Deploy, Host, Run, well
from tests.plan.desk import Desk
from tests.plan.serve_runs import FILE, tail
from tests.plan.serving import (
    BOTH,
    EMBED,
    GIB,
    NAME,
    SOLO,
    Spark,
    answering,
    beside,
    embed_files,
    files,
    hosts,
    serving,
)
from tests.tables import each_row, table

HALF = {"gpu-memory-utilization": 0.6}  # what the first server leaves room with
NAMED = ("--data", "serve_name=embed")
MODEL = (*NAMED, "--data", f"model={EMBED}", "--data", f"serve_image={NAME}")
PORTS = ("--data", "serve_port=8001", "--data", "serve_trial_port=18001")
WORDS = (*MODEL, *PORTS)
OURS = r"sparkrig-serve(?!-embed)[.-]|/sparkrig/serve/(?!embed/)|/var/lib/sparkrig/serve(?!-embed)"
# what changes a host, of the programs of serving
ACTS = ("systemctl stop", "systemctl start", "rm -f", "rm -rf", "ln -sf", "docker rm")


def first(letter: str = "a", memory: float = 38.0, **changes: Any) -> Spark:
    """A host whose server without a name takes 0.6 of its memory."""
    rank = "ab".index(letter)
    own = files(SOLO, 0 if rank == 0 else -1, 1, sized=Sizing(0.6, 32768), serve_flags=HALF)
    there = serving(SOLO, letter, files=own, memory=(121.7, memory), **changes)
    return replace(there, weights={**there.weights, EMBED: ("whole", 17 * GIB)})


def two(letter: str = "a", memory: float = 10.0, **changes: Any) -> Spark:
    """The same with `embed` beside it."""
    if letter == "b":
        aside = Spark(files=embed_files(-1))
        return replace(first("b", memory=110.0), named={"embed": replace(aside, **changes)})
    return beside(first("a", memory), **changes)


def started(*sparks: Spark, **said: Any) -> list[Host]:
    return answering(hosts(*sparks, serve_flags=HALF), "qwen3-30b-a3b", **said)


def acting(run: Run) -> list[str]:
    """What changed something on a host, of the server's own programs; the journal names the files of all."""
    found = [text for _, text in run.commands if "sparkrig-serve" in text and "runs/*/paths" not in text]
    return [text for text in found if any(act in text for act in ACTS)]


def test_a_second_server_starts_on_trial_and_the_first_one_is_not_touched(deploy: Deploy) -> None:
    run = well(deploy(started(first(), first("b")), "-y", *WORDS, file=FILE))
    assert "qwen3-30b-a3b answers on port 8001" in run.stderr
    assert "38.0 of 121.7 GiB are free on spark-a, beside the server without a name (73.0 GiB)" in run.stderr
    begun = [text for _, text in run.sent if "take() {" in text]
    assert len(begun) == 2 and all("deploys/serve.py --data serve_name=embed" in text for text in begun)
    assert all(path in text for text in begun for path in Service("embed").paths), "they can be undone"
    acts = acting(run)
    assert any("systemctl start sparkrig-serve-embed.service" in text for text in acts)
    assert any("systemctl start sparkrig-serve-embed-port.socket" in text for text in acts)
    assert not [found[0] for text in acts if (found := re.search(OURS, text))]


@pytest.mark.parametrize("words", [WORDS, NAMED, ()], ids=["typed again", "named", "the other one"])
def test_two_servers_that_stand_cost_one_exec_a_host(deploy: Deploy, words: tuple[str, ...]) -> None:
    run = deploy(hosts(two(), two("b"), serve_flags=HALF), "-y", *words, file=FILE)
    assert (run.code, len(run.commands), run.changes) == (0, 2, []), tail(run)


def test_the_settings_of_a_service_are_those_that_were_given_for_it(deploy: Deploy) -> None:
    """The inventory has a model, flags and ports of the other server."""
    given = {"model": "gpt-oss-120b", "serve_flags": HALF, "serve_seconds": 60}
    run = deploy(hosts(two(), two("b"), **given), "-y", *NAMED, file=FILE)
    assert (run.code, len(run.commands), run.changes) == (0, 2, []), tail(run)
    run = deploy(
        hosts(two(), two("b"), **given), "--dry", "--json", *NAMED, "--data", "serve_watch_seconds=0", file=FILE
    )
    assert run.plan["Serve | server of embed"] == {A, B}, run.plan


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"state": "active 1 000"}, "ended on @fake/spark-a (RuntimeError: out of memory)"),
        ({"choices": [{"message": {"content": "!" * 40}}]}, "its answer is garbage"),
        ({"data": [{"embedding": [0.5, 0.25]}]}, "it was given 2 texts, and answered with 1 vectors"),
        (
            {"results": [{"index": at, "relevance_score": 1 - at} for at in range(2)]},
            "its ranking is wrong: 1 and 0",
        ),
    ],
    ids=["ends", "garbage", "a vector too few", "the wrong text first"],
)
def test_a_trial_that_fails_takes_back_that_service_alone(
    deploy: Deploy, said: dict[str, Any], reason: str
) -> None:
    run = deploy(started(first(), first("b"), **said), "-y", *WORDS, file=FILE)
    assert run.code == 1
    assert f"Changed and rolled back: qwen3-30b-a3b (service embed): {reason}" in run.stderr, tail(run)
    assert "Try: sudo journalctl -u sparkrig-serve-embed --since -1h" in run.stderr
    acts = acting(run)
    assert [text for text in acts if 'cp -a --remove-destination "$before$path"' in text]
    assert not [found[0] for text in acts if (found := re.search(OURS, text))]


def test_what_cannot_stand_beside_another_one_is_refused_before_any_change(deploy: Deploy) -> None:
    down: dict[str, Any] = {"unit": {"ActiveState": "inactive"}, "port": "inactive", "listening": (22,)}
    there = {"stopped": first(**down, health=None), "full": first(memory=20.0), "two": two(), "": first()}

    def holds(data: dict[str, Any], said: str, host: str = "", embed: bool = False) -> None:
        given = {"serve_name": "embed", "model": EMBED, "serve_image": NAME} if embed else {}
        words = [word for name, value in {**given, **data}.items() for word in ("--data", f"{name}={value}")]
        a = there[host]
        b = two("b") if a.named else first("b")
        run = deploy(hosts(a, b, serve_flags=HALF, model="gpt-oss-120b"), "-y", *words, file=FILE)
        assert run.code == 1 and said in run.stderr, tail(run)
        assert run.changes == [] and "Traceback" not in run.stderr

    each_row(table(__file__, "what cannot stand beside another one"), holds)


def test_a_server_that_is_down_keeps_its_share(deploy: Deploy) -> None:
    """After a reboot both have to fit, whatever is free now."""
    down: dict[str, Any] = {"unit": {"ActiveState": "inactive"}, "port": "inactive", "listening": (22,)}
    a = first(memory=116.0, health=None, image="", **down)
    flags = ("--data", 'serve_flags={"gpu-memory-utilization": 0.35}')
    run = deploy(started(a, first("b")), "-y", *WORDS, *flags, file=FILE)
    assert run.code == 1 and run.changes == []
    assert "--gpu-memory-utilization 0.35 asks for 42.6 GiB, and 38.0 of 121.7 GiB are free" in run.stderr, tail(
        run
    )
    assert "beside the server without a name (73.0 GiB)" in run.stderr


def test_the_first_server_counts_the_second_one_too(deploy: Deploy) -> None:
    more = {"serve_flags": {"gpu-memory-utilization": 0.8}, "model": "gpt-oss-120b"}
    run = deploy(hosts(two(), two("b"), **more), "-y", file=FILE)
    assert run.code == 1 and run.changes == []
    assert "beside service embed (24.3 GiB)" in run.stderr, tail(run)


# --- a pair


def test_one_server_of_the_pair_and_one_of_the_head_alone(deploy: Deploy) -> None:
    half = Sizing(0.6, 32768)
    a, b = (
        replace(
            serving(BOTH, each, 2, files=files(BOTH, rank, 2, sized=half, serve_flags=HALF)),
            weights={BOTH: ("whole", 60 * GIB), EMBED: ("whole", 17 * GIB)},
            memory=(121.7, 38.0),
        )
        for rank, each in enumerate("ab")
    )
    run = well(deploy(started(a, b), "-y", *WORDS, file=FILE))
    starts = [host for host, text in run.commands if "systemctl start sparkrig-serve-embed.service" in text]
    assert "spark-a" in starts and "qwen3-30b-a3b answers on port 8001" in run.stderr
    assert not [found[0] for text in acting(run) if (found := re.search(OURS, text))]
    again = replace(beside(a), memory=(121.7, 10.0))
    aside = replace(b, named={"embed": Spark(files=embed_files(-1))})
    settled = deploy(hosts(again, aside, serve_flags=HALF), "-y", *NAMED, file=FILE)
    assert (settled.code, len(settled.commands), settled.changes) == (0, 2, []), tail(settled)


# --- it goes


def test_a_service_that_is_not_wanted_goes_with_its_files(deploy: Deploy) -> None:
    words = (*NAMED, "--data", "model=none")
    run = well(deploy(hosts(two(), two("b"), serve_flags=HALF), "-y", *words, file=FILE))
    gone = [(host, text) for host, text in run.commands if "rm -rf /var/lib/sparkrig/serve-embed" in text]
    assert sorted({host for host, _ in gone}) == ["spark-a", "spark-b"]
    assert all(path in text for _, text in gone for path in Service("embed").paths)
    assert not [found[0] for text in acting(run) if (found := re.search(OURS, text))]
    run = deploy(hosts(first(), first("b"), serve_flags=HALF), "-y", *words, file=FILE)
    assert (run.code, len(run.commands), run.changes) == (0, 2, []), tail(run)


def test_the_server_without_a_name_goes_by_the_same_word(deploy: Deploy) -> None:
    run = well(deploy(hosts(two(), two("b")), "-y", "--data", "model=none", file=FILE))
    (one, other) = [text for _, text in run.commands if "rm -rf /var/lib/sparkrig/serve\n" in text]
    assert "embed" not in one + other


# --- drift


def test_two_servers_are_in_spec(desk: Desk) -> None:
    done = desk.has(hosts(two(), two("b"), serve_flags=HALF, model="gpt-oss-120b")).drift()
    assert (done.code, done.wrong) == (0, {A: set(), B: set()}), done.said
    for id in ("serve.unit", "serve.unit@embed", "serve.answer@embed", "serve.access@embed"):
        assert done.row(A, id)["status"] == "ok"


def test_drift_names_the_service_and_what_mends_it(desk: Desk) -> None:
    stopped: dict[str, Any] = {
        "unit": {"ActiveState": "failed", "UnitFileState": "enabled"},
        "port": "inactive",
        "image": "",
    }
    done = desk.has(hosts(two(**stopped), two("b"), serve_flags=HALF)).drift()
    assert (done.code, done.wrong[A]) == (2, {"serve.unit@embed"}), done.said
    assert done.row(A, "serve.unit@embed")["cure"].endswith("deploys/serve.py --data serve_name=embed")
