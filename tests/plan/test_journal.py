"""T1: who begins a run, when, and what is noted of it."""

from __future__ import annotations

import re

import pytest

from sparkrig.files import DECLARED
from tests.plan.conftest import (
    APT,
    BEGIN,
    END,
    HOLD,
    KEEP,
    NOTE,
    WHO,
    A,
    Deploy,
    Host,
    Run,
    converged,
    pair,
    recorded,
    run_deploy,
    well,
)
from tests.plan.locks import HELD
from tests.plan.states import applied, fresh, settled

SPARKS = ["spark-a", "spark-b"]
DECLARES = " declares /"  # the words of a whole deploy's last command


def hosts_of(run: Run, mark: str) -> list[str]:
    return sorted(host for host, command in run.commands if mark in command)


@pytest.mark.parametrize("flags", [("-y",), ("--json", "--dry"), ("--json",)])
def test_where_nothing_changes_nothing_is_locked_or_written(deploy: Deploy, flags: tuple[str, ...]) -> None:
    run = well(deploy(settled(), *flags))
    assert not [mark for mark in (APT, BEGIN, END, NOTE, HOLD, WHO) if hosts_of(run, mark)]


@pytest.mark.parametrize("file", ["deploys/cluster.py", "deploys/driver.py"])
def test_what_apt_simulates_is_left_where_the_look_found_none(deploy: Deploy, file: str) -> None:
    """After `apt update`, say: one exec, and no run. A dry one writes nothing."""
    hosts = pair(*(converged(each).replace("simulated 0\nkept\n", "simulated 0\n") for each in "ab"))
    run = well(deploy(hosts, "-y", file=file))
    assert hosts_of(run, KEEP) == SPARKS and len(run.sent) == 4, "one look each, and that"
    assert not hosts_of(deploy(hosts, "--json", "--dry", file=file), KEEP)
    assert not hosts_of(deploy(settled(), "-y", file=file), KEEP)


def test_a_run_leaves_it_in_the_exec_that_ends_it(first: Run) -> None:
    assert hosts_of(first, KEEP) == SPARKS
    assert not [text for _, text in first.sent if KEEP in text and END not in text]


def test_a_dry_run_writes_nothing(deploy: Deploy) -> None:
    run = deploy(fresh(), "--json", "--dry")
    looks = [host for host, command in sorted(run.sent) if "SPARKRIG_PROBE" not in command]
    assert looks == SPARKS and len(run.sent) == 4, "one look each, and one probe of who hears whom"


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return well(run_deploy(tmp_path_factory.mktemp("first"), applied(), "-y"))


def test_a_run_begins_before_its_first_change_and_ends_after_its_last(first: Run) -> None:
    assert hosts_of(first, BEGIN) == hosts_of(first, END) == SPARKS
    mine = [command for host, command in first.sent if host == "spark-b"]
    at = {mark: next(n for n, command in enumerate(mine) if mark in command) for mark in (APT, BEGIN, END)}
    changes = [n for n, command in enumerate(mine) if command.startswith("steps=")]
    assert at[APT] < at[BEGIN] < changes[0] and changes[-1] < at[END] == len(mine) - 1


def test_one_run_has_one_name_on_both_hosts(first: Run) -> None:
    ids = {word for _, text in first.sent if BEGIN in text for word in text.split() if lock_like(word)}
    assert len(ids) == 1


def test_a_run_notes_all_of_its_hosts_on_each(first: Run) -> None:
    begun = [text for _, text in first.sent if BEGIN in text]
    assert len(begun) == 2
    assert all('"hosts": ["@fake/spark-a", "@fake/spark-b"]' in text for text in begun)


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
    orders = [text for _, text in first.sent if "/order.json" in text]
    assert len(orders) == 2
    assert all('"step": "Network | profiles and live links"' in text for text in orders)


