"""Pings over a rail, and what a host's own name leads to: the scripts, run for real, and what is made of them."""

from __future__ import annotations

import shutil
from dataclasses import replace
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from sparkrig.facts.own_address import OwnAddress as Fact
from sparkrig.facts.ping import Pings
from sparkrig.host.own_address import OwnAddress
from sparkrig.host.own_address import parse as parse_name
from sparkrig.network.ping import COUNT, Ping, parse, targets
from tests.unit.shells import sh, tool

PEER = IPv4Address("192.168.100.12")
LARGE, SMALL = targets("enp1s0f0np0", PEER, 9000)
# iputils: what it prints with -q, by how it went
PRINTED = {
    "crosses": (
        "5 packets transmitted, 5 received, 0% packet loss, time 812ms\nrtt min/avg/max/mdev = 0.1/0.2/0.3/0.0 ms",
        Ping("enp1s0f0np0", 8972, 5, 5),
    ),
    "lost": ("5 packets transmitted, 0 received, 100% packet loss, time 812ms", Ping("enp1s0f0np0", 8972, 5, 0)),
    "too long here": (
        "ping: local error: message too long, mtu=1500\nping: local error: message too long, mtu=1500\n"
        "5 packets transmitted, 0 received, +5 errors, 100% packet loss, time 812ms",
        Ping("enp1s0f0np0", 8972, 5, 0, "local error: message too long, mtu=1500"),
    ),
    "no way": (
        "ping: connect: Network is unreachable",
        Ping("enp1s0f0np0", 8972, said="connect: Network is unreachable"),
    ),
    "nothing": ("", Ping("enp1s0f0np0", 8972)),
}


@pytest.mark.parametrize(("printed", "expected"), PRINTED.values(), ids=PRINTED)
def test_the_script_tells_how_each_ping_went(tmp_path: Path, printed: str, expected: Ping) -> None:
    tool(
        tmp_path,
        "ping",
        f'printf "%s\\n" "$*" >>{tmp_path}/asked\ncat <<EOF\n{printed}\nEOF\n[ -z "{printed[:1]}" ]',
    )
    done = sh(Pings().command(LARGE, SMALL), path=tmp_path)
    assert done.returncode == 0
    large, small = parse(done.stdout.splitlines())["enp1s0f0np0"]
    assert (replace(large, address=""), small.size) == (expected, 56)
    assert {large.address, small.address} == {str(PEER)}
    asked = sorted((tmp_path / "asked").read_text().splitlines())
    assert asked == [f"-n -q -c 5 -i 0.2 -W 5 -M do -s {size} -I enp1s0f0np0 {PEER}" for size in (56, 8972)]


def test_a_ping_that_is_not_there_is_said(tmp_path: Path) -> None:
    for name in ("sh", "sed", "head", "timeout"):
        (tmp_path / name).symlink_to(shutil.which(name) or name)
    done = sh(Pings().command(LARGE), env={"PATH": str(tmp_path)})
    assert parse(done.stdout.splitlines()) == {
        "enp1s0f0np0": (Ping("enp1s0f0np0", 8972, said="it is not installed", address=str(PEER)),)
    }


@pytest.mark.parametrize(
    ("received", "crosses"), [(COUNT, True), (3, True), (2, False), (0, False)], ids=["all", "most", "few", "none"]
)
def test_most_have_to_come_back(received: int, crosses: bool) -> None:
    assert Ping("enp1s0f0np0", 8972, COUNT, received).crosses is crosses


def test_none_that_went_out_do_not_cross() -> None:
    assert not Ping("enp1s0f0np0", 8972).crosses
    assert str(Ping("enp1s0f0np0", 8972, said="no route")) == "0 of no pings of 8972 bytes came back (no route)"


def test_a_row_that_makes_no_sense() -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        parse(["ping enp1s0f0np0 big 5 5 "])


NAMES = {
    "loopback": ("127.0.1.1 STREAM spark-a\n127.0.1.1 DGRAM\n127.0.1.1 RAW\n", ("127.0.1.1",), True),
    "its address": ("10.0.0.7 STREAM spark-a\n", ("10.0.0.7",), False),
    "both": ("127.0.0.1 STREAM x\n10.0.0.7 STREAM\n", ("127.0.0.1", "10.0.0.7"), False),
    "not found": ("", (), True),
}


@pytest.mark.parametrize(("printed", "addresses", "loops"), NAMES.values(), ids=NAMES)
def test_what_a_name_leads_to(tmp_path: Path, printed: str, addresses: tuple[str, ...], loops: bool) -> None:
    tool(tmp_path, "getent", f'[ "$1" = ahostsv4 ] && printf "%s" "{printed}"')
    tool(tmp_path, "uname", "echo spark-a")
    found = parse_name(sh(Fact().command(), path=tmp_path).stdout.splitlines())
    assert found == OwnAddress("spark-a", tuple(map(IPv4Address, addresses)))
    assert found.loops is loops
