"""T1: a pair measured in an earlier boot: what looks says so, and the deploy measures without a change."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from sparkrig.files import MEASURED
from tests.plan.conftest import (
    BEGIN,
    END,
    NOTE,
    REBOOTED,
    A,
    B,
    Deploy,
    Host,
    Run,
    converged,
    pair,
    rebooted,
    run_deploy,
    well,
)
from tests.plan.desk import Desk
from tests.plan.examined import doctor, entries, examined
from tests.plan.examined import hosts as examined_pair
from tests.plan.locks import HELD
from tests.plan.states import perftest

RAILS = ("bandwidth.enp1s0f0np0", "bandwidth.enP2p1s0f0np0")
SINCE = f"not measured since the boot of {B}"
MEASURES = "ping=$1 limit=$2"
WRITES = "while read -r folder name mode content"
TAKES, GIVES = 'take "$@" || :', 'release "$1"'  # a lock, without a run


def answering(hosts: list[Host], client: str = "") -> list[Host]:
    """The same pair with an ib_write_bw that answers."""
    table = [f"table {line}" for line in (client or perftest()).splitlines()]
    rails = [line for rail in (0, 1) for line in (f"rail {rail}", "flaps 0", *table, "table exit 0", "flaps 0")]
    servers = ["flaps 0 0", "server 0 18515", "flaps 1 0", "server 1 18516"]
    answers = ({MEASURES: rails}, {"life=$1 wait=$2": servers, "run=$1 why=$2": ["flaps 0 0", "flaps 1 0"]})
    return [replace(host, responses=answer) for host, answer in zip(hosts, answers, strict=True)]


def after_a_boot(client: str = "") -> list[Host]:
    """A pair in spec, of which spark-b was booted since it was measured."""
    return answering(pair(converged("a"), rebooted(converged("b"))), client)


def measured_again() -> list[Host]:
    """The same with what is kept of a measurement after that boot."""
    (before,) = re.findall(r"^boot_id=(.*)$", converged("b"), re.MULTILINE)

    def kept(text: str) -> str:
        (row,) = re.findall(rf"^{MEASURED} .* (\S+)$", text, re.MULTILINE)
        now = base64.b64decode(row).decode().replace(before, REBOOTED)
        return text.replace(row, base64.b64encode(now.encode()).decode())

    return pair(kept(converged("a")), kept(rebooted(converged("b"))))


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A deploy right after the boot."""
    return run_deploy(tmp_path_factory.mktemp("booted"), after_a_boot(), "--json", "-y")


def sent(run: Run, mark: str) -> list[str]:
    return [host for host, command in run.sent if mark in command]


def test_a_deploy_after_a_boot_measures_and_changes_nothing(deployed: Run) -> None:
    assert deployed.code == 0, deployed.stderr
    assert sent(deployed, MEASURES), "the rails are measured"
    results = json.loads(deployed.stdout)["results"]
    assert {each["name"]: each["success"] for each in results["operations"] if each["success"]} == {}
    assert (results["totals"]["success"], results["totals"]["error"]) == (0, 0)
    assert f"[{A}] {SINCE}: the rails are measured, which is no change" in deployed.stderr


def test_its_figures_are_kept_on_both_hosts_and_the_journal_gets_no_run(deployed: Run) -> None:
    assert sorted(sent(deployed, WRITES)) == ["spark-a", "spark-b"]
    assert not [mark for mark in ("before/files", END, NOTE) if sent(deployed, mark)]


def test_the_pair_is_locked_while_it_measures(deployed: Run) -> None:
    assert sorted(sent(deployed, TAKES)) == sorted(sent(deployed, GIVES)) == ["spark-a", "spark-b"]
    takes, measures, keeps, gives = (
        [at for at, (_, text) in enumerate(deployed.sent) if mark in text]
        for mark in (TAKES, MEASURES, WRITES, GIVES)
    )
    assert max(takes) < min(measures) <= max(measures) < min(keeps) < max(keeps) < min(gives)


def test_a_pair_that_another_run_holds_is_not_measured(deploy: Deploy) -> None:
    hosts = after_a_boot()
    hosts[1] = replace(hosts[1], first={BEGIN: [f"lock held {HELD}"]})
    run = deploy(hosts, "-y")
    assert run.code == 1 and "Refused: @fake/spark-b is locked by ann@laptop" in run.stderr
    assert not sent(run, MEASURES)


def test_the_run_after_it_measures_nothing(deploy: Deploy) -> None:
    run = well(deploy(measured_again(), "-y"))
    assert (len(run.commands), run.changes) == (2, [])


def test_a_plan_measures_nothing_and_says_what_would_be_measured(deploy: Deploy) -> None:
    run = well(deploy(after_a_boot(), "--json", "--dry"))
    assert set().union(*run.plan.values()) == set()
    assert len(run.commands) == 2, "one look at each host"
    assert f"{SINCE}: the rails would be measured, which is no change" in run.stderr


