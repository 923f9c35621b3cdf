"""What of one Spark fails apart from GPU and fabric: the program's rows, and a verdict on each.

The outputs of the tools have the form that they are printed in: `nvme smart-log` as in issue 1037 of
linux-nvme/nvme-cli, the others by their own sources, the kernel's lines as in tests/fixtures/paste.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from sparkrig import programs
from sparkrig.host import board
from sparkrig.host.board import Board
from tests.tables import rows
from tests.unit.simulated import SimulatedHost

Fault = Callable[[SimulatedHost], None]
SMART = """\
Smart Log for NVME device:nvme0 namespace-id:ffffffff
critical_warning                        : 0
temperature                             : 42 C (315 Kelvin)
available_spare                         : 100%
available_spare_threshold               : 10%
percentage_used                         : 3%
data_units_read                         : 201,526,305
media_errors                            : 0
"""
TOOLS = {
    "ethtool": "EEE settings for enP7s7:\\n\\tEEE status: enabled - active\\n\\tTx LPI: 16 (us)\\n",
    "nvme": SMART.replace("\n", "\\n").replace("%", "%%"),
    "systemctl": "",
    "dkms": "r8127/11.014.00, 6.14.0-1015-nvidia, aarch64: installed\\n",
    "journalctl": "mlx5_core 0000:01:00.0: mlx5_pcie_event:301:(pid 1): Detected insufficient power (27W).\\n",
    "uname": "6.14.0-1015-nvidia\\n",
    "date": "1795926817\\n",
    "od": "   1\\n",
}
LINK = """\
Connected to 02:00:00:00:00:01 (on wlP9s9)
	SSID: home
	freq: 5180.0
	signal: -52 dBm
	tx bitrate: 1080.6 MBit/s
