"""Who is a Spark, by the rules and vendor variants of the reference."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sparkrig.host.identity import Identity, is_spark, judge, parse
from sparkrig.refusal import Refusal
from tests.tables import each_row, table

BASE = """\
hostname=spark-a
uid=0
machine=aarch64
kernel=6.17.0-1014-nvidia
boot_id=5d3c4a1e-7f3f-4c02-9a80-2f2b1f6ff001
memory_kib=127535084
"""

FOUNDERS = """\
release DGX_NAME="DGX Spark"
release DGX_PRETTY_NAME="NVIDIA DGX Spark"
release DGX_SWBUILD_DATE="2025-09-10-13-50-03"
release DGX_SWBUILD_VERSION="7.2.3"
release DGX_COMMIT_ID="833b4a7"
release DGX_PLATFORM="DGX Server for KVM"
release DGX_SERIAL_NUMBER="1234567890123"
release
release DGX_OTA_VERSION="7.4.0"
release DGX_OTA_DATE="Mon Jan  5 10:00:00 CET 2026"
release
release DGX_OTA_VERSION="7.5.0"
release DGX_OTA_DATE="Tue Mar  3 10:00:00 CET 2026"
"""

HP = """\
release DGX_NAME=DGX Spark
release DGX_PRETTY_NAME=NVIDIA DGX Spark
release DGX_SWBUILD_VERSION=7.3.1
release DGX_PLATFORM=HP ZGX Nano G1n AI Station
release DGX_SERIAL_NUMBER=MXL1234567
"""


def read(*texts: str) -> Identity:
    return parse("".join([BASE, *texts]).splitlines())


def host(**changes: Any) -> Identity:
    plain = {"hostname": "h", "uid": 0, "machine": "aarch64", "kernel": "k", "boot_id": "b", "memory_kib": 1}
    return Identity(**{**plain, **changes})


def test_the_plain_values() -> None:
    found = read()
    assert (found.hostname, found.uid, found.machine) == ("spark-a", 0, "aarch64")
    assert (found.kernel, found.memory_kib) == ("6.17.0-1014-nvidia", 127535084)
    assert (found.release, found.dmi, found.pci, found.gpu) == ({}, {}, (), ())


def test_a_boot_that_is_none_is_not_known() -> None:
    def holds(text: str, expected: str) -> None:
        line = "boot_id=5d3c4a1e-7f3f-4c02-9a80-2f2b1f6ff001"
        assert parse(BASE.replace(line, f"boot_id={text}").splitlines()).boot_id == expected

    known = "0d3c4a1e-7f3f-4c02-9a80-2f2b1f6ff001"
    each_row([(known, known), ("", ""), ("0", ""), (f"{known}; reboot", ""), (known.upper(), "")], holds)


def test_a_lacking_value_is_named() -> None:
    def holds(key: str) -> None:
        rest = [line for line in BASE.splitlines() if not line.startswith(f"{key}=")]
        with pytest.raises(ValueError, match=key):
            parse(rest)

    each_row([line.split("=")[0] for line in BASE.splitlines()], holds)


def test_quoted_release_of_the_founders_edition() -> None:
    found = read(FOUNDERS)
    assert found.release["DGX_NAME"] == "DGX Spark"
    assert found.release["DGX_PLATFORM"] == "DGX Server for KVM"


def test_unquoted_release_of_hp() -> None:
    found = read(HP)
    assert found.release["DGX_NAME"] == "DGX Spark"
    assert is_spark(found)[0]
    assert found.vendor == "HP ZGX Nano"


def test_shell_style_assignments() -> None:
    def holds(line: str, value: str | None) -> None:
        assert read(f"release {line}\n").release.get("DGX_NAME") == value

    each_row(
        [
            ('DGX_NAME="DGX Spark"', "DGX Spark"),
            ("DGX_NAME='DGX Spark'", "DGX Spark"),
            ("export DGX_NAME=DGX Spark", "DGX Spark"),
            ('  DGX_NAME = "a=b" ', "a=b"),
            ('DGX_NAME="half', '"half'),
            ('DGX_NAME="', '"'),
            ("DGX_NAME=", ""),
            ("# DGX_NAME=x", None),
            ("DGX_NAME", None),
        ],
        holds,
    )


@pytest.mark.parametrize(
    ("text", "version"),
    [
        (FOUNDERS, "7.5.0"),  # the last of the repeated keys
        (HP, "7.3.1"),  # no update yet: the factory build
        ("", None),
    ],
)
def test_release_of_dgx_os(text: str, version: str | None) -> None:
    assert read(text).dgx_os == version


@pytest.mark.parametrize("text", [FOUNDERS, HP, 'release OEM_SERIAL="SN-1234567"\n'])
def test_the_serial_number_is_nowhere_in_the_value(text: str) -> None:
    found = read(text)
    for shown in (repr(found), json.dumps(found.to_json())):
        assert "SERIAL" not in shown and "1234567" not in shown


def test_a_machine_without_dmi_is_called_a_spark_only_where_it_is_one() -> None:
    there = read("pci=10de:2e12\n")
    assert there.vendor == "NVIDIA DGX Spark Founders Edition"
    assert read("").vendor == "unknown maker"


def test_vendor_label() -> None:
    def holds(platform: str, maker: str, product: str, vendor: str) -> None:
        found = read(f"release DGX_PLATFORM={platform}\ndmi.sys_vendor={maker}\ndmi.product_name={product}\n")
        assert found.vendor == vendor

    each_row(
        [
            ("DGX Server for KVM", "NVIDIA", "NVIDIA_DGX_Spark", "NVIDIA DGX Spark Founders Edition"),
            ("GX10", "ASUSTeK COMPUTER INC.", "GX10", "ASUS Ascent GX10"),
            ("", "ASUSTeK COMPUTER INC.", "", "ASUS Ascent GX10"),
            (
                "Dell Pro Max with GB10 FCM1253",
                "Dell  Inc.",
                "Dell Pro Max with GB10 FCM1253",
                "Dell Pro Max with GB10",
            ),
            ("", "Dell  Inc.", "", "Dell Pro Max with GB10"),
            ("", "LENOVO", "30KLS02X00", "Lenovo ThinkStation PGX"),
            ("", "MSI", "MS-C931", "MSI EdgeXpert"),
            ("HP ZGX Nano G1n AI Station", "HP", "HP ZGX Nano G1n AI Station", "HP ZGX Nano"),
            ("", "HP", "", "HP ZGX Nano"),
            ("", "GIGABYTE", "AI TOP ATOM", "Gigabyte AI TOP ATOM"),
            ("", "Acer", "Veriton GN100", "Acer Veriton GN100"),
        ],
        holds,
    )


SPARKS = table(__file__, "sparks")
OTHERS = table(__file__, "others")


def test_is_a_spark() -> None:
    def holds(changes: dict[str, Any], evidence: str) -> None:
        yes, why = is_spark(host(**changes))
        assert yes and evidence in why
        judge(host(**changes), allow_non_spark=False)

    each_row(SPARKS, holds)


def test_is_no_spark() -> None:
    def holds(changes: dict[str, Any], evidence: str) -> None:
        yes, why = is_spark(host(**changes))
        assert not yes and evidence in why
        with pytest.raises(Refusal, match="this host is no DGX Spark") as caught:
            judge(host(**changes), allow_non_spark=False)
        assert evidence in caught.value.what and "allow_non_spark=True" in caught.value.cure
        judge(host(**changes), allow_non_spark=True)

    each_row(OTHERS, holds)


def test_root_is_needed_whatever_the_host_is() -> None:
    with pytest.raises(Refusal, match=r"uid 1000, root is expected.*_sudo = True"):
        judge(host(uid=1000, pci=("10de:2e12",)), allow_non_spark=True)


def test_pci_ids_as_sysfs_spells_them() -> None:
    assert read("pci=10de:0x2E12\n").pci == ("10de:2e12",)
