"""What an undo plans, and its scripts run for real in a folder of their own."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyinfra.api import StringCommand
from rich.console import Console

from sparkrig import programs
from sparkrig.host.branches import PIN_PATH
from sparkrig.host.driver import SIMULATION
from sparkrig.refusal import Refusal
from sparkrig.resources import watch
from sparkrig.resources.time import CHRONY_PATH
from sparkrig.runs import undo, undo_merge, undo_target
from sparkrig.runs.journal import Journal, Left, Run, Step
from sparkrig.runs.lock import Lock, Owner
from sparkrig.runs.render.journal import lines, newest, rows, undoing
from sparkrig.runs.undo import Change, Plan
from sparkrig.ssh.remote import Lost
from sparkrig.status import status as report
from sparkrig.value import Unread
from tests.tables import each_row
from tests.unit.shells import sh, tool, well
from tests.unit.undos import (
    DAEMON,
    FIRST,
    HOLD,
    KEPT_DAEMON,
    NCCL,
    NOTHING,
    PIN,
    SETTLED,
    TOOLKIT,
    State,
    host,
    run,
    typed,
)


def acts(found: Journal, which: str, everything: bool = False) -> dict[str, str]:
    return {each.item: each.act for each in undo.plan(found, which, everything=everything).changes}


def test_a_measurement_of_a_later_boot_goes_back_with_the_run_that_measured_first() -> None:
    """Nobody else writes that file; no run did it either."""
    record = "file /var/lib/sparkrig/bandwidth.json"
    found = host(run(1, NOTHING, {**FIRST, record: "644 a"}), now={**FIRST, record: "644 b"})
    assert acts(found, "R1")[record] == "remove"
    before = host(run(1, {record: "644 earlier"}, {record: "644 a"}), now={record: "644 b"})
    assert acts(before, "R1")[record] == "put back"


def test_an_undo_that_broke_off_goes_on() -> None:
    half = {HOLD: "held", TOOLKIT: "1.17"}
    found = host(run(1, NOTHING, FIRST), run(2, FIRST, None, undoes="R1"), now=half)
    assert undo_target.target({"a": found}, None) == "R1"
    assert acts(found, "R1") == {NCCL: "already", HOLD: "release", TOOLKIT: "stays"}


def test_an_undo_can_be_undone() -> None:
    found = host(run(1, NOTHING, FIRST), run(2, FIRST, {TOOLKIT: "1.17"}, undoes="R1"), now={TOOLKIT: "1.17"})
    assert acts(found, "R2") == {NCCL: "put back", HOLD: "hold"}
    again = host(*reversed(found.runs), run(3, {TOOLKIT: "1.17"}, FIRST, undoes="R2"), now=FIRST)
    assert undo_target.target({"a": again}, None) == "R1", "it stands again"


def wrote(
    number: int, since: int, before: State, written: Mapping[str, tuple[str, ...]], done: bool = True
) -> Run:
    """A run of this version, which has a number and keeps what it wrote."""
    made = run(number, before, {**before, **{item: values[-1] for item, values in written.items()}})
    owner = replace(made.owner, since=since)
    after = made.after if done else None
    return replace(made, owner=owner, after=after, ended=9 if done else None, number=number, wrote=written)


SECRET = "file /etc/sparkrig/secrets.env"


def test_what_is_secret_is_neither_merged_nor_shown() -> None:
    found = host(wrote(1, 1, {SECRET: "theirs"}, {SECRET: ("one",)}), now={SECRET: "edited"})
    plan = undo.plan(found, "R1", everything=False)
    assert undo_merge.texts_of(plan) == []
    (change,) = undo_merge.merged(plan, {"/etc/sparkrig/secrets.env": "TOKEN=x"}).changes
    assert (change.act, change.diff) == ("foreign", ())


LOW, HIGH = "file /etc/a.json", "file /etc/z.json"  # by name before and after docker's own file


def test_what_is_planned_says_why() -> None:
    plan = Plan(
        "R1",
        (
            Change(DAEMON, "unfit", why="no such runtime"),
            Change(NCCL, "foreign", why="both changed a"),
            Change(PIN, "foreign"),
            Change(LOW, "put back", diff=("-a", "+b")),
            Change(HIGH, "remove", later=("R2", "R3")),
            Change("package nvidia-container-toolkit", "stays"),
            Change("package --purge", "stays"),
        ),
    )
    said = " ".join(" ".join(map(str, row)) for row in rows(plan))
    for each in (
        "docker does not start with what stood there: no such runtime",
        "cannot be merged: both changed a; --all takes it back too",
        "changed since by another one; --all takes it back too",
        "changed since by another one, whose change stays",
        "changed by R2 and R3 too, which goes with it",
        "sudo apt-get remove nvidia-container-toolkit",
    ):
        assert each in said
    assert "remove --purge" not in said and "nvidia-container-toolkit --purge" not in said
    console = Console(file=io.StringIO(), width=120, color_system=None)
    both = {"spark-a": plan, "spark-b": Plan("R1", (*plan.changes[:-1], Change(HOLD, "release")))}
    console.print(undoing(both, dict.fromkeys(both, SETTLED)))
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert shown.count("both changed a") == 1 and shown.index("+b") < shown.index("spark-b alone:")


def test_what_the_owner_s_own_steps_did_is_said_to_stay() -> None:
    made = run(1, NOTHING, FIRST)
    found = host(replace(made, steps=(*made.steps, Step("Own steps | Tailscale | join", 1, 2, 0))), now=FIRST)
    console = Console(file=io.StringIO(), width=120, color_system=None)
    console.print(undoing({"spark-a": Plan("R1", (Change(NCCL, "remove"),))}, {"spark-a": found}))
    assert "stays   what the owner's own steps did: Tailscale | join" in console.file.getvalue()  # type: ignore[attr-defined]


def test_the_package_that_goes_with_its_note_is_named() -> None:
    note = f"file {watch.INSTALLED}"
    package = ("remove", "package prometheus-node-exporter, unless another one came to need it")
    found = host(run(1, NOTHING, {note: "644 a"}), now={note: "644 a"})
    assert package in rows(undo.plan(found, "R1", everything=False))
    edited = host(run(1, NOTHING, {note: "644 a"}), now={note: "644 b"})
    assert package not in rows(undo.plan(edited, "R1", everything=False))


def test_a_host_without_runs_and_a_lock_that_stands_are_shown() -> None:
    console = Console(file=io.StringIO(), width=120, color_system=None)
    console.print(newest(Journal(9000, Lock(Owner("R1", "ann@laptop", "x"), True)), 5))
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "locked by ann@laptop" in shown and "no run is kept" in shown


# the verb


@pytest.fixture
def pair(tmp_path: Path) -> str:
    file = tmp_path / "pair.py"
    halves = [
        (f"spark-{half}", {"pair": "p", "fabric": {"enp1s0f0np0": f"192.168.1.{last}/24"}})
        for last, half in ((1, "a"), (2, "b"))
    ]
    file.write_text(f"sparks = {halves!r}\n")
    return str(file)


def test_a_pair_is_undone_together(monkeypatch: pytest.MonkeyPatch, pair: str) -> None:
    done, touched = typed(monkeypatch, pair, SETTLED, "--yes", "--json")
    assert (done.exit_code, touched) == (0, ["spark-a", "spark-b"])
    (group,) = json.loads(done.stdout)["groups"]
    assert group["outcome"].startswith("undone, as run 20")
    assert {each["act"] for each in group["plans"]["spark-b"]["changes"]} == {"remove", "release", "stays"}


# what one host's look at the targets prints, and what is said of it
BARRED = {
    "immutable": ("immutable /etc/nccl.conf", "/etc/nccl.conf is immutable (chattr +i)", "sudo chattr -i"),
    "read-only": ("read-only /etc", "/etc cannot be written: its file system is read-only", "findmnt -T /etc"),
    "a folder": ("folder /etc/nccl.conf", "/etc/nccl.conf is a directory", "sudo mv /etc/nccl.conf"),
    "a FIFO": ("fifo /etc/nccl.conf", "/etc/nccl.conf is a FIFO, not a file", "sudo mv /etc/nccl.conf"),
    "a mount point": ("mount /etc/nccl.conf", "/etc/nccl.conf is a mount point", "sudo umount"),
}


EDITED = host(run(1, NOTHING, FIRST), now={**FIRST, NCCL: "644 edited"})
ONLY_EDITED = host(run(1, NOTHING, {NCCL: "644 a"}), now={NCCL: "644 edited"})


def test_what_another_one_changed_is_not_called_undone(monkeypatch: pytest.MonkeyPatch, pair: str) -> None:
    """It was, with exit code 0, and nothing but the plan told of it."""
    done, touched = typed(monkeypatch, pair, EDITED, "--yes")
    assert (done.exit_code, touched) == (2, ["spark-a", "spark-b"])
    assert "undone, but not all, as run 20" in done.output
    assert "\n/etc/nccl.conf of spark-b is not put back (changed since by another one" in done.output
    document, _ = typed(monkeypatch, pair, EDITED, "--yes", "--json")
    (group,) = json.loads(document.stdout)["groups"]
    assert group["exit_code"] == 2 and group["left"]["spark-a"] == []
    (left,) = group["left"]["spark-b"]
    assert left["item"] == NCCL and left["why"].startswith("changed since by another one")


def test_where_another_one_changed_all_of_it_nothing_is_done(monkeypatch: pytest.MonkeyPatch, pair: str) -> None:
    nothing = host(run(1, NOTHING, NOTHING), now=NOTHING)
    done, touched = typed(monkeypatch, pair, ONLY_EDITED, "--yes", a=nothing)
    assert (done.exit_code, touched) == (2, [])
    assert "nothing else is undone: /etc/nccl.conf of spark-b is not put back" in " ".join(done.output.split())


def test_what_was_left_can_be_asked_for_again_and_is_shown() -> None:
    left = Left(NCCL, "changed since by another one")
    taking = replace(run(2, {**FIRST, NCCL: "edited"}, {NCCL: "edited"}, undoes="R1"), left=(left,))
    found = host(run(1, NOTHING, FIRST), taking, now={NCCL: "edited"})
    assert undo_target.target({"a": found}, None) is None, "what is left is not the next to be undone by itself"
    assert undo_target.target({"a": found}, "R1") == "R1"
    assert acts(found, "R1", everything=True)[NCCL] == "remove"
    shown = "\n".join(lines("spark-a", found, 5))
    assert shown.count("but for /etc/nccl.conf (changed since by another one)") == 2, "at the run and at its undo"
    assert [each.left for each in report.host(found, Unread("away"), 5).runs] == [(left,)] * 2
    again = host(*reversed(found.runs), run(3, {NCCL: "edited"}, NOTHING, undoes="R1"), now=NOTHING)
    with pytest.raises(Refusal, match="R1 is undone already"):
        undo_target.target({"a": again}, "R1")


def test_what_bars_one_file_of_one_half_is_refused_before_anything_is_changed(
    monkeypatch: pytest.MonkeyPatch, pair: str
) -> None:
    def refused(row: str, what: str, cure: str) -> None:
        told = f"spark-b barred {row} /etc/nccl.conf"
        for words in (["--yes"], ["--dry"]):
            done, touched = typed(monkeypatch, pair, SETTLED, *words, bars=told)
            said = " ".join(done.output.split())
            assert (done.exit_code, touched) == (1, []), said
            assert f"spark-b: {what}" in said and f"Try: ssh spark-b {cure}" in said
            assert "Nothing is undone" in said

    each_row(BARRED, refused)


def test_where_one_half_is_away_nothing_is_undone(monkeypatch: pytest.MonkeyPatch, pair: str) -> None:
    done, touched = typed(monkeypatch, pair, Lost("no route to host"), "--yes")
    assert (done.exit_code, touched) == (3, [])
    assert "spark-b cannot be read: no route to host Nothing is undone" in " ".join(done.output.split())


WITH_DOCKER = {**FIRST, DAEMON: "644 ours"}
HAD_DOCKER = host(run(1, {DAEMON: "644 theirs"}, WITH_DOCKER), now=WITH_DOCKER)
ONLY_DOCKER = host(run(1, {DAEMON: "644 theirs"}, {DAEMON: "644 ours"}), now={DAEMON: "644 ours"})
BAD = "unfit unable to configure the Docker daemon: \x1b[31minvalid" + "!" * 9000
LOOK_DOCKER = f"Try: ssh spark-b sudo dockerd --validate --config-file {KEPT_DAEMON}"


def test_a_daemon_json_that_docker_refuses_is_left_alone_and_the_rest_goes_back(
    monkeypatch: pytest.MonkeyPatch, pair: str
) -> None:
    done, touched = typed(monkeypatch, pair, HAD_DOCKER, "--yes", "--json", a=HAD_DOCKER, docker=BAD)
    assert (done.exit_code, touched) == (2, ["spark-a", "spark-b"])
    (group,) = json.loads(done.stdout)["groups"]
    why = f"unable to configure the Docker daemon:  [31minvalid{'!' * 9000}"[:400]
    said = "/etc/docker/daemon.json of spark-b is left alone, for docker cannot start with what stood there before"
    assert group["outcome"].partition("; ")[2] == f"{said} ({why}). {LOOK_DOCKER}"
    kept, other = ({each["item"]: each for each in group["plans"][f"spark-{half}"]["changes"]} for half in "ba")
    assert (kept[DAEMON]["act"], kept[DAEMON]["why"]) == ("unfit", why)
    assert kept[NCCL]["act"] == "remove" and other[DAEMON]["act"] == "put back"
    assert [group["plans"][f"spark-{half}"]["restart_docker"] for half in "ab"] == [True, False]
    dry, touched = typed(monkeypatch, pair, HAD_DOCKER, "--dry", a=HAD_DOCKER, docker=BAD)
    assert (dry.exit_code, touched) == (0, [])
    assert "docker does not start with what stood there: unable to" in " ".join(dry.output.split())


def test_where_nothing_but_that_file_is_left_nothing_is_done(monkeypatch: pytest.MonkeyPatch, pair: str) -> None:
    """Else an undo would be a run that changes nothing, each time."""
    done, touched = typed(
        monkeypatch, pair, ONLY_DOCKER, "--yes", a=host(run(1, FIRST, FIRST), now=FIRST), docker=BAD
    )
    assert (done.exit_code, touched) == (2, [])
    said = " ".join(done.output.split())
    assert (
        "nothing else is undone: /etc/docker/daemon.json of spark-b is left alone" in said and LOOK_DOCKER in said
    )


def test_a_daemon_json_that_docker_did_not_start_with_is_said(monkeypatch: pytest.MonkeyPatch, pair: str) -> None:
    done, touched = typed(monkeypatch, pair, HAD_DOCKER, "--yes", a=HAD_DOCKER, docker="failed Job failed")
    assert (done.exit_code, touched) == (2, ["spark-a", "spark-b"])
    said = " ".join(done.output.split())
    for name in touched:
        assert f"/etc/docker/daemon.json of {name} is back as it was, for docker did not start" in said
        assert f"Try: ssh {name} sudo journalctl -u docker -n 30" in said


def carried_out(monkeypatch: pytest.MonkeyPatch, *changes: Change) -> tuple[Plan, dict[str, str], list[Left]]:
    """A plan on a host where each step but docker's works: what became of it, its steps, what was left alone."""
    from sparkrig.operations import journal, undo

    done: dict[str, str] = {}
    kept: list[Left] = []

    def perform(run: object, at: object, name: str, command: StringCommand, *_: object) -> str:
        done[name] = f"{command.get_raw_value()}{command.connector_arguments.get('_stdin') or ''}"
        return "failed Job failed\n" if name == "Undo | docker" else ""

    monkeypatch.setattr(journal, "begin", lambda *_: None)
    monkeypatch.setattr(journal, "end", lambda *_: None)
    monkeypatch.setattr(journal, "look", lambda _: host(now={}))
    monkeypatch.setattr(journal, "leave", lambda _, __, left: kept.extend(left))
    monkeypatch.setattr(journal, "perform", perform)
    hosts: Any = {"spark-a": SimpleNamespace(name="spark-a")}
    mine: Any = SimpleNamespace(patience=1, rollback_seconds=90)
    told: Any = lambda *_: None  # noqa: E731 - a protocol of which only the call is needed
    plans = {"spark-a": Plan("R1", changes)}
    left = undo.carry_out(journal.Run("x"), hosts, plans, mine, told, restart_docker=False)
    return left["spark-a"], done, kept


