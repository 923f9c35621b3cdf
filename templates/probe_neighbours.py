"""Who is at the other end of each fabric netdev: sends small frames, and prints the senders that it hears.

Runs on a host as root, from standard input, before any IP is set up: standard library only, nothing is
configured, nothing is written. Sent by facts/neighbours.py; argument 1 is for how many seconds, argument 2 for
how many at most: the hosts of a run do not start at one time, and one that ended would make the others deaf.
"""

import re
import select
import socket
import sys
import time
from pathlib import Path

NET = Path("/sys/class/net")
ETHERTYPE = 0x88B5  # IEEE 802 local experimental 1: no switch or host takes it for anything else
MAGIC = b"sparkrig neighbour probe 1"
BROADCAST = b"\xff" * 6
EVERY_S = 0.1
ENOUGH = 5  # frames heard on a netdev
LINGER_S = 0.5  # after the last netdev has heard enough, so that its peer does, too
IFF_UP = 1


def read(netdev: str, name: str) -> str:
    """A value of a netdev in sysfs; empty where the driver has none."""
    try:
        return (NET / netdev / name).read_text().strip()
    except OSError:
        return ""


def is_fabric(netdev: str) -> bool:
    """A port of the NIC, by the kernel's name for it, or by the end of the netdev's (enp1s0f0np0)."""
    return bool(re.fullmatch(r"p\d", read(netdev, "phys_port_name")) or re.search(r"f\dnp\d$", netdev))


def listener(netdev: str) -> socket.socket:
    """A socket that hears our EtherType on that netdev alone."""
    opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)  # protocol 0 hears nothing until it is bound
    opened.setblocking(False)
    opened.bind((netdev, ETHERTYPE))
    return opened


def take(opened: socket.socket) -> str:
    """The sender of the next frame, or nothing where it is not one of ours."""
    try:
        frame, sender = opened.recvfrom(2048)
    except OSError:  # the netdev went down or away in the meantime; it is silent from here on
        return ""
    return frame[6:12].hex(":") if frame[14:].startswith(MAGIC) and sender[2] != socket.PACKET_OUTGOING else ""


def send(opened: socket.socket, frame: bytes) -> bool:
    """Whether the kernel took the frame; without a carrier it does not always."""
    try:
        return opened.send(frame) == len(frame)
    except OSError:
        return False


def waits(netdevs: list[str], heard: dict[tuple[str, str], int]) -> bool:
    """Whether a netdev with a carrier has heard too little: its peer may have begun later than this host."""
    lit = [netdev for netdev in netdevs if read(netdev, "carrier") == "1"]
    return any(sum(count for (at, _), count in heard.items() if at == netdev) < ENOUGH for netdev in lit)


def probe(netdevs: list[str], seconds: float, longest: float) -> tuple[dict[str, int], dict[tuple[str, str], int]]:
    """Frames sent by netdev, and frames heard by netdev and the sender's MAC address."""
    ears = {listener(netdev): netdev for netdev in netdevs}
    header = ETHERTYPE.to_bytes(2, "big") + MAGIC.ljust(46, b"\0")
    frames = {ear: BROADCAST + bytes.fromhex(read(ears[ear], "address").replace(":", "")) + header for ear in ears}
    sent = dict.fromkeys(netdevs, 0)
    heard: dict[tuple[str, str], int] = {}
    now = time.monotonic()
    enough, end, due = now + seconds, now + longest, now
    while now < min(enough, end):
        if now >= due:
            for ear, frame in frames.items():
                sent[ears[ear]] += send(ear, frame)
            due += EVERY_S
        for ear in select.select(list(ears), [], [], max(0.0, min(due, end) - now))[0]:
            if mac := take(ear):
                heard[ears[ear], mac] = heard.get((ears[ear], mac), 0) + 1
        now = time.monotonic()
        if waits(netdevs, heard):
            enough = max(enough, now + LINGER_S)
    return sent, heard


def main() -> None:
    fabric = sorted(filter(is_fabric, (entry.name for entry in NET.iterdir())))
    up = [netdev for netdev in fabric if int(read(netdev, "flags") or "0", 16) & IFF_UP]
    try:
        sent, heard = probe(up, *(map(float, sys.argv[1:3]) if up else (0, 0)))
    except OSError as error:
        print("trouble", f"no raw socket could be opened ({error.strerror})")
        return
    for netdev in fabric:
        print(*(("sent", netdev, sent[netdev]) if netdev in sent else ("down", netdev)))
    for (netdev, mac), count in sorted(heard.items()):
        print("heard", netdev, mac, count)
    print("end")


main()
