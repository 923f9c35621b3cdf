"""T3: virtual Sparks go to another release by `sparkrig update`, with real apt, GRUB and reboots.

`offer N` is the lab's own: the one source of apt is then the repository of that release. The kernel of release 2
is another one than the guest was made with; the nvidia.ko of each is a stand-in that has its version alone.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from lab import NODES
from lab import pair as lab
from lab.guest.build.catalogue import Package
from tests.faults.record import Seen
from tests.lab import made
from tests.lab.commands import BIN, LAB, ROOT, SOLO, STATE, Done, planned, run
from tests.lab.guests import Guest, Pair
from tests.lab.inventories import inventory_with
from tests.lab.serving import ONE, SETTINGS, models, serve, until_it_answers

OFFER = "sudo /usr/lib/sparkrig-lab/offer"
PARTS = ("--only", "driver", "--only", "os")
FIRST, NEXT = "580.173.02", "580.178.04"
RECORD = "/var/lib/sparkrig/update"


def update(inventory: str, *words: str) -> Done:
    return run("sparkrig", "update", inventory, "--yes", "--to", "candidate", *PARTS, *words, timeout=2400)


def kernel(guest: Guest) -> str:
    return guest.output("uname -r")


def driver(guest: Guest) -> str:
    return guest.output("nvidia-smi --query-gpu=driver_version --format=csv,noheader")


def holds(guest: Guest) -> set[str]:
    return set(guest.output("apt-mark showhold").split())


def assert_updated(guest: Guest, before: str) -> None:
    """The new kernel runs and stays the default, the new driver answers, and nothing of the update is left."""
    assert kernel(guest).endswith("-rt-amd64") and kernel(guest) != before
    assert driver(guest) == NEXT
    assert "nvidia-driver-580-open" in holds(guest)
    assert guest.run(f"sudo test -e {RECORD}").rc != 0
    left = "sudo ls /etc/default/grub.d /etc/systemd/system | grep sparkrig-update"
    assert guest.run(left).rc != 0
    assert re.search(r'set default="0"', guest.output("sudo cat /boot/grub/grub.cfg"))
    policy = guest.output("apt-cache policy nvidia-driver-590-open nvidia-driver-open")
    assert "Candidate: (none)" in policy, "590 stays away"


def test_a_spark_goes_to_the_next_release(alone: Guest, seen: Seen) -> None:
    before, held = kernel(alone), holds(alone)
    alone.output(f"{OFFER} 2")
    done = update(SOLO)
    assert done.code == 0, (done.stdout + done.stderr)[-4000:]
    assert_updated(alone, before)
    assert {re.sub(r"\d[\d.-]*\d", "N", name) for name in held} <= {
        re.sub(r"\d[\d.-]*\d", "N", name) for name in holds(alone)
    }
    kept = re.search(r"all that changed: (\S+[.]json)", said(done))
    assert kept, said(done)
    changes = {row["name"]: row["after"] for row in json.loads(Path(kept[1]).read_text())["changes"]}
    assert (changes["kernel"], changes["driver"]) == (kernel(alone), NEXT)
    assert planned(SOLO) == {}
    found = run("sparkrig", "drift", SOLO)
    assert found.code == 0, found.stdout
    again = update(SOLO)
    assert again.code == 0 and "Nothing to update" in again.stdout, again.stdout
    seen(f"from {before} to {kernel(alone)} and driver {NEXT}, held as before, drift empty")


# --- left to `make faults`: each updates a guest or two under emulation


def said(done: Done) -> str:
    return " ".join((done.stdout + done.stderr).split())


@pytest.mark.fault(43)
@pytest.mark.exhaustive
def test_a_kernel_without_its_module_is_refused_before_anything_changes(alone: Guest, seen: Seen) -> None:
    before, held = kernel(alone), holds(alone)
    alone.output(f"{OFFER} torn")
    done = update(SOLO)
    assert done.code == 1 and "without an nvidia.ko" in said(done), said(done)
    assert (kernel(alone), holds(alone)) == (before, held)
    assert alone.run(f"sudo test -e {RECORD}").rc != 0
    seen(said(done)[-300:])


@pytest.mark.fault(44)
@pytest.mark.exhaustive
def test_a_kernel_that_does_not_come_up_gives_the_earlier_one_back(alone: Guest, seen: Seen) -> None:
    before = kernel(alone)
    alone.output(f"{OFFER} dead")
    done = update(SOLO)
    assert done.code == 2 and "did not come up or was not proven in time" in said(done), said(done)
    assert kernel(alone) == before
    found = run("sparkrig", "drift", SOLO)
    assert "host.update" in found.stdout
    back = update(SOLO, "--back")
    assert back.code == 0, said(back)
    assert (kernel(alone), driver(alone)) == (before, FIRST)
    assert planned(SOLO) == {}
    seen(said(done)[-300:])


@pytest.mark.fault(45)
@pytest.mark.exhaustive
def test_a_repository_that_goes_away_leaves_all_as_it_was(alone: Guest, seen: Seen) -> None:
    """Its lists were fetched, and its files are gone: as of ppa.launchpadcontent.net on 2026-05-03."""
    before, held = driver(alone), holds(alone)
    alone.output(f"{OFFER} 2")
    process = begun(SOLO)
    until(process, lambda: alone.run(f"sudo test -e {RECORD}/plan").rc == 0, "the record")
    alone.output("sudo mv /srv/ota /srv/ota.gone")
    out, err = process.communicate(timeout=1200)
    text = " ".join((out + err).split())
    assert process.returncode == 2 and "cannot be downloaded, and nothing is installed" in text, text
    assert (driver(alone), holds(alone)) == (before, held)
    alone.output("sudo mv /srv/ota.gone /srv/ota")
    other = run("sparkrig", "update", SOLO, "--yes", "--only", "firmware")
    assert other.code == 1 and "by another command than this one" in said(other), said(other)
    assert (driver(alone), holds(alone)) == (before, held)
    done = update(SOLO)
    assert done.code == 0, said(done)
    seen(text[-300:])


@pytest.mark.exhaustive
def test_what_an_upgrade_would_remove_is_named_and_stays_until_it_may_go(alone: Guest, tmp_path: Path) -> None:
    mine, checker = Package("spark-mine", "1.0"), made.RELEASE.checker
    made.publish(alone, tmp_path / "mine", [mine])
    alone.output("sudo apt-get -q -y install spark-mine", timeout=300)
    alone.output(f"{OFFER} 1")
    other = Package("nvidia-spark-ota-check", checker, conflicts=mine.name)
    made.publish(alone, tmp_path / "other", [other])
    installed = "dpkg-query -W -f='${db:Status-Abbrev}${Version} ' nvidia-spark-ota-check spark-mine"
    before = alone.output(installed), driver(alone), holds(alone)
    done = update(SOLO)
    assert done.code == 1 and "would remove spark-mine (installed by hand)" in said(done), said(done)
    assert (alone.output(installed), driver(alone), holds(alone)) == before
    assert alone.run(f"sudo test -e {RECORD}").rc != 0
    done = update(SOLO, "--allow-removal", mine.name)
    assert done.code == 0 and driver(alone) == NEXT, said(done)
    assert "ii" not in alone.run("dpkg-query -W -f='${db:Status-Abbrev}' spark-mine").stdout


@pytest.mark.exhaustive
def test_a_repository_whose_path_is_dead_is_refused_by_its_address(alone: Guest) -> None:
    alone.output(f"{OFFER} 1")
    dead = "https://repo.download.nvidia.com/spark/ubuntu/dead"
    alone.output(f"echo 'deb [trusted=yes] {dead} ./' | sudo tee /etc/apt/sources.list.d/dead.list")
    before, held = driver(alone), holds(alone)
    done = update(SOLO)
    assert done.code == 1 and f"apt has nothing of {dead}" in said(done), said(done)
    assert (driver(alone), holds(alone)) == (before, held)
    assert alone.run(f"sudo test -e {RECORD}").rc != 0


@pytest.mark.fault(46)
@pytest.mark.exhaustive
def test_a_full_disk_is_refused_before_anything_changes(alone: Guest, seen: Seen) -> None:
    before = driver(alone)
    alone.output(f"{OFFER} 2")
    alone.output("sudo sh -c 'fallocate -l $(($(df --output=avail -B1 / | tail -n 1) - 60000000)) /var/filled'")
    done = update(SOLO)
    assert done.code == 1 and "MB" in said(done), said(done)
    assert driver(alone) == before
    seen(said(done)[-300:])


FIRMWARE = "sudo /usr/lib/sparkrig-lab/firmware"  # a stand-in of fwupdmgr and dmidecode, with recorded boards
ALONE = ("--only", "firmware", "--to", "candidate", "--irreversible")


def board(guest: Guest) -> dict[str, str]:
    """The versions of the board's own table."""
    table = guest.output("sudo dmidecode -t 45")
    return dict(re.findall(r"Name: (FLASH|EC Firmware)\n\tFirmware Version: (\S+)", table))


