"""The ConnectX-7 of a host, one netdev at a time: link, PCIe, error counters, cable; and what they prove.

A healthy cable behind a PCIe link of half the width looks like a slow cable; a link that flapped looks like
a slow peer. Sources: [@epappas, @capetron, @forum-367853]; Linux, Documentation/ABI (sysfs-class-net,
sysfs-class-infiniband); pciutils, ls-caps.c; ethtool, netlink/settings.c and qsfp.c.
"""

from __future__ import annotations

import hashlib
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sparkrig.cure import on_host
from sparkrig.parsing import grammar
from sparkrig.value import Value
from sparkrig.verdict import Verdict

# Each netdev of a Spark has PCIe Gen5 x4 of its own (~126 Gb/s) [@epappas].
PCIE_SPEED_GTS = 32.0
PCIE_WIDTH = 4

# What grows only when packets were lost, damaged or repeated. Left out: the flush counters, which grow
# whenever a queue pair is closed, congestion marks, link_downed, which carrier_down shows as well, and
# rxe's completer_retry_err: a healthy virtual pair repeats what its slow peer is late to acknowledge (126 in
# 458,623 packets).
ERRORS = frozenset(
    {
        # mlx5 hw_counters (drivers/infiniband/hw/mlx5/counters.c)
        *("out_of_sequence", "packet_seq_err", "implied_nak_seq_err", "local_ack_timeout_err"),
        *("rnr_nak_retry_err", "out_of_buffer", "rx_icrc_encapsulated"),
        *("req_transport_retries_exceeded", "req_rnr_retries_exceeded"),
        # mlx5 counters (drivers/infiniband/core/sysfs.c)
        *("port_rcv_errors", "port_xmit_discards", "symbol_error", "local_link_integrity_errors"),
        # rdma_rxe hw_counters (drivers/infiniband/sw/rxe/rxe_hw_counters.c)
        *("out_of_seq_request", "rcvd_rnr_err", "send_rnr_err", "rcvd_seq_err", "retry_exceeded_err"),
        *("retry_rnr_exceeded_err", "send_err"),
        # both
        "duplicate_request",
    }
)
_XMIT_UNIT = 4  # port_xmit_data counts words of four bytes

_UNTOLD = frozenset({"", "n/a", "none", "unknown", "unknown!", "not available", "not specified"})


@dataclass(frozen=True)
class Pcie:
    """One PCIe link: GT/s and lanes, now and at most; None where lspci or sysfs does not show it."""

    address: str = ""
    name: str = ""
    speed: float | None = None
    width: int | None = None
    max_speed: float | None = None
    max_width: int | None = None


@dataclass(frozen=True)
class Nic(Value):
    """One fabric netdev.

    port: its cage (p0, p1); up: administratively; speed_mbps: of the link, Mb/s; pcie: as sysfs shows it;
    carrier_down: how often the carrier went since the netdev appeared; device: its RDMA device; errors: its
    RDMA error counters; sent_bytes: by RDMA (None on soft-RoCE); sent_packets: by soft-RoCE.
    cable: a short digest of the module's serial number, good for "the same cable or not" and never shown.
    Each None, or empty, where it is unknown.
    """

    netdev: str
    port: str
    up: bool = False
    carrier: bool = False
    speed_mbps: int | None = None
    pcie: Pcie = field(default_factory=Pcie)
    driver: str = ""
    firmware: str = ""
    carrier_down: int | None = None
    device: str = ""
    errors: Mapping[str, int] = field(default_factory=dict)
    sent_bytes: int | None = None
    sent_packets: int | None = None
    cable: str | None = field(default=None, repr=False)

    @property
    def virtual(self) -> bool:
        """A virtual machine's NIC: it has no PCIe link of its own and no module."""
        return self.driver.startswith(("virtio", "vmxnet", "hv_netvsc", "veth", "tun"))

    def to_json(self) -> Any:
        return {key: value for key, value in super().to_json().items() if key != "cable"}


