"""The scripts of lock and journal, run for real in a folder of their own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar

import pytest
from pyinfra.api import HiddenValue, StringCommand

from sparkrig import programs
from sparkrig.facts.journal import Journal as JournalFact
from sparkrig.operations.journal import noted, recorded
from sparkrig.operations.refusal import Commands
from sparkrig.runs import journal, journal_look, lock
from sparkrig.ssh.shell import in_turn, script
from tests.tables import each_row
from tests.unit.holders import Holders
from tests.unit.shells import sh, well
from tests.unit.simulated import SimulatedHost

RUN, LATER = "20261121T031500Z-ab12", "20261121T041500Z-cd34"
HOLDS = "nvidia-driver-580-open\n"


class Spark(SimulatedHost):
    """A host in a folder: its /run/sparkrig, its /var/lib/sparkrig, two files and what apt-mark would say."""

    environment: ClassVar = {"SSH_CONNECTION": "10.0.2.2 5 10.0.2.15 22"}

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.runs, self.lock = self.at(lock.RUNS), self.at("/run/sparkrig/lock")
        self.file, self.other = root / "etc/nccl.conf", root / "etc/docker/daemon.json"
        for place in ("etc", "run", "var/lib/dpkg"):
            (root / place).mkdir(parents=True)
        self.file.write_text("theirs\n")
        self.holds = root / "var/lib/dpkg/status"
        self.holds.write_text(HOLDS)
        self.tool("apt-mark", f"cat {self.holds}")
        self.synced = root / "synced"
        self.tool("sync", f'printf "%s\\n" "$@" >>{self.synced}')
        self.tool("dpkg-query", "echo installed nvidia-container-toolkit 1.17.8-1")
        self.holders = Holders(self.here)

    def hold(self, run: str) -> subprocess.Popen[str]:
        """The process that keeps a run's lock, as its connection starts it."""
        return self.holders.start(run)

    def cut(self) -> None:
        """The end of all connections."""
        self.holders.cut()

    def begin(self, run: str = RUN, dead: str = "") -> lock.Answer:
        given = lock.given(run, "ann@laptop", "pyinfra deploys/cluster.py", "0.1.0")
        self.hold(run)
        done = well(self.sh(journal.BEGIN, run, given, dead, str(self.file), str(self.other)))
        return lock.parse(done.stdout)

    def end(self, run: str = RUN) -> None:
        well(self.sh(journal.END, run, "", str(self.file), str(self.other)))

    def step(self, line: str, name: str = "Driver | hold", stdin: str = "") -> subprocess.CompletedProcess[str]:
        command = noted(StringCommand(line), f"{lock.RUNS}/{RUN}", name)
        return self.sh(command.get_raw_value(), stdin=stdin)

    def look(self) -> journal.Journal:
        done = well(self.sh(journal_look.LOOK))
        return journal_look.parse(done.stdout.splitlines())


@pytest.fixture
def spark(tmp_path: Path) -> Iterator[Spark]:
    spark = Spark(tmp_path)
    yield spark
    spark.cut()


def test_a_free_lock_is_taken_with_all_there_is_to_say(spark: Spark) -> None:
    assert spark.begin().found == "free"
    owner = lock.owner((spark.lock / "owner.json").read_text())
    assert (owner.who, owner.run, owner.origin) == ("ann@laptop", RUN, "10.0.2.2")
    assert owner.since > 1_700_000_000
    assert (spark.lock / "run").read_text() == f"{RUN}\n"
    assert spark.lock.stat().st_mode & 0o777 == 0o700
    assert [each.name for each in spark.lock.parent.iterdir()] == ["lock"], "nothing else is left there"


def test_a_held_lock_is_refused_with_its_holder_and_step(spark: Spark) -> None:
    spark.begin()
    spark.step("true", "Network | profiles")
    answer = spark.begin(LATER)
    assert (answer.found, answer.step) == ("held", "Network | profiles")
    assert not (spark.runs / LATER).exists(), "nothing is noted of a run that was refused"
    said = str(answer.refusal("spark-a"))
    assert said.startswith("spark-a is locked by ann@laptop (from 10.0.2.2) since 20")
    assert "for: pyinfra deploys/cluster.py, now at Network | profiles" in said
    assert spark.holders.connections[1].wait(timeout=20) == 0, "the loser's holder ends"
    assert spark.holders.connections[0].poll() is None
    assert [each.name for each in spark.lock.parent.iterdir()] == ["lock"]


