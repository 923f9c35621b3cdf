"""What a run wrote, and its undo, with the journal's scripts run for real on a host in a folder."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sparkrig.files import MEASURED
from sparkrig.network import environment
from sparkrig.operations.driver import HOLD
from sparkrig.runs import journal, lock, undo, undo_outcome, undo_target
from sparkrig.runs.render import journal as picture
from sparkrig.runs.undo import Plan
from tests.tables import each_row
from tests.unit.shells import sh, tool, well
from tests.unit.undo_host import DAEMON, NCCL, Spark

THEIRS = '{"log-driver": "local"}\n'
OURS = '{"log-driver": "local", "runtimes": {"nvidia": {}}}\n'
EDITED = '{"log-driver": "local", "runtimes": {"nvidia": {}}, "log-opts": {"max-size": "10m"}}\n'
KILL = "kill -9 $$\n"
THEIR_FILE = environment.CONTAINER_ENV  # none of the host's `PATHS`, as a resource that came later has them


@pytest.fixture
def spark(tmp_path: Path) -> Iterator[Spark]:
    spark = Spark(tmp_path)
    yield spark
    spark.holders.cut()


def acts(plan: Plan) -> dict[str, str]:
    return {each.name: each.act for each in plan.changes}


def test_an_edit_outlives_later_runs_and_is_merged(spark: Spark) -> None:
    """As in the issue: a later run that ended made the log options count as ours, and undo dropped them."""
    spark.at(DAEMON).write_text(THEIRS)
    spark.begin("1")
    spark.write("1", DAEMON, OURS)
    spark.end("1")
    spark.at(DAEMON).write_text(EDITED)
    spark.begin("2")
    spark.write("2", NCCL, "A=1\n")
    spark.end("2")
    assert [run.number for run in spark.look().runs] == [2, 1]
    plan = spark.undo("1", "3")
    assert acts(plan) == {DAEMON: "merge"}
    assert json.loads(spark.at(DAEMON).read_text()) == {"log-driver": "local", "log-opts": {"max-size": "10m"}}
    assert spark.restarts.read_text() == "x\n"
    assert acts(spark.plan("2")) == {NCCL: "remove"}


def linked(file: Path, text: bytes) -> None:
    (file.parent / "kept.json").write_bytes(text)
    file.symlink_to("kept.json")


# how what stood there before cannot be read as a text, which is not the same as that nothing stood there
NO_TEXTS: dict[str, Callable[[Path], object]] = {
    "latin-1": lambda file: file.write_bytes('{"label": "Gr\xfc\xdfe"}'.encode("latin-1")),
    "long": lambda file: file.write_text(f'{{"label": "{"x" * 2**17}"}}'),
    "a link": lambda file: linked(file, b'{"data-root": "/srv/docker"}'),
}


def test_what_stood_there_and_is_no_short_text_is_not_taken_for_absent(tmp_path: Path) -> None:
    def holds(stood: Callable[[Path], object], path: str) -> None:
        spark = Spark(tmp_path / f"{path.rpartition('/')[2]}-{len([*tmp_path.iterdir()])}")
        stood(spark.at(path))
        spark.begin("1")
        spark.write("1", path, OURS)
        spark.end("1")
        spark.at(path).write_text(EDITED)
        (change,) = spark.plan("1").changes
        spark.holders.cut()
        assert (change.act, change.diff) == ("foreign", ()), change
        assert change.why == "what stood there before 1 is a link, no text, or too long"

    each_row([(stood, path) for stood in NO_TEXTS.values() for path in (DAEMON, NCCL)], holds)


def test_pythons_cache_beside_our_module_goes_with_it(spark: Spark) -> None:
    """The program that follows the GIDs imports it; no deploy wrote the cache, and the folder is ours alone."""
    spark.begin("1")
    spark.write("1", environment.GID_MODULE, "A = 1\n")
    spark.end("1")
    folder = spark.at(environment.GID_MODULE).parent
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "gid.cpython-312.pyc").write_bytes(b"x")
    assert acts(spark.undo("1", "2")) == {environment.GID_MODULE: "remove"}
    assert not folder.exists()


def test_a_secret_of_another_one_is_not_shown_in_the_difference(spark: Spark) -> None:
    spark.begin("1")
    spark.write("1", NCCL, "A=1\n")
    spark.end("1")
    spark.at(NCCL).write_text("A=2\nHF_TOKEN=hf_canary1234567\n")
    (change,) = spark.plan("1").changes
    assert change.act == "foreign" and any("HF_TOKEN=***" in row for row in change.diff)
    assert "canary" not in repr(change)


@pytest.mark.slow
def test_an_edit_after_a_run_that_broke_off_is_left_alone_and_shown(spark: Spark) -> None:
    spark.begin("1")
    spark.write("1", NCCL, "A=1\n")
    spark.at(NCCL).write_text("A=2\n")
    (change,) = spark.plan("1").changes
    assert change.act == "foreign" and "-A=2" in change.diff
    spark.begin("2")
    spark.end("2")
    assert acts(spark.plan("1")) == {NCCL: "foreign"}, "a later run that ended makes it no more ours"
    spark.at(NCCL).write_text("A=1\nB=2\n")
    spark.undo("1", "3")
    assert spark.at(NCCL).read_text() == "B=2\n"


# what happens before and after a file takes its place, what an edit then makes of it, and what undo does
CUTS: dict[str, tuple[str, str, str, str]] = {
    "before it takes its place": (KILL, "", "", "already"),
    "just after": ("", KILL, "", "remove"),
    "just before, then an edit": (KILL, "", "C=3\n", "foreign"),
    "just after, then an edit": ("", KILL, "A=2\n", "foreign"),
}


@pytest.mark.slow  # runs the scripts again and again
def test_a_power_cut_in_a_step_leaves_no_doubt_whose_a_file_is(tmp_path: Path) -> None:
    def row(before: str, after: str, edit: str, act: str) -> None:
        root = tmp_path / str(len([*tmp_path.iterdir()]))
        spark = Spark(root)
        spark.begin("1")
        spark.write("1", NCCL, "A=1\n", before, after)
        assert spark.look().runs[0].torn
        if edit:
            spark.at(NCCL).write_text(edit)
        assert acts(spark.plan("1")) == {NCCL: act}
        spark.undo("1", "2")
        assert (spark.at(NCCL).read_text() if spark.at(NCCL).exists() else "") == edit

    each_row(CUTS, row)


@pytest.mark.slow
def test_holds_of_ours_go_and_those_of_others_stay(spark: Spark) -> None:
    spark.begin("1")
    assert spark.step("1", HOLD, "nvidia-driver-580-open").returncode == 0
    with spark.held.open("a") as file:
        file.write("vim\n")
    assert acts(spark.plan("1")) == {"nvidia-driver-580-open": "release"}, "of a run that did not end, too"
    spark.undo("1", "2")
    assert spark.held.read_text() == "vim\n"


def test_a_power_cut_after_a_hold_leaves_no_doubt_whose_it_is(spark: Spark) -> None:
    spark.begin("1")
    spark.step("1", HOLD, "nvidia-driver-580-open", cut=True)
    with spark.held.open("a") as file:
        file.write("vim\n")
    assert acts(spark.plan("1")) == {"nvidia-driver-580-open": "release", "vim": "foreign"}


def test_a_file_that_an_older_version_did_not_know_is_never_taken_for_written(spark: Spark) -> None:
    """Its run broke off, and noted nothing of what stood there before."""
    spark.at(THEIR_FILE).parent.mkdir(parents=True)
    spark.at(THEIR_FILE).write_text("theirs\n")
    spark.begin("1")
    spark.step("1", f"echo A=1 >{spark.at(NCCL)}", cut=True)
    seen = spark.look()
    assert f"file {THEIR_FILE}" in seen.current and f"file {THEIR_FILE}" in seen.runs[0].unnoted
    assert {each.name for each in undo.plan(seen, "1", everything=True).changes} == {NCCL}
    spark.end("1")
    assert spark.look().runs[0].unnoted == ()


def test_a_step_that_tells_nothing_is_noticed_all_the_same(spark: Spark) -> None:
    spark.begin("1")
    spark.step("1", f"echo A=1 >{spark.at(NCCL)}; echo x >>{spark.held}")
    assert {*(spark.look().runs[0].wrote or {})} == {f"file {NCCL}", "hold x"}


def test_a_restart_of_docker_that_an_undo_owes_is_done_by_the_next(spark: Spark) -> None:
    spark.at(DAEMON).write_text(THEIRS)
    spark.begin("1")
    spark.write("1", DAEMON, OURS)
    spark.end("1")
    tool(spark.bin, "systemctl", 'kill -9 "$PPID"')
    plan = spark.plan("1")
    spark.begin("2", undoes="1")
    spark.step(
        "2",
        undo.DOCKER,
        *("no", f"{lock.RUNS}/1/before/files"),
        stdin=plan.files(docker=True),
        name=undo.step(undo.DOCKER_PART),
        cut=True,
    )
    assert spark.at(DAEMON).read_text() == THEIRS and not spark.restarts.exists()
    tool(spark.bin, "systemctl", f"echo x >>{spark.restarts}")
    again = spark.undo("1", "3")
    assert acts(again) == {DAEMON: "restart"} and again.docker
    assert spark.restarts.read_text() == "x\n" and spark.at(DAEMON).read_text() == THEIRS
    assert not spark.plan("1").docker, "once is enough"


def edit(file: Path) -> None:
    file.write_text("C=3\n")


def link(file: Path) -> None:
    """To a file with the very content, which the run never wrote."""
    other = file.with_name("other")
    other.write_bytes(file.read_bytes())
    other.chmod(0o600)
    file.unlink()
    file.symlink_to("other")


# what stood there before the run, and what another one does between the plan and its being carried out
BETWEEN: dict[str, tuple[str, Callable[[Path], object]]] = {
    "a file that goes back is edited": (THEIRS, edit),
    "a file that goes is edited": ("", edit),
    "a file that goes back becomes a link": (THEIRS, link),
    "a file that goes becomes a link": ("", link),
    "a file that goes gets another mode": ("", lambda file: file.chmod(0o600)),
    "a file that goes back is gone": (THEIRS, Path.unlink),
}


def standing(file: Path) -> dict[str, tuple[int, str]]:
    """What stands beside a file, links as such."""
    return {
        each.name: (each.lstat().st_mode, str(each.readlink()) if each.is_symlink() else each.read_text())
        for each in file.parent.iterdir()
        if each.is_symlink() or each.is_file()
    }


def test_what_is_changed_between_the_plan_and_its_act_stays_and_is_said(tmp_path: Path) -> None:
    def row(stood: str, between: Callable[[Path], object]) -> None:
        root = tmp_path / str(len([*tmp_path.iterdir()]))
        file, kept = root / "etc/nccl.conf", root / "kept"
        file.parent.mkdir(parents=True)
        file.write_text("A=1\n")
        file.chmod(0o644)
        if stood:
            Path(f"{kept}{file}").parent.mkdir(parents=True)
            Path(f"{kept}{file}").write_text(stood)
        now = sh(f'{journal.STANDS}row "$1" "$1"', str(file)).stdout.split(" ", 2)[2].strip()
        change = undo.Change(f"file {file}", "put back" if stood else "remove", now=now)
        between(file)
        found = standing(file)
        tool(root / "bin", "sync", "")
        done = well(sh(undo.RESTORE, str(kept), stdin=change.row, path=root / "bin"))
        assert standing(file) == found
        (left,) = undo_outcome.left(Plan("1", (change,)), done.stdout).changes
        assert (left.act, left.why) == ("foreign", "it was changed while this run was taken back")

    each_row(BETWEEN, row)


def test_a_file_that_has_to_go_and_is_gone_is_no_change_of_another_one(tmp_path: Path) -> None:
    change = undo.Change(f"file {tmp_path}/nccl.conf", "remove", now="644 root:root 00")
    done = sh(undo.RESTORE, str(tmp_path), stdin=change.row)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_a_measurement_that_the_way_back_of_the_network_took_away_is_put_back(tmp_path: Path) -> None:
    """The guard's commit discards it, between the plan and the files: that is no change of another one."""
    change = undo.Change(f"file {MEASURED}", "put back", now="644 root:root 00")
    assert change.row == f"put {MEASURED}\n"
    file, kept = tmp_path / "bandwidth.json", tmp_path / "kept"
    Path(f"{kept}{tmp_path}").mkdir(parents=True)
    Path(f"{kept}{file}").write_text("{}")
    tool(tmp_path / "bin", "sync", "")
    done = sh(undo.RESTORE, str(kept), stdin=f"put {file}\n", path=tmp_path / "bin")
    assert (done.returncode, done.stdout, file.read_text()) == (0, "", "{}"), done.stderr