def test_what_docker_did_not_start_with_does_not_end_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    left, done, kept = carried_out(monkeypatch, Change(DAEMON, "put back"), Change(HOLD, "release"))
    assert [*done] == ["Undo | docker", "Undo | holds"]
    assert [(each.act, each.why) for each in left.changes] == [("failed", "Job failed"), ("release", "")]
    assert kept == [Left(DAEMON, "docker did not start with what stood there before: Job failed")]


def test_a_service_reads_again_what_went_back(monkeypatch: pytest.MonkeyPatch) -> None:
    _, done, _ = carried_out(monkeypatch, Change(f"file {CHRONY_PATH}", "remove"))
    assert [*done] == ["Undo | files", "Undo | services", "Undo | GID index"]
    assert "chronyc reload sources" in done["Undo | services"]
    assert "timesyncd" not in done["Undo | services"]
    _, done, _ = carried_out(monkeypatch, Change(f"file {CHRONY_PATH}", "foreign"), Change(NCCL, "remove"))
    assert "Undo | services" not in done


def test_what_apt_simulated_goes_with_the_files_that_it_depends_on_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    _, done, _ = carried_out(monkeypatch, Change(f"file {PIN_PATH}", "remove"))
    assert f"rm -f {SIMULATION}" in done["Undo | services"]
    _, done, _ = carried_out(monkeypatch, Change(NCCL, "remove"))
    assert SIMULATION not in "".join(done.values())


