"""NICs: what sysfs, ethtool and lspci tell of them, and what that proves."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from sparkrig.checks import reference
from sparkrig.facts.nic import Nics
from sparkrig.host import nic
from sparkrig.host.nic import Link, Module, Nic, Pcie
from tests.tables import each_row
from tests.unit.shells import sh, tool, well

SPARK = Nic(
    netdev="enp1s0f0np0",
    port="p0",
    up=True,
    carrier=True,
    speed_mbps=200000,
    pcie=Pcie("0000:01:00.0", "", 32.0, 4, 32.0, 4),
    driver="mlx5_core",
    firmware="28.45.4028 (NVD0000000087)",
    carrier_down=1,
    device="rocep1s0f0",
    errors={"out_of_sequence": 0, "packet_seq_err": 2},
    sent_bytes=400,
    cable="ab12",
)
ROWS = """\
enp1s0f0np0 port p0
enp1s0f0np0 driver mlx5_core
enp1s0f0np0 flags 0x1003
enp1s0f0np0 carrier 1
enp1s0f0np0 speed 200000
enp1s0f0np0 carrier_down_count 1
enp1s0f0np0 current_link_speed 32.0 GT/s PCIe
enp1s0f0np0 current_link_width 4
enp1s0f0np0 max_link_speed 32.0 GT/s PCIe
enp1s0f0np0 max_link_width 4
enp1s0f0np0 pci 0000:01:00.0
enp1s0f0np0 firmware 28.45.4028 (NVD0000000087)
enp1s0f0np0 cable ab12
enp1s0f0np0 device rocep1s0f0
enp1s0f0np0 counter.out_of_sequence 0
enp1s0f0np0 counter.packet_seq_err 2
enp1s0f0np0 counter.port_xmit_data 100
enp1s0f0np0 counter.req_cqe_flush_error 9
""".splitlines()


# --- the fact


def test_a_spark() -> None:
    assert nic.parse(ROWS) == {"enp1s0f0np0": SPARK}


def test_no_nic_is_no_error() -> None:
    assert nic.parse([]) == {} == Nics.default()


def test_a_link_that_is_down() -> None:
    rows = ["eth0 port p0", "eth0 speed -1", "eth0 flags 0x1002", "eth0 current_link_width 0", "eth0 firmware N/A"]
    assert nic.parse([*rows, "eth0 current_link_speed Unknown"])["eth0"] == Nic("eth0", "p0")


@pytest.mark.parametrize("row", ["enp1s0f0np0", "enp1s0f0np0 flags up", "enp1s0f0np0 counter.send_err ?"])
def test_nonsense_is_an_error(row: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        nic.parse([row])


def test_the_cable_is_not_shown() -> None:
    assert "ab12" not in repr(SPARK) and "cable" not in repr(SPARK)
    shown = json.dumps(SPARK.to_json())
    assert "ab12" not in shown and '"netdev": "enp1s0f0np0"' in shown


# --- the script, on a tree of its own


SERIAL = "MT2002VS99999"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A ConnectX-7 with its RDMA device, beside a management netdev and a guest's NIC with soft-RoCE."""
    files = {
        "pci/0000:01:00.0/net/enp1s0f0np0/phys_port_name": "p0",
        "pci/0000:01:00.0/net/enp1s0f0np0/flags": "0x1003",
        "pci/0000:01:00.0/net/enp1s0f0np0/carrier": "1",
        "pci/0000:01:00.0/net/enp1s0f0np0/speed": "200000",
        "pci/0000:01:00.0/net/enp1s0f0np0/carrier_down_count": "3",
        "virtual/net/enP7s7/flags": "0x1003",
        "pci/0000:00:06.0/virtio4/net/enP2p1s0f0np0/flags": "0x1003",
        "pci/0000:01:00.0/current_link_speed": "32.0 GT/s PCIe",
        "pci/0000:01:00.0/current_link_width": "2",
        "pci/0000:01:00.0/max_link_speed": "32.0 GT/s PCIe",
        "pci/0000:01:00.0/max_link_width": "4",
        "pci/0000:01:00.0/uevent": "DRIVER=mlx5_core\nPCI_CLASS=20000",
        "pci/0000:00:06.0/virtio4/uevent": "DRIVER=virtio_net",
        "ib/rocep1s0f0/ports/1/counters/port_xmit_data": "100",
        "ib/rocep1s0f0/ports/1/hw_counters/out_of_sequence": "7",
        "ib/rxe/parent": "enP2p1s0f0np0",
        "ib/rxe/ports/1/hw_counters/sent_pkts": "5",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"{text}\n")
    (tmp_path / "net").mkdir()
    netdevs = [tmp_path / name.rpartition("/")[0] for name in files if name.endswith("/flags")]
    for netdev in netdevs:  # as the kernel has it: the class is a folder of links
        (tmp_path / "net" / netdev.name).symlink_to(netdev)
        if "pci" in netdev.parts:
            (netdev / "device").symlink_to(netdev.parent.parent)
    (tmp_path / "ib/rocep1s0f0/device").symlink_to(tmp_path / "pci/0000:01:00.0")
    return tmp_path