def test_a_file_that_changed_while_it_was_merged_is_left_alone(tmp_path: Path) -> None:
    def row(between: Callable[[Path], object]) -> None:
        file = tmp_path / str(len([*tmp_path.iterdir()])) / "daemon.json"
        file.parent.mkdir()
        file.write_text(EDITED)
        total = hashlib.sha256(EDITED.encode()).hexdigest()
        change = undo.Change(f"file {file}", "merge", text=THEIRS, sum=total)
        between(file)
        found = standing(file)
        done = sh(undo.RESTORE, str(tmp_path), stdin=change.row)
        assert (done.returncode, done.stdout) == (0, f"changed {file}\n"), done.stderr
        assert standing(file) == found

    each_row([(edit,), (link,), (Path.unlink,)], row)


@pytest.mark.slow
def test_a_link_of_another_one_is_never_read_nor_written_through(spark: Spark) -> None:
    """It may lead to what root alone may read; the file that it leads to is none of ours."""
    spark.at(NCCL).write_text("B=2\n")
    spark.begin("1")
    spark.write("1", NCCL, "A=1\n")
    spark.end("1")
    secret = spark.root / "secret"
    secret.write_text("A=1\n")
    spark.at(NCCL).unlink()
    spark.at(NCCL).symlink_to(secret)
    secret.chmod(0o644)
    plan = spark.undo("1", "2")
    (change,) = plan.changes
    assert (change.act, change.why) == ("foreign", "it is a link now")
    assert spark.at(NCCL).readlink() == secret and secret.read_text() == "A=1\n"
    told = spark.sh(undo.TEXTS, NCCL).stdout
    assert told == "", "what it leads to goes over no wire"