"""


def wireless(host: SimulatedHost, link: str = LINK) -> None:
    """What `iw` says, as in an issue of openwrt/mt76 (927)."""
    host.tool("iw", f"case \"$*\" in *power_save*) echo 'Power save: on' ;; *) cat <<'END'\n{link}END\n;; esac")


def driven(host: SimulatedHost, netdev: str, driver: str) -> None:
    link, target = host.at(f"/sys/class/net/{netdev}/device/driver"), host.at(f"/sys/bus/pci/drivers/{driver}")
    link.unlink(missing_ok=True)
    target.mkdir(parents=True, exist_ok=True)
    link.symlink_to(target)


@pytest.fixture
def spark(tmp_path: Path) -> SimulatedHost:
    """A healthy Spark on the network by its RJ45 and by Wi-Fi."""
    host = SimulatedHost(tmp_path)
    for name, text in TOOLS.items():
        host.tool(name, f"printf '{text}'")
    for name, driver, vendor, device, speed in (
        ("enP7s7", "r8127", "0x10ec", "0x8127", "10000"),
        ("wlP9s9", "mt7925e", "0x14c3", "0x7925", "-1"),
        ("enp1s0f0np0", "mlx5_core", "0x15b3", "0x1021", "200000"),
    ):
        for file, text in (
            ("device/vendor", vendor), ("device/device", device), ("operstate", "up"), ("speed", speed),
            ("carrier_down_count", "1"),
        ):  # fmt: skip
            host.has(f"/sys/class/net/{name}/{file}", f"{text}\n")
        driven(host, name, driver)
    host.has("/sys/class/net/wlP9s9/phy80211/index", "0\n")
    host.has("/sys/class/nvme/nvme0/state", "live\n")
    host.has("/sys/firmware/efi/efivars/SecureBoot-8be4df61", "")
    for number in range(4):
        host.has(f"/sys/bus/pci/devices/{number}/vendor", "0x15b3\n")
    host.has("/proc/net/route", "Iface\tDestination\tGateway\nenP7s7\t00000000\t0100A8C0\n")
    wireless(host)
    host.has("/proc/mounts", "/dev/nvme0n1p2 / ext4 rw,relatime 0 0\n")
    host.has("/proc/meminfo", "SwapTotal:      16777212 kB\nSwapFree:       16777212 kB\n")
    host.has("/etc/nvidia/cx7-hotplug-enabled", "")
    return host


def read(host: SimulatedHost) -> Board:
    script = programs.text("facts/board.sh")
    for place in ("/sys/", "/proc/", "/etc/nvidia", "/var/lib/systemd/pstore"):
        script = script.replace(f" {place}", f" {host.root}{place}")
    return board.parse(host.sh(script).stdout.splitlines())


def causes(found: Board) -> dict[str, str]:
    return {id: verdict.cause for id, verdict in board.verdicts(found).items() if not verdict.healthy}


def test_a_healthy_spark_is_read_whole_and_nothing_is_wrong_with_it(spark: SimulatedHost) -> None:
    found = read(spark)
    assert causes(found) == {}
    assert {id: verdict(found).evidence for id, verdict in board.VERDICTS.items()} == {
        "health.rj45": "enP7s7 has 10000 Mb/s by r8127",
        "health.wifi": "wlP9s9 hears its access point at -52 dBm, power save on",
        "health.nvme": "nvme0 is worn by 3 %, without a media error",
        "health.log": "no sign of trouble in what the kernel warned of since the boot (lines: 1)",
        "health.crash": "no crash record of the last 14 days",
        "health.hotplug": "the ConnectX-7 is there, its hot-plug is on",
        "health.swap": "0.0 GiB of 16.0 GiB swap are used",
        "health.units": "no unit has failed",
        "health.modules": "Secure Boot is on, DKMS built 1 for kernel 6.14.0-1015-nvidia",
        "health.firmware": "",
    }


def having(path: str, text: str) -> Fault:
    return lambda host: host.has(path, text)


def printing(tool: str, text: str) -> Fault:
    return lambda host: host.tool(tool, f"printf '%s\\n' '{text}'")


def smart(line: str, other: str) -> Fault:
    return lambda host: host.tool("nvme", f"cat <<'END'\n{SMART.replace(line, other)}END")


def connectx(host: SimulatedHost, version: str) -> None:
    host.has("/sys/class/infiniband/mlx5_0/device/vendor", "0x15b3\n")
    host.has("/sys/class/infiniband/mlx5_0/fw_ver", f"{version}\n")


FAULTS: list[tuple[str, str, Fault]] = [
    ("rj45", "rj45-driver", lambda host: driven(host, "enP7s7", "r8169")),
    ("rj45", "rj45-slow", having("/sys/class/net/enP7s7/speed", "100\n")),
    ("rj45", "rj45-unsteady", having("/sys/class/net/enP7s7/carrier_down_count", "7\n")),
    ("wifi", "wifi-weak", lambda host: wireless(host, LINK.replace("-52", "-81"))),
    ("nvme", "root-read-only", having("/proc/mounts", "/dev/nvme0n1p2 / ext4 ro,relatime 0 0\n")),
    ("nvme", "nvme-away", having("/sys/class/nvme/nvme0/state", "dead\n")),
    ("nvme", "nvme-away", having("/sys/class/nvme/nvme0/state", "deleting (no IO)\n")),
    ("nvme", "nvme-away", having("/sys/class/nvme/nvme0/state", "")),
    ("nvme", "nvme-failing", smart("critical_warning                        : 0", "critical_warning : 0x4")),
    ("nvme", "nvme-failing", smart("media_errors                            : 0", "media_errors : 1,204")),
    ("nvme", "nvme-failing", smart("available_spare                         : 100%", "available_spare : 6%")),
    ("nvme", "nvme-worn", smart("percentage_used                         : 3%", "percentage_used : 94%")),
    ("nvme", "nvme-unread", printing("nvme", "Permission denied")),
    (
        "log",
        "gsp",
        printing("journalctl", "NVRM: Xid (PCI:000f:01:00): 119, pid=1, Timeout waiting for RPC from GSP!"),
    ),
    ("log", "disk", printing("journalctl", "nvme nvme0: I/O 12 QID 3 timeout, reset controller")),
    ("crash", "kernel-crash", having("/var/lib/systemd/pstore/dmesg-efi-1", "Oops")),
    ("swap", "swapped", having("/proc/meminfo", "SwapTotal: 16777212 kB\nSwapFree: 1048576 kB\n")),
    ("units", "unit-failed", printing("systemctl", "nvidia-persistenced.service loaded failed failed NVIDIA")),
    ("modules", "dkms-absent", printing("dkms", "r8127/11.014.00: added")),
    ("firmware", "firmware-open", lambda host: connectx(host, "28.44.1036")),
]


@pytest.mark.parametrize(("id", "cause", "fault"), FAULTS, ids=[f"{id}-{cause}" for id, cause, _ in FAULTS])
def test_each_fault_alone_is_the_one_thing_that_is_wrong(
    spark: SimulatedHost, id: str, cause: str, fault: Fault
) -> None:
    spark.tool("stat", "echo 1795900000")  # of a crash record
    fault(spark)
    found = read(spark)
    assert causes(found) == {f"health.{id}": cause}
    verdict = board.VERDICTS[f"health.{id}"](found)
    assert verdict.evidence and verdict.cure


def test_what_a_healthy_spark_may_lack_is_no_fault(spark: SimulatedHost) -> None:
    """One on Wi-Fi alone, without a cable in the fabric, nvme-cli, DKMS or Secure Boot's variable."""
    spark.has("/sys/class/net/enP7s7/operstate", "down\n")
    for file in spark.at("/sys/bus/pci/devices").glob("*/vendor"):
        file.unlink()
    found = read(spark)
    assert board.hotplug(found).evidence.startswith("the ConnectX-7 is off the bus")
    assert causes(replace(found, secure_boot=None, modules=())) == {}


