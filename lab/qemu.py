"""The command line of one guest: pure."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lab.nodes import LAN, MANAGEMENT, Nic, nics, ssh_port
from lab.wiring import Cabling, datagrams, rails

BINARY = "qemu-system-x86_64"
MEMORY_MIB = 1536
PRISTINE = "ready"  # the snapshot of the first boot

ACCELERATORS = {
    "kvm": ["-accel", "kvm", "-cpu", "host", "-smp", "2"],
    "tcg": ["-accel", "tcg,thread=multi,tb-size=512", "-cpu", "max", "-smp", "1"],
}


@dataclass(frozen=True)
class Plan:
    """All that decides how a guest is started."""

    node: str
    accelerator: str
    image: Path
    home: Path
    cabling: Cabling
    lan: bool = False  # whether its management port is in the LAN of all guests

    @property
    def folder(self) -> Path:
        """The guest's own folder."""
        return self.home / self.node


def hardware(plan: Plan) -> list[str]:
    """The machine proper: a snapshot fits only the very same one."""
    return [
        *ACCELERATORS[plan.accelerator],
        *("-machine", "pc"),
        *("-m", str(MEMORY_MIB)),
        *("-smbios", "type=1,manufacturer=NVIDIA,product=NVIDIA_DGX_Spark"),
        *("-smbios", f"type=3,asset={plan.node}"),  # by which a guest learns at its first boot which one it is
        *("-device", "virtio-blk-pci,drive=disk", "-device", "virtio-rng-pci"),
        *(word for nic in nics(plan.node) for word in ("-device", device(nic))),
    ]


def device(nic: Nic) -> str:
    """The virtio NIC in front of the netdev of the same name."""
    return (
        f"virtio-net-pci,id=nic-{nic.netdev},netdev={nic.netdev},mac={nic.mac},"
        f"host_mtu={nic.mtu},speed={nic.speed},duplex=full,romfile="
    )


def surroundings(plan: Plan) -> list[str]:
    """Files, sockets and ports, which may differ from one start to the next."""
    folder = plan.folder
    return [
        *("-name", plan.node),
        *("-nodefaults", "-display", "none", "-daemonize", "-pidfile", str(folder / "pid")),
        *("-drive", f"id=disk,if=none,file={folder / 'disk.qcow2'},cache=unsafe,discard=unmap"),
        *("-chardev", f"socket,id=qmp,path={folder / 'qmp'},server=on,wait=off"),
        *("-mon", "chardev=qmp,mode=control"),
        *("-chardev", f"file,id=console,path={folder / 'console.log'}", "-serial", "chardev:console"),
        *(management_in_lan(plan) if plan.lan else ["-netdev", door(plan.node, MANAGEMENT)]),
        *rails(plan.node, plan.cabling, plan.home),
    ]


def door(node: str, netdev: str) -> str:
    """The way in from this machine: ssh from 127.0.0.1, and nothing out."""
    # Each guest has an address of its own, .11 and the next ones, so that no two of the lab look the same.
    lease = ssh_port(node) - ssh_port("spark-a") + 11
    forward = f"hostfwd=tcp:127.0.0.1:{ssh_port(node)}-:22"
    return f"user,id={netdev},ipv6=off,restrict=on,dhcpstart=10.0.2.{lease},{forward}"


def management_in_lan(plan: Plan) -> list[str]:
    """The management port and the guest's door, each at a port of the LAN, which joins them (lab/lan.py)."""
    hub = [f"hubport,id=hub-{netdev},hubid=0,netdev={netdev}" for netdev in ("door", "door-lan")]
    backends = [lan_words(plan)[0], door(plan.node, "door"), lan_words(plan)[1], *hub]
    return [word for backend in backends for word in ("-netdev", backend)]


def lan_words(plan: Plan) -> list[str]:
    """The backends that lead to the LAN: of the management port, and of the guest's door."""
    folder = plan.home / LAN
    return [
        datagrams(netdev, plan.folder / f"{side}.lan", folder / f"{plan.node}.{side}")
        for netdev, side in ((MANAGEMENT, "nic"), ("door-lan", "door"))
    ]


def command(plan: Plan, *, snapshot: str | None) -> list[str]:
    """Starts the guest in the background, from a snapshot or from its boot loader."""
    load = ["-loadvm", snapshot] if snapshot else []
    return [BINARY, *hardware(plan), *surroundings(plan), *load]