@pytest.mark.exhaustive
def test_firmware_is_written_by_a_reboot_and_read_from_the_board(alone: Guest, seen: Seen) -> None:
    alone.output(f"{FIRMWARE} older")
    before, boot = board(alone), alone.output("cat /proc/sys/kernel/random/boot_id")
    refused = run("sparkrig", "update", SOLO, "--yes", *ALONE[:-1])
    assert refused.code == 1 and "the firmware of SoC and EC" in said(refused), said(refused)
    done = run("sparkrig", "update", SOLO, "--yes", *ALONE, timeout=1200)
    assert done.code == 0, said(done)
    assert board(alone) == {"FLASH": "SBP:R:2.155.11", "EC Firmware": "3.5.8"} != before
    assert alone.output("cat /proc/sys/kernel/random/boot_id") != boot
    assert planned(SOLO) == {}
    again = run("sparkrig", "update", SOLO, "--yes", *ALONE)
    assert again.code == 0 and "Nothing to update" in again.stdout, again.stdout
    seen(f"{before} became {board(alone)}, by fwupdmgr's stand-in and a real reboot")


@pytest.mark.exhaustive
def test_firmware_that_the_board_does_not_take_is_named_and_the_rest_is_done(alone: Guest, seen: Seen) -> None:
    alone.output(f"{FIRMWARE} failing")
    done = run("sparkrig", "update", SOLO, "--yes", *ALONE, timeout=1200)
    assert done.code == 2 and "the firmware is not on the board" in said(done), said(done)
    assert "pull its plug for 30 seconds" in said(done)
    assert board(alone)["FLASH"] == "SBP:R:2.155.11" and board(alone)["EC Firmware"] == "3.3.2"
    assert alone.run(f"sudo test -e {RECORD}").rc != 0
    seen(said(done)[-300:])


