"""T1: deploys/serve.py where a standing Ray cluster is declared: the server runs on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sparkrig.files import File
from sparkrig.resources.ray import UNIT_FILE
from sparkrig.serving import served
from sparkrig.serving.wish import Sizing
from tests.plan.conftest import Deploy, Host, Run
from tests.plan.desk import Desk
from tests.plan.serve_runs import FILE, PAIR, order, tail
from tests.plan.serving import BOTH, IMAGE, NAME, Spark, answering, files, hosts, ready, running
from tests.tables import each_row

ON: dict[str, Any] = {
    "ray_image": IMAGE,
    "ray_memory_gib": 2.0,
    "ray_store_gib": 1.0,
    "secrets": {"RAY_AUTH_TOKEN": "env:RAY_TOKEN"},
}
OLDER = Sizing(0.7, 32768)
UP = ("unit ActiveState=active", "unit UnitFileState=enabled", f"image {IMAGE}", f"container {IMAGE}")


@pytest.fixture(autouse=True)
def _token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_TOKEN", "c4n4ry")


def standing(a: Spark, b: Spark, *rows: str, **changes: Any) -> list[Host]:
    """The pair, with what each tells of its node of Ray."""
    found = hosts(a, b, **{**ON, **changes})
    for host in found:
        end = "\n#sparkrig:end ray 0"
        assert end in host.seen
        host.seen = host.seen.replace(end, "\n" + "\n".join(rows or UP) + end)
    return found


def on_it(letter: str, **changes: Any) -> Spark:
    """A host of the pair as it was deployed."""
    rank = "ab".index(letter)
    up = running() if rank == 0 else {}
    return ready(BOTH, **{**up, "part": rank > 0, "files": files(BOTH, rank, 2, standing=True, **ON), **changes})


def paired(deploy: Deploy, a: Spark, b: Spark, *rows: str, **changes: Any) -> Run:
    return deploy(answering(standing(a, b, *rows, **changes), "qwen3-235b-a22b"), "-y", *PAIR, file=FILE)


def on(run: Run, text: str) -> list[str]:
    return sorted(host for host, command in run.changes if text in command)


def test_the_head_alone_gets_a_unit_and_both_a_record(deploy: Deploy) -> None:
    run = paired(deploy, ready(BOTH), ready(BOTH))
    assert run.code == 0, tail(run)
    order(run, "spark-a", "mv -T", "daemon-reload", "start sparkrig-serve.service", "/v1/chat/completions")
    assert on(run, "systemctl start sparkrig-serve.service") == ["spark-a"]
    assert on(run, "while read -r folder name mode content") == ["spark-a", "spark-b"]
    assert not on(run, f'mv -T "$new" {served.RAY_ENV}'), "the cluster has its token"
    assert "it runs on the standing Ray cluster" in run.stderr


def test_a_second_run_is_empty_and_drift_finds_nothing(deploy: Deploy) -> None:
    run = deploy(standing(on_it("a"), on_it("b")), "-y", *PAIR, file=FILE)
    assert (run.code, len(run.commands), run.changes) == (0, 2, []), tail(run)


def test_what_the_cluster_cannot_carry_is_refused_before_any_change(deploy: Deploy) -> None:
    other = {"images": {NAME: f"sha256:{'d4' * 32}"}}
    failed = (UP[0].replace("active", "failed"), *UP[1:])
    rows: dict[str, tuple[dict[str, Any], tuple[str, ...], str]] = {
        "another image": (other, UP, f"{NAME} is to serve, and the standing Ray cluster, which starts the"),
        "no node": ({}, failed, "whose node here is not up (it is failed)"),
    }

    def holds(changes: dict[str, Any], seen: tuple[str, ...], said: str) -> None:
        found = standing(ready(BOTH, **changes), ready(BOTH, **changes), *seen)
        run = deploy(found, "-y", *PAIR, file=FILE)
        assert run.code == 1 and said in run.stderr, tail(run)
        assert run.changes == []

    each_row(rows, holds)


def test_beside_the_cluster_it_is_one_by_its_own_mode(deploy: Deploy) -> None:
    run = paired(deploy, ready(BOTH), ready(BOTH), serve_form="multinode")
    assert run.code == 0, tail(run)
    assert on(run, "systemctl start sparkrig-serve.service") == ["spark-a", "spark-b"]
    assert "standing Ray cluster" not in run.stderr


def test_what_stopped_starts_on_the_head_alone(deploy: Deploy) -> None:
    down = on_it("a", unit={"ActiveState": "failed"}, port="inactive", health=None, image="", listening=(22,))
    run = paired(deploy, down, on_it("b"))
    assert run.code == 0, tail(run)
    assert on(run, "systemctl start sparkrig-serve.service") == ["spark-a"]


def test_what_fails_its_trial_leaves_the_old_one_on_the_cluster(deploy: Deploy) -> None:
    a, b = (
        on_it(letter, files=files(BOTH, rank, 2, standing=True, sized=OLDER, **ON))
        for rank, letter in enumerate("ab")
    )
    found = standing(a, b, serve_flags={"max-model-len": 4096})
    run = deploy(answering(found, "qwen3-235b-a22b", state="active 1 000"), "-y", *PAIR, file=FILE)
    assert run.code == 1 and "Changed and rolled back: qwen3-235b-a22b: ended on @fake/spark-a" in run.stderr, (
        tail(run)
    )


def test_drift_and_status_name_an_image_that_is_not_the_cluster_s(tmp_path: Path) -> None:
    other = (*UP[:2], f"image sha256:{'d4' * 32}", UP[3])
    for rows, expected in ((UP, set()), (other, {"serve.image"})):
        done = Desk(tmp_path / "desk").has(standing(on_it("a"), on_it("b"), *rows, model=BOTH)).drift()
        ids = {id for ids in done.wrong.values() for id in ids if id.startswith("serve.")}
        assert ids == expected, done.wrong


def test_what_starts_the_nodes_again_names_the_server_and_what_removes_them_is_refused(deploy: Deploy) -> None:
    run = deploy(standing(on_it("a"), on_it("b")), "--dry", file="deploys/ray.py")
    assert run.code == 0 and run.stderr.count("sparkrig-serve: runs on it -> starts again after it") == 2, tail(
        run
    )
    unit = File(UNIT_FILE, "[Unit]\n")
    a, b = (on_it(letter) for letter in "ab")
    for each in (a, b):
        each.files.append(unit)
    run = deploy(standing(a, b, ray_image=None), "-y", file="deploys/ray.py")
    assert run.code == 1 and not on(run, "systemctl stop"), tail(run)
    assert "sparkrig-serve runs on the standing Ray cluster, which ray_image declares no more" in run.stderr
