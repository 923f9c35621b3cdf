"""An undo of what a Spark that runs alone was given: its file goes, and what that file brought goes after it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sparkrig.resources import clock, docker, headless, oom, swap
from sparkrig.runs.managed_files import RELOADS
from tests.tables import each_row
from tests.unit import undo_host

SETTLES = {
    docker.DECLARED: docker.SETTLE,
    headless.DECLARED: headless.SETTLE,
    swap.UNIT_FILE: swap.SETTLE,
    swap.ASIDE: swap.SETTLE,
    oom.DROP_IN: oom.SETTLE,
    clock.UNIT_FILE: clock.SETTLE,
}


@pytest.fixture
def spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[undo_host.Spark]:
    """A host whose runs note these files."""
    monkeypatch.setattr(undo_host, "PATHS", (*SETTLES,))
    spark = undo_host.Spark(tmp_path)
    yield spark
    spark.holders.cut()


def test_the_file_goes_and_its_program_settles_the_rest(spark: undo_host.Spark) -> None:
    names = iter(range(1, 100))

    def holds(path: str, settle: str) -> None:
        first, second = str(next(names)), str(next(names))
        spark.begin(first)
        spark.write(first, path, "# Written by sparkrig\n")
        spark.end(first)
        plan = spark.undo(first, second)
        assert {each.name: each.act for each in plan.changes if each.act == "remove"} == {path: "remove"}
        assert not spark.at(path).exists() and plan.reloads == [settle] == [RELOADS[path]]

    each_row({path: (path, settle) for path, settle in SETTLES.items()}, holds)


def test_a_member_of_the_group_docker_goes_with_an_undo(spark: undo_host.Spark) -> None:
    spark.has("/group", "docker:x:988:eve\n")
    spark.tool("getent", f"cat {spark.root}/group")
    spark.tool(
        "gpasswd",
        f"""case $1 in --add) echo docker:x:988:eve,$2 ;; *) echo docker:x:988:eve ;; esac >{spark.root}/group""",
    )
    spark.begin("1")
    spark.write("1", docker.DECLARED, "# Written by sparkrig\nann\n")
    assert spark.step("1", docker.SETTLE, name="two").returncode == 0
    spark.end("1")
    assert spark.lines("/group") == ["docker:x:988:eve,ann"]
    plan = spark.undo("1", "2")
    spark.prints(plan.reloads[0])
    assert spark.lines("/group") == ["docker:x:988:eve"] and not spark.at(docker.OURS).exists()
