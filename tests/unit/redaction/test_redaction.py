"""What identifies an owner or a machine is in no text that was redacted; what tools and parsers need still is."""

from __future__ import annotations

import re
from ipaddress import IPv6Address
from itertools import product
from typing import Literal
from unicodedata import normalize
from uuid import UUID

import pytest

from sparkrig.network import profiles
from sparkrig.redaction.book import Known
from sparkrig.redaction.redactor import KINDS, Redactor
from tests.attacks import canaries
from tests.tables import each_row


def made(text: str, **given: object) -> str:
    redactor = Redactor(canaries.KNOWN, **given)  # type: ignore[arg-type]
    redactor.learn(text)
    return redactor.redact(text)


def test_no_canary_is_left() -> None:
    text = made(canaries.planted())
    assert canaries.shown(text) == {}, text


@pytest.mark.slow
def test_without_a_kind_its_canaries_show_and_no_others() -> None:
    def holds(without: str) -> None:
        text = made(canaries.planted(), kinds=[kind for kind in KINDS if kind.name != without])
        assert {*canaries.shown(text)} == {without}

    each_row([kind.name for kind in KINDS], holds)


@pytest.mark.slow
def test_what_nobody_knows_is_found_by_its_form_in_a_line_of_a_journal() -> None:
    """As the lab plants them (tests/lab/test_support.py): nothing is known, and each line stands alone."""
    text = "\n".join(f"2026-11-22T10:15:00+0000 kernel: {line}" for line in canaries.alone())
    redactor = Redactor()
    redactor.learn(text)
    assert canaries.shown(redactor.redact(text), of=text) == {}


def test_a_pseudonym_has_the_form_that_is_read() -> None:
    """One MAC, its EUI-64 in three notations, its GUID: all of one pseudonym."""
    (mac,) = canaries.KNOWN.macs
    text = made(
        f"{mac} {mac.replace(':', '-').upper()} fe80::a288:c2ff:fe44:1122 a088:c203:0044:1122 {canaries.PROFILE}"
    )
    one, dashed, address, guid, uuid = text.split()
    assert re.fullmatch(r"02(:[0-9a-f]{2}){5}", one) and dashed == one.replace(":", "-").upper()
    assert IPv6Address(address).packed[8:] == eui64(one)
    assert guid.replace(":", "") == one.replace(":", "")[:6] + "0300" + one.replace(":", "")[6:]
    assert str(UUID(uuid)) == uuid and UUID(uuid).version == 4


def eui64(mac: str) -> bytes:
    raw = bytes.fromhex(mac.replace(":", ""))
    return bytes([raw[0] ^ 2, *raw[1:3], 0xFF, 0xFE, *raw[3:]])


STAYS = """\
inet 192.168.100.11/24 brd 192.168.100.255 scope global, 10.0.2.15, 172.16.0.1, 127.0.0.1/8, 255.255.255.0
0000:0000:0000:0000:0000:ffff:c0a8:640b ::ffff:192.168.100.11 ::1 fe80::1 ff02::1 2001:db8::7 01:00:5e:00:00:01
0000:01:00.0 Ethernet controller: Mellanox Technologies MT2910 Family [ConnectX-7] ff:ff:ff:ff:ff:ff
device enp1s0f0np0:connected, roceP2p1s0f0, 12:34:56 on 2025-09-10-13-50-03, firmware 28.45.4028
ii libcublas-13-0 13.0.0.19-1 arm64, 580.173.02-0ubuntu0.24.04.1, 6.17.0-1021-nvidia
4: vlan7@enp1s0f0np0: <BROADCAST>, veth1a2b@if5, getty@tty1.service, root:root, vllm@sha256:0123
3f4c2a1b9d8e docker, sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
Serial Number : N/A
password: x, "secrets": {"HF_TOKEN": "env:HF_TOKEN"}, max_tokens: 4096, SSID: N/A
DGX Spark, spark-arm64, nvidia-spark-run-apt-upgrade-once, /usr/local/lib, rc.local, user nvidia-persistenced
"""


def test_what_identifies_nobody_stays() -> None:
    assert made(STAYS) == STAYS


def test_a_name_that_is_an_ordinary_word_goes_only_where_it_is_a_name() -> None:
    known = Known(machines=(("spark", "spark.local"), ("a",), ("port",)), users=("nvidia", "root"))
    redactor = Redactor(known, ordinary={"port"})
    rows = {
        "nvidia@spark: a DGX Spark of NVIDIA": "user-1@machine-1: a DGX Spark of NVIDIA",
        "/home/nvidia/x root@a /root": "/home/user-1/x root@machine-2 /root",
        'port p0, {"name": "port", "mtu": 9000}': 'port p0, {"name": "machine-3", "mtu": 9000}',
        "spark.local offers ssh on port 22": "machine-1.local offers ssh on port 22",
        "hostname=spark\nuser nvidia\nprivate 600 nvidia": "hostname=machine-1\nuser user-1\nprivate 600 user-1",
    }
    for text, wanted in rows.items():
        assert redactor.redact(text) == wanted


def test_a_name_of_two_letters_goes_where_it_is_a_name() -> None:
    redactor = Redactor(Known(users=("jo",)))
    text = "for jo from 10.0.0.1, jo@gate git@gate:jo/x /srv/jo/y; jo is two letters"
    assert redactor.redact(text) == (
        "for user-1 from 10.0.0.1, user-1@machine-1 git@machine-1:user-1/x /srv/user-1/y; jo is two letters"
    )


