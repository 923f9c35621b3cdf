"""How a run ended, what the screen says of it, and the exit code."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from click import unstyle
from click.testing import CliRunner
from rich.console import Console

import sparkrig.ssh as package
from sparkrig.cli import status
from sparkrig.cli.unlock import unlock
from sparkrig.files import DECLARED
from sparkrig.host.armed import Armed
from sparkrig.operations import journal as operations
from sparkrig.runs import journal_look, undo
from sparkrig.runs.journal import Journal, Run
from sparkrig.runs.lock import Lock, Owner
from sparkrig.runs.render import journal as picture
from sparkrig.ssh.remote import Lost
from sparkrig.status.render import status as screen
from sparkrig.value import Unread
from tests import warm
from tests.unit.statuses import (
    AFTER,
    BAD,
    BEFORE,
    BROKEN,
    DIFFERING,
    DONE,
    GOOD,
    ID,
    INVENTORY,
    NETWORK,
    NOW,
    OWNER,
    PIN,
    STATE,
    WHY,
    looked,
    shown,
)


def test_what_a_run_changed_in_words() -> None:
    found = Journal(NOW, None, (DONE,), AFTER)
    assert picture.changed(DONE, found) == "/etc/nccl.conf, 2 holds, 1 package and the network"
    many = replace(DONE, after={f"file /etc/{number}": "x" for number in range(3)}, guard="", before={})
    assert picture.changed(many, Journal(NOW, None, (many,), AFTER)) == "3 files"
    assert picture.changed(replace(DONE, after=BEFORE, guard=""), found) == "nothing"
    for guard in ("armed ", "applied by x"):
        killed = replace(DONE, after=BEFORE, guard=guard)
        assert picture.changed(killed, found) == "the network, not confirmed"


def test_what_holds_and_awaits_a_host() -> None:
    runs = (replace(BROKEN, guard="armed"),)
    armed = (Armed(BROKEN.id, 62, False), Armed("ANOTHER", 0, True))
    said = picture.standing(Journal(NOW, Lock(OWNER, alive=False), runs, {}, armed=armed))
    assert said == [
        "left locked by ann@laptop (from 10.0.2.2) since 2026-11-21 03:00:00 UTC for: pyinfra inventories/pair.py "
        "deploys/cluster.py; that run is dead, and the next one takes the lock over",
        f"run {BROKEN.id} broke off in the middle of its network change, which goes back in 62 s",
        "run ANOTHER changes the network, which goes back now unless that run confirms it",
    ]


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (-3, "0 s ago"),
        (119, "119 s ago"),
        (121, "2 min ago"),
        (7300, "2 h ago"),
        (172800, "2 days ago"),
        (9 * 365 * 86400, "3285 days ago"),
        (20779 * 86400, "at an unknown time"),  # a run.json with no time in it, or a clock that was not set
    ],
)
def test_how_long_ago(seconds: int, said: str) -> None:
    assert picture.ago(seconds) == said


def test_the_screen_fits_80_columns() -> None:
    console = Console(width=80, file=io.StringIO(), force_terminal=False, record=True)
    found = Journal(NOW, None, (BROKEN, DONE), AFTER)
    console.print(screen.host("spark-a", DIFFERING, found, 5, ascii_only=False))
    text = console.export_text()
    assert max(map(len, text.splitlines())) <= 80
    for word in (ID, BROKEN.id, "ann@laptop", "✗", "✓", "done, 2 steps; changed /etc/nccl.conf, 2 holds"):
        assert word in text


@pytest.fixture
def inventory(tmp_path: Path) -> str:
    file = tmp_path / "sparks.py"
    file.write_text(INVENTORY)
    return str(file)


def test_a_terminal_shows_one_host_below_the_other(monkeypatch: pytest.MonkeyPatch, inventory: str) -> None:
    monkeypatch.setattr(status, "_look", lambda fleet, *_: (fleet, looked({"spark-a": GOOD, "spark-b": GOOD})))
    done = CliRunner(env={"FORCE_COLOR": "1", "TERM": "dumb", "COLUMNS": "80"}).invoke(status.status, [inventory])
    said = [unstyle(line).rstrip() for line in done.output.splitlines()]
    assert said[0] == "spark-a"
    assert said[said.index("spark-b") - 1] == ""


LOST = journal_look.parse([f"now {NOW}", f"current file {DECLARED} 600 root:root c"])


def test_a_journal_that_is_gone_is_named_with_what_begins_a_new_one(
    monkeypatch: pytest.MonkeyPatch, inventory: str
) -> None:
    done = shown(monkeypatch, inventory, {"spark-a": LOST, "spark-b": GOOD})
    said = "spark-a: the journal of the runs on this host is gone, so that none of them can be undone"
    assert said in done.stdout and "no run is kept" not in done.stdout
    assert re.search(r"spark-a: pyinfra \S+ \S*deploys/cluster\.py", done.stdout)
    both = replace(DONE, owner=replace(OWNER, hosts=("spark-a", "spark-b")))
    told = shown(monkeypatch, inventory, {"spark-a": Journal(NOW), "spark-b": Journal(NOW, None, (both,), AFTER)})
    assert said in told.stdout and told.exit_code == 2, "the other host has a run of both"


@pytest.mark.parametrize(
    ("found", "code"),
    [
        ({"spark-a": GOOD, "spark-b": GOOD}, 0),
        ({"spark-a": Journal(NOW), "spark-b": GOOD}, 0),
        ({"spark-a": BAD, "spark-b": GOOD}, 2),
        ({"spark-a": LOST, "spark-b": GOOD}, 2),
        ({"spark-a": replace(GOOD, armed=(Armed(BROKEN.id, 62, False),)), "spark-b": GOOD}, 2),
        ({"spark-a": BAD, "spark-b": Lost("no route")}, 3),
    ],
    ids=["settled", "never touched", "broke off", "journal gone", "armed", "unreachable"],
)
def test_the_worst_host_is_the_exit_code(
    monkeypatch: pytest.MonkeyPatch, inventory: str, found: Mapping[str, Journal | Lost], code: int
) -> None:
    assert shown(monkeypatch, inventory, found).exit_code == code
    assert shown(monkeypatch, inventory, found, "--json").exit_code == code


def test_a_pipe_gets_a_line_for_each_run_and_the_command_that_goes_on(
    monkeypatch: pytest.MonkeyPatch, inventory: str
) -> None:
    done = shown(monkeypatch, inventory, {"spark-a": BAD, "spark-b": Lost("no route")})
    assert done.stderr == f"Try: sparkrig doctor {inventory} access\n"
    lines = done.stdout.splitlines()[len([*screen.rows(STATE)]) :]
    changed = "changed: /etc/nccl.conf, 2 holds, 1 package and the network"
    assert lines == [
        f"spark-a: {BROKEN.id} by ann@laptop for: {WHY}: interrupted after step 2 ({NETWORK.name}); {changed}",
        f"spark-a: {ID} by ann@laptop for: {WHY}: done, 2 steps; {changed}",
        f"spark-a: this does what is missing: pyinfra {inventory} deploys/cluster.py",
        "spark-b: not read: no route",
    ]


def test_a_pipe_gets_a_line_for_each_figure_and_difference(
    monkeypatch: pytest.MonkeyPatch, inventory: str
) -> None:
    done = shown(monkeypatch, inventory, {"spark-a": GOOD}, state=DIFFERING)
    rail = "enp1s0f0np0: 192.168.100.11/24, MTU 9000, rocep1s0f0, GID 1, 109.50 Gb/s"
    assert done.exit_code == 0
    assert [line for line in done.stdout.splitlines() if ID not in line] == [
        "spark-a: machine: NVIDIA DGX Spark Founders Edition",
        "spark-a: system: DGX OS 7.5.0, kernel 6.17.0-1014-nvidia",
        "spark-a: driver: 580.173.02, 43 packages held",
        "spark-a: containers: toolkit 1.19.0-1, nvidia runtime in docker",
        "spark-a: environment: NCCL_IB_GID_INDEX=1",
        f"spark-a: rail: {rail}",
        "spark-a: differs: net.enp1s0f0np0.mtu: 1500 (declared: 9000)",
        f"spark-a: each difference with what mends it: sparkrig drift {inventory}",
    ]


def test_a_host_of_which_only_the_journal_can_be_read_shows_it(
    monkeypatch: pytest.MonkeyPatch, inventory: str
) -> None:
    done = shown(monkeypatch, inventory, {"spark-a": BAD}, state=Unread("trust: cannot be understood"))
    assert done.exit_code == 3 and done.stderr == f"Try: sparkrig doctor {inventory} access\n"
    assert "spark-a: state: not read: trust: cannot be understood" in done.stdout
    assert f"spark-a: this does what is missing: pyinfra {inventory} deploys/cluster.py" in done.stdout


def test_a_pipe_with_a_width_gets_no_longer_line(monkeypatch: pytest.MonkeyPatch, inventory: str) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    said = shown(monkeypatch, inventory, {"spark-a": replace(GOOD, runs=(DONE, DONE))}).stdout
    assert max(map(len, said.splitlines())) <= 60 and ID in said


def test_json_has_everything(monkeypatch: pytest.MonkeyPatch, inventory: str) -> None:
    found: dict[str, Journal | Lost] = {
        "spark-a": replace(GOOD, lock=Lock(OWNER, alive=True)),
        "spark-b": Lost("no route"),
    }
    document = json.loads(shown(monkeypatch, inventory, found, "--json").stdout)
    assert document["schema"] == "sparkrig.status/2"
    assert document["hosts"]["spark-b"] == {"unread": "no route"}
    a = document["hosts"]["spark-a"]
    assert a["lock"]["alive"] is True and a["lock"]["who"] == "ann@laptop"
    assert (a["runs"][0]["run"], a["runs"][0]["outcome"], a["runs"][0]["network"]) == (ID, "done", True)
    assert {each["item"] for each in a["runs"][0]["changed"]} == {*AFTER}


def test_a_run_that_cannot_be_understood_is_named_and_hides_no_other(
    monkeypatch: pytest.MonkeyPatch, inventory: str
) -> None:
    bad = Run("20261121T041500Z-cd34", Owner(), before=BEFORE)
    found: dict[str, Journal | Lost] = {"spark-a": replace(GOOD, runs=(*GOOD.runs, bad))}
    done = shown(monkeypatch, inventory, found)
    rows = done.stdout.splitlines()[len([*screen.rows(STATE)]) :]
    said = f"run {bad.id} is left out: /var/lib/sparkrig/runs/{bad.id}/run.json is gone or cannot be understood"
    assert (done.exit_code, rows[0]) == (0, f"spark-a: {said}")
    assert ID in rows[1] and not [row for row in rows[1:] if bad.id in row]
    a = json.loads(shown(monkeypatch, inventory, found, "--json").stdout)["hosts"]["spark-a"]
    assert (a["left_out"], [each["run"] for each in a["runs"]]) == ([bad.id], [ID])


@pytest.mark.parametrize("since", [0, 100], ids=["no time", "a clock that was not set"])
def test_a_run_without_a_time_is_not_decades_ago(
    monkeypatch: pytest.MonkeyPatch, inventory: str, since: int
) -> None:
    timeless = replace(GOOD.runs[0], owner=replace(GOOD.runs[0].owner, since=since))
    done = shown(monkeypatch, inventory, {"spark-a": replace(GOOD, runs=(timeless,))})
    assert "days ago" not in done.stdout and "days ago" not in drawn(timeless)
    assert "at an unknown time, by ann@laptop" in drawn(timeless)


def drawn(run: Run) -> str:
    console = Console(width=80, file=io.StringIO(), record=True)
    console.print(picture.newest(replace(GOOD, runs=(run,)), 5))
    return console.export_text()


def test_a_lock_is_told_by_its_run_where_its_owner_is_garbled() -> None:
    alive_said = {True: "still there", False: "that run is dead", None: "still there cannot be told"}
    for alive, said in alive_said.items():
        (row,) = picture.standing(Journal(NOW, Lock(Owner(), alive, run=ID), (), {}))
        assert f"locked by an unknown holder (the owner.json of run {ID} in /run/sparkrig/lock is" in row
        assert row.startswith("left locked" if alive is False else "locked")
        assert said in row


def test_a_lock_whose_files_are_garbled_is_shown_and_taken_away_as_it_was_seen(
    monkeypatch: pytest.MonkeyPatch, inventory: str
) -> None:
    bad = Run("20261121T041500Z-cd34", Owner())
    garbled = Journal(NOW, Lock(Owner(), None, id="12.34"), (*GOOD.runs, bad), AFTER)
    taken: list[Mapping[str, str]] = []

    def unlocks(_hosts: object, locks: Mapping[str, str]) -> dict[str, str]:
        taken.append(locks)
        return dict.fromkeys(locks, "")

    session = SimpleNamespace(
        connected=lambda data: nullcontext(dict.fromkeys(data)),
        ask=lambda *_: {"spark-a": garbled, "spark-b": GOOD},
    )
    monkeypatch.setattr(package, "session", session, raising=False)
    monkeypatch.setattr(operations, "unlock", unlocks)
    done = CliRunner().invoke(unlock, [inventory, "--yes"])
    assert (done.exit_code, taken) == (0, [{"spark-a": "12.34"}]), done.output
    first, second, last = done.output.splitlines()
    assert first.startswith(
        "spark-a: locked by an unknown holder (the owner.json in /run/sparkrig/lock is empty or"
    )
    assert f"cannot be told; run {bad.id} is left out" in first
    assert (second, last) == ("spark-b: not locked", "spark-a: unlocked")


@pytest.mark.slow
@pytest.mark.parametrize(("verb", "look"), [("undo", "the same with --dry"), ("unlock", "sparkrig status ")])
def test_without_a_terminal_nobody_is_asked(inventory: str, verb: str, look: str) -> None:
    done = warm.run("sparkrig", verb, inventory)
    assert done.returncode == 1
    assert done.stderr.startswith(f"Error: there is no terminal to ask at. Try: {look}")
    assert done.stderr.endswith("with --yes\n")


def test_a_plan_says_what_becomes_of_each_item() -> None:
    edited = {**AFTER, "file /etc/nccl.conf": "644 root:root edited"}
    found = Journal(NOW, None, (DONE,), edited)
    said = dict(picture.rows(undo.plan(found, ID, everything=False)))
    assert said == {
        "network": "as it was before that run, under guard: it reverts by itself unless confirmed",
        "left alone": "/etc/nccl.conf (changed since by another one; --all takes it back too)",
        "release": "hold of one and two",
        "stays": "toolkit; to remove: sudo apt-get remove toolkit",
    }


def test_a_plan_counts_many_holds() -> None:
    many = undo.Plan(ID, tuple(undo.Change(f"hold p{number}", "release") for number in range(43)))
    assert picture.rows(many) == [("release", "hold of p0, p1, p2 and 40 more")]


def test_what_was_rolled_back_is_so_on_both_halves_and_the_advice_mends_it(
    monkeypatch: pytest.MonkeyPatch, inventory: str
) -> None:
    why = "@fake/b: no answer on rail 0 from 10.0.0.1 over cx to 9000 bytes"
    both = replace(BROKEN, owner=replace(BROKEN.owner, hosts=("spark-a", "spark-b")))
    back = replace(both, guard=f"rolled-back {why}", steps=(PIN, replace(NETWORK, ended=4, rc=1)))
    follows = replace(both, guard="", steps=(PIN,))
    found = {
        name: Journal(NOW, None, (run, DONE), AFTER) for name, run in (("spark-a", back), ("spark-b", follows))
    }
    done = shown(monkeypatch, inventory, found)
    assert done.exit_code == 4
    assert shown(monkeypatch, inventory, found, "--json").exit_code == 4
    lines = done.stdout.splitlines()
    assert f"rolled back: {why}" in next(line for line in lines if BROKEN.id in line)
    look = f"mend first what this shows: sparkrig topology {inventory}; and then: "
    look += f"pyinfra {inventory} deploys/cluster.py"
    for name in found:
        assert f"{name}: the network is as it was before; {look}" in lines
    assert [line for line in lines if line.startswith("spark-b:") and f"rolled back: with spark-a: {why}" in line]
    third = {"spark-c": Journal(NOW, None, (replace(follows, owner=OWNER),), AFTER)}
    assert "spark-c: this does what is missing" in shown(monkeypatch, inventory, found | third).stdout
    other = {"spark-a": Journal(NOW, None, (replace(back, guard="rolled-back 31 s were left"),), AFTER)}
    assert f"sparkrig doctor {inventory}" in shown(monkeypatch, inventory, other).stdout
