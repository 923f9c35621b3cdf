"""T1: an owner's deploys/mine.py at the end of the whole deploy: planned, noted, locked, named where it fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plan.conftest import BEGIN, NOTE, Deploy, Host, well
from tests.plan.desk import ROOT, Desk
from tests.plan.states import settled

ASKED = "echo asked"
MINE = f"""
from pyinfra import host
from pyinfra.facts.server import Command
from pyinfra.operations import server

if host.get_fact(Command, command="{ASKED}") != "done":
    server.shell(name="Install the tunnel", commands=["echo first", "echo second"], _sudo_user="nvidia")
"""
STEP = "Own steps | Install the tunnel"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder that is one, beside the inventory that a desk, or a run of a deploy, writes there."""
    deploys = tmp_path / "deploys"
    deploys.mkdir()
    (deploys / "cluster.py").write_text('from sparkrig.deploys import run\n\nrun("cluster")\n')
    (deploys / "mine.py").write_text(MINE)
    return deploys


def hosts(**responses: object) -> list[Host]:
    found = settled()
    for each in found:
        each.first = {**each.first, **responses}
    return found


def test_its_steps_end_the_run_under_its_lock_and_stand_in_its_journal(deploy: Deploy, project: Path) -> None:
    run = well(deploy(hosts(), "-y", file=str(project / "cluster.py")))
    sent = [text for host, text in run.sent if host == "spark-a"]
    begun, first, second, ended = (
        next(number for number, text in enumerate(sent) if all(word in text for word in words))
        for words in ((NOTE, "begun", STEP), ("echo first",), ("echo second",), (NOTE, "ended 0", STEP))
    )
    assert begun < first < second < ended
    (locked,) = (number for number, text in enumerate(sent) if BEGIN in text)
    assert locked < begun
    assert not [text for text in sent if "echo first" in text and "steps=" in text], "another user cannot write it"


def test_pyinfra_s_own_plan_has_them_and_a_second_run_is_empty(deploy: Deploy, project: Path) -> None:
    file = str(project / "cluster.py")
    assert deploy(hosts(), "--json", "--dry", file=file).plan[STEP] == {"@fake/spark-a", "@fake/spark-b"}
    again = deploy(hosts(**{ASKED: ["done"]}), "-y", file=file)
    assert again.code == 0 and not [text for _, text in again.sent if "echo first" in text or BEGIN in text]


def test_one_that_fails_is_named_and_noted_and_its_peer_stops(deploy: Deploy, project: Path) -> None:
    failing = hosts()
    failing[0].first = {"echo second": {"success": False, "stderr": "no route"}}
    run = deploy(failing, "-y", file=str(project / "cluster.py"))
    assert run.code == 1
    ends = [(host, text) for host, text in run.sent if NOTE in text and STEP in text and "ended 1" in text]
    assert [host for host, _ in ends] == ["spark-a"], ends
    assert STEP in run.stderr


def test_a_file_that_cannot_be_executed_stops_the_run_before_its_first_change(
    deploy: Deploy, project: Path
) -> None:
    (project / "mine.py").write_text("x = 1\ny = z\n")
    run = deploy(hosts(), "-y", file=str(project / "cluster.py"))
    assert run.code == 1 and "Traceback" not in run.stderr
    assert f"line 2 of {project / 'mine.py'}: NameError: name 'z' is not defined" in " ".join(run.stderr.split())
    assert not [text for _, text in run.sent if BEGIN in text]


def test_plan_and_drift_name_what_they_would_do(desk: Desk, project: Path) -> None:
    desk.has(hosts())
    planned = desk.typed("plan", "--json")
    assert planned.code == 2
    assert [step["name"] for host in planned.report["hosts"] for step in host["steps"]] == [STEP, STEP]
    drifted = desk.drift()
    assert drifted.code == 2 and drifted.row("@fake/spark-a", "deploy.plan")["found"] == f"it would change: {STEP}"
    desk.has(hosts(**{ASKED: ["done"]}))
    assert (desk.typed("plan").code, desk.drift().code) == (0, 0)


def test_the_example_of_the_page_is_planned_as_it_stands(desk: Desk, project: Path) -> None:
    page = (ROOT / "docs/own-steps.md").read_text(encoding="utf-8")
    (project / "mine.py").write_text(page.partition("```python\n")[2].partition("```")[0])
    (project / "tailscale.gpg").write_text("a key")
    desk.has(hosts(**{"tailscale status": ["down"]}))
    first, *_ = desk.typed("plan", "--json").report["hosts"]
    assert [step["name"].removeprefix("Own steps | ") for step in first["steps"]] == [
        "User for backups",
        *(
            f"Tailscale | {what}"
            for what in ("key of its repository", "repository", "package lists", "package", "join")
        ),
    ]
    waiting = 'from pyinfra.operations import server\nserver.shell(name="x", commands=["y"], _if=lambda: False)\n'
    (project / "mine.py").write_text(waiting)
    assert desk.typed("plan").code == 0, "one that waits for another is not due alone"


def test_plan_and_drift_say_why_they_cannot_be_asked(desk: Desk, project: Path) -> None:
    (project / "mine.py").write_text("y = z\n")
    desk.has(hosts())
    planned = desk.typed("plan", "--json")
    assert planned.code == 2 and "NameError" in planned.report["hosts"][0]["refusals"][0]["what"]
    assert "NameError" in desk.drift().row("@fake/spark-a", "deploy.refused")["found"]
