"""The management network in common: who gets which frame."""

from __future__ import annotations

import socket
import tempfile
import time
from pathlib import Path

import pytest

from lab.lan import QUEUE, Lan, Plug, deliver
from lab.nodes import CABLED, LAN, MANAGEMENT, mac
from lab.qemu import Plan, command
from lab.wiring import STRAIGHT

A, B, C, D = CABLED
MACS = {bytes.fromhex(mac(node, MANAGEMENT).replace(":", "")): node for node in CABLED}
OF = {node: address for address, node in MACS.items()}
ALL, DOOR = b"\xff" * 6, bytes.fromhex("52550a000202")
GUESTS = [(B, "nic"), (C, "nic"), (D, "nic")]


def arp(target: str) -> bytes:
    """A request of spark-a for an address."""
    fixed = bytes.fromhex("0001080006040001")
    return ALL + OF[A] + b"\x08\x06" + fixed + OF[A] + bytes([10, 0, 2, 11]) + bytes(6) + socket.inet_aton(target)


def udp(port: int, to: bytes = ALL) -> bytes:
    """A datagram of spark-a, in IPv4 without options."""
    header = bytes([0x45, *[0] * 8, 17, *[0] * 10])
    return to + OF[A] + b"\x08\x00" + header + (68).to_bytes(2, "big") + port.to_bytes(2, "big") + bytes(4)


def test_a_frame_to_one_guest_goes_to_that_one_and_one_to_all_goes_to_the_others() -> None:
    assert deliver(OF[B] + OF[A] + b"\x08\x00" + bytes(40), (A, "nic"), MACS) == [(B, "nic")]
    assert deliver(arp("10.0.2.12"), (A, "nic"), MACS) == GUESTS
    assert deliver(udp(5353), (A, "nic"), MACS) == GUESTS
    assert deliver(bytes.fromhex("3333000000fb") + OF[A] + b"\x86\xdd" + bytes(60), (A, "nic"), MACS) == GUESTS


def test_a_lease_and_the_way_in_are_each_guests_own() -> None:
    own = [(A, "door")]
    assert deliver(udp(67), (A, "nic"), MACS) == own
    assert deliver(arp("10.0.2.2"), (A, "nic"), MACS) == own == deliver(arp("10.0.2.3"), (A, "nic"), MACS)
    assert deliver(DOOR + OF[A] + b"\x08\x00" + bytes(40), (A, "nic"), MACS) == own
    for frame in (OF[A] + DOOR + b"\x08\x00" + bytes(40), ALL + DOOR + b"\x08\x06" + bytes(28)):
        assert deliver(frame, (A, "door"), MACS) == [(A, "nic")], "no other guest hears a door"


def test_a_frame_that_is_cut_off_harms_nothing() -> None:
    for length in range(len(udp(67))):
        assert deliver(udp(67)[:length], (A, "nic"), MACS) is not None
        assert deliver(arp("10.0.2.2")[:length], (A, "nic"), MACS) is not None


def test_a_guest_that_is_off_or_busy_holds_up_nothing(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ours:
        ours.setblocking(False)
        plug = Plug(ours, f"{folder}/guest")
        plug.waiting.append(b"lost")
        plug.flush()
        assert not plug.waiting
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as theirs:
            theirs.bind(plug.theirs)
            plug.waiting.extend(b"%d" % number for number in range(3 * QUEUE))
            assert len(plug.waiting) == QUEUE
            plug.flush()
            left = len(plug.waiting)
            assert 0 < left < QUEUE, "the guest has read nothing yet"
            theirs.recv(100)
            plug.flush()
            assert len(plug.waiting) == left - 1


@pytest.mark.slow  # starts a process
def test_the_process_forwards_starts_once_and_ends(lab_folder: Path) -> None:
    lan = Lan(LAN)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as guest:
            (lab_folder / B).mkdir()
            guest.bind(str(lab_folder / B / "nic.lan"))
            guest.settimeout(10)
            lan.start(CABLED)
            first = lan.pid()
            lan.start(CABLED)
            assert lan.pid() == first is not None
            guest.sendto(OF[B] + OF[A] + bytes(50), str(lab_folder / LAN / f"{A}.nic"))
            assert guest.recv(100)[:6] == OF[B]
    finally:
        lan.end()
    time.sleep(0)
    assert lan.pid() is None


def test_a_guest_in_the_lan_has_the_same_machine_and_its_own_way_in() -> None:
    alone = Plan(B, "tcg", Path("/lab/images/key"), Path("/lab"), STRAIGHT)
    text = " ".join(command(Plan(B, "tcg", alone.image, alone.home, STRAIGHT, lan=True), snapshot="ready"))
    devices = [word for word in command(alone, snapshot="ready") if word.startswith("virtio-net-pci")]
    assert all(word in text for word in devices), "else a snapshot fits only one of both"
    assert "dgram,id=enP7s7,local.type=unix,local.path=/lab/spark-b/nic.lan" in text
    assert "remote.path=/lab/lan/spark-b.nic" in text and "remote.path=/lab/lan/spark-b.door" in text
    assert "user,id=door,ipv6=off,restrict=on,dhcpstart=10.0.2.12,hostfwd=tcp:127.0.0.1:2202-:22" in text
    assert text.count("hubid=0") == 2 and text.count("hostfwd=") == 1