def test_a_measurement_is_a_step_of_both_hosts(first: Run) -> None:
    sent = [command for host, command in first.sent if NOTE in command and host == "spark-b"]
    words = [command.split(" sparkrig ")[-1].splitlines()[0] for command in sent]
    assert [word.partition(" ")[2] for word in words] == [
        "begun 'Bandwidth | ib_write_bw on each rail'",
        "'ended 0' 'Bandwidth | ib_write_bw on each rail'",
    ]


def broke_off(half: str) -> list[Host]:
    """A settled pair; on one half the last run has no end."""
    return pair(*(converged(each).replace("clock ", "open\nclock ", each == half) for each in "ab"))


@pytest.mark.parametrize("half", ["a", "b"])
def test_a_run_that_broke_off_at_its_end_is_ended_by_the_next(deploy: Deploy, half: str) -> None:
    """All was changed before, and nothing is left to do but to keep what stands, and what was declared."""
    run = well(deploy(broke_off(half), "-y"))
    assert hosts_of(run, BEGIN) == hosts_of(run, END) == SPARKS
    assert not run.changes
    ends = [text for _, text in run.sent if END in text]
    assert all(DECLARES in text for text in ends)


def test_a_plan_names_a_run_that_broke_off(deploy: Deploy) -> None:
    run = deploy(broke_off("a"), "--json", "--dry")
    changed = {name: hosts for name, hosts in run.plan.items() if hosts}
    assert changed.keys() == {"close the run"} and "@fake/spark-a" in changed["close the run"]
    assert not [mark for mark in (APT, BEGIN, END, NOTE, HOLD, WHO) if hosts_of(run, mark)]


@pytest.mark.parametrize("becomes", ["", r"\1 e30K\n"])
def test_what_was_declared_is_kept_where_nothing_else_is_due(deploy: Deploy, becomes: str) -> None:
    """A pair whose parts were deployed one by one, each by its own file; or whose record cannot be read."""
    hosts = pair(*(re.sub(rf"(?m)^({DECLARED} .*) \S+\n", becomes, converged(each)) for each in "ab"))
    run = well(deploy(hosts, "-y"))
    assert hosts_of(run, BEGIN) == hosts_of(run, END) == SPARKS
    assert not run.changes
    assert not deploy(hosts, "-y", file="deploys/driver.py").changes


def test_a_part_ends_a_run_that_broke_off_and_declares_nothing(deploy: Deploy) -> None:
    run = well(deploy(broke_off("b"), "-y", file="deploys/driver.py"))
    assert hosts_of(run, BEGIN) == hosts_of(run, END) == SPARKS
    assert not [text for _, text in run.sent if END in text and DECLARES in text]


def test_one_half_with_changes_locks_both(deploy: Deploy) -> None:
    without = "".join(row for row in converged("b").splitlines(True) if not row.startswith("/etc/nccl.conf "))
    run = well(deploy(pair(converged("a"), without), "-y", file="deploys/environment.py"))
    assert hosts_of(run, BEGIN) == hosts_of(run, END) == SPARKS
    assert {host for host, _ in run.steps} == {"spark-b"}


def test_a_single_noun_is_a_run_too(deploy: Deploy) -> None:
    run = well(deploy(applied(), "-y", file="deploys/driver.py"))
    assert hosts_of(run, BEGIN) == hosts_of(run, END) == SPARKS


def test_a_locked_half_stops_both_before_anything_is_changed(deploy: Deploy) -> None:
    hosts = applied()
    hosts[1].first = {BEGIN: ["step 1795230000 begun Network | links", f"lock held {HELD}"]}
    run = deploy(hosts, "-y")
    assert run.code == 1
    said = [line for line in run.stderr.splitlines() if "Refused: " in line]
    assert len(said) == 2, "once for each host"
    for line in said:
        assert "@fake/spark-b is locked by ann@laptop (from 10.0.2.2) since 2026-11-21" in line
        assert "now at Network | links" in line and line.endswith("/sparks.py"), "the file that was typed"
    assert run.steps == []
    assert hosts_of(run, 'release "$1"') == ["spark-a"], "the host that was free is given back"
    assert hosts_of(run, BEGIN) == ["spark-a", "spark-b"], "asked once: nothing here says that its run is dead"