def parse(lines: Iterable[str]) -> dict[str, Nic]:
    """Read the nic fact: `NETDEV KEY VALUE` rows -> netdev -> Nic. Raises ValueError for nonsense."""
    rows: dict[str, dict[str, str]] = {}
    for line in lines:
        netdev, _, rest = line.strip().partition(" ")
        key, _, value = rest.partition(" ")
        if not key or not grammar.NETDEV.fits(netdev):
            raise ValueError(f"cannot read the row {line[:60]!r}")
        rows.setdefault(netdev, {})[key] = value.strip()
    return {netdev: _nic(netdev, found) for netdev, found in sorted(rows.items())}


def _nic(netdev: str, found: Mapping[str, str]) -> Nic:
    counters = {
        key.removeprefix("counter."): int(value) for key, value in found.items() if key.startswith("counter.")
    }
    words = counters.get("port_xmit_data")
    return Nic(
        netdev=netdev,
        port=found.get("port", ""),
        up=bool(int(found.get("flags") or "0", 16) & 1),  # IFF_UP
        carrier=found.get("carrier") == "1",
        speed_mbps=_mbps(found.get("speed", "")),
        pcie=Pcie(
            address=found.get("pci", ""),
            speed=_speed(found.get("current_link_speed", "")),
            width=_width(found.get("current_link_width", "")),
            max_speed=_speed(found.get("max_link_speed", "")),
            max_width=_width(found.get("max_link_width", "")),
        ),
        driver=found.get("driver", ""),
        firmware=_told(found.get("firmware", "")),
        carrier_down=int(found["carrier_down_count"]) if found.get("carrier_down_count") else None,
        device=found.get("device", ""),
        errors={name: value for name, value in sorted(counters.items()) if name in ERRORS},
        sent_bytes=None if words is None else words * _XMIT_UNIT,
        sent_packets=counters.get("sent_pkts"),
        cable=found.get("cable") or None,
    )


def _told(text: str) -> str:
    return "" if text.strip().casefold() in _UNTOLD else text.strip()


def _mbps(text: str) -> int | None:
    """Mb/s; -1, and the same read as an unsigned number of 16 or 32 bits, is a link that is down."""
    found = re.match(r"(-?\d+)(?:\s*(G)b/s)?", text.strip())
    speed = int(found[1]) * (1000 if found[2] else 1) if found else 0
    return None if speed <= 0 or speed in (0xFFFF, 0xFFFFFFFF) else speed


def _speed(text: str) -> float | None:
    """GT/s of `32GT/s`, `32.0 GT/s PCIe`, `Unknown`."""
    found = re.match(r"(\d+(?:\.\d+)?)\s*GT/s", text.strip())
    return float(found.group(1)) if found else None


def _width(text: str) -> int | None:
    """Lanes of `x4` or `4`; 0, 63 and 255 are what a link that is not there reads as."""
    found = re.match(r"x?(\d+)", text.strip())
    width = int(found.group(1)) if found else 0
    return None if width in (0, 63, 255) else width


# --- what people paste


@dataclass(frozen=True)
class Link:
    """One `Settings for NETDEV` of ethtool; speed_mbps None for Unknown!, up None where the text lacks it."""

    netdev: str = ""
    speed_mbps: int | None = None
    up: bool | None = None


@dataclass(frozen=True)
class Driver:
    """`ethtool -i`: kernel driver, firmware and PCI address; each empty where it is unknown."""

    driver: str
    firmware: str = ""
    address: str = ""


@dataclass(frozen=True)
class Module:
    """`ethtool -m`: the module or cable in the cage; cable is a digest, see Nic.

    kind: what it calls itself, such as `40G Ethernet: 40G Base-CR4`.
    """

    vendor: str = ""
    part: str = ""
    kind: str = ""
    cable: str | None = field(default=None, repr=False)


