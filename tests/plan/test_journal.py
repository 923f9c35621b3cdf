"""T1: who begins a run, when, and what is noted of it."""

from __future__ import annotations

import json

import pytest

from sparkrig import lock
from tests.plan.conftest import APT, BEGIN, END, NOTE, A, Deploy, Host, Run, converged, pair, recorded, run_deploy
from tests.plan.test_cluster import applied, fresh, settled

SPARKS = ["spark-a", "spark-b"]
HELD = json.dumps(
    {
        "since": 1795230000,
        "boot": "b",
        "from": "10.0.2.2",
        "by": json.loads(lock.given("R", "ann@laptop", "x", "0")),
    }
)


def hosts_of(run: Run, mark: str) -> list[str]:
    return sorted(host for host, command in run.commands if mark in command)


@pytest.mark.parametrize("flags", [("-y",), ("--json", "--dry"), ("--json",)])
def test_where_nothing_changes_nothing_is_locked_or_written(deploy: Deploy, flags: tuple[str, ...]) -> None:
    run = deploy(settled(), *flags)
    assert run.code == 0, run.stderr
    assert not [mark for mark in (APT, BEGIN, END, NOTE) if hosts_of(run, mark)]


def test_a_dry_run_writes_nothing(deploy: Deploy) -> None:
    run = deploy(fresh(), "--json", "--dry")
    assert [host for host, _ in sorted(run.sent)] == SPARKS


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Run:
    run = run_deploy(tmp_path_factory.mktemp("first"), applied(), "-y")
    assert run.code == 0, run.stderr
    return run


def test_a_run_begins_before_its_first_change_and_ends_after_its_last(first: Run) -> None:
    assert hosts_of(first, BEGIN) == hosts_of(first, END) == SPARKS
    mine = [command for host, command in first.sent if host == "spark-b"]
    at = {mark: next(n for n, command in enumerate(mine) if mark in command) for mark in (APT, BEGIN, END)}
    changes = [n for n, command in enumerate(mine) if command.startswith("steps=")]
    assert at[APT] < at[BEGIN] < changes[0] and changes[-1] < at[END] == len(mine) - 1


def test_one_run_has_one_name_on_both_hosts(first: Run) -> None:
    ids = {word for _, text in first.sent if BEGIN in text for word in text.split() if lock_like(word)}
    assert len(ids) == 1


def lock_like(word: str) -> bool:
    return word[:8].isdigit() and word[8:9] == "T" and "Z-" in word


def test_every_change_is_a_step_of_the_journal_in_the_same_exec(first: Run) -> None:
    """But for the guarded change of the network and the measurement, which note their own."""
    noted = {name for _, name in first.steps}
    assert noted == {
        "Driver | pin later branches away",
        "Driver | hold the installed 580 set",
        "Containers | nvidia-container-toolkit",
        "Containers | docker'\"'\"'s nvidia runtime",
        "Environment | NCCL, vLLM and Ray files",
    }
    loud = ("apt-get -q", "apt-mark hold", "systemctl restart")
    bare = [command for _, command in first.sent if command.startswith("timeout")]
    assert not [command for command in bare if any(word in command for word in loud)]


def test_the_guarded_change_is_a_step_that_each_host_notes_itself(first: Run) -> None:
    orders = [text for _, text in first.sent if "guard/order.json" in text]
    assert len(orders) == 2
    assert all('"step": "Network | profiles and live links"' in text for text in orders)


def test_a_measurement_is_a_step_of_both_hosts(first: Run) -> None:
    sent = [command for host, command in first.sent if NOTE in command and host == "spark-b"]
    words = [command.split(" sparkrig ")[-1].splitlines()[0] for command in sent]
    assert [word.partition(" ")[2] for word in words] == [
        "begun 'Bandwidth | ib_write_bw on each rail'",
        "'ended 0' 'Bandwidth | ib_write_bw on each rail'",
    ]


def test_one_half_with_changes_locks_both(deploy: Deploy) -> None:
    without = "".join(row for row in converged("b").splitlines(True) if not row.startswith("/etc/nccl.conf "))
    run = deploy(pair(converged("a"), without), "-y", file="deploys/environment.py")
    assert run.code == 0, run.stderr
    assert hosts_of(run, BEGIN) == hosts_of(run, END) == SPARKS
    assert {host for host, _ in run.steps} == {"spark-b"}


def test_a_single_noun_is_a_run_too(deploy: Deploy) -> None:
    run = deploy(applied(), "-y", file="deploys/driver.py")
    assert run.code == 0, run.stderr
    assert hosts_of(run, BEGIN) == hosts_of(run, END) == SPARKS


def test_a_locked_half_stops_both_before_anything_is_changed(deploy: Deploy) -> None:
    hosts = applied()
    hosts[1].first = {BEGIN: ["step 1795230000 begun Network | links", f"lock held {HELD}"]}
    run = deploy(hosts, "-y")
    assert run.code == 1
    said = [line for line in run.stderr.splitlines() if "Refused: " in line]
    assert len(said) == 2, "once for each half"
    for line in said:
        assert "@fake/spark-b is locked by ann@laptop (from 10.0.2.2) since 2026-11-21" in line
        assert "now at Network | links" in line and "sparkrig unlock" in line
    assert run.steps == []
    assert hosts_of(run, 'release "$1"') == ["spark-a"], "the half that was free is given back"


def test_another_pair_goes_on_where_one_is_locked(deploy: Deploy) -> None:
    hosts = fresh()
    hosts[0].first = {BEGIN: [f"lock held {HELD}"]}
    run = deploy(
        [*hosts, Host("@fake/spark-c", recorded("fresh-a"))], "-y", together=False, file="deploys/environment.py"
    )
    assert {host for host, _ in run.steps} == {"spark-c"}


def test_a_stale_lock_is_taken_over_and_that_is_said(deploy: Deploy) -> None:
    hosts = applied()
    hosts[0].first = {BEGIN: [f"lock stale {HELD}"]}
    run = deploy(hosts, "-y", file="deploys/driver.py")
    assert run.code == 0, run.stderr
    assert f"[{A}] took over the lock of ann@laptop (from 10.0.2.2)" in run.stderr


def test_a_failed_step_keeps_its_exit_code_and_leaves_the_run_open(deploy: Deploy) -> None:
    hosts = applied()
    hosts[1].responses = {"apt-mark hold": {"success": False, "stderr": "E: dpkg was interrupted"}}
    run = deploy(hosts, "-y")
    assert run.code == 1
    assert hosts_of(run, END) == []