def begun(inventory: str, *words: str, to: str = "candidate") -> subprocess.Popen[str]:
    """An update that goes on by itself."""
    return subprocess.Popen(
        [BIN / "sparkrig", "update", inventory, "--yes", "--to", to, *PARTS, *words],
        cwd=ROOT,
        env={**os.environ, "NO_COLOR": "1", "XDG_STATE_HOME": STATE, "PYINFRA_PROGRESS": "off"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def until(process: subprocess.Popen[str], condition: Callable[[], bool], what: str, seconds: float = 900) -> None:
    """Wait for a moment of an update that goes on. process: of the update, which must not end before it."""
    end = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, " ".join(("it ended before", what, *process.communicate()))
        assert time.monotonic() < end, what
        time.sleep(0.5)


def noted(guest: Guest, step: str) -> Callable[[], bool]:
    """Whether a step of the update is done."""
    return lambda: guest.run(f"sudo grep -q '^{step} ' {RECORD}/steps").rc == 0


@pytest.mark.exhaustive
def test_a_pair_that_serves_goes_from_one_release_to_the_next(ready: Pair, inventory: str, seen: Seen) -> None:
    done = serve(inventory, ONE)
    assert done.code == 0, done.stderr[-3000:]
    for guest in ready:
        guest.output(f"{OFFER} 1")
    done = run("sparkrig", "update", inventory, "--yes", "--to", "candidate", *PARTS, timeout=2400)
    assert done.code == 0, said(done)
    assert [driver(guest) for guest in ready] == [NEXT, NEXT]
    until_it_answers(ready.a)
    assert ONE in models(ready.a)
    found = run("sparkrig", "drift", inventory)
    assert found.code == 0, found.stdout
    begins = [line.partition(":")[0] for line in done.stderr.splitlines() if line.endswith(": install ...")]
    assert begins == ["spark-b", "spark-a"], "the half that serves comes last"
    seen("both halves, one after the other; the model answers again, drift is empty")


@pytest.mark.fault(47)
@pytest.mark.promise(4)
@pytest.mark.exhaustive
@pytest.mark.parametrize("step", ["installed", "armed", "proven"])
def test_a_controller_that_is_killed_is_followed_by_the_same_command(
    deployed: Pair, step: str, seen: Seen
) -> None:
    for guest in deployed:
        guest.output(f"{OFFER} 2")
    before = kernel(deployed.a)
    process = begun(LAB)
    until(process, noted(deployed.a, step), step)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    done = update(LAB)
    assert done.code == 0, said(done)
    for guest in deployed:
        assert_updated(guest, before)
    seen(f"killed once {step} was noted on spark-a; the same command brought both to the end")


@pytest.mark.fault(47)
@pytest.mark.promise(6)
@pytest.mark.exhaustive
@pytest.mark.parametrize("moment", ["the installation", "the new kernel"])
def test_a_power_cut_is_followed_by_the_same_command(deployed: Pair, moment: str, seen: Seen) -> None:
    for guest in deployed:
        guest.output(f"{OFFER} 2")
    before = kernel(deployed.a)
    process = begun(LAB)
    at_work = "pgrep -f 'dpkg .*--unpack|dpkg .*--configure'"
    until(
        process,
        (lambda: deployed.a.run(at_work).rc == 0) if moment == "the installation" else noted(deployed.a, "proven"),
        moment,
    )
    lab.cut_power(NODES[0])
    process.communicate(timeout=2400)
    done = update(LAB)
    assert done.code == 0, said(done)
    for guest in deployed:
        assert_updated(guest, before)
    seen(f"power cut during {moment}; the same command brought both to the end")


@pytest.mark.fault(55)
@pytest.mark.exhaustive
def test_a_branch_moves_forth_and_back_on_a_pair_that_serves(ready: Pair, tmp_path: Path, seen: Seen) -> None:
    """By a release that is made up (tests/lab/made.py); nothing but real apt shows that it leads both ways."""
    there = {branch: declares(tmp_path, branch) for branch in (580, 590)}
    done = serve(there[580], ONE)
    assert done.code == 0, done.stderr[-3000:]
    for guest in ready:
        made.offer(guest, tmp_path / guest.node)
    refused = moves(there[580], made.RELEASE.name)
    assert refused.code == 1 and "driver_branch declares 580" in said(refused), said(refused)
    assert [driver(guest) for guest in ready] == [FIRST, FIRST]
    done = moves(there[590], made.RELEASE.name)
    assert done.code == 0 and "move the driver from branch 580 to 590" in said(done), said(done)
    for guest in ready:
        assert_held(guest, "590.48.01", "nvidia-driver-open", "591 and later")
    until_it_answers(ready.a)
    found = run("sparkrig", "drift", there[590])
    assert found.code == 0, found.stdout
    done = moves(there[580], "OTA2609")
    assert done.code == 0 and "move the driver from branch 590 to 580" in said(done), said(done)
    for guest in ready:
        assert_held(guest, NEXT, "nvidia-driver-580-open", "590 and later")
    until_it_answers(ready.a)
    assert ONE in models(ready.a)
    seen(f"{FIRST} to 590.48.01 and back to {NEXT}, one half after the other; the model answers after each")


@pytest.mark.fault(55)
@pytest.mark.exhaustive
def test_a_move_of_the_branch_that_was_cut_leads_back_and_forth(
    deployed: Pair, tmp_path: Path, seen: Seen
) -> None:
    guest, there = deployed.a, declares(tmp_path, 590, "")
    for each in deployed:
        made.offer(each, tmp_path / each.node)
    process = begun(there, to=made.RELEASE.name)
    at_work = "pgrep -f 'dpkg .*--unpack|dpkg .*--configure'"
    until(process, lambda: guest.run(at_work).rc == 0, "the installation")
    lab.cut_power(guest.node)
    process.communicate(timeout=2400)
    back = moves(there, made.RELEASE.name, "--back")
    assert back.code == 0, said(back)
    for each in deployed:
        assert_held(each, FIRST, "nvidia-driver-580-open", "590 and later")
    done = moves(there, made.RELEASE.name)
    assert done.code == 0, said(done)
    for each in deployed:
        assert_held(each, "590.48.01", "nvidia-driver-open", "591 and later")
    found = run("sparkrig", "drift", there)
    assert found.code == 0, found.stdout
    seen("power cut while dpkg brought 590: put back to 580 by --back, then brought to 590 by the same command")


def declares(folder: Path, branch: int, more: str = f"'node_ssh': True, {SETTINGS}, ") -> str:
    """An inventory of the pair that declares a branch. more: its other settings; one that can serve."""
    return inventory_with(folder / str(branch), f"{more}'driver_branch': {branch}")


def moves(inventory: str, to: str, *words: str) -> Done:
    back = ("--to", to, *PARTS) if "--back" not in words else ()
    return run("sparkrig", "update", inventory, "--yes", *back, *words, timeout=2400)


def assert_held(guest: Guest, version: str, package: str, pinned: str) -> None:
    """The driver answers, is held by its package's name, and its pin is that of its branch."""
    assert driver(guest) == version
    assert package in holds(guest)
    assert pinned in guest.output("cat /etc/apt/preferences.d/00-sparkrig-nvidia.pref")
