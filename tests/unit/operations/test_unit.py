"""Long steps as units, on stand-ins for systemd's commands; tests/lab/test_waiting.py has the real ones."""

from __future__ import annotations

import subprocess
import threading
import time
from pathlib import Path

import pytest

from sparkrig.operations import apt, unit
from tests.unit.shells import sh, tool

# SubState is one word a look, then the last of them; its process is another one each time; what is asked is kept.
SYSTEMCTL = """
echo "$@" >>"{folder}/asked"
[ "$1" = show ] || exit 0
if [ -s "{folder}/states" ]; then state=$(head -n 1 "{folder}/states"); sed -i 1d "{folder}/states"
else state=$(cat "{folder}/last"); fi
echo "Result=$(cat "{folder}/result")"
echo "ExecMainStatus=100"
echo "MainPID=$(cat "{folder}/pid")"
echo "InvocationID=abc"
echo "ActiveState=$(cat "{folder}/active")"
echo "SubState=$state"
"""
LOOK = "show -p SubState,ActiveState,Result,ExecMainStatus,MainPID,InvocationID sparkrig-apt"


@pytest.fixture
def systemd(tmp_path: Path) -> Path:
    """Stand-ins that say what the files beside them hold: a unit that works for a while and ends well."""
    for name, text in {"states": "dead\nrunning\nrunning\n", "last": "exited\n", "active": "inactive\n"}.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "result").write_text("success\n")
    (tmp_path / "pid").write_text("0\n")
    tool(tmp_path / "tools", "systemctl", SYSTEMCTL.format(folder=tmp_path))
    tool(tmp_path / "tools", "sleep", "")  # a unit works for so many looks, not for so long
    tool(tmp_path / "tools", "systemd-run", f'printf "%s\\n" "$@" >"{tmp_path}/run"')
    tool(
        tmp_path / "tools",
        "journalctl",
        'case $* in *_SYSTEMD_INVOCATION_ID=abc*) echo "E: no such package" ;; esac',
    )
    return tmp_path


def step(systemd: Path, *words: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return sh(unit.RUN, "sparkrig-apt", "600", "sudo apt-get update", *words, path=systemd / "tools", env=env)


def test_a_step_that_ends_well_says_nothing_and_leaves_no_unit(systemd: Path) -> None:
    done = step(systemd, "apt-get", "install", "a b", "$(c)")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    given = (systemd / "run").read_text().splitlines()
    assert "--expand-environment=no" in given  # else systemd would fill in what a program calls ${NAME}
    assert given[-5:] == ["--", "apt-get", "install", "a b", "$(c)"]
    assert {"--unit=sparkrig-apt", "RuntimeMaxSec=600", "RemainAfterExit=yes"} <= set(given)
    assert (systemd / "asked").read_text().splitlines()[-1] == "stop sparkrig-apt"


def test_a_step_that_fails_says_what_it_said(systemd: Path) -> None:
    (systemd / "result").write_text("exit-code\n")
    done = step(systemd, "apt-get", "update")
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "E: no such package",
        "sparkrig-apt: exit-code, exit status 100; all it said: journalctl -u sparkrig-apt. "
        "Try: sudo apt-get update, then the deploy again",
    ]
    assert (systemd / "asked").read_text().splitlines()[-1] == "reset-failed sparkrig-apt"


def test_what_another_connection_began_is_waited_for(systemd: Path) -> None:
    (systemd / "states").write_text("running\nrunning\nexited\nrunning\n")
    (systemd / "active").write_text("active\n")
    assert step(systemd, "apt-get", "update").returncode == 0
    asked = (systemd / "asked").read_text().splitlines()
    assert asked[:4] == [*[LOOK] * 3, "stop sparkrig-apt"]
    assert (systemd / "run").exists()


def test_the_end_of_its_process_is_seen_without_a_look_for_each_moment(systemd: Path) -> None:
    """A real process; systemd is asked once while it works, and again once it has ended."""
    process = subprocess.Popen(["sleep", "0.2"])
    (systemd / "pid").write_text(f"{process.pid}\n")
    tool(systemd / "tools", "sleep", f'echo "$@" >>"{systemd}/slept"')
    (systemd / "states").write_text("running\nexited\n")
    threading.Thread(target=process.wait).start()  # as systemd does, or it would stay a zombie
    began = time.monotonic()
    assert step(systemd, "apt-get", "update").returncode == 0
    assert process.returncode == 0 and 0.1 < time.monotonic() - began < 5
    assert (systemd / "asked").read_text().splitlines().count(LOOK) == 3 and not (systemd / "slept").exists()


def test_a_process_that_cannot_be_waited_for_is_looked_at_in_turns(systemd: Path) -> None:
    (systemd / "pid").write_text("77\n")
    tool(systemd / "tools", "tail", "exit 1")
    tool(systemd / "tools", "sleep", f'echo "$@" >>"{systemd}/slept"')
    assert step(systemd, "apt-get", "update").returncode == 0
    assert (systemd / "slept").read_text() == "0.2\n" * 2


def test_a_step_that_cannot_begin_fails(systemd: Path) -> None:
    tool(systemd / "tools", "systemd-run", "echo no bus >&2; exit 1")
    done = step(systemd, "apt-get", "update")
    assert (done.returncode, done.stderr) == (1, "no bus\n")


@pytest.mark.parametrize(
    ("env", "passed"), [({"https_proxy": "http://10.0.0.1:3128"}, ["-E", "https_proxy"]), ({}, [])]
)
def test_a_proxy_of_the_login_is_passed_on_by_name(systemd: Path, env: dict[str, str], passed: list[str]) -> None:
    step(systemd, "true", env=env)
    given = (systemd / "run").read_text().splitlines()
    assert given[given.index("LC_ALL=C.UTF-8") + 1 : given.index("--")] == passed


@pytest.mark.parametrize(
    ("command", "seconds", "words"),
    [
        (apt.update(), 660, "sparkrig-apt 600 'sudo apt-get update' apt-get -q -o DPkg::Lock::Timeout=300 update"),
        (
            apt.update("/etc/apt/sources.list.d/a.sources"),
            660,
            "sparkrig-apt 600 'sudo apt-get update' apt-get -q -o DPkg::Lock::Timeout=300 "
            "-o Dir::Etc::sourcelist=/etc/apt/sources.list.d/a.sources -o Dir::Etc::sourceparts=- "
            "-o APT::Get::List-Cleanup=0 update",
        ),
        (
            apt.install("nvidia-container-toolkit=1.2"),
            1260,
            "sparkrig-apt 1200 'sudo apt-get install nvidia-container-toolkit=1.2' "
            "env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 "
            "--no-install-recommends install nvidia-container-toolkit=1.2",
        ),
    ],
)
def test_commands(command: object, seconds: int, words: str) -> None:
    text = str(command)
    assert text.startswith(f"timeout -k 5 {seconds} sh -c ")
    assert text.endswith(f" sparkrig {words}")
