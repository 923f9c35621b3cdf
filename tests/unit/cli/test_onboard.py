"""`sparkrig onboard` whole, against Sparks out of the box; pyinfra's part in it is played by what it once left."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import sparkrig.ssh as package
from sparkrig import inventory
from sparkrig.operations import applying
from sparkrig.runs.journal import Journal, Run
from sparkrig.ssh.remote import Lost
from tests.plan.recordings import UNITS, fresh
from tests.schemas import complaints
from tests.tables import each_row
from tests.unit import statuses
from tests.unit.desks import SUDOERS, Desk, Terminal, finished
from tests.unit.factory import CUT, PASSWORD, ROOT, Spark, look
from tests.unit.shells import tool, well
from tests.unit.sshd import fingerprint, free_port, keygen


def assert_a_pair(desk: Desk) -> None:
    fleet, data = inventory.fleet(desk.file)
    assert list(fleet) == ["spark-a", "spark-b"]
    assert fleet.peers("spark-a") == ("spark-b",)
    assert [str(rail.far.address) for rail in fleet.rails("spark-a")] == ["192.168.100.12/24", "192.168.101.12/24"]
    for name, spark in desk.sparks.items():
        assert (data[name]["ssh_hostname"], data[name]["ssh_port"]) == ("127.0.0.1", spark.port)
        assert len(spark.authorized) == 1
        assert spark.sudoers == SUDOERS
    assert len(desk.known) == 2


def assert_nothing_written(desk: Desk, *names: str) -> None:
    for name in names or desk.sparks:
        assert desk.sparks[name].authorized == []
        assert desk.sparks[name].sudoers == []


def assert_no_password(desk: Desk, *printed: str) -> None:
    """It is in no command, no output, and no file but the two that hold it."""
    text = "".join([*printed, *(spark.commands for spark in desk.sparks.values())])
    files = [file for file in desk.folder.rglob("*") if file.is_file() and file.name != "password"]
    assert PASSWORD not in text + "".join(file.read_text(errors="replace") for file in files)


# --- from a script


@pytest.mark.slow  # a whole onboarding each time
def test_the_second_spark_makes_a_pair_and_all_of_it_again_changes_nothing(with_a: Desk) -> None:
    done = well(with_a.scripted("spark-b", APPLIED=finished(with_a)))
    assert "Done: spark-a and spark-b are a pair, and as declared." in done.stdout
    assert_a_pair(with_a)
    assert_no_password(with_a, done.stdout, done.stderr)
    text = with_a.file.read_text()
    again = well(with_a.run("spark-b", "--yes"))
    assert "Nothing is to be done" in again.stdout
    assert with_a.file.read_text() == text
    assert_a_pair(with_a)


@pytest.mark.slow  # a whole onboarding each time
@pytest.mark.parametrize("step", ["_let_in", "_write", "_apply"])
def test_killed_anywhere_the_same_again_goes_on(with_a: Desk, step: str) -> None:
    applied = finished(with_a)
    killed = with_a.scripted("spark-b", DIES=step, APPLIED=applied)
    assert killed.returncode == -9, killed.stdout + killed.stderr
    well(with_a.scripted("spark-b", APPLIED=applied))
    assert_a_pair(with_a)


def test_json_without_yes_is_a_plan_and_writes_nothing_at_all(desk: Desk) -> None:
    done = well(desk.planned("spark-a"))
    told = json.loads(done.stdout)
    assert (told["name"], told["peer"]) == ("spark-a", None)
    assert complaints("onboard", told) == []
    assert told["host_key"]["fingerprint"] == fingerprint(desk.sparks["spark-a"].public)
    assert told["hosts"]["spark-a"]["reboots"] == 0
    assert "Driver: hold the installed 580 set" in told["hosts"]["spark-a"]["steps"]
    assert len(told["hosts"]["spark-a"]["login"]) == 2
    assert_nothing_written(desk)
    assert desk.known == []
    assert not desk.file.exists()
    assert_no_password(desk, done.stdout, done.stderr)


@pytest.mark.slow  # a whole onboarding each time
def test_a_recorded_spark_is_accepted_and_planned(desk: Desk) -> None:
    """Each unit whose package list is public, out of the box: nothing of it is in the way of a deploy."""

    def holds(unit: str) -> None:
        desk.sparks["spark-a"].becomes(f"{fresh(unit, 'a').rstrip()}\n\n#sparkrig:end nics 0\n")
        done = well(desk.planned("spark-a"))
        told = json.loads(done.stdout)
        assert told["name"] == unit
        assert "Driver: hold the installed 580 set" in told["hosts"][unit]["steps"]

    each_row([(unit,) for unit in UNITS], holds)


def test_a_key_is_made_where_there_is_none(desk: Desk) -> None:
    shutil.rmtree(desk.home / ".ssh")
    done = desk.scripted("spark-a")
    assert "a key pair of yours, without a passphrase" in done.stdout, done.stderr
    assert (desk.home / ".ssh" / "id_ed25519.pub").read_text().strip() in desk.sparks["spark-a"].authorized


def test_another_key_is_written_into_the_inventory(desk: Desk) -> None:
    own = keygen(desk.folder / "keys" / "spark")
    desk.scripted("spark-a", "--key", str(own))
    assert inventory.load(desk.file)["spark-a"]["ssh_key"] == str(own)
    assert own.with_suffix(".pub").read_text().strip() in desk.sparks["spark-a"].authorized


def test_the_users_formatting_stays(with_a: Desk) -> None:
    old, mine = '"ssh_user"', '"mtu": 9000,  # as we like it\n                "ssh_user"'
    text = with_a.file.read_text().replace(old, mine)
    with_a.file.write_bytes(text.replace("\n", "\r\n").encode())  # as an editor on Windows leaves it
    before = with_a.file.read_text().splitlines()
    done = with_a.scripted("spark-b", "--name", "right", APPLIED=finished(with_a))
    after = with_a.file.read_text().splitlines()
    assert [line for line in before if line not in after] == [], done.stderr
    assert list(inventory.load(with_a.file)) == ["spark-a", "right"]
    assert "right: done in " in done.stderr and "127.0.0.1: done in " not in done.stderr
    assert with_a.file.read_bytes().count(b"\n") == with_a.file.read_bytes().count(b"\r\n")


# --- NVIDIA's own upgrade, which reboots


def upgrade(*unit: str, boot: str, done: bool = False) -> str:
    """What is printed of the unit."""
    own = [f"boot={boot}", *(["done=yes"] if done else []), ""]
    known = ["Id=nvidia-spark-run-apt-upgrade-once.service", "LoadState=loaded", "UnitFileState=enabled"]
    return "".join(f"first-upgrade {row}\n" for row in (*own, *known, *unit, "", "Id=reboot.target"))


@pytest.mark.slow  # a whole onboarding each time
def test_the_first_upgrade_is_waited_for_and_onboarding_goes_on_after_its_reboot(desk: Desk) -> None:
    """The password is read once; the second login uses it again."""
    spark = desk.sparks["spark-a"]
    spark.upgrades(
        upgrade("Job=7", "ActiveState=inactive", boot="one"),
        upgrade("ActiveState=activating", boot="one"),
        CUT,
        upgrade("ActiveState=inactive", boot="two", done=True),
    )
    done = desk.scripted("spark-a", "--name", "left")
    name = "NVIDIA's first-boot upgrade"
    said = f"left: {name} (nvidia-spark-run-apt-upgrade-once.service) is about to start; it upgrades every pack"
    assert said in done.stderr, done.stderr
    assert f"left: was rebooted\nleft: {name} is over (done)\n" in done.stderr
    assert "left is added" in done.stdout and list((spark.state / "upgrade").iterdir()) == []
    assert "nvidia ALL=(ALL:ALL) NOPASSWD: ALL" in spark.sudoers
    assert_no_password(desk, done.stdout, done.stderr)


# --- what is refused, in a sentence, with nothing changed


def refused(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    line = done.stderr.splitlines()[-1]
    assert line.startswith("Error: ")
    assert "Try: " in line
    return line


def test_what_the_deploy_would_refuse_is_refused_here_with_its_cure(desk: Desk) -> None:
    spark = desk.sparks["spark-a"]
    spark.becomes(look("fresh-a").replace("gpu=NVIDIA GB10", "gpu=NVIDIA RTX 5090"))
    done = desk.scripted("spark-a")
    assert done.returncode == 1
    assert "refused: this host is no DGX Spark" in done.stdout
    assert "Refused; nothing was changed." in done.stdout
    assert_nothing_written(desk)
    assert not desk.file.exists()


def test_an_inventory_of_another_shape_is_left_alone_with_the_lines_to_paste(desk: Desk) -> None:
    desk.file.write_text("from sparkrig.inventory import checked\nsparks = checked(list(['x']), __file__)\n")
    before = desk.file.read_text()
    done = desk.scripted("spark-a", "--solo")
    assert done.returncode == 1
    assert "write it there yourself:" in done.stderr
    assert '"ssh_hostname": "127.0.0.1",' in done.stderr
    assert desk.file.read_text() == before
    assert_nothing_written(desk)


def test_who_does_not_answer_is_exit_3(desk: Desk) -> None:
    gone = Spark(free_port(), desk.folder, desk.folder)
    done = Desk(desk.folder, {"x": gone}).run("x", "--yes")
    assert done.returncode == 3
    assert "cannot be reached (connection refused)" in done.stderr


def test_a_deploy_that_fails_says_how_to_go_on(desk: Desk) -> None:
    done = desk.scripted("spark-a", CODE="1")
    assert done.returncode == 1
    assert "The deploy did not get to its end: pyinfra ended with 1." in done.stdout
    assert "The same again goes on from there: sparkrig onboard nvidia@127.0.0.1:" in done.stdout


BACK = replace(statuses.BROKEN, guard="rolled-back spark-b: no carrier")


@pytest.mark.parametrize(
    ("run", "began", "back"),
    [
        (BACK, "20261121T040000Z", True),
        (BACK, "20261121T050000Z", False),  # an earlier run did that
        (replace(BACK, guard="committed"), "20261121T040000Z", False),
    ],
)
def test_a_network_that_this_run_put_back_is_told_apart(
    monkeypatch: pytest.MonkeyPatch, run: Run, began: str, back: bool
) -> None:
    found = {"spark-a": Lost("away"), "spark-b": Journal(statuses.NOW, None, (run, statuses.DONE))}
    monkeypatch.setattr(package, "session", SimpleNamespace(asked=lambda *_: found), raising=False)
    data: dict[str, Any] = {name: {} for name in found}
    assert applying.rolled_back(data, began) == back


# pyinfra's part, as far as Ctrl-C goes: it ends its step, and says so by its exit code
SLOW = """#!/bin/sh
trap 'echo ended in order; exit 7' INT
echo "began: $*"
while :; do sleep 0.05; done
"""
APPLY = """
import sys
from pathlib import Path
from types import SimpleNamespace as Some
from sparkrig.operations import onboard
sys.executable = sys.argv[1]
after = Some(fleet={"a": 1, "b": 1, "c": 1}, file=Path("inventories/mine.py"))
draft = Some(after=after, found={"b": 1, "a": 1})
print("code", onboard._apply(draft, Some(as_json=False), Path("deploys/cluster.py"), {"restart_docker": True}))
"""


def test_ctrl_c_ends_pyinfra_in_order_and_what_is_typed_is_shown(tmp_path: Path) -> None:
    tool(tmp_path, "pyinfra", "")
    (tmp_path / "pyinfra").write_text(SLOW)
    words = [sys.executable, "-u", "-c", APPLY, str(tmp_path / "python")]
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stdout
        shown = ""
        while "began" not in shown:
            shown += process.stdout.readline()
        os.killpg(process.pid, signal.SIGINT)
        shown += process.communicate(timeout=30)[0]
    typed = "-y --limit b --limit a --data restart_docker=True inventories/mine.py deploys/cluster.py"
    assert f"$ pyinfra {typed}\nbegan: {typed}\n" in shown
    assert shown.endswith("ended in order\ncode 7\n")


# --- at a terminal


@pytest.mark.slow  # a whole onboarding each time
def test_typed_by_hand(with_a: Desk) -> None:
    terminal = Terminal(with_a.words("spark-b"), with_a.environ(APPLIED=finished(with_a)))
    terminal.answer("Is it the same there? [y/N]:", "y")
    terminal.answer("Password of nvidia@127.0.0.1:", "wrong")
    terminal.answer("Password of nvidia@127.0.0.1:", PASSWORD)
    terminal.answer("Apply? [y/N]:", "y")
    code = terminal.end()
    assert code == 0, terminal.seen
    assert fingerprint(with_a.sparks["spark-b"].public) in terminal.seen
    assert "ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub" in terminal.seen
    assert "It was not accepted." in terminal.seen
    assert "no reboot; docker of " in terminal.seen
    assert_a_pair(with_a)
    assert_no_password(with_a, terminal.seen)


@pytest.mark.slow  # a program of its own on a terminal
def test_an_inventory_that_is_changed_meanwhile_is_left_alone(with_a: Desk) -> None:
    terminal = Terminal(with_a.words("spark-b"), with_a.environ())
    terminal.answer("Is it the same there? [y/N]:", "y")
    terminal.answer("Password of nvidia@127.0.0.1:", PASSWORD)
    terminal.waits_for("Apply? [y/N]:")
    mine = with_a.file.read_text() + "# a thought\n"
    with_a.file.write_text(mine)
    terminal.types("y")
    assert terminal.end() == 1
    assert "was changed meanwhile, and is left as it is" in terminal.seen
    assert with_a.file.read_text() == mine
    assert with_a.sparks["spark-b"].authorized == []


@pytest.mark.slow  # a whole onboarding each time
def test_whoever_says_no_finds_nothing_changed(desk: Desk) -> None:
    terminal = Terminal(desk.words("spark-a"), desk.environ())
    terminal.answer("Is it the same there? [y/N]:", "y")
    terminal.answer("Password of nvidia@127.0.0.1:", PASSWORD)
    terminal.answer("Apply? [y/N]:", "n")
    assert terminal.end() == 1
    assert "Declined; nothing was changed on " in terminal.seen
    assert_nothing_written(desk)
    assert not desk.file.exists()
