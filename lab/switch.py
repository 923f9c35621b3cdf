"""The switch: a small guest whose Linux bridge joins the Sparks, and the settings of its ports."""

from __future__ import annotations

import json
import os
import re
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from lab import qmp
from lab.commands import run
from lab.errors import LabError
from lab.nodes import CABLED, SWITCH
from lab.process import Process
from lab.qemu import ACCELERATORS, BINARY, Plan
from lab.waiting import STRETCH, cancelled, wait_until
from lab.wiring import cages, carriers, rails

MEMORY_MIB = 128
BOOT_S = 30
PING_S = 1.0
ANSWER_S = 60  # for the four ports together, on an emulated processor beside busy guests
LARGEST_MTU = 9216  # of a switch's port, by which 9000 passes with its headers
LIMITS = {"mtu": (1280, LARGEST_MTU), "bridge": (1, 4), "vlan": (1, 4094), "rate": (0, 100_000)}


@dataclass(frozen=True)
class Port:
    """How one port is set: `rate` in Mb/s for each of the twins behind it, 0 for as fast as it goes."""

    mtu: int = LARGEST_MTU
    bridge: int = 1
    vlan: int = 1
    rate: int = 0

    def __post_init__(self) -> None:
        """LabError for what no port has."""
        for each in fields(self):
            value, (least, most) = getattr(self, each.name), LIMITS[each.name]
            if not least <= value <= most:
                raise LabError(
                    f"{each.name} {value} of a port",
                    expected=f"{least} to {most}",
                    attempt="sparkrig lab port --help",
                )

    def request(self, node: str) -> str:
        """The request that sets the port of `node` (lab/guest/build/switch/init)."""
        letter = cages(SWITCH)[node][0][0]
        return f"port {letter} {self.mtu} br{self.bridge} {self.vlan} {self.rate}"


Ports = dict[str, Port]


def command(plan: Plan) -> list[str]:
    """Starts the switch in the background."""
    folder = plan.folder
    # little code runs there, so that little of it is translated
    accelerated = [word.replace("tb-size=512", "tb-size=32") for word in ACCELERATORS[plan.accelerator]]
    return [
        BINARY,
        *accelerated,
        *("-machine", "pc", "-m", str(MEMORY_MIB)),
        *("-name", SWITCH, "-nodefaults", "-display", "none", "-no-reboot"),
        *("-daemonize", "-pidfile", str(folder / "pid")),
        *("-kernel", str(plan.image / "vmlinuz"), "-initrd", str(plan.image / "switch.initrd")),
        *("-append", "console=ttyS0 quiet panic=-1 mitigations=off norandmaps 8250.nr_uarts=2 cryptomgr.notests"),
        *(
            "-chardev",
            f"socket,id=qmp,path={folder / 'qmp'},server=on,wait=off",
            "-mon",
            "chardev=qmp,mode=control",
        ),
        *("-chardev", f"file,id=console,path={folder / 'console.log'}", "-serial", "chardev:console"),
        *("-chardev", f"socket,id=control,path={folder / 'control'},server=on,wait=off"),
        *("-serial", "chardev:control"),
        *rails(SWITCH, plan.cabling, plan.home),
        *(word for number, node in enumerate(CABLED, 1) for word in devices(number, cages(SWITCH)[node])),
    ]


def devices(number: int, twins: tuple[str, str]) -> list[str]:
    """The two NICs of one port; the end of an address says which port it is, and which twin is behind it."""
    return [
        word
        for lane, netdev in enumerate(twins)
        for word in (
            "-device",
            f"virtio-net-pci,id=nic-{netdev},netdev={netdev},mac=52:54:00:1c:{number:02x}:{lane:02x},"
            f"host_mtu={LARGEST_MTU},romfile=",
        )
    ]