def test_a_lock_whose_connection_ended_is_taken_over(spark: Spark) -> None:
    """No process gets a signal: the other end of the holder's output is gone, which is all that a kernel tells."""
    spark.begin(LATER)
    spark.cut()
    seen = spark.look().lock
    assert seen and seen.alive is False and seen.run == LATER
    answer = spark.begin()
    assert (answer.found, answer.owner.who) == ("stale", "ann@laptop")
    seen = spark.look().lock
    assert seen and seen.owner == lock.owner((spark.lock / "owner.json").read_text()) and seen.alive


@pytest.mark.slow
def test_a_silent_connection_keeps_its_lock(spark: Spark) -> None:
    """Many ticks of the holder, of which nobody reads a row; and its shell, name and parent count for nothing."""
    spark.begin(LATER)
    time.sleep(0.5)
    assert spark.holders.connections[0].poll() is None
    assert spark.begin().found == "held"


@pytest.mark.slow  # seconds of real waiting or of many processes
def test_a_lock_is_held_whatever_stands_in_it_and_stale_as_its_process_is_gone(spark: Spark) -> None:
    """Of each piece of a lock that can be emptied or garbled, alone."""
    for name in ("run", "owner.json"):
        for text in ("", "\0x\nlock dead\nrun R {}\n"):
            spark.begin(LATER)
            (spark.lock / name).write_text(text)
            assert spark.begin().found == "held", (name, text)
            seen = spark.look()
            assert seen.lock and seen.lock.alive, (name, text)
            spark.cut()
            assert spark.begin().found == "stale", (name, text)
            spark.cut()


def test_a_lock_without_a_holder_is_refused_and_said(spark: Spark) -> None:
    """As an earlier version left it, or after a folder was emptied: nothing tells whether its run is there."""
    for name in ("holder", "owner.json", "run"):
        spark.begin(LATER)
        spark.cut()
        for gone in {"holder", name}:
            (spark.lock / gone).unlink()
        answer = spark.begin()
        said = str(answer.refusal("spark-a"))
        assert answer.found == "unknown" and "whether its session is still there cannot be told" in said
        assert ("is locked by an unknown holder" in said) is (name == "owner.json")
        seen = spark.look().lock
        assert seen and seen.alive is None
        assert spark.sh(lock.UNLOCK, seen.id).returncode == 0 and not spark.lock.exists(), name
    spark.lock.write_text("no folder")
    assert spark.begin().found == "unknown"
    seen = spark.look().lock
    assert seen and spark.sh(lock.UNLOCK, seen.id).returncode == 0 and not spark.lock.exists()


def test_a_lock_of_a_version_that_kept_no_file_locked_is_not_taken_over(spark: Spark) -> None:
    """Its holder was a row of text, and its run may be at work."""
    spark.lock.mkdir(parents=True)
    (spark.lock / "owner.json").write_text("{}")
    (spark.lock / "holder").write_text("1234 5678\n")
    assert spark.begin().found == "unknown"


def test_a_lock_that_is_taken_keeps_nobody_from_the_next_question(spark: Spark) -> None:
    """To keep what stands on a host may take long, and who comes meanwhile is to read whose the lock is."""
    free = f"flock -n {spark.root}/run/sparkrig true && echo free >>{spark.root}/asked"
    spark.tool("apt-mark", f"{free}; cat {spark.holds}")
    spark.begin()
    assert (spark.root / "asked").read_text() == "free\n"


def test_any_lock_is_taken_away_but_the_one_that_came_later(spark: Spark) -> None:
    spark.begin(LATER)
    (spark.lock / "owner.json").write_text("garbled")
    (spark.lock / "run").write_text("")
    seen = spark.look().lock
    assert seen and "an unknown holder (the owner.json in" in seen.sentence
    spark.cut()
    spark.begin()
    refused = spark.sh(lock.UNLOCK, seen.id)
    assert (refused.returncode, "another run took it meanwhile" in refused.stderr) == (1, True)
    assert spark.lock.exists()
    seen = spark.look().lock
    assert seen and spark.sh(lock.UNLOCK, seen.id).returncode == 0
    assert not spark.lock.exists()
    assert spark.holders.connections[0].wait(timeout=20) == 0, "its holder ends too"
    assert spark.sh(lock.UNLOCK, seen.id).returncode == 0, "nothing is there to be taken away"