def test_an_old_crash_and_a_boot_s_unknown_warnings_are_nothing(spark: SimulatedHost) -> None:
    spark.tool("stat", "echo 1790000000")
    spark.has("/var/lib/systemd/pstore/dmesg-efi-1", "Oops")
    spark.tool(
        "journalctl", "echo 'NVRM: something that nobody knows'; echo 'acpi PNP0A03:00: fail to add MMCONFIG'"
    )
    assert causes(read(spark)) == {}


ODD = {
    "netdev enP7s7 wired": "rj45",
    "netdev eth\x01 wired r8127 - up 100 1": "rj45",
    "smart nvme0 percentage_used x": "nvme",
    "crash soon": "crash",
    f"crash {'9' * 30}": "crash",
    "SwapTotal: much": "swap",
    "mellanox some": "hotplug",
}


@pytest.mark.parametrize(("row", "id"), ODD.items())
def test_a_row_that_makes_no_sense_is_said_and_hides_nothing_else(row: str, id: str) -> None:
    sound = [
        "nvme nvme0 live",
        "smart nvme0 media_errors 0",
        "netdev usb0 wired cdc_ether - up 100 1",
        "now 1795926817",
    ]
    found = board.parse([row, *sound])
    assert causes(found) == {f"health.{id}": "board-odd"}
    assert [port.name for port in found.ports] == ["usb0"]


def test_a_record_of_a_later_time_is_none() -> None:
    assert causes(board.parse(["now 1795926817", "crash 253402300800", "crash 9999999999999999999"])) == {}


def test_names_are_data(spark: SimulatedHost) -> None:
    """A unit that begins with a dash is no option; what is no unit, no module and no signal is none."""
    spark.tool(
        "systemctl", "echo '-.mount loaded failed failed Root'; echo '-Hroot@evil loaded failed'; echo '\u25cf x'"
    )
    spark.tool("dkms", "echo 'Deprecated feature: REMAKE_INITRD'; echo; echo 'r8127/1, 6.14, aarch64: installed'")
    wireless(spark, LINK.replace("-52 dBm", "0 dBm"))
    spark.tool("journalctl", f"echo 'usb 1-1: Product: {'é' * 300}'; echo {'7' * 120}")
    found = read(spark)
    assert found.failed == ("-.mount",) and board.units(found).cure == "systemctl status -- -.mount"
    assert len(found.modules) == 1 and {port.signal for port in found.ports} == {None}
    assert found.log == ("usb 1-1: Product:", "(digits)")


RECORDED = rows(__file__, "recorded")


@pytest.mark.parametrize("rows", RECORDED.values(), ids=RECORDED)
def test_recorded_healthy_sparks_have_nothing_wrong(rows: str) -> None:
    assert causes(board.parse(row.strip() for row in rows.splitlines())) == {}
