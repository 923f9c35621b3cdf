"""Removing a checkpoint or an image: the scripts in a folder of their own, and the run around them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sparkrig.operations import journal as journals
from sparkrig.operations import storage
from sparkrig.operations.journal import Run
from sparkrig.refusal import Refusal
from sparkrig.runs import journal, journal_look, lock, recovery, undo, undo_target
from sparkrig.runs.journal import Journal
from sparkrig.serving import served
from sparkrig.ssh import remote
from sparkrig.ssh.remote import Failed
from sparkrig.storage.report import Removal
from tests.tables import each_row
from tests.unit.disks import BASE, IMAGE, MOUNTS, ONE, TWO, Spark


@pytest.fixture
def spark(tmp_path: Path) -> Spark:
    made = Spark(tmp_path / "spark")
    for part in ("before", "wrote"):
        (made.root / "run" / part).mkdir(parents=True)
        (made.root / "run" / part / "state").write_text("")
    return made


def removed(spark: Spark, name: str = ONE, weights: Path | None = None) -> str:
    owner, _, last = name.partition("/")
    words = (str(spark.root / "run"), str(weights or spark.weights), owner, last, "77")
    return spark.sh(storage.CHECKPOINT, *words).strip()


def noted(spark: Spark) -> list[str]:
    return [(spark.root / "run" / part / "state").read_text() for part in ("before", "wrote")]


def test_a_checkpoint_goes_with_its_folder_and_nothing_else(spark: Spark) -> None:
    spark.checkpoint(ONE)
    other = spark.checkpoint("openai/gpt-oss-20b")
    assert removed(spark) == "removed"
    assert not (spark.weights / ONE).exists() and len([*other.iterdir()]) == 3
    assert noted(spark) == [f"weights {ONE} 77 bytes\n", f"weights {ONE} absent\n"]
    spark.checkpoint(TWO)
    assert removed(spark, TWO) == "removed" and not (spark.weights / "Qwen").exists(), (
        "an empty folder of an owner goes"
    )
    assert removed(spark, TWO) == "refused it is not there" and spark.weights.is_dir()


def test_a_link_in_a_checkpoint_goes_and_what_it_leads_to_stays(spark: Spark, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("x")
    at = spark.checkpoint(ONE)
    (at / "out").symlink_to(precious)
    (at / "model-2.safetensors").symlink_to(precious / "file")
    assert removed(spark) == "removed" and (precious / "file").read_text() == "x"


def test_a_link_is_never_followed(spark: Spark, tmp_path: Path) -> None:
    """The look refuses it, too; between both it may have become one."""
    elsewhere = spark.checkpoint("owner/name", at=tmp_path / "elsewhere")
    (spark.weights / "org").mkdir()
    (spark.weights / "org" / "name").symlink_to(elsewhere)
    (spark.weights / "owner").symlink_to(elsewhere.parent)
    for name in ("org/name", "owner/name"):
        assert removed(spark, name) == "refused it is a link, and what it leads to is not ours"
    assert len([*elsewhere.iterdir()]) == 3 and noted(spark) == ["", ""]


def test_a_name_that_leads_out_is_refused_by_the_script_too(spark: Spark) -> None:
    outside = spark.checkpoint("outside/name", at=spark.root / "srv")
    for name in ("../outside/name", "../outside", "x/../../outside/name", "./.."):
        owner, _, last = name.rpartition("/")
        words = (str(spark.root / "run"), str(spark.weights), owner, last, "77")
        assert spark.sh(storage.CHECKPOINT, *words).startswith("refused"), name
    assert len([*outside.iterdir()]) == 3 and noted(spark) == ["", ""]


def test_a_folder_with_a_mount_in_it_is_refused(spark: Spark) -> None:
    at = spark.checkpoint(ONE)
    for below in ("", "/sub", "/sub/deeper"):
        spark.has(mountinfo=f"{MOUNTS}30 22 8:1 /x {at}{below} rw - ext4 /dev/root rw\n")
        assert removed(spark) == "refused a file system is mounted in it", below
    spark.has(mountinfo=f"{MOUNTS}30 22 8:1 /x {at}-2 rw - ext4 /dev/root rw\n")
    assert removed(spark) == "removed"


def test_the_folder_of_all_may_be_a_link(spark: Spark) -> None:
    spark.checkpoint(ONE)
    (spark.root / "given").symlink_to(spark.weights)
    assert removed(spark, weights=spark.root / "given") == "removed" and not (spark.weights / ONE).exists()


def test_what_is_left_of_a_removal_that_breaks_off_is_not_taken_for_whole(spark: Spark) -> None:
    for sealed in (True, False):
        at = spark.checkpoint(ONE, sealed=sealed)
        script = storage.CHECKPOINT.replace("rm -rf --one-file-system", "false ")
        assert script != storage.CHECKPOINT
        with pytest.raises(AssertionError):
            spark.sh(script, str(spark.root / "run"), str(spark.weights), *ONE.split("/"), "77")
        (found,) = spark.look().checkpoints
        assert found.standing == "partial"
        assert f"weights {ONE} absent\n" in noted(spark)[1], "noted before it begins"
        shutil.rmtree(at)


def test_odd_names_are_words(spark: Spark) -> None:
    """None of them passes the grammar; the script takes each for a name all the same."""
    kept = spark.checkpoint("org/kept")
    for name in ("$(touch x)", "a b", "-rf", "*", "a;b"):
        at = spark.checkpoint(f"org/{name}")
        assert removed(spark, f"org/{name}") == "removed", name
        assert not at.exists() and kept.exists()


def test_an_image_goes_by_its_id_and_without_force(spark: Spark) -> None:
    spark.has(images=f"{IMAGE}\n{BASE}\n")
    assert spark.sh(storage.IMAGE, str(spark.root / "run"), BASE, "5").strip() == "removed"
    assert spark.calls == [f"docker image rm {BASE}"]
    assert noted(spark) == [f"image {BASE} 5 bytes\n", f"image {BASE} absent\n"]


def test_what_docker_refuses_is_said_and_not_noted(spark: Spark) -> None:
    spark.has(images=f"{BASE}\n", refuses="")
    said = spark.sh(storage.IMAGE, str(spark.root / "run"), BASE, "5").strip()
    assert said == "refused Error: conflict: unable to delete" and noted(spark) == ["", ""]


def test_an_image_that_is_gone_meanwhile_is_gone(spark: Spark) -> None:
    spark.has(refuses="")
    assert spark.sh(storage.IMAGE, str(spark.root / "run"), BASE, "5").strip() == "removed"


# --- the run around it

GOES = Removal("checkpoint", TWO, f"/srv/models/{TWO}", 9)
Calls = list[str]


def carried_out(
    patch: pytest.MonkeyPatch, said: str | Exception, judge: Callable[[Any], Any] = lambda _: GOES
) -> Calls:
    """What was done to a host, in order; said: what the script prints."""
    calls: Calls = []

    def perform(_run: Run, _at: object, name: str, *_: object) -> str:
        calls.append(name)
        if isinstance(said, Exception):
            raise said
        return said

    for what in ("begin", "end", "let_go"):
        patch.setattr(journals, what, lambda _run, hosts, what=what: calls.append(f"{what} {', '.join(hosts)}"))
    patch.setattr(journals, "perform", perform)
    patch.setattr(remote, "read", lambda *_, **__: calls.append("look"))
    at: Any = SimpleNamespace(name="spark-a")
    try:
        storage.remove(Run("x"), at, GOES, "/srv/models", 1, judge, lambda *_: None)
    except (Refusal, Failed) as error:
        calls.append(f"{type(error).__name__}: {error}")
    return calls


STEP = f"Storage | remove checkpoint {TWO}"


def test_it_is_judged_again_once_the_host_is_locked(monkeypatch: pytest.MonkeyPatch) -> None:
    assert carried_out(monkeypatch, "removed\n") == ["begin spark-a", "look", STEP, "end spark-a"]

    def needed(_: object) -> Removal:
        raise Refusal("it is needed", "x")

    for judge in (needed, lambda _: None, lambda _: Removal("image", TWO, BASE, 9)):
        *calls, error = carried_out(monkeypatch, "removed", judge)
        assert calls == ["begin spark-a", "look", "let_go spark-a"] and error.startswith("Refusal"), (
            "nothing is removed"
        )


def test_what_comes_of_it_decides_how_the_run_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    def holds(said: str | Exception, end: str, error: str) -> None:
        *calls, last = carried_out(monkeypatch, said)
        assert calls == ["begin spark-a", "look", STEP, end] and error in last, last

    each_row(
        (
            ("refused it is a link\n", "end spark-a", f"Refusal: {TWO} is not removed: it is a link."),
            ("", "let_go spark-a", "Failed: it is not known whether"),
            ("removed\nnoise", "let_go spark-a", "Failed: it is not known whether"),
            (Failed("disk error"), "let_go spark-a", "Failed: disk error"),
        ),
        holds,
    )


# --- afterwards, in the journal


def kept() -> Journal:
    id = "20261122T120000Z-1"
    by = lock.given(id, "ann@laptop", "sparkrig storage pair.py --remove x", "1.0")
    owner = f'{{"by": {by}, "from": "10.0.2.2", "since": 1795348800, "boot": "b"}}'
    rows = (
        "number 1",
        f"before weights {TWO} 9 bytes",
        f"wrote weights {TWO} absent",
        f"before image {BASE} 5 bytes",
    )
    return journal_look.parse(
        ["now 1795348900", f"run {id} {owner}", *rows, f"wrote image {BASE} absent", "after end 1795348810"]
    )


def test_the_journal_has_what_was_removed_and_undo_leaves_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from sparkrig.runs.render import journal as picture

    found = kept()
    (run,) = found.runs
    assert journal.changed(run, found) == {
        f"image {BASE}": ("5 bytes", "absent"),
        f"weights {TWO}": ("9 bytes", "absent"),
    }
    assert not undo_target.stands(run, found) and undo_target.target({"spark-a": found}, None) is None
    plan = undo.plan(found, run.id, everything=True)
    assert not plan and {each.act for each in plan.changes} == {"stays"}
    shown = picture.rows(plan)
    assert ("stays gone", f"checkpoint {TWO}, which is kept nowhere; a deploy fetches it again") in shown and len(
        shown
    ) == 2
    assert picture.changed(run, found) == f"image {BASE} (removed) and checkpoint {TWO} (removed)"
    assert recovery.again(run) == "sparkrig storage pair.py"


def test_the_manifest_is_the_one_that_the_script_removes() -> None:
    assert f"./{served.MANIFEST} " in storage.CHECKPOINT and os.sep not in served.MANIFEST
