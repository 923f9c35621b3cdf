"""What a run of the bandwidth check measures and finds: plain data, from the first test to the report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from sparkrig import text
from sparkrig.verdict import Finding, Verdict, worst

if TYPE_CHECKING:
    from sparkrig import fleet

Test = Literal["ib_write_bw", "ib_write_lat"]
Form = Literal["cable", "ring", "switch"]


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


def kind(what: Case | Measurement) -> str:
    """What is measured, in a word or two: 1 QP, 4 QPs, all at once, latency."""
    if what.test == "ib_write_lat":
        return "latency"
    if what.together:
        return "all at once"
    return "1 QP" if what.queue_pairs == 1 else f"{what.queue_pairs} QPs"


def amount(measured: Measurement) -> str:
    """The figure with its unit."""
    if measured.gbps is not None:
        return f"{measured.gbps:.2f} Gb/s"
    return "no figure" if measured.latency_us is None else f"{measured.latency_us:.2f} us"


def figure(measured: Measurement) -> float | None:
    """Gb/s or microseconds, as the test has it."""
    return measured.latency_us if measured.test == "ib_write_lat" else measured.gbps


def way(measured: Measurement) -> str:
    """What was measured, in words."""
    return f"rail {measured.rail}, {measured.sender} to {measured.receiver}, {kind(measured)}"


def title(case: Case) -> str:
    """A case in words."""
    return f"{text.rails(case.rails)}, {case.sender} to {case.receiver}, {kind(case)}"


def sentence(measured: Measurement) -> str:
    """One measurement in words, with its verdict."""
    cause = f" ({measured.verdict.cause})" if measured.verdict.cause else ""
    return f"{way(measured)}: {amount(measured)}, {measured.verdict.level}{cause}"


def summary(measured: Sequence[Measurement]) -> str:
    """What a healthy rail reached, in words: its bandwidth at the most queue pairs, and its latency.

    Alone, or beside other rails where it was not measured alone.
    """
    measurements = telling(measured)
    most = max((measurement.queue_pairs for measurement in measurements), default=0)
    figures = sorted(measurement.gbps or 0.0 for measurement in measurements if measurement.queue_pairs == most)
    latency = [f", {each.latency_us:.2f} us" for each in measured if each.latency_us is not None]
    if not figures:
        return ""
    spread = "" if len(figures) == 1 else f" to {figures[-1]:.2f}"
    beside = " beside other rails" if measurements[0].together else ""
    return f"{figures[0]:.2f}{spread} Gb/s{beside}{''.join(latency[:1])}"


def telling(measured: Iterable[Measurement]) -> list[Measurement]:
    """What shows most of one rail: its bandwidth alone; beside other rails where it was not measured alone."""
    found = [each for each in measured if each.gbps is not None]
    return [each for each in found if not each.together] or found


def overall(measured: Sequence[Measurement]) -> Verdict:
    """The verdict on a rail of all that was measured on it: the worst, and of a healthy one what it reached."""
    # of equals the figure that shows most: alone, and with several queue pairs
    verdict = worst(
        measurement.verdict
        for measurement in sorted(
            measured, key=lambda measurement: (measurement.together, -measurement.queue_pairs)
        )
    )
    return Verdict("healthy", evidence=summary(measured)) if verdict.healthy else verdict


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


@dataclass(frozen=True, kw_only=True)
class Edge(Rail):
    """A rail between two hosts of a pair or a cluster.

    hosts: the earlier one of the inventory first; netdevs: theirs, in this order; twin: which of the rails between
    the two hosts it is, from 0, in the order of their PCI domains; because: the subject of the finding that
    explains its verdict, empty where none does.
    """

    hosts: tuple[str, str]
    netdevs: tuple[str, str]
    twin: int = 0
    because: str = ""

    @classmethod
    def blank(cls, rail: fleet.Rail, twin: int, verdict: Verdict) -> Edge:
        """An edge without ends: one that cannot be measured, or was not yet."""
        near, far = rail.near, rail.far
        hosts, netdevs = (near.host, far.host), (near.netdev, far.netdev)
        return cls(rail.number, {}, verdict, hosts=hosts, netdevs=netdevs, twin=twin)

    def netdev(self, host: str) -> str:
        return self.netdevs[self.hosts.index(host)]


def of(edge: Edge, measured: Iterable[Measurement]) -> list[Measurement]:
    """The measurements of an edge."""
    ways = (edge.hosts, edge.hosts[::-1])
    return [each for each in measured if each.rail == edge.number and (each.sender, each.receiver) in ways]


@dataclass(frozen=True)
class Port:
    """What the edges of a host have in common.

    On a switch a netdev, with its cable and the port of the switch; in a ring the two netdevs of one PCIe link,
    one in each cage. twin: see Edge; rails: their numbers.
    """

    host: str
    twin: int
    netdevs: tuple[str, ...]
    rails: tuple[int, ...]
    verdict: Verdict


@dataclass(frozen=True)
class Host:
    """What a host was when it was measured; a figure is only comparable among equals.

    boot_id: a UUID, which the history compares and no document shows; firmware: of the ConnectX-7; each empty
    where it was not learnt.
    """

    boot_id: str = ""
    kernel: str = ""
    driver: str = ""
    firmware: str = ""
    perftest: str = ""


@dataclass(frozen=True)
class PairRun:
    """One run of the bandwidth check, with what `--json` has of a pair.

    id: unique; started_at: UTC, ISO 8601; pair: the name of the pair or cluster; mtu: of the fabric's netdevs, in
    bytes; findings: on the fabric (cabling, GIDs, all rails at once, NCCL); health: on the hosts, as background.
    """

    id: str
    started_at: str
    pair: str
    mtu: int
    hosts: Mapping[str, Host]
    rails: tuple[Rail, ...]
    measurements: tuple[Measurement, ...]
    findings: tuple[Finding, ...]
    health: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class Run(PairRun):
    """One run of the bandwidth check on two hosts or more.

    rails: each edge once; topology: what joins the hosts; ports: judged by all their edges; missing: by
    host, why its edges were not measured, or not to their end.
    """

    rails: tuple[Edge, ...]
    topology: Form = "cable"
    ports: tuple[Port, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)

    @property
    def of_two(self) -> bool:
        """Whether it is that of a pair: all its edges join the same two hosts."""
        return len(self.hosts) < 3

    @property
    def passed(self) -> bool:
        """Whether every rail is healthy, and nothing else about the fabric is at fault."""
        faults = [finding for finding in self.findings if finding.verdict.level == "fault"]
        return all(rail.verdict.healthy for rail in self.rails) and not faults

    @property
    def verdicts(self) -> list[Verdict]:
        """Those that decide whether the fabric is in spec."""
        return [*(rail.verdict for rail in self.rails), *(finding.verdict for finding in self.findings)]