def parse_ethtool(text: str) -> tuple[Link, ...]:
    """`ethtool NETDEV`, once or several times, also with grep. Raises ValueError where it shows no link.

    grep takes the line with the name away, so a row that is there already begins the next link.
    """
    found: list[dict[str, str]] = [{}]
    for line in text.splitlines():
        key, value = _pair(line)
        if key.startswith("settings for "):
            netdev = line.strip().removesuffix(":").split()[-1]
            found.append({"netdev": netdev if grammar.NETDEV.fits(netdev) else ""})
        elif key in ("speed", "link detected"):
            found += [{}] if key in found[-1] else []
            found[-1][key] = value.casefold()
    told = tuple(_link(rows) for rows in found if {"speed", "link detected"} & rows.keys())
    if not told:
        raise ValueError(f"ethtool tells of no link{_excuse(text)}")
    return told


def _link(rows: Mapping[str, str]) -> Link:
    up = rows["link detected"].startswith("yes") if "link detected" in rows else None
    return Link(rows.get("netdev", ""), _mbps(rows.get("speed", "")), up)


def parse_ethtool_driver(text: str) -> Driver:
    """`ethtool -i NETDEV`. Raises ValueError where it names no driver."""
    found = dict(_pair(line) for line in text.splitlines())
    if not found.get("driver"):
        raise ValueError(f"ethtool -i names no driver{_excuse(text)}")
    return Driver(
        found["driver"], _told(found.get("firmware-version", "")), _address(found.get("bus-info", "")) or ""
    )


def parse_ethtool_module(text: str) -> Module:
    """`ethtool -m NETDEV`; the serial number becomes a digest. Raises ValueError where it shows no module."""
    found = dict(_pair(line) for line in text.splitlines())
    known = {"identifier", "vendor name", "vendor pn", "vendor sn"}
    if not known & found.keys():
        raise ValueError(f"ethtool -m tells of no module{_excuse(text)}")
    vendor, part, kind = (_told(found.get(key, "")) for key in ("vendor name", "vendor pn", "transceiver type"))
    return Module(vendor, part, kind, digest(found.get("vendor sn", "")))


def digest(serial: str) -> str | None:
    """Four hex digits that mostly differ for two serial numbers and reveal neither; None for none.

    facts/nic.py makes the same on the host.
    """
    bare = _told(serial)
    return hashlib.sha256(bare.encode()).hexdigest()[:4] if bare else None


def _pair(line: str) -> tuple[str, str]:
    key, _, value = line.partition(":")
    return " ".join(key.split()).casefold(), value.strip()


def _excuse(text: str) -> str:
    """ethtool's own reason, in brackets; only lines that complain, since others may hold a serial number."""
    complaint = re.search(r"^[ \t]*(?:netlink error|cannot get [\w .-]*|ethtool): *([^\r\n]+)", text, re.I | re.M)
    return f" ({complaint.group(1).strip()})" if complaint else ""


_DEVICE = re.compile(r"(?:([0-9a-f]{4,}):)?([0-9a-f]{2}:[0-9a-f]{2}\.[0-7])(?:\s+(.*))?", re.I)
_LINK = re.compile(r"\bLnk(Cap|Sta):(.*?)(?=\bLnk(?:Cap|Sta):|$)")


def _address(text: str) -> str | None:
    found = _DEVICE.fullmatch(text.strip())
    return f"{found.group(1) or '0000'}:{found.group(2)}".lower() if found else None


def parse_lspci(text: str) -> tuple[Pcie, ...]:
    """`lspci -vv`, of one device or many; address is empty where the device's own line is missing.

    Raises ValueError where there is nothing to read, where lspci ran without root, and for a device that
    fell off the bus.
    """
    found: list[Pcie] = []
    for line in textwrap.dedent(text).splitlines():
        head = _DEVICE.match(line)
        if head:
            found.append(Pcie(_address(f"{head.group(1) or '0000'}:{head.group(2)}") or "", _title(head.group(3))))
        if "<access denied>" in line:
            raise ValueError("lspci shows the PCIe link to root only (<access denied>); run it with sudo")
        if "Unknown header type" in line:
            raise ValueError(f"PCI device {found[-1].address if found else '?'} does not answer, it left the bus")
        for kind, value in _LINK.findall(line):
            _note(found, kind, value)
    if not found:
        raise ValueError("this is no output of lspci: it names no device and no link")
    return tuple(found)


