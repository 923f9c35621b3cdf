"""What a run of the bandwidth check finds on more than two hosts: plain data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from sparkrig import fleet
from sparkrig.bandwidth.measurement import Measurement, Rail, Run
from sparkrig.verdict import Verdict

Form = Literal["ring", "switch"]


@dataclass(frozen=True, kw_only=True)
class Edge(Rail):
    """A rail between two hosts of a cluster.

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


@dataclass(frozen=True)
class Port:
    """What the edges of a host have in common.

    On a switch a netdev, with its half of the cable and of the switch's port; in a ring the two netdevs of one
    PCIe link, one in each cage. twin: see Edge; rails: their numbers.
    """

    host: str
    twin: int
    netdevs: tuple[str, ...]
    rails: tuple[int, ...]
    verdict: Verdict


@dataclass(frozen=True, kw_only=True)
class ClusterRun(Run):
    """One run on a cluster of more than two hosts.

    pair: the name of the cluster; rails: each edge once; ports: judged by all their edges; at_once: what the edges
    carried while every host sent to the next one, which no history has; missing: by host, why its edges were not
    measured, or not to their end.
    """

    topology: Form
    rails: tuple[Edge, ...]
    ports: tuple[Port, ...]
    at_once: tuple[Measurement, ...] = ()
    missing: Mapping[str, str]

    def between(self, one: str, other: str) -> Run:
        """The part of two hosts, as a run on them alone."""
        rails = [edge for edge in self.rails if edge.hosts == (one, other)]
        return Run(
            self.id,
            self.started_at,
            self.pair,
            self.mtu,
            {name: self.hosts[name] for name in (one, other)},
            tuple(Rail(edge.number, edge.ends, edge.verdict) for edge in rails),
            tuple(each for edge in rails for each in of(edge, self.measurements)),
            (),
        )


def of(edge: Edge, measured: Iterable[Measurement]) -> list[Measurement]:
    """The measurements of an edge."""
    ways = (edge.hosts, edge.hosts[::-1])
    return [each for each in measured if each.rail == edge.number and (each.sender, each.receiver) in ways]