def test_a_garbled_owner_is_called_by_its_run(spark: Spark) -> None:
    spark.begin()
    (spark.lock / "owner.json").write_text('{"since')
    found = spark.look()
    assert found.lock and f"an unknown holder (the owner.json of run {RUN} in" in found.lock.sentence
    assert journal.outcome(found.runs[0], found) == "running"


@pytest.mark.slow
def test_the_same_run_may_come_back_over_another_connection(spark: Spark) -> None:
    spark.begin()
    before = spark.lock / "owner.json"
    kept, first = before.read_text(), spark.holders.connections[0]
    assert spark.begin().found == "ours"
    assert before.read_text() == kept and first.wait(timeout=20) == 0
    seen = spark.look().lock
    assert seen and seen.alive and spark.holders.connections[1].poll() is None


@pytest.mark.slow
def test_a_controller_may_say_that_its_earlier_run_is_dead(spark: Spark) -> None:
    spark.begin(LATER)
    assert spark.begin(dead="20260101T000000Z-0000").found == "held"
    assert spark.begin(dead=LATER).found == "stale"
    assert spark.holders.connections[0].wait(timeout=20) == 0, "what a cut link left there ends"


def test_only_its_own_run_gives_a_lock_back(spark: Spark) -> None:
    spark.begin()
    for other in (LATER, ""):
        assert spark.sh(lock.RELEASE, other).returncode == 0
        assert spark.lock.exists()
    assert spark.sh(lock.RELEASE, RUN).returncode == 0
    assert not spark.lock.exists()
    assert spark.holders.connections[0].wait(timeout=20) == 0


def test_no_lock_is_taken_without_a_process_that_keeps_it(spark: Spark) -> None:
    text = spark.here(lock.LOCK).replace("-gt 200", "-gt 1")
    done = spark.sh(text, RUN, lock.given(RUN, "a@b", "x", "0"), "")
    assert (done.returncode, spark.lock.exists()) == (75, False)
    assert "no process of this run keeps its lock" in done.stderr


def test_what_dead_holders_left_goes_with_the_next_run(spark: Spark) -> None:
    spark.hold(LATER)
    left = spark.lock.with_name(f"holder.{LATER}")
    while not left.exists():
        time.sleep(0.01)
    spark.cut()
    assert left.exists()
    spark.begin()
    assert not left.exists()


def test_two_who_come_at_once_do_not_both_get_it(spark: Spark) -> None:
    """Each over a connection of its own, which lives until both have asked."""
    runs = [f"20261121T03150{at}Z-ab12" for at in range(6)]
    text, pipes = spark.here(lock.LOCK), {"stdout": subprocess.PIPE, "text": True}
    for run in runs:
        spark.hold(run)
    words = [["sh", "-c", text, "sparkrig", run, lock.given(run, "a@b", "x", "0"), ""] for run in runs]
    asked = [subprocess.Popen(each, **pipes) for each in words]  # type: ignore[call-overload]
    found = [each.communicate()[0].splitlines()[-1].split()[1] for each in asked]
    assert sorted(found) == ["free", *["held"] * 5], found


def test_what_stood_there_is_kept_with_its_mode(spark: Spark) -> None:
    spark.file.chmod(0o640)
    spark.begin()
    run = spark.runs / RUN
    kept = Path(f"{run}/before/files{spark.file}")
    assert kept.read_text() == "theirs\n" and kept.stat().st_mode & 0o777 == 0o640
    assert not Path(f"{run}/before/files{spark.other}").exists()
    assert json.loads((run / "run.json").read_text())["by"]["who"] == "ann@laptop"
    assert (spark.root / "var/lib/sparkrig").stat().st_mode & 0o777 == 0o700


@pytest.mark.slow
def test_what_a_run_changed_is_known_at_its_end(spark: Spark) -> None:
    spark.begin()
    spark.step(f"echo ours >{spark.file}; mkdir {spark.other.parent}; echo '{{}}' >{spark.other}")
    spark.step(f"echo linux-image-x >>{spark.holds}")
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


