"""Waiting for apt: who holds a lock, read on this machine from a real lock, and what is said meanwhile."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sparkrig import programs
from sparkrig.host import apt
from sparkrig.host.apt import Holder
from sparkrig.operations import apt as operations
from sparkrig.refusal import Refusal
from sparkrig.ssh import remote
from tests.tables import each_row
from tests.unit.shells import sh, tool
from tests.unit.simulated import SimulatedHost

HOLDERS = f"{programs.text('facts/apt_holders.sh')}\nholders"
FRONTEND = "/var/lib/dpkg/lock-frontend"
ROOT = Path(__file__).resolve().parents[3]
HOLD = "import fcntl, sys; f = open(sys.argv[1], 'w'); fcntl.lockf(f, fcntl.LOCK_EX); print(flush=True); input()"
UPGRADE = Holder(FRONTEND, 123, "unattended-upgr")


@pytest.mark.parametrize(
    ("rows", "held"),
    [
        pytest.param([], (), id="nobody"),
        pytest.param(["clock 1", ""], (), id="rows of others"),
        pytest.param([f"lock {FRONTEND} 123 unattended-upgr"], (UPGRADE,), id="one"),
        pytest.param([f"lock {FRONTEND} 9 my apt"], (Holder(FRONTEND, 9, "my apt"),), id="a name with a space"),
        pytest.param(
            [f"lock {FRONTEND} 123 unattended-upgr", "lock /var/lib/dpkg/lock 123 unattended-upgr"],
            (UPGRADE,),
            id="one process, two locks",
        ),
    ],
)
def test_holders_are_read(rows: list[str], held: tuple[Holder, ...]) -> None:
    assert apt.parse(rows) == held


@pytest.mark.parametrize("row", ["lock", f"lock {FRONTEND}", f"lock {FRONTEND} x y"])
def test_a_row_that_makes_no_sense_is_an_error(row: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        apt.parse([row])


def test_what_is_said() -> None:
    assert apt.waiting([UPGRADE], 290.4) == (
        "apt is busy: unattended-upgr (process 123) holds the dpkg lock; waiting, 290 s left"
    )
    two = [UPGRADE, Holder("/var/lib/apt/lists/lock", 7, "apt-get")]
    refused = apt.busy(two, 300)
    assert refused.what == (
        "apt is still busy after 300 s: unattended-upgr (process 123) holds the dpkg lock "
        "and apt-get (process 7) holds the lock of the package lists"
    )
    assert refused.cure == "ps -fp 123,7, and run again once it has ended"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root of its own that has apt's locks."""
    for lock in apt.LOCKS:
        file = tmp_path / lock.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    return tmp_path


