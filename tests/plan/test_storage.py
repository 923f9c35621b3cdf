"""T1: `sparkrig storage` on a pair: what is shown, and what one host does to the other."""

from __future__ import annotations

from typing import Any

import pytest

from sparkrig.text import size
from tests import warm
from tests.plan.clean import clean
from tests.plan.conftest import ROOT, STORAGE, A, B, Host, well
from tests.plan.desk import Desk
from tests.plan.walk import halves
from tests.schemas import complaints
from tests.unit import disks
from tests.unit.disks import ONE, ROWS, TWO


def pair(a: Any = ROWS, b: Any = ROWS) -> list[Host]:
    """What the look prints on each host."""
    made = halves()
    for host, rows in zip(made, (a, b), strict=True):
        host.first = {**host.first, STORAGE: disks.printed(rows) if isinstance(rows, str) else rows}
    return made


def test_each_host_shows_what_lies_there_and_what_needs_it(desk: Desk) -> None:
    done = well(desk.has(pair()).typed("storage"))
    clean(done)
    words = " ".join(done.out.split())
    assert (
        words.count(f"{ONE} 65.0 GB, whole; needed: container sparkrig-serve, which runs; the server serves it")
        == 2
    )
    assert f"{TWO} 120.0 GB, not whole; nothing declared needs it: sudo rm -r --one-file-system" in words
    assert "org/elsewhere a link to another place" in words
    assert "/home/ann/.cache/huggingface/hub 65.0 GB" in words
    assert (
        "vllm-sm121:latest (b2b2b2b2b2b2) 20.0 GB; nothing declared needs it: sudo docker image rm b2b2b2b2b2b2"
        in words
    )
    assert "dangling, no name (c3c3c3c3c3c3) 5.0 MB" in words and "/var/cache/sparkrig/serve/vllm 1.2 MB" in words
    assert "/ 1.0 TB of 4.0 TB" in words
    assert "nothing declared needs 1 checkpoint and 2 images: 120.0 GB and up to 20.0 GB" in words


@pytest.mark.parametrize("columns", [40, 80])
def test_it_fits_a_narrow_screen(desk: Desk, columns: int) -> None:
    desk.has(pair())
    done = warm.run(
        "sparkrig", "storage", str(desk.inventory), cwd=ROOT, env={"COLUMNS": str(columns), "NO_COLOR": "1"}
    )
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stdout
    assert max(len(line) for line in lines if not line.lstrip().startswith("sudo ")) <= columns, done.stdout
    assert f"      sudo rm -r --one-file-system /srv/models/{TWO}" in lines, "one line, to be copied"


def test_json_has_the_same(desk: Desk) -> None:
    done = desk.has(pair()).typed("storage", "--json", "--host", B)
    assert done.code == 0 and complaints("storage", done.report) == []
    (found,) = done.report["hosts"].values()
    assert [each["needed_by"] != [] for each in found["checkpoints"]] == [True, False, False]
    wrong = desk.typed("storage", "--host", "@fake/spark-c")
    assert wrong.code == 1 and "there is no host @fake/spark-c" in wrong.said


def test_a_setting_that_names_a_model_needs_it(desk: Desk) -> None:
    idle = "\n".join(row for row in ROWS.split("\n") if not row.startswith(("container", "mounted", "record")))
    hosts = pair(idle, idle)
    for host in hosts:
        host.data = {**host.data, "model": "gpt-oss-120b"}
    done = desk.has(hosts).typed("storage", "--json")
    needed = {name: found["checkpoints"][0]["needed_by"] for name, found in done.report["hosts"].items()}
    assert needed[A] == ["the setting model (gpt-oss-120b)"], done


def test_a_host_that_cannot_be_read_hides_no_other(desk: Desk) -> None:
    for rows in (["nothing"], [], disks.printed("docker absent")):
        done = desk.has(pair(b=rows)).typed("storage")
        assert done.code == 3 and ONE in done.out and "not read: " in done.out and "sparkrig doctor" in done.said
    done = desk.has(pair(b=ROWS.replace("docker running", "docker failed"))).typed("storage")
    assert done.code == 3 and "it is not known what is needed: docker does not answer" in " ".join(
        done.out.split()
    )


def test_sizes_in_words() -> None:
    said = {0: "0 B", 999: "999 B", 1000: "1.0 kB", 1234567: "1.2 MB", 65 * 10**9: "65.0 GB", 4 * 10**12: "4.0 TB"}
    assert {count: size(count) for count in said} == said and size(None) == "unknown size"