GONE = host(now=FIRST)
OTHERS = host(run(2, NOTHING, FIRST, hosts=("spark-b",)), now=FIRST)
UNDONE = host(run(1, NOTHING, FIRST), run(3, FIRST, NOTHING, undoes="R1", hosts=("spark-b",)), now=NOTHING)


def solo(*hosts: str) -> Journal:
    """R1 was made on these hosts, or an older version did not note on which."""
    return host(run(1, NOTHING, FIRST, hosts=hosts), now=FIRST)


def harmed(**harm: Any) -> Journal:
    return host(replace(run(1, NOTHING, FIRST), **harm), now=FIRST)


ONE_HOST = "Try: sparkrig undo {} R1 --limit spark-a --one-host --dry"
LISTING = "Try: ssh spark-b sudo ls -lR /var/lib/sparkrig/runs/R1"
# what spark-a and spark-b keep, what is typed, what is said of it, the exit code
REFUSED: dict[str, tuple[Journal, Journal | Exception, list[str], str, str, int]] = {
    "its journal is gone": (
        *(SETTLED, GONE, []),
        "run R1 was made on 2 hosts, and what stood before on spark-b is not known (the journal of spark-b, "
        "/var/lib/sparkrig, is gone or empty); nothing is undone.",
        *(ONE_HOST, 3),
    ),
    "what stood there is gone": (
        *(SETTLED, harmed(lacks=("before/state",)), []),
        "the journal of spark-b is damaged: R1/before/state in /var/lib/sparkrig/runs is gone",
        *(LISTING, 3),
    ),
    "garbled on one, gone on the other": (
        harmed(owner=Owner()),
        GONE,
        ["R1"],
        "spark-a is damaged: R1/run.json",
        "",
        3,
    ),
    "a host is left out": (
        *(SETTLED, SETTLED, ["--limit", "spark-a"]),
        "run R1 was made on spark-b too, and a pair goes back as a pair; nothing is undone.",
        *(ONE_HOST, 1),
    ),
    "consent for a host that is damaged": (
        *(GONE, harmed(lacks=("before/state",)), ["--limit", "spark-b", "--one-host"]),
        *("damaged: R1/before/state", LISTING, 3),
    ),
    "consent without a host": (SETTLED, GONE, ["--one-host"], "--one-host expects --limit HOST", "", 2),
    "no such host": (SETTLED, GONE, ["--limit", "spark-c"], "there is no host spark-c", "the same with spark-", 1),
}