def test_the_two_ends_of_a_cable_are_of_one_number_and_a_pci_address_is_no_serial() -> None:
    redactor = Redactor(Known(serials=("MT2513VS04417-A", "MT2513VS04417-B", "0000:00:14.0")))
    text = redactor.redact("MT2513VS04417-A MT2513VS04417-B MT2513VS04417 0000:00:14.0")
    assert text == "serial-1-A serial-1-B serial-1 0000:00:14.0"


def test_what_is_the_same_on_the_machines_of_all_owners_stays() -> None:
    ours = profiles.uuid("enp1s0f0np0")
    text = f"device enp1s0f0np0:connected:{ours} {canaries.PROFILE}"
    assert Redactor(shared=[ours]).redact(text).startswith(text.removesuffix(canaries.PROFILE))
    assert ours not in Redactor().redact(text)


def test_a_name_is_no_part_of_a_longer_word() -> None:
    redactor = Redactor(Known(machines=(("mars",), ("spark-1a",)), users=("ann",)))
    text = "marshal announces, ann-b at mars-rail, spark-1ab; mars.local, ANN"
    assert (
        redactor.redact(text)
        == "marshal announces, user-1-b at machine-1-rail, spark-1ab; machine-1.local, user-1"
    )


def test_all_names_of_a_machine_belong_together_and_are_told_apart() -> None:
    known = Known(machines=(("@ssh/left", "gate.hoard.example", "spark-1a2b.local"), ("right-one",)))
    text = Redactor(known).redact("root@left gate gate.hoard.example spark-1a2b.local right-one")
    assert text == "root@machine-1 machine-1b machine-1c machine-1d.local machine-2"


def test_pseudonyms_tell_nothing_and_come_in_the_order_of_appearance() -> None:
    first = made("aa:bb:cc:dd:ee:02 then aa:bb:cc:dd:ee:01")
    assert first == made("aa:11:22:33:44:09 then aa:11:22:33:44:08")


def test_what_was_learnt_in_one_text_is_found_in_all() -> None:
    redactor = Redactor(Known())
    redactor.learn("link/ether 9c:00:01:02:03:04, Serial Number: Q7W8E9R0, trent@hal9000, /home/trent")
    text = redactor.redact("9c0001020304 q7w8e9r0 hal9000 trent")
    assert text == "020000000001 serial-1 machine-1 user-1"


def test_a_mac_without_its_zeros_behind_a_bridges_priority_is_taken_out() -> None:
    """As `ip -d addr` prints docker0 (seen on the virtual pair); a hardware address before it is told as usual."""
    redactor = Redactor(Known(macs=("02:42:19:0c:7a:61",)))
    text = redactor.redact(
        "bridge_id 8000.2:42:19:c:7a:61 designated_root 8000.2:42:19:c:7a:61 ether 02:42:19:0c:7a:61"
    )
    one = "02:00:00:00:00:01"
    assert text == f"bridge_id 8000.{one} designated_root 8000.{one} ether {one}"
    assert redactor.leaks(text) == []


def test_what_is_known_and_left_is_noticed() -> None:
    """The net below the net: a known value in a text that a kind passed over keeps the text out."""
    blind = Redactor(canaries.KNOWN, kinds=[])
    known = canaries.KNOWN
    text = blind.redact(f"a0.88.c2.44.11.22 {known.serials[0]} {known.ids[0]} {known.keys[0]}")
    assert blind.leaks(text) == ["mac", "uuid", "serial", "key"]
    assert blind.leaks("02:00:00:00:00:01 serial-1") == []


def test_a_mac_that_nobody_knows_is_taken_out_as_bytes_too() -> None:
    for bare in (
        "3c 6d 66 9a bc de",
        "0x3c, 0x6d, 0x66, 0x9a, 0xbc, 0xde",
        r"\x3c\x6d\x66\x9a\xbc\xde",
        "3C 6D 66 9A BC DE",
    ):
        text = Redactor().redact(f"mac[] = {{{bare}}};")
        assert not canaries.left(text, ["3c6d669abcde"]) and "3c" not in text.lower(), text
    for stays in (
        "10 20 30 40 50 60",
        "00: b3 15 21 10 46 04 10 00 00 00 00 02 08 00 80 00",
        "0x00, 0x00, 0x00, 0x00, 0x00, 0x00",
    ):
        assert Redactor().redact(stays) == stays


def test_a_name_is_the_same_whatever_its_accents_are_made_of() -> None:
    forms: tuple[Literal["NFC", "NFD"], ...] = ("NFC", "NFD")
    for known, written in product(forms, repeat=2):
        redactor = Redactor(Known(ssids=(normalize(known, "Café Quill"),), users=(normalize(known, "rené"),)))
        text = redactor.redact(normalize(written, "near Café Quill, rené came"))
        assert text == "near ssid-1, user-1 came"


def test_what_the_hosts_know_of_secrets_goes_wherever_it_stands_and_is_noticed_where_it_is_left() -> None:
    known = Known(secrets=("correct horse", "staple"))
    text = "401 for correct horse, battery; the staple/x"
    assert Redactor(known).redact(text) == "401 for token-1, battery; the token-2/x"
    assert Redactor(known, kinds=[]).leaks(text) == ["token"] and "horse" not in repr(known)