LINKS = {"dangling": "nowhere/at-all", "relative": "kept.json", "out": "/srv/elsewhere.json"}


@pytest.mark.slow  # runs the scripts again and again
def test_a_link_that_stood_there_goes_back_as_it_was(tmp_path: Path) -> None:
    def row(leads: str, path: str) -> None:
        spark = Spark(tmp_path / str(len([*tmp_path.iterdir()])))
        shutil.rmtree(spark.bin / "sync", ignore_errors=True)
        (spark.bin / "sync").unlink()  # the real one fails for a link that leads nowhere
        spark.at(path).with_name("kept.json").write_text(THEIRS)
        spark.at(path).symlink_to(leads)
        spark.begin("1")
        spark.write("1", path, OURS)
        spark.end("1")
        assert not spark.at(path).is_symlink()
        assert acts(spark.undo("1", "2")) == {path: "put back"}
        spark.holders.cut()
        assert str(spark.at(path).readlink()) == leads
        assert spark.at(path).with_name("kept.json").read_text() == THEIRS
        assert acts(spark.plan("1")) == {}, "and that is all"

    each_row([(leads, path) for leads in LINKS.values() for path in (DAEMON, NCCL)], row)


def test_a_link_that_leads_nowhere_comes_back_where_docker_does_not_start(tmp_path: Path) -> None:
    """It was taken for no file at all."""
    file, kept, tools = tmp_path / "etc/daemon.json", tmp_path / "kept", tmp_path / "bin"
    before = Path(f"{kept}{file}")
    for folder in (file.parent, before.parent):
        folder.mkdir(parents=True)
    before.write_text(THEIRS)
    file.symlink_to("nowhere")
    for name, text in {"docker": "", "dockerd": "", "sync": "", "systemctl": f"test -L {file}"}.items():
        tool(tools, name, text)
    done = sh(undo.DOCKER, "no", str(kept), path=tools, stdin=f"put {file}\n")
    assert (done.returncode, done.stdout) == (0, "failed \n"), done.stderr
    assert str(file.readlink()) == "nowhere"


