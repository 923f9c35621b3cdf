"""The lab keeps its own promises: what it says it can do to two virtual Sparks, done."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time

import pytest

from lab import NODES, pair, ssh_data
from lab.machine import Machine, State
from lab.nodes import FABRIC, FACTORY_NAMES, ssh_port
from lab.waiting import wait_until
from tests.lab.commands import lab
from tests.lab.guests import Guest, Pair
from tests.lab.links import wait_for_carrier

RAIL, DEVICE = "enp1s0f0np0", "rocep1s0f0"
DEVICES = {"rocep1s0f0", "roceP2p1s0f0", "rocep1s0f1", "roceP2p1s0f1"}
PERFTEST_PORT = 18515


def pids() -> list[int | None]:
    return [Machine(node).pid() for node in NODES]


def clock_error(guest: Guest) -> float:
    """Seconds between the guest's clock and ours, both ends of the question counted."""
    before = time.time()
    theirs = float(guest.output("date +%s.%N"))
    return max(before - theirs, theirs - time.time(), 0.0)


def wait_for_carriers(guests: Pair, *, p0: str, p1: str) -> None:
    for guest in guests:
        wait_for_carrier(guest, "p0", p0)
        wait_for_carrier(guest, "p1", p1)


@pytest.fixture
def rail(pristine: Pair) -> Pair:
    """The pair with rail 0 configured: 192.168.100.11 and .12, MTU 9000."""
    for guest, address in zip(pristine, ("192.168.100.11", "192.168.100.12"), strict=True):
        guest.output(
            f"sudo nmcli connection add type ethernet con-name rail0 ifname {RAIL} ipv4.method manual"
            f" ipv4.addresses {address}/24 ipv6.method link-local 802-3-ethernet.mtu 9000"
            " && sudo nmcli --wait 60 connection up rail0"
        )
    return pristine


def test_a_second_up_changes_nothing(lab_pair: Pair) -> None:
    before = pids()
    again = lab("up")
    assert (again.returncode, pids()) == (0, before)
    assert "already up" in again.stderr


def test_guests_have_their_own_identities(lab_pair: Pair) -> None:
    for path in ("/etc/machine-id", "/etc/ssh/ssh_host_ed25519_key.pub", "/etc/hostname"):
        assert lab_pair.a.output(f"cat {path}") != lab_pair.b.output(f"cat {path}")
    assert [guest.output("hostname") for guest in lab_pair] == [FACTORY_NAMES[node] for node in NODES]


def test_reset_brings_back_a_changed_file_and_sets_the_clock(lab_pair: Pair) -> None:
    for guest in lab_pair:
        guest.output("sudo rm /etc/dgx-release && sudo touch /etc/changed && sudo date --set=2001-01-01")
    assert lab("reset").returncode == 0
    for guest in lab_pair:
        assert guest.run("test -s /etc/dgx-release -a ! -e /etc/changed").rc == 0
        assert clock_error(guest) < 2


def test_a_stopped_pair_starts_from_its_snapshot_unless_its_port_is_taken(lab_pair: Pair) -> None:
    boots = [guest.output("cat /proc/sys/kernel/random/boot_id") for guest in lab_pair]
    assert lab("down").returncode == 0
    assert {Machine(node).state() for node in NODES} == {State.STOPPED}
    with socket.create_server(("127.0.0.1", ssh_port("spark-b"))):
        refused = lab("up")
    assert refused.returncode == 1
    assert f"port {ssh_port('spark-b')} of 127.0.0.1 is in use" in refused.stderr
    assert "Traceback" not in refused.stderr
    started = time.monotonic()
    assert lab("up").returncode == 0
    assert time.monotonic() - started < 20
    assert [guest.output("cat /proc/sys/kernel/random/boot_id") for guest in lab_pair] == boots
    assert max(clock_error(guest) for guest in lab_pair) < 2


def test_a_stale_pid_file_is_named_and_overcome(lab_pair: Pair) -> None:
    machine = Machine("spark-b")
    pid = machine.pid()
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: machine.pid() is None, 10, happened="qemu lives on", attempt="sparkrig lab down")
    assert machine.stale_pid() == str(pid)
    again = lab("up")
    assert again.returncode == 0
    assert f"process {pid}" in again.stderr
    assert lab_pair.b.output("hostname") == FACTORY_NAMES["spark-b"]


