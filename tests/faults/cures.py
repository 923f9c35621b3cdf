"""The cures of all kinds of check: a state that makes drift print each, or why none is executed on a guest.

test_cures.py executes them. tests/unit/test_faults.py finds a kind that is missing here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

NETDEV = "enp1s0f0np0"
_EDIT = "echo '# of somebody else' | sudo tee -a"


@dataclass(frozen=True)
class Printed:
    """A cure that can be executed.

    id: the check of drift that prints it; state: the shell line on spark-b that makes it.
    """

    id: str
    state: str


# by kind (sparkrig.checks.reference.KINDS): what makes it, or why its cure is executed on no guest
CURES: Mapping[str, tuple[Printed, ...] | str] = {
    "access.ssh": "the host is off, or in another network: a person goes there",
    "access.sudo": "without sudo the lab cannot put it back",
    "access.look": "a host that hangs: the cure is a look by hand",
    "identity.spark": "the inventory is to be edited: words",
    "identity.kernel": "the guests have one kernel, and no other one can be installed",
    "identity.dgx-os": "the release of DGX OS is a file of NVIDIA's: an update, see tests/lab/test_update.py",
    "host.clock": "the guests reach no time server, so nothing sets their clock",
    "host.dpkg": (
        Printed(
            "host.dpkg",
            "sudo sed -i '/^Package: perftest$/,/^$/s/^Status: .*/Status: install ok unpacked/'"
            " /var/lib/dpkg/status",
        ),
    ),
    "host.first-upgrade": "the upgrade of NVIDIA's image ends by itself: tests/lab/test_waiting.py",
    "host.journal": (Printed("host.journal", "sudo rm -r /var/lib/sparkrig/runs"),),
    "host.mounts": "the cure is a look and a repair by a person",
    "host.rollback": "a killed run makes it: tests/faults/test_pairs.py",
    "host.room": "a person decides what goes",
    "host.shutdown": (Printed("host.shutdown", "sudo shutdown -r +20"),),
    "host.update": "an update makes it: tests/lab/test_update.py",
    "driver.version": "the driver of the lab is a package without a module: a reboot is part of it",
    "driver.branch": "no driver of 590 can be installed on a guest",
    "driver.hold": (Printed("driver.hold", "sudo apt-mark unhold nvidia-driver-580-open"),),
    "driver.pin": (Printed("driver.pin", "sudo rm /etc/apt/preferences.d/00-sparkrig-nvidia.pref"),),
    "driver.unattended-upgrades": (
        Printed("driver.unattended-upgrades", f"{_EDIT} /etc/apt/apt.conf.d/52sparkrig-nvidia"),
    ),
    "driver.upgrade": "it follows from hold and pin, whose cures are here",
    "release.newest": "an update: tests/lab/test_update.py",
    "time.servers": "no setting of the lab's inventory declares any",
    "time.synchronised": "the guests reach no time server",
    "net.manager": (
        Printed("net.manager", "sudo systemctl stop NetworkManager"),
        Printed("net.manager", "sudo systemctl mask --now NetworkManager"),
    ),
    "net.NETDEV.carrier": "a person seats a cable",
    "net.NETDEV.others": (
        Printed(
            f"net.{NETDEV}.others",
            f"sudo nmcli connection add type ethernet ifname {NETDEV} con-name cx7 autoconnect no",
        ),
    ),
    "net.NETDEV.profile": (
        Printed(f"net.{NETDEV}.profile", f"sudo nmcli con mod sparkrig-{NETDEV} 802-3-ethernet.mtu 1500"),
    ),
    "net.NETDEV.active": (Printed(f"net.{NETDEV}.active", f"sudo nmcli con down sparkrig-{NETDEV}"),),
    "net.NETDEV.mtu": (Printed(f"net.{NETDEV}.mtu", f"sudo ip link set {NETDEV} mtu 1500"),),
    "net.NETDEV.address": (Printed(f"net.{NETDEV}.address", f"sudo ip addr add 10.9.0.1/24 dev {NETDEV}"),),
    "net.NETDEV.ipv6": (
        Printed(
            f"net.{NETDEV}.ipv6",
            f"sudo sysctl -qw net.ipv6.conf.{NETDEV}.disable_ipv6=0"
            f" && sudo ip -6 addr add fe80::9/64 dev {NETDEV}",
        ),
    ),
    "net.plan": "a route of somebody else's is taken away by a person",
    "rdma.NETDEV.device": "a kernel module of the ConnectX-7; the guests' devices are made in software",
    "rdma.NETDEV.gid": "it follows from the address, whose cure is here",
    "rdma.NETDEV.path-mtu": "it follows from the MTU, whose cure is here",
    "rdma.gid-index": "its two states are in tests/lab/test_drift.py, whose mend() types the cure",
    "containers.toolkit": (Printed("containers.toolkit", "sudo apt-get purge -y nvidia-container-toolkit"),),
    "containers.docker": (
        Printed("containers.docker", "sudo systemctl stop docker.socket docker.service"),
        Printed("containers.docker", "sudo systemctl mask --now docker.socket docker.service"),
        Printed("containers.docker", "sudo systemctl mask --now docker.socket"),
    ),
    "containers.daemon-json": (Printed("containers.daemon-json", "sudo rm /etc/docker/daemon.json"),),
    "containers.runtime": (
        Printed(
            "containers.runtime",
            "sudo mv /etc/docker/daemon.json /root/ && sudo systemctl restart docker"
            " && sudo mv /root/daemon.json /etc/docker/",
        ),
    ),
    "environment.files": "what the files need is missing on the host: words of what that is",
    "environment.FILE": (Printed("environment.nccl.conf", f"{_EDIT} /etc/nccl.conf"),),
    "secrets.values": "the lab's inventory has no secret",
    "secrets.mode": "the lab's inventory has no secret",
    "trust.key": "the pair of this state has no login over the fabric: tests/lab/test_serve.py",
    "trust.login": "the pair of this state has no login over the fabric: tests/lab/test_serve.py",
    "watch.files": "tests/lab/test_watch.py",
    "watch.running": "tests/lab/test_watch.py",
    "watch.metrics": "tests/lab/test_watch.py",
    "watch.reset": "what happened is told, and goes with the day",
    "watch.guard": "what happened is told, and goes with the day",
    "bandwidth.NETDEV": (Printed(f"bandwidth.{NETDEV}", "sudo rm /var/lib/sparkrig/bandwidth.json"),),
    "serve.model": "nothing is served in this state: tests/lab/test_serve.py",
    "serve.files": "nothing is served in this state: tests/lab/test_serve.py",
    "serve.unit": "nothing is served in this state: tests/lab/test_serve.py",
    "serve.image": "nothing is served in this state: tests/lab/test_serve.py",
    "serve.alike": "nothing is served in this state: tests/lab/test_serve.py",
    "serve.token": "nothing is served in this state: tests/lab/test_serve.py",
    "serve.memory": "nothing is served in this state: tests/lab/test_serve.py",
    "serve.weights": "nothing is served in this state: tests/lab/test_serve.py",
    "serve.revision": "nothing is served in this state: tests/lab/test_serve.py",
    "serve.answer": "nothing is served in this state: tests/lab/test_serve.py",
    "serve.stuck": "nothing is served in this state: tests/lab/test_serve.py",
    "serve.pressure": "nothing is served in this state: tests/lab/test_serve.py",
    "serve.access": "nothing is served in this state: tests/lab/test_serve.py",
    "serve.trial": "nothing is served in this state: tests/lab/test_serve.py",
    "pair.cabling": "a person plugs cables",
    "pair.halves": "a controller that died makes it: tests/lab/test_journal.py",
    "pair.NETDEV.mtu": "it follows from the MTU, whose cure is here",
    "pair.NETDEV.ping": "what is on the way (a switch, a firewall) is a person's",
    "pair.name": "the lab's guests have names that are no trap",
    "pair.perftest": "two versions of a package; the guests' mirror has one",
    "pair.machine-id": "its cure ends with a reboot: tests/lab/test_doctor.py types it",
    "pair.host-keys": "its cure is followed by another known_hosts: tests/lab/test_doctor.py types it",
    "nic.NETDEV.pcie": "hardware that no guest has",
    "gpu.answers": "hardware that no guest has",
    "gpu.clock": "hardware that no guest has",
    "gpu.gsp": "hardware that no guest has",
    "gpu.temperature": "hardware that no guest has",
    "health.memory": "memory, heat and kernels of a Spark; words",
    "health.temperature": "memory, heat and kernels of a Spark; words",
    "health.kho": "memory, heat and kernels of a Spark; words",
    "health.next-kernel": "memory, heat and kernels of a Spark; words",
    "health.cdi": "memory, heat and kernels of a Spark; words",
}
