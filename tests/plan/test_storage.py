"""T1: `sparkrig storage` on a pair: what is shown, what is refused, and what one host does to the other."""

from __future__ import annotations

import re
from typing import Any

import pytest

from sparkrig.text import size
from tests import warm
from tests.plan.clean import clean
from tests.plan.conftest import BEGIN, ROOT, STORAGE, A, B, Host
from tests.plan.desk import Desk, Done
from tests.plan.locks import HELD
from tests.plan.walk import halves
from tests.schemas import complaints
from tests.tables import each_row
from tests.unit import disks
from tests.unit.disks import BASE, LOOSE, ONE, ROWS, TWO

REMOVE, IMAGE_RM = "refuse() {", "docker image rm"  # pieces of what removes
SAID = {REMOVE: ["removed"], IMAGE_RM: ["removed"]}


def pair(a: Any = ROWS, b: Any = ROWS, **first: Any) -> list[Host]:
    """What the look prints on each host; first: what host B answers besides."""
    made = halves()
    for host, rows in zip(made, (a, b), strict=True):
        look = disks.printed(rows) if isinstance(rows, str) else rows
        host.first = {**SAID, **host.first, STORAGE: look}
    made[1].first = {**first, **made[1].first, **{key: value for key, value in first.items() if key in SAID}}
    return made


def removed(desk: Desk, name: str, *words: str) -> Done:
    return desk.typed("storage", "--remove", name, "--yes", *words)


def test_each_host_shows_what_lies_there_and_what_needs_it(desk: Desk) -> None:
    done = desk.has(pair()).typed("storage")
    assert done.code == 0, done
    clean(done)
    words = " ".join(done.out.split())
    assert (
        words.count(f"{ONE} 65.0 GB, whole; needed: container sparkrig-serve, which runs; the server serves it")
        == 2
    )
    assert f"{TWO} 120.0 GB, not whole; nothing declared needs it" in words
    assert "org/elsewhere a link to another place" in words
    assert "/home/ann/.cache/huggingface/hub 65.0 GB" in words
    assert "vllm-sm121:latest (b2b2b2b2b2b2) 20.0 GB; nothing declared needs it" in words
    assert "dangling, no name (c3c3c3c3c3c3) 5.0 MB" in words and "/var/cache/sparkrig/serve/vllm 1.2 MB" in words
    assert "/ 1.0 TB of 4.0 TB" in words
    assert "nothing declared needs 1 checkpoint and 2 images: 120.0 GB and up to 20.0 GB" in words


@pytest.mark.parametrize("columns", [40, 80])
def test_it_fits_a_narrow_screen(desk: Desk, columns: int) -> None:
    desk.has(pair())
    done = warm.run(
        "sparkrig", "storage", str(desk.inventory), cwd=ROOT, env={"COLUMNS": str(columns), "NO_COLOR": "1"}
    )
    assert done.returncode == 0 and max(map(len, done.stdout.splitlines())) <= columns, done.stdout
    assert "Qwen/Qwen3-235B" in done.stdout


def test_json_has_the_same(desk: Desk) -> None:
    done = desk.has(pair()).typed("storage", "--json", "--host", B)
    assert done.code == 0 and complaints("storage", done.report) == []
    (found,) = done.report["hosts"].values()
    assert [each["needed_by"] != [] for each in found["checkpoints"]] == [True, False, False]
    assert done.report["removal"] == {}


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


# --- removal


def test_what_goes_is_shown_and_both_hosts_are_asked_for_at_once(desk: Desk) -> None:
    done = removed(desk.has(pair()), TWO)
    assert done.code == 0, done
    clean(done)
    for host in (A, B):
        assert f"{host}: checkpoint {TWO} (/srv/models/{TWO}) goes; it gives 120.0 GB" in done.out
        assert re.search(
            rf"{host}: checkpoint {TWO} \(/srv/models/{TWO}\) is removed, as run \d+T\d+Z-\w+", done.out
        )
    assert "Undo cannot bring it back" in done.out


