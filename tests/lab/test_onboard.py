"""T3: two Sparks out of the box become a pair by `sparkrig onboard`: by script, killed in between, by hand."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from lab import USER, toolkit_repo
from lab import pair as lab_pair
from sparkrig import inventory, inventory_file
from sparkrig.host.first_upgrade import MARK, UNIT
from tests.faults.record import Seen
from tests.lab.commands import BIN, ROOT, Done, run
from tests.lab.factory import PASSWORD, Fresh, unpack
from tests.lab.guests import Pair

pytestmark = pytest.mark.exhaustive  # four deploys under emulation

SETTINGS = """
bandwidth_floor = 0.01
patience = 4.0
"""


@dataclass(frozen=True)
class Desk:
    """Whoever onboards: a home folder with a key and nothing else, an inventory's folder, a password's file."""

    folder: Path
    sparks: dict[str, Fresh]

    @property
    def file(self) -> Path:
        return self.folder / "inventories" / "mine.py"

    @property
    def env(self) -> dict[str, str]:
        kept = {key: value for key, value in os.environ.items() if key not in ("SSH_AUTH_SOCK", "CI", "NO_COLOR")}
        state = str(self.folder / "state")
        return {**kept, "HOME": str(self.folder / "me"), "XDG_STATE_HOME": state, "PYINFRA_PROGRESS": "off"}

    def words(self, name: str) -> list[str]:
        where = f"{USER}@127.0.0.1:{self.sparks[name].target.port}"
        return [str(BIN / "sparkrig"), "onboard", where, "--name", name, "--inventory", str(self.file)]

    def scripted(self, name: str) -> list[str]:
        return [*self.words(name), "--yes", *self.given(name)]

    def given(self, name: str) -> list[str]:
        return ["--fingerprint", self.sparks[name].fingerprint, "--password-file", str(self.folder / "password")]

    def replacing(self) -> list[str]:
        return [str(BIN / "sparkrig"), "onboard", "--replace", "spark-b", "--inventory", str(self.file)]

    def run(self, program: str, *words: str) -> Done:
        return run(program, *words, timeout=1800, env=self.env)

    def planned(self) -> dict[str, set[str]]:
        """What plain pyinfra would still do."""
        done = self.run("pyinfra", "--json", "--dry", str(self.file), "deploys/cluster.py")
        assert done.code == 0, done.stderr
        return done.plan


@pytest.fixture
def desk(pristine: Pair, tmp_path: Path) -> Desk:
    """Two guests out of the box, and a desk."""
    sparks = {guest.node: unpack(guest) for guest in pristine}
    shutil.copytree(ROOT / "inventories" / "group_data", tmp_path / "inventories" / "group_data")
    mirror = toolkit_repo()
    more = f"toolkit_url = {mirror['url']!r}\ntoolkit_key_url = {mirror['key_url']!r}\n"
    more += f"toolkit_key_fingerprint = {mirror['fingerprint']!r}\n"
    with (tmp_path / "inventories" / "group_data" / "all.py").open("a") as settings:
        settings.write(f"{SETTINGS}{more}")
    password = tmp_path / "password"
    password.write_text(f"{PASSWORD}\n")
    password.chmod(0o600)
    key = tmp_path / "me" / ".ssh" / "id_ed25519"
    key.parent.mkdir(parents=True, mode=0o700)
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    return Desk(tmp_path, sparks)


def assert_a_pair(desk: Desk) -> None:
    """Both are in the inventory, let the key in, ask for no password, and have nothing left to be done."""
    fleet, _ = inventory.fleet(desk.file)
    assert list(fleet) == ["spark-a", "spark-b"]
    assert fleet.peers("spark-a") == ("spark-b",)
    assert desk.planned() == {}
    for fresh in desk.sparks.values():
        with fresh.login() as entered:
            assert len(entered.shell("cat ~/.ssh/authorized_keys").splitlines()) == 1
            assert entered.shell("stat -c %a ~/.ssh ~/.ssh/authorized_keys").split() == ["700", "600"]
            assert entered.root("stat -c '%a %U' /etc/sudoers.d/sparkrig").strip() == "440 root"
            assert entered.root("visudo -c >/dev/null && ls /etc/sudoers.d").split() == [
                "README",
                "new",
                "sparkrig",
            ]


def until(condition: Callable[[], bool], seconds: float, what: str) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.5)


@pytest.mark.promise(5)
def test_a_plan_writes_nothing_on_the_spark(desk: Desk, seen: Seen) -> None:
    fresh = desk.sparks["spark-a"]
    text = "find /etc /home /root /usr /opt -xdev -printf '%p %T@ %s %m\\n' | sort | sha256sum"
    with fresh.login() as entered:
        before = entered.root(text)
        done = desk.run(*(word for word in desk.scripted("spark-a") if word != "--yes"), "--json")
        assert done.code == 0, done.stderr
        assert entered.root(text) == before
    told = json.loads(done.stdout)
    assert told["host_key"]["fingerprint"] == fresh.fingerprint
    assert "Driver: hold the installed 580 set" in told["hosts"]["spark-a"]["steps"]
    assert not desk.file.exists()
    assert not (desk.folder / "me" / ".ssh" / "known_hosts").exists()
    assert PASSWORD not in done.stdout + done.stderr
    seen(f"onboard planned {len(told['hosts']['spark-a']['steps'])} steps, and touched no file of the Spark")


@pytest.mark.promise(3, 8)
def test_two_sparks_out_of_the_box_become_a_pair_by_script(desk: Desk, seen: Seen) -> None:
    alone = desk.run(*desk.scripted("spark-a"))
    assert alone.code == 0, alone.stdout[-3000:] + alone.stderr[-3000:]
    assert "spark-a is on its own, and as declared." in alone.stdout
    pair = desk.run(*desk.scripted("spark-b"))
    assert pair.code == 0, pair.stdout[-3000:] + pair.stderr[-3000:]
    assert "spark-a and spark-b are a pair, and as declared." in pair.stdout
    assert_a_pair(desk)
    text = desk.file.read_text()
    again = desk.run(*desk.words("spark-b"), "--yes")
    assert (again.code, "Nothing is to be done" in again.stdout) == (0, True), again.stdout + again.stderr
    assert desk.file.read_text() == text
    assert PASSWORD not in alone.stdout + alone.stderr + pair.stdout + pair.stderr
    seen(
        "onboard made a Spark on its own, then a pair; a third run had nothing to do, and no password was printed"
    )


@pytest.mark.promise(4)
def test_killed_in_the_middle_of_the_deploy_the_same_again_goes_on(desk: Desk, seen: Seen) -> None:
    log = desk.folder / "killed.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            desk.scripted("spark-a"), cwd=ROOT, env=desk.env, stdout=output, stderr=output, start_new_session=True
        )
        until(lambda: "Starting operation" in log.read_text(), 900, log.read_text()[-3000:])
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(30)
    done = desk.run(*desk.words("spark-a"), "--yes")  # neither fingerprint nor password: it got that far
    assert done.code == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert desk.planned() == {}
    seen("onboard, the same again without fingerprint and password, did the rest")


# every file of ours, and every file beside them that ssh, apt, docker or the network goes by
_FILES = (
    "find /etc/sparkrig /etc/ssh /etc/apt /etc/docker /etc/NetworkManager /etc/nccl.conf /usr/local ~/.ssh "
    "-xdev -type f -exec sha256sum {} + | sort"
)


@pytest.mark.promise(3, 4, 8)
def test_a_guest_made_anew_takes_its_old_place(desk: Desk, pristine: Pair, seen: Seen) -> None:
    """With the login between the halves; killed in the middle of the deploy, and finished by the same command."""
    for name in ("spark-a", "spark-b"):
        done = desk.run(*desk.scripted(name))
        assert done.code == 0, done.stdout[-3000:] + done.stderr[-3000:]
    text = desk.file.read_text()
    for name in ("spark-a", "spark-b"):
        text = inventory_file.with_data(text, name, {"node_ssh": True})
    desk.file.write_text(text)
    deployed = desk.run("pyinfra", "-y", str(desk.file), "deploys/cluster.py")
    assert deployed.code == 0, deployed.stderr[-3000:]
    assert desk.run("sparkrig", "drift", str(desk.file)).code != 1
    (report,) = (desk.folder / "state" / "sparkrig" / "drift").iterdir()
    assert [host["name"] for host in json.loads(report.read_text())["hosts"]] == ["spark-a", "spark-b"]
    with desk.sparks["spark-a"].login() as entered:
        before = set(entered.root(f"HOME=/home/{USER}; {_FILES}").splitlines())
    known = (desk.folder / "me" / ".ssh" / "known_hosts").read_text()

    lab_pair.reset(["spark-b"])
    desk.sparks["spark-b"] = unpack(pristine.b)
    changed = desk.run(*desk.words("spark-b")[:-4], "--inventory", str(desk.file), "--yes")
    assert changed.code == 1 and "sparkrig onboard --replace spark-b" in changed.stderr, changed.stderr
    unseen = desk.run(*desk.replacing(), "--yes")
    assert unseen.code == 1 and "is not taken unseen" in unseen.stderr, unseen.stderr
    assert (desk.folder / "me" / ".ssh" / "known_hosts").read_text() == known

    log = desk.folder / "killed.log"
    words = [*desk.replacing(), "--yes", *desk.given("spark-b")]
    with log.open("w") as output:
        process = subprocess.Popen(
            words, cwd=ROOT, env=desk.env, stdout=output, stderr=output, start_new_session=True
        )
        until(lambda: "Starting operation" in log.read_text(), 900, log.read_text()[-3000:])
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(30)
    done = desk.run(*desk.replacing(), "--yes")  # neither fingerprint nor password: it got that far
    assert done.code == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "Done: spark-a and spark-b are a pair, and as declared." in done.stdout
    assert desk.planned() == {} and desk.file.read_text() == text
    with desk.sparks["spark-a"].login() as entered:
        now = set(entered.root(f"HOME=/home/{USER}; {_FILES}").splitlines())
        assert entered.shell("ssh -o BatchMode=yes spark-b hostname").strip() != ""
    touched = {line.split(maxsplit=1)[1] for line in before ^ now}
    assert touched == {"/etc/sparkrig/known_hosts", f"/home/{USER}/.ssh/authorized_keys"}
    assert len((desk.folder / "me" / ".ssh" / "known_hosts").read_text().splitlines()) == 2
    assert [host["name"] for host in json.loads(report.read_text())["hosts"]] == ["spark-a"]
    again = desk.run(*desk.replacing(), "--yes")
    assert again.code == 1 and "nothing was replaced" in again.stderr, again.stderr
    assert PASSWORD not in log.read_text() + done.stdout + done.stderr
    seen(
        "onboard --replace, killed in its deploy and typed again, gave a guest made anew its old place; two files "
        "of the other half were changed"
    )


# A stand-in for NVIDIA's unit and script, as they were recorded [@spark-fleet-updates]: the same condition, the
# same mark before the reboot. In place of apt it holds dpkg's lock until /run/enough is there, for the lab's own
# mirror would bring driver 590.
_UPGRADE = rf"""
set -e
cat >/etc/systemd/system/{UNIT} <<'END'
[Unit]
DefaultDependencies=no
After=network-online.target NetworkManager.service
Wants=network-online.target
Before=multi-user.target
ConditionPathExists=!{MARK}
[Service]
Type=oneshot
ExecStart=/usr/sbin/{UNIT.removesuffix(".service")}.sh
[Install]
WantedBy=multi-user.target
END
cat >/usr/sbin/{UNIT.removesuffix(".service")}.sh <<'END'
#!/bin/sh -e
python3 - <<'PYTHON'
import fcntl, os, time
lock = open("/var/lib/dpkg/lock-frontend", "w")
fcntl.lockf(lock, fcntl.LOCK_EX)
while not os.path.exists("/run/enough"):
    time.sleep(0.1)