@pytest.mark.parametrize(
    ("client", "said"),
    [
        (perftest(gbps=0.001), "0.00 Gb/s, at least 0.01 expected"),
        (perftest(mtu=1024), "path MTU 1024, 4096 expected"),
        ("nothing of perftest's", "no result header"),
    ],
)
def test_a_rail_that_came_back_bad_fails_the_deploy(deploy: Deploy, client: str, said: str) -> None:
    run = deploy(after_a_boot(client), "-y")
    assert run.code == 1 and said in run.stderr
    assert "Traceback" not in run.stderr


def test_a_change_beside_it_makes_it_no_change(deploy: Deploy) -> None:
    """The run holds the locks by then, and measures under them."""
    hosts = after_a_boot()
    pin = "/etc/apt/preferences.d/"
    assert pin in hosts[1].seen
    hosts[1] = replace(hosts[1], seen=re.sub(rf"^{pin}\S+ .*\n", "", hosts[1].seen, flags=re.MULTILINE))
    run = well(deploy(hosts, "--json", "-y"))
    results = {each["name"]: each["success"] for each in json.loads(run.stdout)["results"]["operations"]}
    assert results["Driver | pin later branches away"] == [B]
    assert results["Bandwidth | ib_write_bw on each rail"] == [] and sent(run, MEASURES)
    assert not sent(run, TAKES), "one lock, that of the run"


def test_a_rail_without_a_record_beside_it_makes_it_a_change(deploy: Deploy) -> None:
    hosts = after_a_boot()
    hosts[0] = replace(hosts[0], seen=re.sub(rf"^{MEASURED} .*\n", "", hosts[0].seen, flags=re.MULTILINE))
    run = well(deploy(hosts, "--json", "-y"))
    results = {each["name"]: each["success"] for each in json.loads(run.stdout)["results"]["operations"]}
    assert results["Bandwidth | ib_write_bw on each rail"] == [A]


def test_a_boot_that_cannot_be_told_is_no_reason_to_measure(deploy: Deploy) -> None:
    hidden = re.sub(r"^boot_id=.*$", "boot_id=", converged("b"), flags=re.MULTILINE)
    run = deploy(pair(converged("a"), hidden), "-y")
    assert (run.code, run.changes) == (0, []), run.stderr


def test_the_probe_measures_what_is_due_and_nothing_else(deploy: Deploy) -> None:
    file = "deploys/probe.py"
    run = well(deploy(after_a_boot(), "--json", "-y", file=file))
    assert sent(run, MEASURES) and json.loads(run.stdout)["results"]["totals"]["success"] == 0
    assert list(run.plan) == ["Bandwidth | ib_write_bw on each rail", "close the run"]
    again = deploy(measured_again(), "-y", file=file)
    assert (again.code, len(again.commands)) == (0, 2)


# --- what looks


@pytest.mark.slow
def test_drift_after_a_boot_is_unknown_and_not_drift(tmp_path: Path) -> None:
    desk = Desk(tmp_path).has(after_a_boot())
    done = desk.drift()
    assert (done.code, done.said) == (3, "")
    assert done.wrong == {A: set(RAILS), B: set(RAILS)}
    for name in (A, B):
        for id in RAILS:
            row = done.row(name, id)
            expected = ("unknown", SINCE, f"pyinfra {desk.inventory} deploys/probe.py")
            assert (row["status"], row["found"], row["cure"]) == expected
    assert (done.report["counts"]["drift"], done.report["counts"]["unknown"]) == (0, 4)
    shown = desk.typed("drift")
    assert shown.code == 3 and SINCE in shown.out and "deploys/probe.py" in shown.out
    assert "boot_id" not in done.out + shown.out and REBOOTED not in done.out + shown.out
    after = desk.has(measured_again()).drift()
    assert (after.code, after.wrong) == (0, {A: set(), B: set()}), "the probe has cleared it"


def test_the_doctor_after_a_boot_does_not_call_the_pair_ready(tmp_path: Path) -> None:
    ill = entries(examined_pair(examined("a"), rebooted(examined("b"))))
    done = doctor(tmp_path, ill, "--json")
    assert (done.code, done.told) == (3, {"spark-a": set(RAILS), "spark-b": set(RAILS)})
    assert done.report["next"] == "Next: pyinfra sparks.py deploys/probe.py"
    shown = doctor(tmp_path, ill)
    assert shown.code == 3 and SINCE in " ".join(shown.stdout.split()) and "ready" not in shown.stdout


def test_status_after_a_boot_marks_the_figure(tmp_path: Path) -> None:
    done = Desk(tmp_path).has(after_a_boot()).typed("status")
    said = " ".join(done.out.split())
    assert done.code == 0 and said.count(" Gb/s ?") == 4 and SINCE in said