def look(tree: Path, ethtool: str) -> tuple[dict[str, Nic], str]:
    tool(tree / "bin", "ethtool", ethtool)
    text = Nics.script.replace("/sys/class/net", f"{tree}/net").replace("/sys/class/infiniband", f"{tree}/ib")
    done = well(sh(text, path=tree / "bin"))
    return nic.parse(done.stdout.splitlines()), done.stdout


def test_script_reads_only_the_fabric(tree: Path) -> None:
    module = f"printf '\\tVendor SN      : {SERIAL}   \\n\\tVendor PN : X\\n'"
    found, shown = look(tree, f'case $1 in -i) echo "firmware-version: 28.45 (X)" ;; -m) {module} ;; esac')
    assert list(found) == ["enP2p1s0f0np0", "enp1s0f0np0"]
    spark, guest = found["enp1s0f0np0"], found["enP2p1s0f0np0"]
    assert (spark.port, spark.driver, spark.firmware) == ("p0", "mlx5_core", "28.45 (X)")
    assert (spark.up, spark.carrier, spark.speed_mbps, spark.carrier_down) == (True, True, 200000, 3)
    assert spark.pcie == Pcie("0000:01:00.0", "", 32.0, 2, 32.0, 4)
    assert (spark.device, spark.errors, spark.sent_bytes) == ("rocep1s0f0", {"out_of_sequence": 7}, 400)
    assert (guest.port, guest.device, guest.sent_bytes, guest.sent_packets) == ("p0", "rxe", None, 5)
    assert guest.pcie == Pcie("0000:00:06.0")
    assert spark.cable == nic.digest(SERIAL) and re.fullmatch("[0-9a-f]{4}", spark.cable or "")
    assert SERIAL not in shown


def test_a_netdev_with_what_printf_and_sed_understand_in_its_name(tree: Path) -> None:
    """The kernel allows it: all but a slash, a colon and blanks."""
    name = "%s&|x"
    (tree / "net/enp1s0f0np0").rename(tree / "net/link")
    real = (tree / "net/link").resolve()
    (tree / "net/link").unlink()
    (tree / "net" / name).symlink_to(real.rename(real.with_name(name)))
    found, _ = look(tree, "echo 'firmware-version: 28.45 (X)'")
    assert (found[name].port, found[name].firmware) == ("p0", "28.45 (X)")


def test_script_without_module_and_without_answers(tree: Path) -> None:
    found, _ = look(tree, "echo 'netlink error: Operation not supported' >&2; exit 95")
    assert found["enp1s0f0np0"].cable is None and found["enp1s0f0np0"].firmware == ""


# --- ethtool