def test_what_is_not_whole_is_refused_before_anything_is_changed(
    monkeypatch: pytest.MonkeyPatch, pair: str
) -> None:
    def refused(a: Journal, b: Journal | Exception, words: list[str], what: str, cure: str, code: int) -> None:
        done, touched = typed(monkeypatch, pair, b, *words, "--yes", a=a)
        said = " ".join(done.output.split())
        assert (done.exit_code, touched) == (code, []), said
        assert what in said and cure.format(pair) in said, said

    each_row(REFUSED, refused)


# what spark-a and spark-b keep, what is typed, which hosts go back
GOES_BACK: dict[str, tuple[Journal, Journal | Exception, list[str], list[str]]] = {
    "a run of one host, alone": (solo("spark-a"), GONE, ["--limit", "spark-a"], ["spark-a"]),
    "a run of one host, the other away": (
        *(solo("spark-a"), Lost("no route"), ["--limit", "spark-a"]),
        ["spark-a"],
    ),
    "both hosts named": (SETTLED, SETTLED, ["--limit", "spark-a", "--limit", "spark-b"], ["spark-a", "spark-b"]),
    "one host undone before": (SETTLED, UNDONE, ["R1"], ["spark-a", "spark-b"]),
    "consent": (SETTLED, GONE, ["--limit", "spark-a", "--one-host"], ["spark-a"]),
    "consent, the other away": (SETTLED, Lost("no route"), ["--limit", "spark-a", "--one-host"], ["spark-a"]),
    "consent, by the name of an older version": (solo(), GONE, ["--limit", "spark-a", "--one-half"], ["spark-a"]),
}