def test_an_image_goes_by_any_of_its_names(desk: Desk) -> None:
    for name in ("vllm-sm121", BASE, BASE[7:19], LOOSE[7:]):
        done = removed(desk.has(pair()), name, "--json")
        assert done.code == 0 and complaints("storage", done.report) == [], done
        assert [each["removed"] for each in done.report["removal"].values()] == [True, True]


def test_nothing_is_removed_without_a_yes(desk: Desk) -> None:
    desk.has(pair())
    done = desk.typed("storage", "--remove", TWO)
    assert done.code == 1 and "there is no terminal to ask at" in done.said and done.out == ""
    assert desk.typed("storage", "--yes").code == 1, "without --remove there is nothing to agree to"


def test_only_hosts_that_are_named_are_touched(desk: Desk) -> None:
    done = removed(desk.has(pair()), TWO, "--host", A, "--json")
    assert done.code == 0 and [*done.report["removal"]] == [*done.report["hosts"]] == [A]
    wrong = removed(desk, TWO, "--host", "@fake/spark-c")
    assert wrong.code == 1 and "there is no host @fake/spark-c" in wrong.said


def test_what_is_needed_on_one_half_stays_there(desk: Desk) -> None:
    idle = ROWS.replace(" running ", " exited ").replace("\nrecord ", "\nkept R9 ")
    done = removed(desk.has(pair(b=idle)), ONE, "--json")
    assert done.code == 1
    assert [each["removed"] for each in done.report["removal"].values()] == [False, True]
    assert "is needed: container sparkrig-serve, which runs" in done.report["removal"][A]["outcome"]


def test_what_is_on_one_half_alone_is_no_error_and_on_none_is_one(desk: Desk) -> None:
    gone = ROWS.replace(TWO, "org/other")
    done = removed(desk.has(pair(b=gone)), TWO)
    assert done.code == 0 and f"{B}: {TWO} is not there" in done.out
    done = removed(desk, "org/none")
    assert done.code == 1 and "lists what there is" in done.out


def test_what_fails_on_one_half_does_not_touch_the_other(desk: Desk) -> None:
    failing = {"success": False, "stdout": [], "stderr": ["rm: I/O error"]}

    def holds(first: dict[str, Any], code: int, said: str) -> None:
        done = removed(desk.has(pair(**first)), TWO, "--json")
        assert done.code == code, done
        mine, other = done.report["removal"][A], done.report["removal"][B]
        assert mine["removed"] and not other["removed"] and said in other["outcome"], other

    each_row(
        (
            ({REMOVE: failing}, 3, "broke off: rm: I/O error"),
            ({REMOVE: ["refused it is a link"]}, 1, "is not removed: it is a link"),
            ({REMOVE: []}, 3, "it is not known whether"),
            ({BEGIN: [f"lock held {HELD}"]}, 1, "is locked by"),
        ),
        holds,
    )
    lost = removed(desk.has(pair(b=["nothing"])), TWO, "--json")
    assert lost.code == 3 and lost.report["removal"][A]["removed"] and not lost.report["removal"][B]["removed"]


def test_names_that_are_none_ask_no_host(desk: Desk) -> None:
    desk.has(pair())
    for name in ("..", "../x/y", "a b", "-f", "/etc", "a;b", "a\x1b[2Jb"):
        done = desk.typed("storage", "--yes", f"--remove={name}")
        assert done.code == 1 and "is no name of a checkpoint" in done.said, name
        clean(done)


def test_sizes_in_words() -> None:
    said = {0: "0 B", 999: "999 B", 1000: "1.0 kB", 1234567: "1.2 MB", 65 * 10**9: "65.0 GB", 4 * 10**12: "4.0 TB"}
    assert {count: size(count) for count in said} == said and size(None) == "unknown size"