def test_ethtool() -> None:
    def holds(text: str, expected: list[Link]) -> None:
        assert list(nic.parse_ethtool(text)) == expected

    each_row(
        {
            "up": (
                "Settings for enp1s0f0np0:\n\tSpeed: 200000Mb/s\n\tLanes: 4\n\tDuplex: Full\n"
                "\tLink detected: yes\n",
                [Link("enp1s0f0np0", 200000, True)],
            ),
            "no cable, CRLF": (
                "Settings for enp1s0f1np1:\r\n\tSpeed: Unknown!\r\n\tLink detected: no (No cable)\r\n",
                [Link("enp1s0f1np1", None, False)],
            ),
            "grep": ("\tSpeed: Unknown! (255)\n\tLink detected: no\n", [Link("", None, False)]),
            "old unknown": ("\tSpeed: 65535Mb/s\n\tLink detected: no\n", [Link("", None, False)]),
            "blank before the unit": ("Speed: 100000 Mb/s", [Link("", 100000, None)]),
            "two, not root": (
                "Settings for a:\n\tSpeed: 10000Mb/s\nCannot get wake-on-lan settings: Operation not permitted\n"
                "\tLink detected: yes\nSettings for b:\n\tSpeed: 200000Mb/s\n\tLink detected: yes\n",
                [Link("a", 10000, True), Link("b", 200000, True)],
            ),
            "loopback": (
                "netlink error: Operation not permitted\nSettings for lo:\n\tLink detected: yes\n",
                [Link("lo", None, True)],
            ),
        },
        holds,
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "tells of no link"),
        ("netlink error: No such device\n", r"tells of no link \(No such device\)"),
        (
            "Settings for x:\nCannot get device settings: No such device\nNo data available\n",
            r"\(No such device\)",
        ),
    ],
    ids=["empty", "netlink", "ioctl"],
)
def test_ethtool_refuses(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        nic.parse_ethtool(text)


MLX5 = """\
driver: mlx5_core
version: 6.17.0-1008-nvidia
firmware-version: 28.45.4028 (NVD0000000087)
expansion-rom-version:
bus-info: 0002:01:00.1
supports-statistics: yes
"""


def test_ethtool_driver() -> None:
    assert nic.parse_ethtool_driver(MLX5) == nic.Driver("mlx5_core", "28.45.4028 (NVD0000000087)", "0002:01:00.1")
    guest = "driver: virtio_net\nversion: 1.0.0\nfirmware-version: \nbus-info: 0000:00:05.0\n"
    assert nic.parse_ethtool_driver(guest) == nic.Driver("virtio_net", "", "0000:00:05.0")
    assert nic.parse_ethtool_driver("driver: veth\nfirmware-version: N/A\nbus-info: \n") == nic.Driver("veth")
    with pytest.raises(ValueError, match=r"no driver \(No such device\)"):
        nic.parse_ethtool_driver("Cannot get driver information: No such device\n")


MODULE = f"""\
	Identifier                                : 0x11 (QSFP28)
	Vendor name                               : Mellanox
	Vendor OUI                                : 00:02:c9
	Vendor PN                                 : MCP1650-V00AE30
	Vendor rev                                : A2
	Vendor SN                                 : {SERIAL}
"""


def test_ethtool_module() -> None:
    found = nic.parse_ethtool_module(MODULE)
    assert (found.vendor, found.part) == ("Mellanox", "MCP1650-V00AE30")
    assert found.cable == nic.digest(f"  {SERIAL} ") != nic.digest("MT2002VS99998")
    assert SERIAL not in repr(found) and str(found.cable) not in repr(found)


def test_a_module_without_a_serial_number() -> None:
    assert nic.parse_ethtool_module("\tIdentifier : 0x11 (QSFP28)\n\tVendor SN :   \n") == Module()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("netlink error: Operation not supported\n", "no module .Operation not supported."),
        ("Cannot get module EEPROM information: Input/output error\n", "Input/output error"),
        ("Cannot get Module EEPROM data: No such device or address", "No such device or address"),
        ("Offset\t\tValues\n------\t\t------\n0x0000:\t\t11 00 00\n", "tells of no module"),
    ],
    ids=["guest", "io", "empty cage", "hex dump"],
)
def test_ethtool_module_refuses(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        nic.parse_ethtool_module(text)


# --- lspci

GX10 = """\
0000:01:00.0 Ethernet controller: Mellanox Technologies MT2910 Family [ConnectX-7]
	Subsystem: Mellanox Technologies Device 0087
	Capabilities: [60] Express (v2) Endpoint, IntMsgNum 0
		DevCap:	MaxPayload 512 bytes, PhantFunc 0
		LnkCap:	Port #0, Speed 32GT/s, Width x4, ASPM not supported
			ClockPM- Surprise- LLActRep- BwNot- ASPMOptComp+
		LnkCtl:	ASPM Disabled; RCB 64 bytes, LnkDisable- CommClk+
		LnkSta:	Speed 32GT/s, Width x4
			TrErr- Train- SlotClk+ DLActive- BWMgmt- ABWMgmt-
		LnkCap2: Supported Link Speeds: 2.5-32GT/s, Crosslink- Retimer+ 2Retimers+ DRS-
		LnkSta2: Current De-emphasis Level: -6dB, EqualizationComplete+
	Kernel driver in use: mlx5_core

0002:01:00.1 Ethernet controller [0200]: Mellanox Technologies MT2910 Family [ConnectX-7] [15b3:1021]
		LnkCap:	Port #0, Speed 32GT/s, Width x4, ASPM not supported
		LnkSta:	Speed 32GT/s (ok), Width x2 (downgraded)
"""


def test_lspci_of_several_devices() -> None:
    one, other = nic.parse_lspci(GX10)
    assert (one.address, one.speed, one.width, one.max_speed, one.max_width) == ("0000:01:00.0", 32, 4, 32, 4)
    assert (other.address, other.speed, other.width, other.max_width) == ("0002:01:00.1", 32, 2, 4)
    assert one.name.endswith("[ConnectX-7]")


def test_lspci() -> None:
    def holds(text: str, expected: tuple[str, float | None, int | None]) -> None:
        (found,) = nic.parse_lspci(text)
        assert (found.address, found.speed, found.width) == expected

    each_row(
        {
            "no domain, CRLF": (
                "01:00.0 Ethernet\r\n\t\tLnkSta: Speed 16GT/s (downgraded), Width x4 (ok)\r\n",
                ("0000:01:00.0", 16, 4),
            ),
            "unknown": (
                "0000000F:01:00.0 VGA\n\t\tLnkSta: Speed unknown, Width x0\n",
                ("0000000f:01:00.0", None, None),
            ),
            "grep": ("\t\tLnkSta: Speed 8GT/s, Width x2, TrErr- Train- SlotClk+\n", ("", 8, 2)),
            "wide domain": (
                "10000:e1:00.0 NVMe\n    LnkSta: Speed 2.5GT/s (overdriven), Width x63 (strange)\n",
                ("10000:e1:00.0", 2.5, None),
            ),
            "one line, as in the forum": (
                "0002:01:00.0  LnkCap: Speed 32GT/s, Width x4    LnkSta: Speed 32GT/s, Width x2 (downgraded)",
                ("0002:01:00.0", 32, 2),
            ),
            "no link": (
                "00:05.0 Ethernet controller: Red Hat, Inc. Virtio network device\n",
                ("0000:00:05.0", None, None),
            ),
        },
        holds,
    )


def test_lspci_where_grep_took_the_names() -> None:
    rows = "\tLnkCap: Speed 32GT/s, Width x4\n\tLnkSta: Speed 32GT/s, Width x4\n"
    found = nic.parse_lspci(
        rows + rows.replace("LnkSta: Speed 32GT/s, Width x4", "LnkSta: Speed 32GT/s, Width x2")
    )
    assert [link.width for link in found] == [4, 2]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("01:00.0 Ethernet\n\tCapabilities: <access denied>\n", "run it with sudo"),
        (
            "0002:01:00.0 Ethernet (rev ff) (prog-if ff)\n\t!!! Unknown header type 7f\n",
            "0002:01:00.0 .* left the bus",
        ),
        ("bash: lspci: command not found\n", "no output of lspci"),
        ("", "no output of lspci"),
    ],
    ids=["not root", "fell off the bus", "absent", "empty"],
)
def test_lspci_refuses(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        nic.parse_lspci(text)


# --- verdicts


def test_pcie() -> None:
    def holds(speed: float | None, width: int | None, driver: str, expected: tuple[str, str]) -> None:
        found = nic.pcie(replace(SPARK, driver=driver, pcie=Pcie("", "", speed, width)))
        assert (found.level, found.cause) == expected

    each_row(
        [
            (32.0, 4, "mlx5_core", ("healthy", "")),
            (64.0, 16, "mlx5_core", ("healthy", "")),
            (32.0, 2, "mlx5_core", ("degraded", "pcie-width")),
            (None, 2, "mlx5_core", ("degraded", "pcie-width")),
            (16.0, 4, "mlx5_core", ("degraded", "pcie-speed")),
            (16.0, 2, "mlx5_core", ("degraded", "pcie-width")),
            (None, None, "mlx5_core", ("unknown", "pcie-unknown")),
            (None, 4, "mlx5_core", ("unknown", "pcie-unknown")),
            (None, None, "virtio_net", ("unknown", "virtual-link")),
        ],
        holds,
    )


def test_half_the_width_has_its_cure() -> None:
    found = nic.pcie(replace(SPARK, pcie=Pcie("", "", 32.0, 2)))
    assert found.evidence == "enp1s0f0np0 has PCIe x2 at 32 GT/s, x4 at 32 GT/s expected"
    assert "0104" in found.cure


def test_errors_grew() -> None:
    def holds(after: dict[str, int], expected: tuple[str, str], words: str) -> None:
        found = nic.errors_grew(SPARK, replace(SPARK, errors=after))
        assert (found.level, found.cause) == expected and words in found.evidence

    each_row(
        {
            "same": ({"out_of_sequence": 0, "packet_seq_err": 2}, ("healthy", ""), "no RDMA errors"),
            "grew": (
                {"out_of_sequence": 5, "packet_seq_err": 2},
                ("degraded", "rdma-errors"),
                "(out_of_sequence +5)",
            ),
            "began anew and grew": (
                {"out_of_sequence": 0, "packet_seq_err": 1},
                ("degraded", "rdma-errors"),
                "(packet_seq_err +1)",
            ),
            "began anew": ({"out_of_sequence": 0, "packet_seq_err": 0}, ("healthy", ""), "no RDMA errors"),
            "none": ({}, ("unknown", "counters-unknown"), "no RDMA error counters"),
        },
        holds,
    )


def test_a_netdev_s_name_is_what_linux_allows() -> None:
    """Every check of such a netdev has its kind in the catalogue; other names are no rows of a NIC."""

    def holds(name: str, allowed: bool) -> None:
        rows = [f"{name} port p0"]
        if allowed:
            assert [reference.kind(f"nic.{netdev}.pcie").name for netdev in nic.parse(rows)] == ["nic.NETDEV.pcie"]
        else:
            with pytest.raises(ValueError, match="cannot read the row"):
                nic.parse(rows)

    names = {"enp1s0f0np0": True, "%s&|x": True, "a}[b]": True, "x" * 15: True}
    each_row([*{**names, "x" * 16: False, "a\x1b[31m": False, "a/b": False, "a:b": False}.items()], holds)
