"""The scripts of lock and journal, run for real in a folder of their own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyinfra.api import HiddenValue, StringCommand

from facts.journal import Journal as JournalFact
from operations.journal import noted, recorded
from operations.refusal import Commands
from sparkrig import journal, lock
from tests.unit.shells import sh, tool

RUN, LATER = "20261121T031500Z-ab12", "20261121T041500Z-cd34"
HOLDS = "nvidia-driver-580-open\n"


class Spark:
    """A host in a folder: its /run/sparkrig, its /var/lib/sparkrig, two files and what apt-mark would say."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.runs = root / "var/runs"
        self.lock = root / "run/lock"
        self.file, self.other = root / "etc/nccl.conf", root / "etc/docker/daemon.json"
        self.holds = root / "holds"
        self.file.parent.mkdir(parents=True)
        (root / "var").mkdir()
        self.file.write_text("theirs\n")
        self.holds.write_text(HOLDS)
        tool(root / "bin", "apt-mark", f"cat {self.holds}")
        tool(root / "bin", "dpkg-query", "echo installed nvidia-container-toolkit 1.17.8-1")

    def text(self, script: str) -> str:
        return script.replace("/run/sparkrig", f"{self.root}/run").replace("/var/lib/sparkrig", f"{self.root}/var")

    def sh(self, script: str, *words: str) -> subprocess.CompletedProcess[str]:
        return sh(
            self.text(script), *words, path=self.root / "bin", env={"SSH_CONNECTION": "10.0.2.2 5 10.0.2.15 22"}
        )

    def begin(self, run: str = RUN, dead: str = "") -> lock.Answer:
        given = lock.given(run, "ann@laptop", "pyinfra deploys/cluster.py", "0.1.0")
        done = self.sh(journal.BEGIN, run, given, dead, str(self.file), str(self.other))
        assert done.returncode == 0, done.stderr
        return lock.parse(done.stdout)

    def end(self, run: str = RUN) -> None:
        done = self.sh(journal.END, run, "", str(self.file), str(self.other))
        assert done.returncode == 0, done.stderr

    def step(self, line: str, name: str = "Driver | hold", stdin: str = "") -> subprocess.CompletedProcess[str]:
        command = noted(StringCommand(line), f"{lock.RUNS}/{RUN}", name)
        return sh(self.text(command.get_raw_value()), path=self.root / "bin", stdin=stdin)

    def look(self) -> journal.Journal:
        done = self.sh(journal.LOOK)
        assert done.returncode == 0, done.stderr
        return journal.parse(done.stdout.splitlines())

    def held_by(self, pid: int, started: str) -> None:
        """Let another run hold the lock."""
        (self.lock / "holder").write_text(f"{LATER} {pid} {started}\n")


