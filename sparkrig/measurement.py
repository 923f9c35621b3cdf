"""What a run of the bandwidth check measures and finds: plain data, from the first test to the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from sparkrig.value import Value
from sparkrig.verdict import Verdict

Test = Literal["ib_write_bw", "ib_write_lat"]


@dataclass(frozen=True)
class Case:
    """One thing to measure: a perftest program, over one rail or several at once, in one direction.

    rails: their numbers; sender, receiver: host names; queue_pairs: of each rail.
    """

    test: Test
    rails: tuple[int, ...]
    sender: str
    receiver: str
    queue_pairs: int = 1

    @property
    def together(self) -> bool:
        return len(self.rails) > 1


@dataclass(frozen=True)
class Measurement:
    """One rail's share of a case.

    gbps: Gb/s (ib_write_bw), latency_us: typical latency in microseconds (ib_write_lat), path_mtu: bytes;
    each None where it was not learnt. together: other rails were busy at the same time.
    """

    test: Test
    rail: int
    sender: str
    receiver: str
    queue_pairs: int
    together: bool
    verdict: Verdict
    gbps: float | None = None
    latency_us: float | None = None
    path_mtu: int | None = None


@dataclass(frozen=True)
class End:
    """One end of a rail: RDMA device, GID index, netdev, IPv4 address."""

    device: str
    gid_index: int
    netdev: str
    address: str


@dataclass(frozen=True)
class Rail:
    """A rail of a run: its ends by host name (empty where it could not be measured), and its verdict."""

    number: int
    ends: Mapping[str, End]
    verdict: Verdict


@dataclass(frozen=True)
class Host:
    """What a host was when it was measured; a figure is only comparable among equals.

    firmware: of the ConnectX-7; each empty where it was not learnt.
    """

    boot_id: str = ""
    kernel: str = ""
    driver: str = ""
    firmware: str = ""
    perftest: str = ""


@dataclass(frozen=True)
class Finding:
    """A verdict on something other than a figure. subject: "spark-a", "rail 1", "spark-a rail 0", "pair"."""

    subject: str
    verdict: Verdict


@dataclass(frozen=True)
class Run(Value):
    """One run of the bandwidth check on one pair.

    id: unique; started_at: UTC, ISO 8601; mtu: of the fabric's netdevs, in bytes; together: the verdict on
    all rails at once; nccl: its figure and verdict where it was run.
    """

    id: str
    started_at: str
    pair: str
    mtu: int
    hosts: Mapping[str, Host]
    rails: tuple[Rail, ...]
    measurements: tuple[Measurement, ...]
    findings: tuple[Finding, ...]