def _title(text: str | None) -> str:
    return (text or "").split("LnkCap:")[0].split("LnkSta:")[0].strip()


def _note(found: list[Pcie], kind: str, text: str) -> None:
    """Write a LnkCap or LnkSta down for the last device, or for a nameless one where grep took its line away."""
    speed, width = re.search(r"Speed ([^,]*)", text), re.search(r"Width ([^,]*)", text)
    names = ("max_speed", "max_width") if kind == "Cap" else ("speed", "width")
    values = (_speed(speed.group(1)) if speed else None, _width(width.group(1)) if width else None)
    if not found or any(getattr(found[-1], name) is not None for name in names):
        found.append(Pcie())
    found[-1] = replace(found[-1], **dict(zip(names, values, strict=True)))  # type: ignore[arg-type]


# --- verdicts


def pcie(nic: Nic) -> Verdict:
    """Whether the PCIe link is as wide and as fast as a Spark's is; unknown ("virtual-link") for a guest's."""
    return pcie_link(nic.pcie, nic.netdev, virtual=nic.virtual)


def pcie_link(link: Pcie, subject: str, *, virtual: bool = False) -> Verdict:
    """The same of a link by itself."""
    if virtual and link.width is None:
        return Verdict("unknown", "virtual-link", f"{subject} is a virtual NIC and has no PCIe link of its own")
    speed = "speed unknown" if link.speed is None else f"{link.speed:g} GT/s"
    width = "width unknown" if link.width is None else f"x{link.width}"
    evidence = f"{subject} has PCIe {width} at {speed}, x{PCIE_WIDTH} at {PCIE_SPEED_GTS:g} GT/s expected"
    if link.width is not None and link.width < PCIE_WIDTH:
        return Verdict(
            "degraded",
            "pcie-width",
            evidence,
            "update the BIOS (ASUS GX10: 0104 or later; 0103 and earlier give one NIC two lanes)",
        )
    if link.speed is not None and link.speed < PCIE_SPEED_GTS:
        return Verdict(
            "degraded", "pcie-speed", evidence, "shut down, unplug the power for a minute, and start again"
        )
    if link.width is None or link.speed is None:
        return Verdict("unknown", "pcie-unknown", evidence, on_host("sudo lspci -vv -d 15b3:"))
    return Verdict("healthy", evidence=f"{subject} has PCIe {width} at {speed}")


_RESEAT = "reseat the QSFP cable at both ends, and try another one if it happens again"


# packets that a receiver found missing before others: mlx5's, and soft-RoCE's
_OUT_OF_ORDER = ("out_of_sequence", "out_of_seq_request")


def lost(nic: Nic) -> int | None:
    """Packets that came to a netdev out of order since it appeared; None where it does not count them."""
    counted = [nic.errors[name] for name in _OUT_OF_ORDER if name in nic.errors]
    return sum(counted) if counted else None


def errors_grew(before: Nic, after: Nic) -> Verdict:
    """Whether RDMA error counters grew between two looks; one that is smaller now started anew."""
    name = after.device or after.netdev
    if not after.errors:
        return Verdict("unknown", "counters-unknown", f"{name} has no RDMA error counters")
    grown = dict(_growth(before.errors, after.errors))
    if not grown:
        return Verdict("healthy", evidence=f"{name} counted no RDMA errors")
    shown = ", ".join(f"{counter} +{count}" for counter, count in grown.items())
    return Verdict("degraded", "rdma-errors", f"{name} counted RDMA errors ({shown})", _RESEAT)


def _growth(before: Mapping[str, int], after: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    for counter, count in after.items():
        start = before.get(counter, 0)
        grown = count - start if count >= start else count
        if grown:
            yield counter, grown