@pytest.fixture
def spark(tmp_path: Path) -> Spark:
    return Spark(tmp_path)


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    """Somebody else's session: a process that lives."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


def started(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[19]


def test_a_free_lock_is_taken_with_all_there_is_to_say(spark: Spark) -> None:
    assert spark.begin().found == "free"
    owner = lock.owner((spark.lock / "owner.json").read_text())
    assert (owner.who, owner.run, owner.origin) == ("ann@laptop", RUN, "10.0.2.2")
    assert owner.since > 1_700_000_000
    run, pid, start = (spark.lock / "holder").read_text().split()
    assert (run, int(pid), start) == (RUN, os.getpid(), started(os.getpid())), "the session is this very test"
    assert (spark.root / "run/lock").stat().st_mode & 0o777 == 0o700


def test_a_held_lock_is_refused_with_its_holder_and_step(spark: Spark, sleeper: subprocess.Popen[bytes]) -> None:
    spark.begin()
    spark.step("true", "Network | profiles")
    (spark.lock / "holder").write_text(f"{RUN} {sleeper.pid} {started(sleeper.pid)}\n")
    answer = spark.begin(LATER)
    assert (answer.found, answer.step) == ("held", "Network | profiles")
    assert not (spark.runs / LATER).exists(), "nothing is noted of a run that was refused"
    said = str(answer.refusal("spark-a"))
    assert said.startswith("spark-a is locked by ann@laptop (from 10.0.2.2) since 20")
    assert "for: pyinfra deploys/cluster.py, now at Network | profiles" in said


def test_a_lock_whose_session_ended_is_taken_over(spark: Spark, sleeper: subprocess.Popen[bytes]) -> None:
    spark.begin()
    spark.held_by(sleeper.pid, started(sleeper.pid))
    sleeper.kill()
    sleeper.wait()
    answer = spark.begin()
    assert (answer.found, answer.owner.who) == ("stale", "ann@laptop")
    assert spark.look().lock == lock.Lock(lock.owner((spark.lock / "owner.json").read_text()), alive=True)


def test_a_process_with_the_number_of_an_earlier_one_holds_nothing(
    spark: Spark, sleeper: subprocess.Popen[bytes]
) -> None:
    spark.begin()
    spark.held_by(sleeper.pid, "1")
    assert spark.begin().found == "stale"


def test_the_same_run_may_come_back_over_another_session(spark: Spark, sleeper: subprocess.Popen[bytes]) -> None:
    spark.begin()
    before = spark.lock / "owner.json"
    (spark.lock / "holder").write_text(f"{RUN} {sleeper.pid} {started(sleeper.pid)}\n")
    kept = before.read_text()
    assert spark.begin().found == "ours"
    assert before.read_text() == kept and f" {os.getpid()} " in (spark.lock / "holder").read_text()


def test_a_controller_may_say_that_its_earlier_run_is_dead(spark: Spark, sleeper: subprocess.Popen[bytes]) -> None:
    spark.begin()
    spark.held_by(sleeper.pid, started(sleeper.pid))
    assert spark.begin(dead="20260101T000000Z-0000").found == "held"
    assert spark.begin(dead=LATER).found == "stale"


def test_only_its_own_run_gives_a_lock_back(spark: Spark) -> None:
    spark.begin()
    assert spark.sh(lock.RELEASE, LATER).returncode == 0
    assert spark.lock.exists()
    assert spark.sh(lock.RELEASE, RUN).returncode == 0
    assert not spark.lock.exists()


def test_two_who_come_at_once_do_not_both_get_it(spark: Spark) -> None:
    """Each from a session of its own, which lives until both have asked."""
    code = """if True:
        import subprocess, sys
        said = subprocess.run(["sh", "-c", sys.argv[1], "sparkrig", *sys.argv[2:]], capture_output=True, text=True)
        print(said.stdout.splitlines()[-1].split()[1], flush=True)
        input()"""
    text = spark.text(lock.LOCK)
    runs = [f"20261121T03150{at}Z-ab12" for at in range(6)]
    words = [[sys.executable, "-IS", "-c", code, text, run, lock.given(run, "a@b", "x", "0"), ""] for run in runs]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    sessions = [subprocess.Popen(each, text=True, **pipes) for each in words]  # type: ignore[call-overload]
    found = [each.stdout.readline().strip() for each in sessions]
    for each in sessions:
        each.communicate("\n")
    assert found.count("free") == 1, found


def test_what_stood_there_is_kept_with_its_mode(spark: Spark) -> None:
    spark.file.chmod(0o640)
    spark.begin()
    run = spark.runs / RUN
    kept = Path(f"{run}/before/files{spark.file}")
    assert kept.read_text() == "theirs\n" and kept.stat().st_mode & 0o777 == 0o640
    assert not Path(f"{run}/before/files{spark.other}").exists()
    assert json.loads((run / "run.json").read_text())["by"]["who"] == "ann@laptop"
    assert (spark.root / "var").stat().st_mode & 0o777 == 0o700


def test_what_a_run_changed_is_known_at_its_end(spark: Spark) -> None:
    spark.begin()
    spark.file.write_text("ours\n")
    spark.other.parent.mkdir()
    spark.other.write_text("{}\n")
    spark.holds.write_text(HOLDS + "linux-image-x\n")
    spark.end()
    found = spark.look()
    (run,) = found.runs
    assert {*journal.changed(run, found)} == {f"file {spark.file}", f"file {spark.other}", "hold linux-image-x"}
    assert journal.changed(run, found)["hold linux-image-x"] == ("absent", "held")
    assert journal.outcome(run, found) == "done"
    assert not spark.lock.exists()


def test_a_gid_that_moved_is_no_change(spark: Spark) -> None:
    text = "A=1\n# gid: begin (kept current)\nNCCL_IB_GID_INDEX={}\n# gid: end\nB=2\n"
    spark.file.write_text(text.format(1))
    spark.begin()
    spark.file.write_text(text.format(5))
    spark.end()
    found = spark.look()
    assert journal.changed(found.runs[0], found) == {}


def test_steps_are_noted_with_how_they_ended_and_keep_the_input(spark: Spark) -> None:
    spark.begin()
    assert spark.step("cat", "It's | one", stdin="hello\n").stdout == "hello\n"
    assert spark.step("exit 3", "two").returncode == 3
    rows = [row.partition(" ")[2] for row in (spark.runs / RUN / "steps").read_text().splitlines()]
    assert rows == ["begun It's | one", "ended 0 It's | one", "begun two", "ended 3 two"]
    found = spark.look()
    assert journal.outcome(found.runs[0], found) == "running"


def test_a_noted_command_keeps_its_input_and_what_it_hides() -> None:
    hidden = HiddenValue("s3cret")  # type: ignore[no-untyped-call]
    command = noted(StringCommand("cat", hidden, _stdin="hello"), lock.RUNS, "one")
    assert command.connector_arguments == {"_stdin": "hello"}
    assert "s3cret" in command.get_raw_value() and "s3cret" not in command.get_masked_value()


def test_a_line_of_the_plan_is_no_step() -> None:
    def said() -> Commands:
        yield "# the keys are exchanged once they are made"

    assert [*recorded(said)()] == ["# the keys are exchanged once they are made"]


def test_a_step_that_cannot_be_noted_is_not_run(spark: Spark) -> None:
    done = spark.step(f"touch {spark.root}/done")
    assert done.returncode == 74
    assert not (spark.root / "done").exists()


def had(spark: Spark, runs: list[str]) -> None:
    """Let it have had these runs: the first one for real, the others as copies of that."""
    first, *others = runs
    spark.begin(first)
    spark.end(first)
    for run in others:
        shutil.copytree(spark.runs / first, spark.runs / run, symlinks=True)


def test_the_newest_runs_are_kept(spark: Spark) -> None:
    runs = [f"20261121T0315{at:02}Z-ab12" for at in range(22)]
    had(spark, runs[:19])
    for run in runs[19:]:
        spark.begin(run)
        spark.end(run)
    assert sorted(each.name for each in spark.runs.iterdir()) == runs[2:]


def test_what_is_being_taken_back_and_a_run_of_a_slow_clock_are_kept(spark: Spark) -> None:
    had(spark, [f"20261121T0315{at:02}Z-ab12" for at in range(20)])
    slow = "20200101T000000Z-ab12"
    spark.begin(slow)
    assert (spark.runs / "20261121T031500Z-ab12").exists(), "its undo still needs it"
    spark.end(slow)
    assert (spark.runs / slow).exists() and len([*spark.runs.iterdir()]) == 20


def test_a_torn_step_hides_nothing_of_what_stood_there(spark: Spark) -> None:
    """Else an undo would take a file that stood there for one that did not, and remove it."""
    spark.begin()
    (spark.runs / RUN / "steps").write_text("1700000000 begun one\n17000")
    (run,) = spark.look().runs
    assert f"file {spark.file}" in run.before


def test_a_run_that_was_given_up_leaves_nothing(spark: Spark) -> None:
    spark.begin()
    assert spark.sh(journal.ABANDON, RUN).returncode == 0
    assert [*spark.runs.iterdir()] == [] and not spark.lock.exists()


def test_a_look_writes_nothing(spark: Spark) -> None:
    def everything() -> list[tuple[str, float]]:
        return sorted((str(each), each.stat().st_mtime) for each in spark.root.rglob("*"))

    before = everything()
    assert spark.look().runs == ()
    assert everything() == before


def test_the_fact_is_the_look(spark: Spark) -> None:
    assert journal.LOOK in JournalFact().command()


TORN: dict[str, Callable[[Path], object]] = {
    "a torn row": lambda run: (run / "steps").write_text("1700000000 begun one\n17000"),
    "zeroes": lambda run: (run / "steps").write_bytes(b"1700000000 begun one\n\0\0\0"),
    "owner": lambda run: (run / "run.json").write_text('{"since'),
}


@pytest.mark.parametrize("harm", TORN.values(), ids=TORN)
def test_what_a_power_cut_tore_is_read_as_far_as_it_goes(spark: Spark, harm: Callable[[Path], object]) -> None:
    spark.begin()
    harm(spark.runs / RUN)
    spark.sh(lock.RELEASE, RUN)
    found = spark.look()
    assert journal.outcome(found.runs[0], found) == "interrupted"


def test_what_was_declared_is_kept_with_the_end_of_a_run(spark: Spark) -> None:
    spark.begin()
    done = sh(
        spark.text(journal.END), RUN, "declares", str(spark.file), path=spark.root / "bin", stdin='{"at": 1}\n'
    )
    assert done.returncode == 0, done.stderr
    assert (spark.root / "var/declared.json").read_text() == '{"at": 1}\n'
    assert spark.look().runs[0].ended is not None