def test_docker_is_asked_of_the_file_that_a_kept_link_leads_to(tmp_path: Path) -> None:
    kept = tmp_path / "daemon.json"
    tool(tmp_path / "bin", "dockerd", f'echo "$3" >>{tmp_path}/asked')
    for leads in ("kept.json", "/srv/kept.json"):
        kept.unlink(missing_ok=True)
        kept.symlink_to(leads)
        assert sh(undo.FIT, str(kept), path=tmp_path / "bin").stdout == ""
    assert (tmp_path / "asked").read_text().splitlines() == ["/etc/docker/kept.json", "/srv/kept.json"]


def test_a_merged_file_keeps_what_hangs_on_it(tmp_path: Path) -> None:
    file = tmp_path / "daemon.json"
    file.write_text(EDITED)
    file.chmod(0o640)
    os.setxattr(file, "user.note", b"of another one")
    total = hashlib.sha256(EDITED.encode()).hexdigest()
    well(sh(undo.RESTORE, str(tmp_path), stdin=undo.Change(f"file {file}", "merge", text=THEIRS, sum=total).row))
    assert (file.read_text(), file.stat().st_mode & 0o777) == (THEIRS, 0o640)
    assert os.getxattr(file, "user.note") == b"of another one"


def committed(spark: Spark, run: str, rows: str) -> None:
    """A change of the network by that run, as its guard notes it."""
    guard = spark.at(lock.RUNS) / run / "guard"
    (guard / "before").mkdir(parents=True)
    (guard / "before/links.json").write_text("{}")
    (guard / "state").write_text("committed\n")
    (guard / "changed").write_text(spark.here(rows))


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


