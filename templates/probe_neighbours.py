"""Who is at the other end of each fabric netdev: sends frames, and prints the senders that it hears.

A netdev whose MTU is above that of plain Ethernet also sends some as large as it may: a switch that drops these
passes the small ones.

Runs on a host as root, from standard input, before any IP is set up: standard library only, nothing is
configured, nothing is written. Sent by facts/neighbours.py; argument 1 is for how many seconds, argument 2 for
how many at most, argument 3 how many hosts a netdev may reach: the hosts of a run do not start at one time, and
one that ended would make the others deaf.
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
LONG = b"sparkrig neighbour probe long"  # what an older version of this takes for none of its frames
PLAIN = 1500  # bytes of payload of plain Ethernet
LONG_EVERY = 2  # small frames
BROADCAST = b"\xff" * 6
EVERY_S = 0.1
ENOUGH = 5  # frames heard on a netdev
LINGER_S = 0.5  # after the last netdev has heard enough, so that its peer does, too
IFF_UP = 1


def read(netdev: str, name: str) -> str:
    """A value of a netdev in sysfs; empty where the driver has none."""
    try:
        return (NET / netdev / name).read_text(encoding="utf-8", errors="replace").strip()
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


def take(opened: socket.socket) -> tuple[str, bool]:
    """The sender of the next frame, and whether it was large; no sender where it is not one of ours."""
    try:
        frame, sender = opened.recvfrom(2048)
    except OSError:  # the netdev went down or away in the meantime; it is silent from here on
        return "", False
    long = frame[14:].startswith(LONG)
    ours = (long or frame[14:].startswith(MAGIC)) and sender[2] != socket.PACKET_OUTGOING
    return frame[6:12].hex(":") if ours else "", long


def large(netdev: str) -> bytes:
    """The payload of the largest frame of a netdev, or nothing where plain Ethernet carries it."""
    mtu = int(read(netdev, "mtu") or "0")
    return LONG.ljust(mtu, b"\0") if mtu > PLAIN else b""


def send(opened: socket.socket, frame: bytes) -> bool:
    """Whether the kernel took the frame; without a carrier it does not always."""
    try:
        return opened.send(frame) == len(frame)
    except OSError:
        return False


Heard = dict[tuple[str, str], int]


def waits(netdevs: list[str], heard: Heard, others: int) -> bool:
    """Whether a netdev with a carrier has heard too little: a host may have begun later than this one."""
    lit = [netdev for netdev in netdevs if read(netdev, "carrier") == "1"]
    counts = {netdev: [count for (at, _), count in heard.items() if at == netdev] for netdev in lit}
    return any(sum(each) < ENOUGH * others or len(each) < others for each in counts.values())


def framed(netdev: str, payload: bytes) -> bytes:
    """A frame of a netdev to everyone who is there."""
    mac = bytes.fromhex(read(netdev, "address").replace(":", ""))
    return BROADCAST + mac + ETHERTYPE.to_bytes(2, "big") + payload


def probe(
    netdevs: list[str], payloads: dict[str, bytes], seconds: float, longest: float, others: int
) -> tuple[dict[str, int], Heard, Heard]:
    """Frames sent by netdev; frames heard by netdev and the sender's MAC address, and the large ones of them.

    payloads: of the large frames, by netdev, empty for none.
    """
    ears = {listener(netdev): netdev for netdev in netdevs}
    frames = {ear: framed(netdev, MAGIC.ljust(46, b"\0")) for ear, netdev in ears.items()}
    large = {ear: framed(netdev, payloads[netdev]) for ear, netdev in ears.items() if payloads[netdev]}
    sent = dict.fromkeys(netdevs, 0)
    heard, heard_long = Heard(), Heard()
    now = time.monotonic()
    enough, end, due, turn = now + seconds, now + longest, now, 0
    while now < min(enough, end):
        if now >= due:
            for ear, frame in frames.items():
                sent[ears[ear]] += send(ear, frame)
            for ear, frame in large.items() if turn % LONG_EVERY == 0 else ():
                send(ear, frame)
            due, turn = due + EVERY_S, turn + 1
        for ear in select.select(list(ears), [], [], max(0.0, min(due, end) - now))[0]:
            mac, long = take(ear)
            if mac:
                rows = heard_long if long else heard
                rows[ears[ear], mac] = rows.get((ears[ear], mac), 0) + 1
        now = time.monotonic()
        if waits(netdevs, heard, others):
            enough = max(enough, now + LINGER_S)
    return sent, heard, heard_long


def main() -> None:
    fabric = sorted(filter(is_fabric, (entry.name for entry in NET.iterdir())))
    up = [netdev for netdev in fabric if int(read(netdev, "flags") or "0", 16) & IFF_UP]
    payloads = {netdev: large(netdev) for netdev in up}
    seconds, longest = map(float, sys.argv[1:3]) if up else (0, 0)
    try:
        sent, heard, heard_long = probe(up, payloads, seconds, longest, int(sys.argv[3]))
    except OSError as error:
        print("trouble", f"no raw socket could be opened ({error.strerror})")
        return
    for netdev in fabric:
        print(*(("sent", netdev, sent[netdev]) if netdev in sent else ("down", netdev)))
        if payloads.get(netdev):
            print("long", netdev, len(payloads[netdev]))
    for word, rows in (("heard", heard), ("heard-long", heard_long)):
        for (netdev, mac), count in sorted(rows.items()):
            print(word, netdev, mac, count)
    print("end")


sys.stdout.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]  # whatever the locale
main()
