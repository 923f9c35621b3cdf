"""Run in the namespaces of firewalled.py: opens every port, has the rules loaded, and prints who is answered."""

from __future__ import annotations

import ctypes
import json
import os
import select
import socket
import subprocess
import sys
import threading
from pathlib import Path

ANSWERED_S = 1.5  # on one machine; what gets no answer is sent once more after one second
CLONE_NEWNET = 0x40000000


def enter(place: str) -> None:
    """What this process opens from now on is there."""
    with Path(f"/run/netns/{place}").open("rb") as there:
        if ctypes.CDLL(None, use_errno=True).setns(there.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f"setns to {place}")


def answer(port: int, *, udp: bool) -> None:
    """Send back what comes to a port."""
    kind = socket.SOCK_DGRAM if udp else socket.SOCK_STREAM
    server = socket.socket(socket.AF_INET6, kind)
    server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    server.bind(("::", port))
    if not udp:
        server.listen()

    def serve(one: socket.socket) -> None:
        while data := one.recv(64):
            one.sendall(data)

    def echo() -> None:
        while True:
            server.sendto(*server.recvfrom(64))

    def accept() -> None:
        while True:
            threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()

    threading.Thread(target=echo if udp else accept, daemon=True).start()


def knock(case: dict[str, object]) -> socket.socket:
    """A connection, or a packet, on its way."""
    enter(str(case["at"]))
    to, port = str(case["to"]), int(str(case["port"]))
    family = socket.AF_INET6 if ":" in to else socket.AF_INET
    one = socket.socket(family, socket.SOCK_DGRAM if case["udp"] else socket.SOCK_STREAM)
    if case["source"]:
        one.bind((str(case["source"]), 0))
    one.setblocking(False)
    one.connect_ex((to, port))
    if case["udp"]:
        one.send(b"x")
    return one


def answered(one: socket.socket, *, udp: bool) -> bool:
    ready = select.select([one], [], [], 0)[0] if udp else select.select([], [one], [], 0)[1]
    return bool(ready) and not one.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)


def main(rules: str, text: str) -> None:
    cases = json.loads(text)
    subprocess.run(["ip", "netns", "attach", "host", str(os.getpid())], check=True)
    answer(5000, udp=False)  # of the connection of before
    for port, udp in {(case["port"], case["udp"]) for case in cases.values()} - {(5000, False)}:
        answer(port, udp=udp)
    for place, port in (("container", 80), ("lan", 7000), ("member", 7000)):
        enter(place)
        answer(port, udp=False)
    enter("lan")
    before = socket.create_connection(("192.168.1.10", 5000), timeout=5)
    enter("host")
    subprocess.run(["nft", "-f", rules], check=True)
    tried = {name: knock(case) for name, case in cases.items()}
    threading.Event().wait(ANSWERED_S)
    found = {name: answered(one, udp=cases[name]["udp"]) for name, one in tried.items()}
    before.sendall(b"still there")
    found["the connection of before"] = before.recv(64) == b"still there"
    print(json.dumps(found))


main(*sys.argv[1:])