def test_a_line_of_another_one_in_the_gid_block_is_a_change(spark: Spark) -> None:
    """A block without an end hid all that comes after it, too."""
    text = "A=1\n# gid: begin (kept current)\nNCCL_IB_GID_INDEX=1\n{}# gid: end\nB=2\n"
    endless = text.replace("# gid: end\n", "")
    found = set()
    for each in (text.format(""), text.format("MINE=1\n"), endless.format("C=1\n"), endless.format("C=2\n")):
        spark.file.write_text(each)
        found.add(sh(f'{journal.STANDS}row "$1" "$1"', str(spark.file)).stdout)
    assert len(found) == 4


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


@pytest.mark.slow  # runs the scripts many times
def test_the_newest_runs_are_kept(spark: Spark) -> None:
    runs = [f"20261121T0315{at:02}Z-ab12" for at in range(22)]
    had(spark, runs[:19])
    for run in runs[19:]:
        spark.begin(run)
        spark.end(run)
    assert sorted(each.name for each in spark.runs.iterdir()) == runs[2:]


@pytest.mark.slow
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


def test_a_run_that_did_something_is_remembered_when_its_lock_is_given_up(spark: Spark) -> None:
    spark.begin()
    spark.step("true")
    assert spark.sh(journal.ABANDON, RUN).returncode == 0
    assert [run.id for run in spark.look().runs] == [RUN] and not spark.lock.exists()


def test_what_stood_there_is_on_the_disk_before_the_first_change(spark: Spark) -> None:
    """After a power cut in the middle of a run there is something whole to put back."""
    spark.begin()
    synced = spark.synced.read_text()
    kept = [file for file in (spark.runs / RUN).rglob("*") if file.is_file()]
    assert {"nccl.conf", "state", "run.json", "steps"} <= {file.name for file in kept}
    for file in kept:
        assert f"/{file.relative_to(spark.runs / RUN)}\n" in synced, file
    assert synced.splitlines()[-1] == str(spark.runs), "its name, too, and last"


def test_a_step_is_on_the_disk_before_it_runs(spark: Spark) -> None:
    spark.begin()
    spark.synced.unlink()
    assert spark.step(f"cp {spark.synced} {spark.root}/before").returncode == 0
    assert (spark.root / "before").read_text().splitlines() == [f"{spark.runs}/{RUN}/steps"]


def test_a_server_that_failed_its_trial_is_told_with_its_run(spark: Spark) -> None:
    spark.begin()
    spark.step("exit 3", "Serve | server")
    why = "gpt-oss-120b: its answer is garbage ('!!!!')\nsecond line " + "x" * 900
    well(spark.sh(journal.TRIAL, RUN, stdin=why))
    spark.cut()
    found = spark.look()
    assert found.runs[0].trial == "gpt-oss-120b: its answer is garbage ('!!!!')"
    assert journal.outcome(found.runs[0], found) == "rolled back"


def test_a_look_writes_nothing(spark: Spark) -> None:
    def everything() -> list[tuple[str, float]]:
        return sorted((str(each), each.stat().st_mtime) for each in spark.root.rglob("*"))

    before = everything()
    assert spark.look().runs == ()
    assert everything() == before


def test_the_fact_is_the_look(spark: Spark) -> None:
    assert journal_look.LOOK in JournalFact().command()


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


def special(file: Path) -> None:
    file.unlink(missing_ok=True)
    os.mkfifo(file)


def with_deadline(run: Path, spoil: Callable[[Path], object]) -> None:
    """A network change of it is not confirmed, and its deadline cannot be read."""
    (run / "guard/state").write_text("applied\n\n")
    spoil(run / "guard/deadline")