PYTHON
install -d -m 0700 {MARK.rpartition("/")[0]}
echo done >{MARK}
reboot
END
chmod 755 /usr/sbin/{UNIT.removesuffix(".service")}.sh
systemctl daemon-reload
systemctl enable -q {UNIT}
systemctl start --no-block {UNIT}
"""
_BOOT = "cat /proc/sys/kernel/random/boot_id"


@pytest.mark.promise(4, 6)
def test_nvidias_first_boot_upgrade_is_waited_for_and_its_reboot_survived(desk: Desk, seen: Seen) -> None:
    fresh = desk.sparks["spark-a"]
    with fresh.login() as entered:
        entered.root(_UPGRADE)
        until(lambda: entered.root(f"systemctl is-active {UNIT} || :").strip() == "activating", 60, "it never ran")
        boot = entered.shell(_BOOT)
    log = desk.folder / "waiting.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            desk.scripted("spark-a"), cwd=ROOT, env=desk.env, stdout=output, stderr=output, start_new_session=True
        )
        until(lambda: "is running; it upgrades every package" in log.read_text(), 300, "it is not waited for")
        with fresh.login() as entered:
            entered.root("touch /run/enough")
        code = process.wait(1800)
    told = log.read_text()
    assert code == 0, told[-4000:]
    assert "was rebooted" in told and "NVIDIA's first-boot upgrade is over (done)" in told
    assert told.index("is over (done)") < told.index("Starting operation"), "nothing was begun before"
    with fresh.login() as entered:
        assert entered.shell(_BOOT) != boot
        assert entered.root(f"systemctl is-enabled {UNIT}").strip() == "enabled", "as NVIDIA's own stays"
    assert desk.planned() == {}
    assert PASSWORD not in told
    seen("onboard named NVIDIA's unit, waited for its mark and its reboot, and went on without a question")


class Tmux:
    """A real terminal of 80 columns, typed into by hand."""

    def __init__(self, words: list[str], env: dict[str, str], folder: Path) -> None:
        self.socket = str(folder / "tmux")
        # the shell stays, so that the last screen does
        run = [*("env", f"HOME={env['HOME']}", f"XDG_STATE_HOME={env['XDG_STATE_HOME']}"), *words]
        line = " ".join(run) + "; echo CODE=$?; exec cat"
        self._tmux("new-session", "-d", "-x", "80", "-y", "50", "-c", str(ROOT), line)

    def _tmux(self, *words: str) -> str:
        done = subprocess.run(["tmux", "-S", self.socket, *words], capture_output=True, text=True, check=True)
        return done.stdout

    @property
    def screen(self) -> str:
        """All that was shown."""
        return self._tmux("capture-pane", "-p", "-J", "-S", "-")

    def answer(self, question: str, answer: str, seconds: float) -> None:
        until(lambda: question in self.screen, seconds, f"{question!r} was not asked")
        self._tmux("send-keys", "-l", answer)
        self._tmux("send-keys", "Enter")

    def end(self, seconds: float) -> int:
        until(lambda: "CODE=" in self.screen, seconds, "it does not end")
        return int(self.screen.rpartition("CODE=")[2].split()[0])

    def close(self) -> None:
        self._tmux("kill-server")


@pytest.fixture
def tmux(desk: Desk) -> Iterator[Tmux]:
    terminal = Tmux(desk.words("spark-b"), desk.env, desk.folder)
    yield terminal
    terminal.close()


@pytest.mark.promise(8)
def test_typed_by_hand_in_a_terminal_of_80_columns(desk: Desk, tmux: Tmux, seen: Seen) -> None:
    tmux.answer("Is it the same there? [y/N]:", "y", 120)
    tmux.answer(f"Password of {USER}@127.0.0.1:", PASSWORD, 120)
    tmux.answer("Apply? [y/N]:", "y", 300)
    code = tmux.end(1800)
    shown = tmux.screen
    assert code == 0, shown
    assert desk.sparks["spark-b"].fingerprint in shown
    assert "no reboot; docker of " in shown and "MTU of " in shown
    assert PASSWORD not in shown
    assert desk.planned() == {}
    seen("onboard asked three things in a terminal, and showed no password")