def test_what_is_whole_or_agreed_to_goes_back(monkeypatch: pytest.MonkeyPatch, pair: str) -> None:
    def goes_back(a: Journal, b: Journal | Exception, words: list[str], hosts: list[str]) -> None:
        done, touched = typed(monkeypatch, pair, b, *words, "--yes", a=a)
        assert (done.exit_code, touched) == (0, hosts), done.output

    each_row(GOES_BACK, goes_back)


def test_an_older_run_that_is_garbled_is_named_and_keeps_nothing_back(
    monkeypatch: pytest.MonkeyPatch, pair: str
) -> None:
    whole = solo("spark-a", "spark-b")
    older = replace(whole.runs[0], id="R0", owner=Owner())
    done, touched = typed(monkeypatch, pair, replace(whole, runs=(*whole.runs, older)), "--yes", a=whole)
    assert (done.exit_code, touched) == (0, ["spark-a", "spark-b"]), done.output
    assert "spark-b: run R0 is left out: /var/lib/sparkrig/runs/R0/run.json is gone" in done.output


def test_a_garbled_run_that_lost_its_number_may_be_the_newest(monkeypatch: pytest.MonkeyPatch, pair: str) -> None:
    whole = solo("spark-a", "spark-b")
    older = replace(whole.runs[0], id="R0", owner=Owner(), lacks=("number",))
    done, touched = typed(monkeypatch, pair, replace(whole, runs=(*whole.runs, older)), "--yes", a=whole)
    assert (done.exit_code, touched) == (3, []), done.output
    assert "the journal of spark-b is damaged: R0/run.json" in done.output