WIRED, CABLE = "/etc/NetworkManager/Wired connection 1.nmconnection", "/etc/netplan/90-NM-x.yaml"
TO_LINK = "-> link"
# what a run made of two files of the network, what stands there, and what becomes of both
NETWORK: dict[str, tuple[str | None, str | None, str, str]] = {
    "as the run left it": ("new", None, "put back", "put back"),
    "edited": ("edited", None, "foreign", "put back"),
    "deleted": (None, None, "foreign", "put back"),
    "a link": (TO_LINK, None, "foreign", "put back"),
    "made anew": ("new", "mine", "put back", "foreign"),
    "back already": ("old", "gone", "already", "already"),
}


@pytest.mark.slow  # runs the scripts again and again
def test_a_file_of_the_network_that_another_one_changed_is_left_alone_and_told(tmp_path: Path) -> None:
    def row(cable: str | None, wired: str | None, act: str, other: str) -> None:
        spark = Spark(tmp_path / str(len([*tmp_path.iterdir()])))
        for folder in ("etc/NetworkManager", "etc/netplan"):
            (spark.root / folder).mkdir(parents=True)
        spark.begin("1")
        spark.end("1")
        rows = [f"{digest('old')} {digest('new')} {CABLE}", f"{digest('gone')} absent {WIRED}"]
        committed(spark, "1", "".join(f"{each}\n" for each in (*rows, f"{digest('torn')} absen")))
        for path, text in ((CABLE, cable), (WIRED, wired)):
            if text == TO_LINK:
                spark.at(path).with_name("new").write_text("new")
                spark.at(path).symlink_to("new")
            elif text is not None:
                spark.at(path).write_text(text)
        plan = undo.plan(spark.look(), "1", everything=False)
        assert acts(plan) == {CABLE: act, WIRED: other} and plan.network
        going = {CABLE: digest("new"), WIRED: "absent"}
        assert plan.mine == {path: going[path] for path, act in acts(plan).items() if act == "put back"}
        left = [path for path, act in acts(plan).items() if act == "foreign"]
        assert [each.item for each in undo_outcome.left_behind(plan)] == [f"profile {path}" for path in left]
        told = [said for act, said in picture.rows(plan) if act == "left alone"]
        assert [said.partition(" of the network")[0] for said in told] == left
        everything = undo.plan(spark.look(), "1", everything=True)
        assert (everything.mine or {}).keys() == {path for path, act in acts(plan).items() if act != "already"}
        spark.holders.cut()

    each_row(NETWORK, row)