def test_a_lock_is_taken_with_a_process_that_keeps_it(first: Run) -> None:
    """One on each host, started beside the exec that takes the lock, and so at no cost of time."""
    assert hosts_of(first, HOLD) == hosts_of(first, WHO) == SPARKS
    (id,) = {word for _, text in first.sent if HOLD in text for word in text.split() if lock_like(word)}
    assert all(id in text for _, text in first.sent if BEGIN in text)


def identified(a: str, b: str) -> list[Host]:
    """A pair that was never deployed; who its hosts say that they are."""
    hosts = applied()
    for host, identity in zip(hosts, (a, b), strict=True):
        host.first = {WHO: [identity]}
    return hosts


def test_a_pair_is_locked_in_the_order_of_its_hardware(deploy: Deploy) -> None:
    """Whatever the inventory begins with: else of two deploys at the same moment each could take one host."""
    for identities, order in {("f0", "0f"): SPARKS[::-1], ("0f", "f0"): SPARKS, ("f0", "f0"): SPARKS}.items():
        run = well(deploy(identified(*identities), "-y", file="deploys/driver.py"))
        assert [host for host, text in run.sent if BEGIN in text] == order


def test_whoever_loses_the_first_half_asks_nothing_of_the_second(deploy: Deploy) -> None:
    hosts = identified("f0", "0f")
    hosts[1].first = {**hosts[1].first, BEGIN: [f"lock held {HELD}"]}
    run = deploy(hosts, "-y")
    assert run.code == 1
    assert hosts_of(run, BEGIN) == hosts_of(run, HOLD) == ["spark-b"]
    assert hosts_of(run, 'release "$1"') == [] and run.steps == []
    assert "@fake/spark-b is locked by ann@laptop (from 10.0.2.2) since 2026-11-21" in run.stderr


def test_a_lock_whose_holder_cannot_be_told_is_refused_with_what_frees_it(deploy: Deploy) -> None:
    hosts = applied()
    hosts[0].first = {BEGIN: ["step ", "lock unknown "]}
    run = deploy(hosts, "-y")
    assert run.code == 1 and run.steps == []
    assert "@fake/spark-a is locked by an unknown holder (the owner.json in /run/sparkrig/lock" in run.stderr
    assert "cannot be told" in run.stderr and "sparkrig unlock" in run.stderr


def test_a_host_that_does_not_say_who_it_is_is_left_alone_with_its_peer(deploy: Deploy) -> None:
    hosts = applied()
    hosts[0].first = {WHO: {"success": False, "stderr": "sha256sum: not found"}}
    run = deploy(hosts, "-y")
    assert run.code == 1 and "spark-a cannot be locked: sha256sum: not found" in run.stderr
    assert hosts_of(run, BEGIN) == [] and run.steps == []


def test_a_lock_is_held_where_this_machine_cannot_tell_whether_its_run_is_dead(deploy: Deploy) -> None:
    hosts = applied()
    hosts[1].first = {BEGIN: [f"lock held {HELD}"]}
    run = deploy(hosts, "-y", state="/" + 300 * "x")
    assert run.code == 1 and "Traceback" not in run.stderr
    assert "@fake/spark-b is locked by ann@laptop" in run.stderr and run.steps == []


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
    run = well(deploy(hosts, "-y", file="deploys/driver.py"))
    assert f"[{A}] took over the lock of ann@laptop (from 10.0.2.2)" in run.stderr


def test_a_failed_step_keeps_its_exit_code_and_leaves_the_run_open(deploy: Deploy) -> None:
    hosts = applied()
    hosts[1].responses = {"apt-mark hold": {"success": False, "stderr": "E: dpkg was interrupted"}}
    run = deploy(hosts, "-y")
    assert run.code == 1
    assert hosts_of(run, END) == []