@pytest.fixture
def holder(root: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that holds the frontend lock until it gets a line."""
    command = [sys.executable, "-c", HOLD, str(root / FRONTEND.lstrip("/"))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        process.stdout.readline()
        yield process  # the end of its input ends it, too


def below(root: Path, script: str) -> str:
    """A script that looks for the locks below another root."""
    for lock in apt.LOCKS:
        script = script.replace(f" {lock}", f" {root}{lock}")
    return script


def test_nobody_holds_a_lock(root: Path) -> None:
    done = sh(below(root, HOLDERS))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_no_apt_at_all(tmp_path: Path) -> None:
    done = sh(below(tmp_path, HOLDERS))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_holder_is_named(root: Path, holder: subprocess.Popen[str]) -> None:
    done = sh(below(root, HOLDERS))
    assert done.stdout == f"lock {root}{FRONTEND} {holder.pid} {Path(f'/proc/{holder.pid}/comm').read_text()}"


@pytest.mark.slow
def test_the_wait_ends_at_its_deadline(root: Path, holder: subprocess.Popen[str]) -> None:
    done = sh(below(root, operations.WAIT), "1")
    assert str(holder.pid) in done.stdout


def test_the_wait_ends_with_the_holder(root: Path, holder: subprocess.Popen[str]) -> None:
    assert holder.stdin
    waiting = subprocess.Popen(
        ["sh", "-c", below(root, operations.WAIT), "sparkrig", "15"], stdout=subprocess.PIPE, text=True
    )
    holder.stdin.write("\n")
    holder.stdin.close()
    assert waiting.communicate(timeout=10)[0].strip() == ""


@pytest.fixture
def busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """A host that answers with one text after the other, the last one for ever, and what it was asked with."""

    def made(*answers: str) -> tuple[Any, list[str]]:
        left, asked = list(answers), list[str]()

        def shell(_host: Any, _text: str, *words: str, seconds: int) -> str:
            asked.extend(words)
            return left.pop(0) if len(left) > 1 else left[0]

        monkeypatch.setattr(remote, "shell", shell)
        return SimulatedHost(tmp_path), asked

    return made


ROW = f"lock {FRONTEND} 123 unattended-upgr\n"


def test_one_exec_where_nobody_holds_a_lock(busy: Callable[..., Any]) -> None:
    host, asked = busy("\n")
    assert operations.wait(host, 1) is False
    assert (asked, host.logged) == (["0"], [])


def test_each_ten_seconds_a_line(busy: Callable[..., Any]) -> None:
    host, asked = busy(ROW, ROW, "\n")
    assert operations.wait(host, 1) is True
    assert asked == ["0", "10", "10"]
    assert len(host.logged) == 2
    assert "unattended-upgr (process 123) holds the dpkg lock; waiting, 300 s left" in host.logged[0]


def test_the_end_of_patience(busy: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operations, "WAIT_S", 0)
    host, _ = busy(ROW)
    with pytest.raises(Refusal, match="apt is still busy after 0 s: unattended-upgr"):
        operations.wait(host, 1)


def test_a_host_that_does_not_answer(busy: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    host, _ = busy("")

    def lost(*_: Any, **__: Any) -> str:
        raise remote.Lost("spark-b does not answer (timed out)")

    monkeypatch.setattr(remote, "shell", lost)
    with pytest.raises(Refusal, match=r"cannot be read \(spark-b does not answer"):
        operations.wait(host, 1)


def test_no_command_that_is_printed_installs_a_part_of_the_driver_in_front_of_the_hold() -> None:
    """Such a command ends with apt's "held packages were changed": apt.install_past_the_hold writes them all."""
    names = "ethtool|pciutils|docker-ce|iputils-ping|network-manager|perftest|systemd-timesyncd"
    names += "|infiniband-diags|ibverbs-utils|iproute2|lldpd"
    free = rf"({names})\b|--only-upgrade (?:perftest|shim-signed)"
    written = [path for path in (ROOT / "sparkrig").rglob("*.py") if path.name != "apt.py"]
    lines = [line for path in written for line in path.read_text().splitlines() if "apt-get install " in line]
    others = [line for line in lines if not re.search(rf"apt-get install ({free})", line)]
    # the container toolkit is not held; driver.way_back hands its line to past_the_hold
    assert [line for line in others if "to_install(target)" not in line and "allow-downgrades" not in line] == []


def test_a_printed_command_holds_again_whatever_comes_of_it_and_ends_as_apt_did(tmp_path: Path) -> None:
    """Run by bash, with stand-ins that note what they are given; apt-get fails where it is to install `bad`."""
    log = tmp_path / "log"
    tool(
        tmp_path / "bin", "apt-mark", f'if [ $1 = showhold ]; then cat {tmp_path}/held; else echo "$*" >>{log}; fi'
    )
    tool(tmp_path / "bin", "apt-get", f'echo "$*" >>{log}; case "$*" in *bad*) exit 100 ;; esac')
    tool(tmp_path / "bin", "dpkg-query", "echo 1.2-3")
    tool(tmp_path / "bin", "sudo", 'exec "$@"')

    def holds(command: str, held: str, code: int, *calls: str) -> None:
        (tmp_path / "held").write_text(held)
        log.write_text("")
        env = {"PATH": f"{tmp_path}/bin:/usr/bin:/bin"}
        done = subprocess.run(["bash", "-c", command], env=env, capture_output=True, text=True)
        assert (done.returncode, done.stderr, log.read_text().splitlines()) == (code, "", [*calls])

    update, install = "update", "install a=1 b"
    each_row(
        [
            (apt.install_past_the_hold("a=1", "b"), "", 0, update, install),
            (apt.install_past_the_hold("a=1", "b"), "c\nd\n", 0, "unhold c d", update, install, "hold c d a b"),
            (apt.install_past_the_hold("bad"), "c\n", 100, "unhold c", update, "install bad", "hold c bad"),
            (apt.install_past_the_hold("bad"), "", 100, update, "install bad"),
            (apt.reinstall_past_the_hold("a"), "", 0, update, "install --reinstall a=1.2-3"),
            (apt.install_as_installed("a", like="b"), "", 0, update, "install a=1.2-3"),
        ],
        holds,
    )
