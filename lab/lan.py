"""The management network that the guests have in common: `python -m lab.lan HOME NODE...`

It is a switch for Ethernet frames, which are datagrams from one Unix socket to another, so that it needs no port
and no root. Each guest has two ports of it: its management NIC, and its door, which is qemu's own network with
DHCP, and the way in from this machine. The guests reach one another; of the doors, each guest sees its own alone.
All doors have the same two addresses, and qemu's DHCP server refuses the lease of another one. On a hub with
several guests, a door would also reset their connections to one another, for it takes each for one to the outside.
"""

from __future__ import annotations

import os
import selectors
import signal
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lab.errors import LabError
from lab.nodes import LAN, MANAGEMENT, mac
from lab.paths import home
from lab.process import Process
from lab.waiting import wait_until

Port = tuple[str, str]
"""A node and a side of it: nic or door."""

SIDES = ("nic", "door")
LARGEST = 2**16
QUEUE = 1000  # frames that wait for a guest; more are lost, as on a switch
RETRY_S = 0.001  # a socket does not say when its reader has room again
START_S = 20

DOORS = bytes.fromhex("52550a0002")  # libslirp's own addresses are 52:55 and the four bytes of 10.0.2.2, 10.0.2.3
IPV4, ARP, UDP, DHCP_SERVER = 0x0800, 0x0806, bytes([17]), 67
INSIDE, FIRST_GUEST = bytes([10, 0, 2]), bytes([11])  # 10.0.2.11


def deliver(frame: bytes, came: Port, macs: Mapping[bytes, str]) -> list[Port]:
    """The ports that a frame goes to. macs: the node of each management NIC, by its address."""
    node, side = came
    if side == "door":
        return [(node, "nic")]
    if frame[:5] == DOORS or for_door(frame):
        return [(node, "door")]
    others = [each for each in macs.values() if each != node]
    receiver = macs.get(frame[:6])
    return [(each, "nic") for each in others if receiver in (None, each)]


def for_door(frame: bytes) -> bool:
    """Whether a frame asks for what only the door answers: a lease, or the address of 10.0.2.2 or 10.0.2.3."""
    kind = int.from_bytes(frame[12:14], "big")
    if kind == ARP:
        return frame[38:41] == INSIDE and frame[41:42] < FIRST_GUEST  # target protocol address [RFC 826]
    if kind != IPV4 or frame[23:24] != UDP:
        return False
    udp = 14 + 4 * (frame[14] & 0xF)
    return int.from_bytes(frame[udp + 2 : udp + 4], "big") == DHCP_SERVER


@dataclass
class Plug:
    """One port: our socket, the guest's, and the frames that wait for the guest to read."""

    ours: socket.socket
    theirs: str
    waiting: deque[bytes] = field(default_factory=lambda: deque(maxlen=QUEUE))

    def flush(self) -> None:
        """Send what waits, as far as the guest has room; what nothing reads (a guest that is off) is lost."""
        while self.waiting:
            try:
                self.ours.sendto(self.waiting[0], self.theirs)
            except BlockingIOError:
                return
            except (FileNotFoundError, ConnectionRefusedError):
                pass
            self.waiting.popleft()


def run(folder: Path, nodes: Sequence[str]) -> None:
    """Forward frames until the process ends."""
    macs = {bytes.fromhex(mac(node, MANAGEMENT).replace(":", "")): node for node in nodes}
    plugs = {(node, side): plug(folder, node, side) for node in nodes for side in SIDES}
    (folder / LAN / "pid").write_text(f"{os.getpid()}\n")
    with selectors.DefaultSelector() as ready:
        for port, each in plugs.items():
            ready.register(each.ours, selectors.EVENT_READ, port)
        while True:
            late = [each for each in plugs.values() if each.waiting]
            for key, _ in ready.select(RETRY_S if late else None):
                frame = plugs[key.data].ours.recv(LARGEST)
                for port in deliver(frame, key.data, macs):
                    plugs[port].waiting.append(frame)
            for each in plugs.values():
                each.flush()


def plug(folder: Path, node: str, side: str) -> Plug:
    """The port of one side of a node, with its socket."""
    path = folder / LAN / f"{node}.{side}"
    path.unlink(missing_ok=True)
    ours = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    ours.setblocking(False)
    ours.bind(str(path))
    return Plug(ours, str(folder / node / f"{side}.lan"))


class Lan(Process):
    """The process that runs it."""

    def start(self, nodes: Sequence[str]) -> None:
        """Starts it where it does not run. LabError where it ends at once."""
        if self.pid():
            return
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        (self.folder / "pid").unlink(missing_ok=True)
        log = self.folder / "log"
        command = [sys.executable, "-m", "lab.lan", str(home()), str(self.folder / "pid"), *nodes]
        with log.open("wb") as output:
            process = subprocess.Popen(
                command,
                cwd=Path(__file__).parents[1],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        wait_until(
            lambda: self.pid() is not None or process.poll() is not None,
            START_S,
            happened="the LAN of the guests does not start",
            attempt=f"cat {log}",
        )
        if self.pid() is None:
            raise LabError("the LAN of the guests ended", expected="it running", attempt=f"cat {log}")


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    run(Path(sys.argv[1]), sys.argv[3:])
