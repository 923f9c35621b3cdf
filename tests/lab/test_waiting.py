"""T3: what is waited for, what keeps a run from beginning, and what a lost connection leaves behind."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.machine import Machine
from lab.nodes import MANAGEMENT
from lab.waiting import wait_until
from sparkrig.host.first_upgrade import UNIT
from tests.faults.deploying import deploying
from tests.faults.record import Seen
from tests.lab.commands import BIN, LAB, ROOT, deploy, planned, run
from tests.lab.guests import Guest, Pair

pytestmark = pytest.mark.exhaustive  # make faults runs them

FILES = "deploys/environment.py"
MISSING = "/etc/nccl.conf"  # what the environment's deploy writes again, in seconds
HOLD = """
import fcntl, os, time
lock = open("/var/lib/dpkg/lock-frontend", "w")
fcntl.lockf(lock, fcntl.LOCK_EX)
while not os.path.exists("/run/enough"):
    time.sleep(0.1)
"""
RUNS = "sudo sh -c 'ls /var/lib/sparkrig/runs 2>/dev/null | wc -l'"


def hold(guest: Guest) -> int:
    """Let somebody else use apt until /run/enough is there; the number of that process."""
    guest.output(f"sudo systemd-run -q --unit=other-apt python3 -c {shlex.quote(HOLD)}")
    pid = int(guest.output("systemctl show --value -p MainPID other-apt"))
    guest.output(f"until sudo grep -q ' WRITE {pid} ' /proc/locks; do sleep 0.1; done")
    return pid


@pytest.mark.fault(1)
def test_another_apt_is_waited_for_by_name(deployed: Pair, seen: Seen) -> None:
    deployed.b.output(f"sudo rm {MISSING}")
    pid = hold(deployed.b)
    with deploying(file=FILES) as running:
        wait_until(
            lambda: running.ended or running.said.count("apt is busy") > 1,
            120,
            happened="it never said twice that apt is busy",
            attempt=running.said[-2000:],
        )
        deployed.b.output("sudo touch /run/enough")
        assert running.wait(120), running.said[-2000:]
    assert running.code == 0, running.said[-2000:]
    waits = re.findall(r"\[spark-b\] (apt is busy: .*)", running.said)
    who = rf"python3 \(process {pid}\) holds the dpkg lock; waiting, 1[12]\d\d s left"
    assert len(waits) >= 2 and all(re.search(who, line) for line in waits)
    assert deployed.b.run("systemctl is-failed other-apt").stdout.strip() != "failed", "it was let finish"
    deployed.b.output(f"test -s {MISSING}")
    seen(f"{waits[0]}; {len(waits)} such lines, then it went through")


@pytest.fixture
def impatient(tmp_path: Path) -> str:
    """A deploy that loses its patience with apt after 8 s instead of 20 min."""
    file = tmp_path / "impatient.py"
    file.write_text("from sparkrig.operations import apt\n\napt.WAIT_S = 2  # times the lab's patience\n")
    return str(file)


@pytest.mark.fault(1)
def test_an_apt_that_never_ends_is_named_and_left_alone(deployed: Pair, impatient: str, seen: Seen) -> None:
    deployed.b.output(f"sudo rm {MISSING}")
    pid, runs = hold(deployed.b), deployed.b.output(RUNS)
    done = run("pyinfra", "-y", LAB, impatient, FILES)
    assert done.code == 1
    [said] = [line for line in done.stderr.splitlines() if "Refused: apt is still busy" in line]
    assert f"apt is still busy after 8 s: python3 (process {pid}) holds the dpkg lock" in said
    assert f"Try: ps -fp {pid}" in said
    assert deployed.b.output("systemctl is-active other-apt") == "active"
    assert deployed.b.output(RUNS) == runs and deployed.b.run(f"test -e {MISSING}").rc == 1
    seen(said.strip())


INTERRUPTED = """
mkdir -p p/DEBIAN
printf 'Package: probe\\nVersion: 1\\nArchitecture: all\\nMaintainer: x\\nDescription: x\\n' >p/DEBIAN/control
dpkg-deb -b p probe.deb >&2 && sudo dpkg --unpack probe.deb >&2
"""
UNFIT = {
    "dpkg interrupted": (2, INTERRUPTED, "dpkg was interrupted (probe unfinished)", "sudo dpkg --configure -a"),
    "disk full": (
        7,
        "sudo fallocate -l $(df --output=avail -B1 / | tail -n 1) /fill",
        "/etc and /var have 0 MB of room, and 50 MB are expected",
        "sudo apt-get clean",
    ),
    "root read-only": (
        8,
        "sudo sh -c 'sync; echo u >/proc/sysrq-trigger; until ! test -w /etc; do :; done'",
        "mounted read-only, so nothing can be written",
        "mount -o remount,rw",
    ),
    "clock ahead": (
        29,
        "sudo date -s '+1 hour'",
        "s ahead of this machine's; apt and TLS fail with a wrong clock",
        "timedatectl",
    ),
    "NetworkManager masked": (
        9,
        "sudo systemctl mask --now NetworkManager",
        "NetworkManager is masked, and the fabric needs it",
        "sudo systemctl unmask NetworkManager",
    ),
    "NetworkManager stopped": (
        9,
        "sudo systemctl stop NetworkManager",
        "NetworkManager does not run (inactive), and the fabric needs it",
        "sudo systemctl start NetworkManager",
    ),
    "NVIDIA's first-boot upgrade": (
        6,
        f'sudo sh -c \'printf "[Service]\\nType=oneshot\\nExecStart=/bin/sleep infinity\\n" '
        f">/etc/systemd/system/{UNIT}; systemctl daemon-reload; systemctl start --no-block {UNIT}'",
        f"NVIDIA's first-boot upgrade ({UNIT}) is running; it upgrades every package, and ends with a reboot",
        f"sudo journalctl -fu {UNIT}",
    ),
    "a reboot to come": (6, "sudo shutdown -r +10", "a reboot is scheduled in", "sudo shutdown -c"),
}


@pytest.mark.parametrize(
    ("inject", "what", "cure"),
    [pytest.param(*case[1:], id=name, marks=pytest.mark.fault(case[0])) for name, case in UNFIT.items()],
)
def test_an_unfit_host_is_refused_before_the_first_change(
    deployed: Pair, seen: Seen, inject: str, what: str, cure: str
) -> None:
    for guest in deployed:
        guest.output(f"sudo rm {MISSING}")
    deployed.b.output(inject)
    done = deploy()
    assert done.code == 1
    said = [line.strip() for line in done.stderr.splitlines() if "Refused: " in line]
    assert len(said) == 1 and said[0].startswith("[spark-b] Refused: "), done.stderr[-3000:]
    assert what in said[0] and cure in said[0].split("Try: ")[1]
    assert "Starting operation" not in done.stderr and "Traceback" not in done.stderr
    assert deployed.a.run(f"test -e {MISSING}").rc == 1, "its peer is left alone, too"
    seen(said[0])


def test_networkmanager_is_waited_for_while_it_starts(deployed: Pair) -> None:
    """Its start takes 10 s longer here than it would by itself."""
    drop = "/run/systemd/system/NetworkManager.service.d"
    deployed.b.output(
        f'sudo sh -c \'mkdir -p {drop}; printf "[Service]\\nExecStartPre=/bin/sleep 20\\n" >{drop}/slow.conf; '
        "systemctl daemon-reload; systemctl restart --no-block NetworkManager'"
    )
    assert deployed.b.run("systemctl is-active NetworkManager").stdout.strip() in ("activating", "deactivating")
    assert planned() == {}


def test_a_verb_waits_for_a_host_that_takes_no_logins_yet(deployed: Pair) -> None:
    deployed.b.output("sudo sh -c 'echo System is booting up. >/run/nologin'")
    with subprocess.Popen(
        [BIN / "sparkrig", "status", "--json", LAB],
        cwd=ROOT,
        env={**os.environ, "SPARKRIG_WAIT_S": ""},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as looking:
        assert looking.stderr
        said = next(line for line in looking.stderr if "rebooting" in line)
        deployed.b.output("sudo rm /run/nologin")  # over a connection that was there before
        looking.communicate(timeout=120)
    assert said.startswith("spark-b: may be rebooting (it takes no logins); ")
    assert looking.returncode == 0


@pytest.mark.fault(4)
def test_a_link_that_is_lost_in_mid_step_is_noticed(deployed: Pair, tmp_path: Path, seen: Seen) -> None:
    slow = tmp_path / "slow.py"
    slow.write_text(
        "from pyinfra import host\nfrom pyinfra.operations import server\n"
        "from sparkrig.deploys.spark import look\n\n"
        "if look() and host.name == 'spark-b':\n    server.shell(name='Slow', commands='sleep 299')\n"
    )
    machine = Machine(deployed.b.node)
    with deploying(file=str(slow)) as running:
        wait_until(
            lambda: running.ended or deployed.b.run("pgrep -fx 'sleep 299'").rc == 0,
            120,
            happened="the step never began",
            attempt=running.said,
        )
        machine.set_carriers({MANAGEMENT: False})
        began = time.monotonic()
        try:
            assert running.wait(45), running.said[-2000:]
        finally:
            machine.set_carriers({MANAGEMENT: True})
        took = time.monotonic() - began
        assert running.code == 1
        assert "its state is unknown (spark-b does not answer" in running.said
        assert "Traceback" not in running.said
    assert took > 20, "a shorter silence is no lost link"
    seen(f"noticed after {took:.0f} s: the state of the step is said to be unknown")


@pytest.mark.fault(5)
def test_apt_outlives_the_controller(deployed: Pair, seen: Seen) -> None:
    """The next run waits for what the killed one began."""
    remove = "sudo apt-get -q -y remove nvidia-container-toolkit"
    for guest in deployed:
        guest.output(remove)
    works: Callable[[], bool] = lambda: deployed.b.run("systemctl is-active -q sparkrig-apt").rc == 0  # noqa: E731
    with deploying() as running:
        wait_until(works, 240, happened="apt never ran", attempt=running.said)
        running.kill()
    assert works(), "the unit goes on"
    done = deploy()
    assert done.code == 0, done.stderr[-3000:]
    for guest in deployed:
        assert guest.output("dpkg-query -W -f='${db:Status-Status}' nvidia-container-toolkit") == "installed"
        assert guest.run("systemctl list-units --all --no-legend 'sparkrig-apt*'").stdout == ""
    assert planned() == {}
    seen("apt went on as sparkrig-apt without a controller; the next run waited for it and ended well")