def test_a_later_run_of_ours_that_changed_the_same_profile_is_no_other_one(spark: Spark) -> None:
    (spark.root / "etc/netplan").mkdir()
    for run, was, now in (("1", "old", "one"), ("2", "one", "two")):
        spark.begin(run)
        spark.end(run)
        committed(spark, run, f"{digest(was)} {digest(now)} {CABLE}\n")
    spark.at(CABLE).write_text("two")
    assert acts(undo.plan(spark.look(), "1", everything=False)) == {CABLE: "put back"}
    committed_by_older = spark.at(lock.RUNS) / "1/guard/changed"
    committed_by_older.unlink()
    plan = undo.plan(spark.look(), "1", everything=False)
    assert plan.network and plan.mine is None, "an older version noted nothing: all of it goes back, as ever"


@pytest.mark.slow
def test_what_an_undo_left_is_kept_with_it(spark: Spark) -> None:
    spark.begin("1")
    spark.write("1", NCCL, "A=1\n")
    spark.end("1")
    spark.begin("2", undoes="1")
    rows = f"file {NCCL}\tchanged since\nprofile /etc/netplan/a b.yaml\twhy\n"
    assert spark.sh(journal.LEFT, "2", stdin=rows).returncode == 0
    assert journal.undone(spark.look()) == {}, "it has not ended"
    spark.end("2")
    found = spark.look()
    (first,) = [run for run in found.runs if run.id == "1"]
    assert [(each.item, each.why) for each in journal.left(first, found)] == [
        (f"file {NCCL}", "changed since"),
        ("profile /etc/netplan/a b.yaml", "why"),
    ]


@pytest.mark.slow
def test_a_link_whose_text_alone_is_another_one_is_another_one(spark: Spark) -> None:
    """Both lead to the same content."""
    for name in ("one", "two"):
        spark.at(NCCL).with_name(name).write_text("B=2\n")
    spark.at(NCCL).symlink_to("one")
    spark.begin("1")
    spark.at(NCCL).unlink()
    spark.at(NCCL).symlink_to("two")
    (run,) = spark.look().runs
    item = f"file {NCCL}"
    assert run.before[item] != spark.look().current[item]
    assert run.before[item].startswith("link ")


@pytest.mark.slow  # runs the scripts again and again
def test_runs_are_in_their_order_whatever_the_clock_says(spark: Spark) -> None:
    tool(spark.bin, "date", 'echo "${CLOCK:-2000000000}"')
    spark.begin("20330518T033320Z-ab12")
    spark.write("20330518T033320Z-ab12", NCCL, "A=1\n")
    spark.end("20330518T033320Z-ab12")
    tool(spark.bin, "date", "echo 9")
    spark.begin("19700101T000009Z-ab12")
    spark.write("19700101T000009Z-ab12", NCCL, "A=2\n")
    spark.end("19700101T000009Z-ab12")
    found = spark.look()
    assert [run.number for run in found.runs] == [2, 1]
    assert undo_target.target({"a": found}, None) == "19700101T000009Z-ab12"
    spark.undo("19700101T000009Z-ab12", "19700101T000010Z-ab12")
    assert spark.at(NCCL).read_text() == "A=1\n"


@pytest.mark.slow
def test_a_number_that_is_lost_is_noticed_and_an_older_run_comes_first(spark: Spark) -> None:
    for run in "12":
        spark.begin(run)
        spark.end(run)
    (spark.at(lock.RUNS) / "2/number").unlink()
    assert "number" in spark.look().runs[1].lacks, "it would be taken for a run of an older version"
    for name in ("number", "paths"):
        (spark.at(lock.RUNS) / "1" / name).unlink()
    shutil.rmtree(spark.at(lock.RUNS) / "1/wrote")
    (older,) = [run for run in spark.look().runs if run.id == "1"]
    assert (older.number, older.wrote, older.lacks) == (None, None, ())


def test_what_is_secret_is_kept_by_its_digest_alone(spark: Spark) -> None:
    path = "/etc/sparkrig/secrets.env"
    spark.begin("1")
    (spark.at(lock.RUNS) / "1/paths").write_text(f"{spark.here(path)}\n")
    spark.write("1", path, "TOKEN=s3cret\n")
    (run,) = spark.look().runs
    assert f"file {path}" in (run.wrote or {})
    kept = [file for file in spark.at(lock.RUNS).rglob("*") if file.is_file() and b"s3cret" in file.read_bytes()]
    assert kept == []