def test_a_dry_undo_does_nothing_and_needs_no_answer(monkeypatch: pytest.MonkeyPatch, pair: str) -> None:
    done, touched = typed(monkeypatch, pair, SETTLED, "--dry")
    assert (done.exit_code, touched) == (0, [])
    assert "release  hold of nvidia-driver-580-open" in done.output


def test_what_is_the_same_on_both_halves_stands_once(monkeypatch: pytest.MonkeyPatch, pair: str) -> None:
    """A deploy's 25 lines stood twice, so that the plan did not fit on a screen."""
    done, _ = typed(monkeypatch, pair, replace(SETTLED, now=SETTLED.now + 1), "--dry")
    clocks, plan = done.output.splitlines()[:2], done.output.splitlines()[2]
    assert all("the clock is" in line for line in clocks), "of each host, for the test's is years behind"
    assert plan.startswith("spark-a and spark-b: R1 by ann@laptop, ")
    for said in ("release  hold of", "remove   /etc/nccl.conf", "stays    nvidia", "for: pyinfra"):
        assert done.output.count(said) == 1, said
    assert "alone" not in done.output


def test_what_differs_stands_under_its_own_half(monkeypatch: pytest.MonkeyPatch, pair: str) -> None:
    more = {**FIRST, PIN: "644 p"}
    done, _ = typed(monkeypatch, pair, host(run(1, NOTHING, more), now=more), "--dry")
    both, own = done.output.split("spark-b alone:\n")
    assert "remove   /etc/nccl.conf" in both and "preferences" not in both
    assert own == "  remove  /etc/apt/preferences.d/00-sparkrig.pref\n"


