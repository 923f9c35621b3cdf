"""A guest's state is read from its folder, and believed only as far as it is true."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from lab import USER, pair, settings, ssh, ssh_data, toolkit_repo
from lab.errors import LabError
from lab.inventory import host_data
from lab.machine import Machine, State
from lab.nodes import ALL, DEFAULT_PORT
from sparkrig.cli.onboard import onboard
from sparkrig.fleet import Fleet

ROOT = Path(__file__).resolve().parents[3]
MARKER = '{"fingerprint": "f", "image": "/lab/images/key"}'


@pytest.fixture
def machine(lab_folder: Path) -> Machine:
    (lab_folder / "spark-a").mkdir()
    return Machine("spark-a")


WAITING = "import signal\nprint(flush=True)\nsignal.pause()\n"


@contextmanager
def posing(machine: Machine, script: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that names the pid file as qemu would, and the pid file that names it, once it has said a line."""
    file = machine.folder / "pid"
    with subprocess.Popen([sys.executable, "-c", script, str(file)], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout
            process.stdout.readline()
            file.write_text(f"{process.pid}\n")
            yield process
        finally:
            process.kill()


@pytest.fixture
def qemu(machine: Machine) -> Iterator[int]:
    """The process id of one that poses as the guest's qemu."""
    with posing(machine, WAITING) as process:
        yield process.pid


def test_nothing_there_is_absent() -> None:
    assert Machine("spark-b").state() is State.ABSENT


def test_a_snapshot_without_a_process_is_stopped(machine: Machine) -> None:
    machine.disk.touch()
    assert machine.state() is State.ABSENT
    machine.marker.write_text(MARKER)
    assert machine.state() is State.STOPPED


def test_a_process_without_a_snapshot_is_booting(machine: Machine, qemu: int) -> None:
    assert machine.pid() == qemu
    assert machine.state() is State.BOOTING
    machine.marker.write_text(MARKER)
    assert machine.state() is State.RUNNING
    assert machine.stale_pid() is None


@pytest.mark.parametrize("content", ["1", "4194305"])
def test_a_pid_that_is_gone_or_anothers_is_stale(machine: Machine, content: str) -> None:
    (machine.folder / "pid").write_text(content)
    assert machine.pid() is None
    assert machine.stale_pid() == content


def test_a_pid_file_may_go_while_it_is_read(machine: Machine, qemu: int) -> None:
    file = machine.folder / "pid"
    done = threading.Event()

    def come_and_go() -> None:
        while not done.is_set():
            file.write_text(f"{qemu}\n")
            file.unlink()

    with ThreadPoolExecutor() as beside:
        going = beside.submit(come_and_go)
        try:
            seen = [(machine.pid(), machine.stale_pid()) for _ in range(3000)]
        finally:
            done.set()
        going.result()
    assert {pid for pid, _ in seen} <= {None, qemu}


@pytest.mark.slow
@pytest.mark.parametrize("deaf", [False, True])
def test_stop_waits_for_the_process_not_for_its_pid_file(
    machine: Machine, deaf: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lab.process.STOP_S", 0.5)
    script = (
        "import os, signal, sys, time\n"
        "def end(*_):\n"
        "    os.unlink(sys.argv[1])\n"
        f"    time.sleep({60 if deaf else 0.2})\n"
        "    sys.exit()\n"
        "signal.signal(signal.SIGTERM, end)\n"
        "print(flush=True)\n"
        "signal.pause()\n"
    )
    with posing(machine, script) as process:
        machine.stop()
        assert process.wait(0) == (-signal.SIGKILL if deaf else 0)
    machine.stop()


@pytest.mark.slow  # waits for a process
@pytest.mark.parametrize("works", [True, False])
def test_a_guest_rests_when_its_qemu_takes_no_processor(
    machine: Machine, works: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lab.machine.REST_LOOK_S", 0.5)
    with posing(machine, "print(flush=True)\nwhile True: pass\n" if works else WAITING):
        assert machine.rests() is not works


def test_a_guest_is_saved_once_it_rests(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    looks = iter([False, False, True])

    def look(_: Machine) -> bool:
        done.append("look")
        return next(looks)

    monkeypatch.setattr(Machine, "rests", look)
    monkeypatch.setattr("lab.machine.qmp.monitor", lambda _, line: done.append(line))
    machine.save("calm")
    assert done == ["look", "look", "look", "savevm calm"]


def test_a_guest_that_never_rests_is_saved_and_said_to_be_busy(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done: list[str] = []
    monkeypatch.setattr(Machine, "rests", lambda _: False)
    monkeypatch.setattr("lab.machine.qmp.monitor", lambda _, line: done.append(line))
    machine.save("calm")
    assert done == ["savevm calm"]
    assert "spark-a is saved while it is busy" in capsys.readouterr().err


def test_a_guest_too_busy_to_take_its_mtu_is_named(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(node: str, line: str, timeout: float) -> ssh.Result:
        raise subprocess.TimeoutExpired(line, timeout)

    monkeypatch.setattr(ssh, "execute", busy)
    with pytest.raises(LabError, match=r"spark-a kept its MTU \(an answer within 240 s\)"):
        machine.leave_factory(240)


def test_reset_and_power_of_a_guest_that_was_never_up_say_so() -> None:
    with pytest.raises(LabError, match="spark-a has no snapshot"):
        pair.reset(["spark-a"])
    with pytest.raises(LabError, match="spark-a does not run"):
        pair.cut_power("spark-a")


def test_an_uncabled_cage_cannot_be_plugged() -> None:
    with pytest.raises(LabError, match="spark-s has no cable in p0"):
        pair.cable("spark-s", "p0", plugged=True)


def test_ssh_trusts_each_guest_by_its_own_key_from_the_first_contact(lab_folder: Path) -> None:
    for node in ALL:
        (lab_folder / f"{node}.pub").write_text(f"ssh-ed25519 {node} root@{node}\n")
    ssh.trust(lab_folder)
    assert ssh.known_hosts().read_text().splitlines()[1] == "[127.0.0.1]:2202 ssh-ed25519 spark-b root@spark-b"
    assert ssh.config().read_text().count("StrictHostKeyChecking yes") == 5


def test_an_inventory_gets_strict_host_data(lab_folder: Path) -> None:
    data = ssh_data("spark-b")
    assert (data["ssh_hostname"], data["ssh_port"], data["ssh_user"]) == ("127.0.0.1", 2202, "nvidia")
    assert data["ssh_strict_host_key_checking"] == "yes"
    assert data["ssh_known_hosts_file"] == str(lab_folder / "known_hosts")


def test_the_toolkit_repository_is_known_once_there_is_an_image(lab_folder: Path) -> None:
    with pytest.raises(LabError, match="no image yet"):
        toolkit_repo()
    facts = '{"url": "file:/srv/x", "key_url": "file:///srv/key", "fingerprint": "AB"}'
    (lab_folder / "toolkit.json").write_text(facts)
    assert toolkit_repo()["fingerprint"] == "AB"


def test_the_page_on_onboarding_here_names_what_holds(
    lab_folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Port, user and words as the lab and the verb have them, and settings that an inventory may have."""
    monkeypatch.delenv("SPARKRIG_LAB_PORT", raising=False)
    page = (ROOT / "docs" / "lab.md").read_text(encoding="utf-8")
    section = page.partition("## Onboarding, tried here\n")[2].partition("\n## ")[0]
    (typed,) = re.findall(r"^sparkrig (onboard .*)$", section, re.M)
    words = typed.split()[1:]
    assert words[0] == f"{USER}@127.0.0.1:{DEFAULT_PORT}"
    assert all(
        f"{DEFAULT_PORT + number} (`{node}`)" in " ".join(section.split()) for number, node in enumerate(ALL)
    )
    assert onboard.make_context("onboard", words).params["name"] == "spark-a"
    assert f"'echo {USER}:spark | sudo chpasswd'" in section and "The password is `spark`" in section
    facts = '{"url": "file:/srv/x", "key_url": "file:/srv/key", "fingerprint": "' + "AB" * 20 + '"}'
    (lab_folder / "toolkit.json").write_text(facts)
    settings.main()
    assert "python -m lab.settings >>/tmp/try/group_data/all.py" in section
    found: dict[str, object] = {}
    exec(capsys.readouterr().out, found)  # as pyinfra reads group_data
    del found["__builtins__"]
    assert Fleet.parse({"spark-a": found})["spark-a"].toolkit_url == "file:/srv/x"
    assert set(found) == set(host_data("spark-a")) - set(ssh_data("spark-a"))