class Switch(Process):
    """The switch of the lab. Its settings are a file beside it, as a real one keeps them over a power cut."""

    def __init__(self) -> None:
        super().__init__(SWITCH)

    @property
    def monitor(self) -> Path:
        return self.folder / "qmp"

    def wired_as(self, plan: Plan) -> bool:
        """Whether it runs with the cables of `plan`."""
        words = self.words()
        return all(os.fsencode(word) in words for word in rails(SWITCH, plan.cabling, plan.home))

    def start(self, plan: Plan) -> None:
        """Starts it unless it runs with these cables, and sets its ports. LabError if it does not answer."""
        laid = carriers(SWITCH, plan.cabling)
        if not self.wired_as(plan):
            self.end()
            self.folder.mkdir(mode=0o700, exist_ok=True)
            run(command(plan), attempt=f"rm -r {self.folder} && sparkrig lab up", timeout=60)
            # what is sent to it before it has a driver is lost, and not kept (Machine.set_carriers)
            self.set_carriers(dict.fromkeys(laid, False))
        wait_until(
            self.answers,
            BOOT_S * STRETCH[plan.accelerator],
            happened="the switch does not answer",
            attempt=f"tail {self.folder / 'console.log'}",
        )
        self.set_ports(self.ports())
        self.set_carriers(laid)

    def answers(self) -> bool:
        """Whether it has booted. What arrives before is lost or comes back, so each question is a new one."""
        if not self.pid():
            raise LabError(
                "the switch ended", expected="it running", attempt=f"tail {self.folder / 'console.log'}"
            )
        try:
            self.ask(["ping"], PING_S)
        except LabError:
            return False
        return True

    def set_carriers(self, carriers: Mapping[str, bool]) -> None:
        """Plugs or unplugs cables at this end."""
        qmp.execute(self.monitor, *(("set_link", {"name": netdev, "up": up}) for netdev, up in carriers.items()))

    def ports(self) -> Ports:
        """How each port is set."""
        file = self.folder / "ports.json"
        found = json.loads(file.read_text()) if file.is_file() else {}
        return {node: Port(**found.get(node, {})) for node in CABLED}

    def set_ports(self, ports: Ports) -> None:
        """Sets all ports, and keeps their settings. LabError with the switch's own words."""
        self.ask([port.request(node) for node, port in ports.items()], ANSWER_S)
        self.keep(ports)

    def keep(self, ports: Ports) -> None:
        """Writes the settings down, for the next start; a port without any is as a new one."""
        self.folder.mkdir(mode=0o700, exist_ok=True)
        rows = {node: asdict(port) for node, port in ports.items()}
        (self.folder / "ports.json").write_text(json.dumps(rows))

    def ask(self, requests: Sequence[str], seconds: float) -> None:
        """Makes requests one after the other. LabError where one fails, or all take longer than `seconds`."""
        deadline = time.monotonic() + seconds
        with socket.socket(socket.AF_UNIX) as control:
            control.connect(str(self.folder / "control"))
            for request in requests:
                name = f"{time.monotonic_ns():x}"
                control.sendall(f"{name} {request}\n".encode())
                said, code = answer(control, name, deadline)
                if code != "0":
                    raise LabError(
                        f"the switch could not {request}: {said or code}",
                        expected="exit code 0",
                        attempt="sparkrig lab power switch cut",
                    )


def answer(control: socket.socket, name: str, deadline: float) -> tuple[str, str]:
    """What the request of that name printed, in one line, and its exit code. LabError after the deadline."""
    text = b""
    end = re.compile(rf"(?:^|\n){name} (\d+)\r?\n".encode())
    while not (found := end.search(text)):
        rest = deadline - time.monotonic()
        if rest <= 0 or cancelled.is_set():
            raise silent(control)
        control.settimeout(min(rest, 1.0))
        try:
            read = control.recv(4096)
        except TimeoutError:
            continue
        if not read:
            raise silent(control)
        text += read
    return " ".join(text[: found.start()].decode(errors="replace").split()), found[1].decode()


def silent(control: socket.socket) -> LabError:
    """The complaint that the switch does not answer."""
    console = Path(control.getpeername()).with_name("console.log")
    return LabError("the switch does not answer", expected="an answer", attempt=f"tail {console}")