def test_halves_of_which_one_did_nothing_are_told_apart(monkeypatch: pytest.MonkeyPatch, pair: str) -> None:
    limited = run(1, NOTHING, FIRST, hosts=("spark-a",))
    done, _ = typed(monkeypatch, pair, host(now={}), "--dry", a=host(limited, now=FIRST))
    assert "spark-a: R1 by ann@laptop, " in done.output and "spark-b: R1 did nothing here" in done.output


def test_a_run_that_is_not_there_is_an_error_of_the_input(monkeypatch: pytest.MonkeyPatch, pair: str) -> None:
    done, touched = typed(monkeypatch, pair, SETTLED, "R9", "--yes")
    assert (done.exit_code, touched) == (1, [])
    assert "no run R9 is kept on spark-a or spark-b" in done.output


# the scripts


def test_files_go_back_with_their_mode_and_what_was_absent_goes(tmp_path: Path) -> None:
    kept, etc = tmp_path / "kept", tmp_path / "etc/sparkrig"
    file, made = tmp_path / "etc/nccl.conf", etc / "container.env"
    etc.mkdir(parents=True)
    file.write_text("ours\n")
    made.write_text("ours\n")
    before = Path(f"{kept}{file}")
    before.parent.mkdir(parents=True)
    before.write_text("theirs\n")
    before.chmod(0o640)
    tool(tmp_path / "bin", "sync", f'cat "$1" {file} >>{tmp_path}/synced 2>/dev/null; :')
    for _ in range(2):  # one that broke off is done again
        rows = f"put {file}\nremove {made}\nremove /no/such/folder/file\n"
        well(sh(undo.RESTORE, str(kept), stdin=rows, path=tmp_path / "bin"))
        assert file.read_text() == "theirs\n" and file.stat().st_mode & 0o777 == 0o640
        assert [each.name for each in file.parent.iterdir()] == ["nccl.conf"], "our empty folder goes too"
    assert (tmp_path / "synced").read_text().startswith("theirs\nours\n"), "on the disk before it takes the place"


def test_holds_go_and_come(tmp_path: Path) -> None:
    tool(tmp_path / "bin", "apt-mark", f'echo "$@" >>{tmp_path}/said')
    assert sh(undo.HOLDS, "a", "b", "--", "c", path=tmp_path / "bin").returncode == 0
    assert (tmp_path / "said").read_text().splitlines() == ["unhold a b", "hold c"]


@pytest.mark.parametrize(
    ("running", "leave", "code"), [("", "no", 0), ("one\n", "no", 1), ("one\n", "yes", 0)], ids=str
)
def test_docker_restarts_only_with_leave(tmp_path: Path, running: str, leave: str, code: int) -> None:
    tool(tmp_path / "bin", "docker", f"printf '{running}'")
    tool(tmp_path / "bin", "systemctl", f'echo "$@" >>{tmp_path}/said')
    file = tmp_path / "daemon.json"
    file.write_text("{}")
    done = sh(undo.DOCKER, leave, str(tmp_path), path=tmp_path / "bin", stdin=f"remove {file}\n")
    assert done.returncode == code
    assert file.exists() is bool(code)
    assert (tmp_path / "said").exists() is not bool(code)


