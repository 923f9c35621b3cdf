"""The command line of one guest: pure."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lab.nodes import MANAGEMENT, Nic, nics, ssh_port
from lab.wiring import Cabling, rails

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
        *management(plan.node),
        *rails(plan.node, plan.cabling, plan.home),
    ]


def management(node: str) -> list[str]:
    """The management network: ssh from 127.0.0.1 in, nothing out."""
    # Each guest has the address .11, .12 or .13 so that no two of the lab look the same.
    lease = ssh_port(node) - ssh_port("spark-a") + 11
    forward = f"hostfwd=tcp:127.0.0.1:{ssh_port(node)}-:22"
    return [
        "-netdev",
        f"user,id={MANAGEMENT},ipv6=off,restrict=on,dhcpstart=10.0.2.{lease},{forward}",
    ]


def command(plan: Plan, *, snapshot: str | None) -> list[str]:
    """Starts the guest in the background, from a snapshot or from its boot loader."""
    load = ["-loadvm", snapshot] if snapshot else []
    return [BINARY, *hardware(plan), *surroundings(plan), *load]