def test_host_keys_are_strict(lab_pair: Pair) -> None:
    data = ssh_data("spark-a")
    assert data["ssh_strict_host_key_checking"] == "yes"
    options = {
        "BatchMode": "yes",
        "StrictHostKeyChecking": "yes",
        "UserKnownHostsFile": data["ssh_known_hosts_file"],
        "IdentityFile": data["ssh_key"],
        # spark-a answers where spark-b's key is expected.
        "HostKeyAlias": f"[127.0.0.1]:{ssh_port('spark-b')}",
    }
    words = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
    target = ["-p", str(data["ssh_port"]), f"{data['ssh_user']}@127.0.0.1", "true"]
    swapped = subprocess.run(["ssh", "-F", "none", *words, *target], capture_output=True, text=True, check=False)
    assert swapped.returncode == 255
    assert "verification failed" in swapped.stderr


def test_a_cable_has_two_ends(pristine: Pair) -> None:
    wait_for_carriers(pristine, p0="1", p1="0")
    assert lab("cable", "spark-a", "p0", "unplug").returncode == 0
    assert lab("cable", "spark-b", "p1", "plug").returncode == 0
    wait_for_carriers(pristine, p0="0", p1="1")
    pair.reset(NODES)
    wait_for_carriers(pristine, p0="1", p1="0")


def test_jumbo_frames_and_rdma_cross_a_rail(rail: Pair) -> None:
    rail.a.output("ping -c 3 -i 0.3 -M do -s 8972 192.168.100.12")
    server = f"ib_write_bw -d {DEVICE} -D 2 -F --report_gbits"
    rail.b.output(f"sudo systemd-run --quiet --unit=write-bw timeout 120 {server}")
    rail.b.output(f"timeout 60 sh -c 'until ss -ltn | grep -q :{PERFTEST_PORT}; do sleep 0.2; done'")
    report = rail.a.output(f"timeout 120 {server} 192.168.100.12", timeout=150)
    (row,) = (line.split() for line in report.splitlines() if line.strip().startswith("65536"))
    assert float(row[3]) > 0, report
    assert "Mtu             : 4096[B]" in report


def test_a_pristine_guest_is_a_factory_spark(pristine: Pair) -> None:
    for guest in pristine:
        assert set(guest.output("rdma link | sed 's|link ||; s|/.*||'").split()) == DEVICES
        assert (
            guest.output("nvidia-smi --query-gpu=name,memory.total --format=csv,noheader") == "NVIDIA GB10, [N/A]"
        )
        assert guest.output("cat /sys/class/dmi/id/product_name") == "NVIDIA_DGX_Spark"
        assert guest.run("command -v nvidia-ctk").rc != 0
        assert set(FABRIC) <= set(guest.output("ls /sys/class/net").split())


def test_a_plain_upgrade_of_a_pristine_guest_takes_590_and_kernel_7(pristine: Pair) -> None:
    plan = pristine.a.output("sudo apt-get update --quiet && apt-get --simulate dist-upgrade")
    assert "Inst nvidia-driver-open (590.48.01" in plan
    assert "Inst nvidia-modprobe [610.43.02-1ubuntu1] (610.57.04" in plan
    assert "Inst linux-image-nvidia-hwe-24.04 [6.17.0-1029.29] (7.0.0-1019" in plan
    by_name = pristine.a.output("apt-get --simulate install nvidia-driver-590-open")
    assert "Inst nvidia-driver-590-open (590.48.01" in by_name


@pytest.mark.exhaustive
def test_after_a_power_cut_the_rdma_devices_are_back(pristine: Pair) -> None:
    boot = pristine.b.output("cat /proc/sys/kernel/random/boot_id; sudo touch /run/gone /var/kept; sync")
    assert lab("power", "spark-b", "cut").returncode == 0
    assert pristine.b.output("cat /proc/sys/kernel/random/boot_id") != boot
    assert pristine.b.run("test -e /var/kept -a ! -e /run/gone").rc == 0
    assert set(pristine.b.output("rdma link | sed 's|link ||; s|/.*||'").split()) == DEVICES
    assert clock_error(pristine.b) < 5


def test_a_solo_spark_has_no_fabric(solo: Guest) -> None:
    assert set(solo.output("ls /sys/class/net").split()) == {"lo", "docker0", "enP7s7"}
    assert solo.output("rdma link") == ""