THEIRS, OURS = '{"theirs": 1}', '{"ours": 1}'
STARTS = "exit 0"
# what dockerd and systemctl do, the row, what is said, what the file is then (None: absent), and the restarts
DAEMONS: dict[str, tuple[str, str, str, str, str | None, int]] = {
    "fit": ("exit 0", STARTS, "put", "", THEIRS, 1),
    "refused": ("echo noise >&2; echo 'unable: {1}' >&2; exit 1", STARTS, "put", "unfit unable: {1}\n", OURS, 0),
    "refused without a word": (
        *("exit 1", STARTS, "put"),
        *("unfit dockerd --validate fails and does not say why\n", OURS, 0),
    ),
    "much is said": ("printf '%9999s' x >&2; exit 1", STARTS, "put", f"unfit {' ' * 400}\n", OURS, 0),
    "does not start": (
        *("exit 0", "grep -q ours $FILE || { echo 'Job failed' >&2; exit 1; }", "put"),
        *("failed Job failed\n", OURS, 2),
    ),
    "does not start without it": (
        *("exit 0", "test -e $FILE || { echo 'Job failed' >&2; exit 1; }", "remove"),
        *("failed Job failed\n", OURS, 2),
    ),
    "docker is broken": ("exit 0", "echo 'no unit' >&2; exit 5", "put", "failed no unit\n", OURS, 2),
    "goes": ("exit 1", STARTS, "remove", "", None, 1),
}


@pytest.mark.slow
def test_docker_is_never_left_with_a_file_that_it_does_not_start_with(tmp_path: Path) -> None:
    etc, kept, log = tmp_path / "etc", tmp_path / "kept", tmp_path / "restarts"
    file = etc / "daemon.json"
    etc.mkdir()
    before = Path(f"{kept}{file}")
    before.parent.mkdir(parents=True)
    before.write_text(THEIRS)
    tool(tmp_path / "bin", "docker", "")

    def row(dockerd: str, systemctl: str, verb: str, said: str, left: str | None, restarts: int) -> None:
        file.write_text(OURS)
        log.write_text("")
        tool(
            tmp_path / "bin",
            "dockerd",
            f'case "$*" in "--validate --config-file {before}") ;; *) exit 9 ;; esac\n{dockerd}',
        )
        starts = systemctl.replace("$FILE", str(file))
        tool(tmp_path / "bin", "systemctl", f'if [ "$*" = "restart docker" ]; then echo x >>{log}; {starts}\nfi')
        for _ in range(2):  # the same again comes to the same
            log.write_text("")
            done = sh(undo.DOCKER, "no", str(kept), path=tmp_path / "bin", stdin=f"{verb} {file}\n")
            assert (done.returncode, done.stdout) == (0, said), done.stderr
            assert (file.read_text() if file.exists() else None) == left
            assert log.read_text().count("x") == restarts
            assert [each.name for each in etc.iterdir()] == ["daemon.json"] * (left is not None)

    each_row(DAEMONS, row)


def test_the_gid_is_looked_up_again_only_where_there_is_a_rail(tmp_path: Path) -> None:
    rails, program = tmp_path / "rails.json", tmp_path / "refresh.py"
    program.write_text(f"import sys; open({str(tmp_path / 'said')!r}, 'w').write(sys.argv[1])")
    assert sh(programs.text("runs/undo_gids.sh"), str(rails), str(program)).returncode == 0
    assert not (tmp_path / "said").exists()
    rails.write_text('{\n  "enp1s0f0np0": "192.168.100.11/24"\n}\n')
    assert sh(programs.text("runs/undo_gids.sh"), str(rails), str(program)).returncode == 0
    assert (tmp_path / "said").read_text() == "enp1s0f0np0"