FORGED = "x\nstep 1 begun x\ncurrent file /etc/x 0\nrun R {}\nnonsense\n"
SPOILT: dict[str, Callable[[Path], object]] = {
    "no run.json": lambda run: (run / "run.json").unlink(),
    "an empty run.json": lambda run: (run / "run.json").write_text(""),
    "rows in run.json": lambda run: (run / "run.json").write_text(FORGED),
    "zeroes in run.json": lambda run: (run / "run.json").write_bytes(b"\0" * 90),
    "a huge run.json": lambda run: (run / "run.json").write_text("[" * 9_000_000),
    "rows in its deadline": lambda run: with_deadline(run, lambda file: file.write_text(FORGED)),
    "an end that is no time": lambda run: (run / "after").write_text("end soon\n"),
    "a FIFO for run.json": lambda run: special(run / "run.json"),
    "a FIFO for its deadline": lambda run: with_deadline(run, special),
    "a FIFO for its number": lambda run: special(run / "number"),
    "a FIFO for what it wrote": lambda run: special(run / "wrote/state"),
    "a FIFO for what stood there": lambda run: special(run / "before/state"),
    "rows in the guard's state": lambda run: (run / "guard/state").write_text(FORGED),
}


def test_what_is_bad_of_one_run_hides_nothing_of_another(spark: Spark) -> None:
    """Else status, undo and unlock could show none of a host, for one file of one run."""
    had(spark, [RUN, LATER])
    bad = spark.runs / RUN
    (bad / "guard").mkdir()
    shutil.copytree(bad, spark.root / "kept")

    def holds(name: str, harm: Callable[[Path], object]) -> None:
        harm(bad)
        try:
            found = spark.look()
            assert len(found.runs) == 2 and not [item for item in found.current if "/etc/x" in item]
            other = found.find(LATER)
            assert other and other.owner.who == "ann@laptop" and journal.outcome(other, found) == "done"
            told = found.find(RUN)
            assert told
            if "run.json" in name:
                assert told.garbled and f"run {RUN} is left out" in found.left_out()[0]
            else:
                assert not found.left_out() and (told.lacks or told.guard)
        finally:
            shutil.rmtree(bad)
            shutil.copytree(spark.root / "kept", bad)

    each_row({name: (name, harm) for name, harm in SPOILT.items()}, holds)


def gone(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink()


def test_what_a_run_kept_and_lost_is_noticed(spark: Spark) -> None:
    """Else what stood there before counts as absent, and an undo removes it."""
    spark.begin()
    kept, guard = spark.runs / RUN / "before", spark.runs / RUN / "guard"
    (guard / "before").mkdir(parents=True)
    (guard / "state").write_text("committed\n\n")
    (guard / "before/links.json").write_text("{}")
    assert spark.look().runs[0].lacks == ()
    lost = {
        guard / "before/links.json": "guard/before/links.json",
        kept / "files": f"before/files{spark.file}",
        kept / "state": "before/state",
    }
    for path, name in lost.items():
        gone(path)
        assert name in spark.look().runs[0].lacks, name


def test_a_run_keeps_the_names_of_its_hosts(spark: Spark) -> None:
    given = lock.given(RUN, "ann@laptop", "x", "0", hosts=["spark-a", "spark-b"])
    spark.hold(RUN)
    assert spark.sh(journal.BEGIN, RUN, given, "", str(spark.file)).returncode == 0
    assert spark.look().runs[0].owner.hosts == ("spark-a", "spark-b")


@pytest.mark.slow  # seconds of real waiting or of many processes
def test_what_a_host_keeps_of_hosts_is_bounded_and_cleaned() -> None:
    def owner(hosts: object) -> lock.Owner:
        by = {**json.loads(lock.given("R", "a@b", "x", "0")), "hosts": hosts}
        return lock.owner(json.dumps({"by": by, "from": "", "since": 1, "boot": ""}))

    assert owner(["a\x1b[31mb"]).hosts == ("a [31mb",)
    assert len(owner(["x" * 9000] * 9000).hosts) == 64 and len(owner(["x" * 9000]).hosts[0]) == 253
    for nonsense in (None, {"a": 1}, "ab", [1, 2], 7):
        assert (owner(nonsense).hosts, owner(nonsense).run) == ((), "R"), nonsense


def test_what_was_declared_is_kept_with_the_end_of_a_run(spark: Spark) -> None:
    spark.begin()
    well(spark.sh(journal.END, RUN, "declares", str(spark.file), stdin='{"at": 1}\n'))
    assert (spark.root / "var/lib/sparkrig/declared.json").read_text() == '{"at": 1}\n'
    assert spark.look().runs[0].ended is not None


def test_a_step_of_several_commands_ends_where_its_run_has_lost_the_lock(spark: Spark) -> None:
    """Its controller may have died: the host would go on, and meet the next run, or the undo of this one."""

    def step(between: str) -> subprocess.CompletedProcess[str]:
        (spark.root / "second").unlink(missing_ok=True)
        whole = in_turn(script(between), script(f"touch {spark.root}/second"))
        return spark.sh(noted(whole, f"/var/lib/sparkrig/runs/{RUN}", "Step").get_raw_value())

    spark.begin()
    assert step(":").returncode == 0 and (spark.root / "second").exists()
    for text in (f"echo {LATER} >{spark.lock}/run", f"rm {spark.lock}/holder", f"rm -r {spark.lock}"):
        spark.begin()
        done = step(text)
        assert done.returncode == 75 and "does not have the lock" in done.stderr, text
        assert not (spark.root / "second").exists(), text
        assert (spark.runs / RUN / "steps").read_text().endswith(" ended 75 Step\n")
        shutil.rmtree(spark.lock, ignore_errors=True)
    spark.begin()
    spark.cut()
    assert step(":").returncode == 75 and not (spark.root / "second").exists()


BOOT = Path("/proc/sys/kernel/random/boot_id")
SETTLE = programs.text("operations/guard_settle.sh")


def uptime() -> int:
    return int(time.clock_gettime(time.CLOCK_BOOTTIME))


def arm(spark: Spark, run: str, state: str = "applied", deadline: str | None = None) -> Path:
    """A guarded change of a run that is not confirmed; the program that takes it back only notes it."""
    guard = spark.runs / run / "guard"
    guard.mkdir(parents=True, exist_ok=True)
    (guard / "state").write_text(f"{state}\n\n")
    (guard / "deadline").write_text(f"{uptime() + 80}.5 {BOOT.read_text()}" if deadline is None else deadline)
    noting = "pathlib.Path(__file__).with_name('state').write_text('rolled-back\\n' + sys.argv[2])"
    (guard / "guard.py").write_text(f"import sys, pathlib; {noting}")
    return guard


def test_what_is_armed_is_seen_with_its_time_and_whether_its_run_lives(spark: Spark) -> None:
    def seen() -> list[tuple[str, bool | None]]:
        found = spark.look().armed
        assert all(75 <= each.left <= 80 for each in found), found
        return [(each.run, each.alive) for each in found]

    spark.begin()
    for state in ("armed", "applied"):
        arm(spark, RUN, state)
        assert seen() == [(RUN, True)]
    arm(spark, LATER)
    assert seen() == [(RUN, True), (LATER, False)], "only the run that has the lock can confirm a change"
    (spark.lock / "holder").unlink()
    assert seen() == [(RUN, None), (LATER, False)]
    shutil.rmtree(spark.lock)
    assert seen() == [(RUN, False), (LATER, False)]
    for word in ("committed", "rolled-back", "", "armedx"):
        (spark.runs / RUN / "guard/state").write_text(f"{word}\n")
        assert seen() == [(LATER, False)], word


def test_a_deadline_that_says_nothing_of_this_boot_is_over(spark: Spark) -> None:
    """Of another boot, of a version that kept the time of day, torn, or nonsense: never a long wait."""
    spark.begin()
    ours = [f"{seconds} {BOOT.read_text()}" for seconds in ("nan", "9" * 40, "-5", "1", "")]
    for text in ("", "1795348900.5", "99999999 another", *ours):
        arm(spark, RUN, deadline=text)
        assert [each.left for each in spark.look().armed] == [0], text


def test_what_a_dead_run_left_armed_goes_back_and_a_living_one_is_waited_for(spark: Spark) -> None:
    spark.begin()
    mine, dead = arm(spark, RUN), arm(spark, LATER)
    began = time.monotonic()
    assert spark.sh(SETTLE, "2", "why not").returncode == 0
    assert 1 < time.monotonic() - began < 10, "it waits for the one that lives, and no longer than it may"
    assert (dead / "state").read_text() == "rolled-back\nwhy not"
    assert (mine / "state").read_text() == "applied\n\n"
    arm(spark, LATER)
    spark.cut()
    assert spark.sh(SETTLE, "0", "").returncode == 0
    assert {each.run for each in spark.look().armed} == {RUN, LATER}, "without a reason nothing is changed"
    assert spark.sh(SETTLE, "60", "both are dead").returncode == 0
    assert not spark.look().armed
