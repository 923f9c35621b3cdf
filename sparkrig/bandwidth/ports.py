"""Which port of a cluster is slow: the one whose edges all are, while those between the other hosts are not.

A bad figure alone has two ends that may be the reason, so of a pair no port is named. The judgement is our own
reasoning.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from sparkrig import text
from sparkrig.bandwidth import bands
from sparkrig.bandwidth.measurement import Edge, Form, Measurement, Port, of, telling
from sparkrig.cure import on_host, over_ssh
from sparkrig.text import listed
from sparkrig.verdict import Finding, Verdict, worst

# a figure that may be that of the port, whatever band it lies in
_SHARED = "pair-reduced"


@dataclass(frozen=True)
class Judged:
    """The edges with what explains each, every port, and what is wrong: each once, with its subject."""

    edges: tuple[Edge, ...]
    ports: tuple[Port, ...]
    findings: tuple[Finding, ...]


def judge(
    edges: Sequence[Edge], measured: Sequence[Measurement], missing: Mapping[str, str], form: Form
) -> Judged:
    """Judge the ports of a cluster by their edges. missing: why a host's edges were not measured."""
    found = _Cluster(edges, measured, missing, form)
    findings = [*found.absent(), *found.all_alike(), *found.named()]
    reasons = found.reasons()
    return Judged(
        tuple(_with_its_way(replace(edge, because=reasons.get(_key(edge), "")), measured) for edge in found.edges),
        tuple(found.port(host, twin) for host in found.names for twin in found.twins if found.at(host, twin)),
        tuple(findings),
    )


class _Cluster:
    """The edges of a cluster, by port. A port is a host and a number of its twins."""

    def __init__(
        self, edges: Sequence[Edge], measured: Sequence[Measurement], missing: Mapping[str, str], form: Form
    ) -> None:
        switched = [replace(edge, verdict=bands.over_switch(edge.verdict)) for edge in edges]
        self.edges = switched if form == "switch" else [*edges]
        self.measured, self.missing, self.form = measured, missing, form
        self.names = [*dict.fromkeys(host for edge in edges for host in edge.hosts)]
        self.twins = sorted({edge.twin for edge in edges})
        self.tried = [edge for edge in self.edges if not {*edge.hosts} & missing.keys()]
        # a cable that is out is no figure of the hosts that it would join
        self.unexplained = [edge for edge in self.tried if not edge.because]

    def at(self, host: str, *twins: int) -> list[Edge]:
        return [edge for edge in self.edges if host in edge.hosts and edge.twin in twins]

    def port(self, host: str, twin: int) -> Port:
        edges = self.at(host, twin)
        netdevs = tuple(dict.fromkeys(edge.netdev(host) for edge in edges))
        return Port(host, twin, netdevs, _numbers(edges), self._verdict(host, twin, edges))

    def _verdict(self, host: str, twin: int, mine: Sequence[Edge]) -> Verdict:
        tried = [edge for edge in mine if edge in self.tried]
        if host in self.missing or not tried:
            why = self.missing.get(host, "no host that it leads to was there")
            return Verdict("unknown", "host-lost", why)
        if (host, twin) in self.bad:
            return self._of_port(host, [edge for edge in mine if edge in self.unexplained])
        if twin in self.alike:
            return self._of_all([edge for edge in self.unexplained if edge.twin == twin])
        well = [edge for edge in tried if edge.verdict.healthy]
        if not well:
            return worst(edge.verdict for edge in tried)
        spread = _spread(measurement.gbps for edge in well for measurement in self._telling(edge))
        return Verdict("healthy", evidence=f"{len(well)} of {_edges(mine)} healthy{spread and f', {spread}'}")

    @cached_property
    def bad(self) -> set[tuple[str, int]]:
        """The ports of which no edge is healthy, while one between other hosts is.

        An edge of a ring has a cage of its own at both ends, so one alone blames neither host.
        """
        found = set()
        fewest = 2 if self.form == "ring" else 1
        for host in self.names:
            for twin in self.twins:
                edges = [edge for edge in self.unexplained if edge.twin == twin and host in edge.hosts]
                others = [edge for edge in self.tried if edge.twin == twin and host not in edge.hosts]
                bad = len(edges) >= fewest and not any(edge.verdict.healthy for edge in edges)
                if bad and any(edge.verdict.healthy for edge in others):
                    found.add((host, twin))
        return found

    @cached_property
    def alike(self) -> list[int]:
        """The twins of which no edge at all is healthy, so that no port differs from the others."""
        found = []
        for twin in self.twins:
            edges = [edge for edge in self.unexplained if edge.twin == twin]
            if len(edges) > 1 and not any(edge.verdict.healthy for edge in edges):
                found.append(twin)
        return found

    def absent(self) -> list[Finding]:
        return [self._absent(host, why) for host, why in self.missing.items()]

    def _absent(self, host: str, why: str) -> Finding:
        mine = self.at(host, *self.twins)
        to = listed(dict.fromkeys(name for edge in mine for name in edge.hosts if name != host))
        said = f"{why}: {text.rails(_numbers(mine))} to {to} were not measured, or not to their end"
        return Finding(host, Verdict("unknown", "host-lost", said, over_ssh(host, "true").then(", then again")))

    def all_alike(self) -> list[Finding]:
        edges = [edge for edge in self.unexplained if edge.twin in self.alike]
        if not edges:
            return []
        return [Finding(text.rails(_numbers(edges)), self._of_all(edges), _numbers(edges))]

    def named(self) -> list[Finding]:
        findings = []
        for host in self.names:
            if edges := self._of_bad(host):
                findings.append(Finding(_subject(host, edges), self._of_port(host, edges), _numbers(edges)))
        return findings

    def _of_bad(self, host: str) -> list[Edge]:
        """The edges that a host's bad ports are judged by."""
        return [edge for edge in self.unexplained if host in edge.hosts and (host, edge.twin) in self.bad]

    def reasons(self) -> dict[tuple[tuple[str, str], int], str]:
        """By edge, the subject of the finding that explains it; the first port of two."""
        found: dict[tuple[tuple[str, str], int], str] = {}
        for edge in self.edges:
            gone = [host for host in edge.hosts if host in self.missing and edge.verdict.cause == "host-lost"]
            bad = [host for host in edge.hosts if (host, edge.twin) in self.bad]
            if gone:
                found[_key(edge)] = gone[0]
            elif edge.because:
                found[_key(edge)] = edge.because
            elif edge.twin in self.alike:
                same = [each for each in self.unexplained if each.twin in self.alike]
                found[_key(edge)] = text.rails(_numbers(same))
            elif bad:
                found[_key(edge)] = _subject(bad[0], self._of_bad(bad[0]))
        return found

    # --- what is wrong, in words

    def _of_port(self, host: str, mine: Sequence[Edge]) -> Verdict:
        heaviest = worst(edge.verdict for edge in mine)
        slow = [edge for edge in mine if self._poor(edge)]
        blocked = not any(edge.ends for edge in mine)
        same = self._same(mine, heaviest) if blocked or (slow and _of_one_host(mine)) else None
        if same or not slow:
            return same or self._silent(mine, heaviest)
        silent = [edge for edge in mine if edge not in slow]
        others = [edge for edge in self.tried if host not in edge.hosts and edge.verdict.healthy]
        parts = [
            f"{_all(mine)} are slow{self._way(host, mine)}, {self._amount(slow)}",
            *([f"no figure to {listed(_far(host, silent))}"] if silent else []),
            f"{_spread(each.gbps for edge in others for each in self._telling(edge))} between the other hosts",
        ]
        return Verdict(heaviest.level, "port-slow", "; ".join(parts), self._cure(host, heaviest))

    def _silent(self, mine: Sequence[Edge], heaviest: Verdict) -> Verdict:
        causes = listed(dict.fromkeys(edge.verdict.cause for edge in mine))
        said = f"none of {_edges(mine)} carried anything ({causes}), and others do: {heaviest.evidence}"
        return Verdict(heaviest.level, "port-silent", said, heaviest.cure)

    def _same(self, mine: Sequence[Edge], heaviest: Verdict) -> Verdict | None:
        """What all edges have for a cause, where it is one."""
        if len({edge.verdict.cause for edge in mine}) > 1:
            return None
        if len({edge.verdict.evidence for edge in mine}) == 1:
            return heaviest
        return replace(heaviest, evidence=f"{heaviest.evidence}; the same on {_all(mine)}")

    def _of_all(self, mine: Sequence[Edge]) -> Verdict:
        heaviest = worst(edge.verdict for edge in mine)
        if len({host for edge in mine for host in edge.hosts}) > 2:
            heaviest = bands.of_many(heaviest)
        slow = [edge for edge in mine if self._poor(edge)]
        if not slow or _of_one_host(mine):
            verdict = self._same(mine, heaviest)
            said = f"no edge is healthy, {heaviest.evidence}; no port differs from the others"
            return verdict or replace(heaviest, cause="all-slow", evidence=said)
        said = f"{_all(mine)} are slow, {self._amount(slow)}: no port differs from the others"
        shared = "the switch, which all share: one bridge with hardware offloading, and 200 Gb/s on each port"
        where = f"look at {shared}; then: " if self.form == "switch" else ""
        return Verdict(heaviest.level, "all-slow", said, f"{where}{heaviest.cure}")

    def _amount(self, slow: Sequence[Edge]) -> str:
        causes = listed(dict.fromkeys(edge.verdict.cause for edge in slow))
        return f"{_spread(each.gbps for edge in slow for each in self._poor(edge))} ({causes})"

    def _way(self, host: str, mine: Sequence[Edge]) -> str:
        """Where both directions were measured and one alone is slow: which."""
        shares = [each for edge in mine for each in of(edge, self.measured) if each.gbps is not None]
        sent = {share.verdict.healthy for share in shares if share.sender == host}
        got = {share.verdict.healthy for share in shares if share.receiver == host}
        if (sent, got) == ({False}, {True}):
            return " in what it sends"
        return " in what it receives" if (sent, got) == ({True}, {False}) else ""

    def _cure(self, host: str, heaviest: Verdict) -> str:
        others = "another cable, and another port of the switch" if self.form == "switch" else "other cables at it"
        if heaviest.cause in ("low", "slow-start"):
            again = f"reboot {host} with the cable attached; if it stays, unplug it from the wall for a minute"
            return f"{again}; then try {others}"
        if heaviest.cause == _SHARED and self.form == "switch":
            return f"set the port of the switch that {host} is plugged into to 200 Gb/s, or try another cable"
        shows = f" shows its PCIe links; then try {others}"
        return on_host("sudo lspci -vv -d 15b3: | grep LnkSta", shows, at=host)

    def _poor(self, edge: Edge) -> list[Measurement]:
        """The shares of an edge that carried too little."""
        return [each for each in of(edge, self.measured) if each.gbps is not None and not each.verdict.healthy]

    def _telling(self, edge: Edge) -> list[Measurement]:
        shares = telling(of(edge, self.measured))
        most = max((share.queue_pairs for share in shares), default=0)
        return [share for share in shares if share.queue_pairs == most]


def _of_one_host(edges: Sequence[Edge]) -> bool:
    """Whether what is known of a host, and not the figures alone, is why its edges are slow."""
    return not any(bands.by_figure(edge.verdict) or edge.verdict.cause == _SHARED for edge in edges)


def _with_its_way(edge: Edge, measured: Iterable[Measurement]) -> Edge:
    """The edge; with the direction where it is slow in one of two alone, and nothing else explains it."""
    shares = [each for each in of(edge, measured) if each.gbps is not None]
    well = {
        way: all(share.verdict.healthy for share in shares if share.sender == way[0])
        for way in _ways(edge, shares)
    }
    if edge.because or edge.verdict.healthy or sorted(well.values()) != [False, True]:
        return edge
    slow, fast = sorted(well, key=lambda way: well[way])
    said = f"{edge.verdict.evidence}; from {slow[0]} to {slow[1]} alone, while {fast[0]} to {fast[1]} is healthy"
    return replace(edge, verdict=replace(edge.verdict, evidence=said))


def _ways(edge: Edge, shares: Iterable[Measurement]) -> set[tuple[str, str]]:
    """The directions in which an edge was measured."""
    return {way for way in (edge.hosts, edge.hosts[::-1]) if way[0] in {share.sender for share in shares}}


def _key(edge: Edge) -> tuple[tuple[str, str], int]:
    return edge.hosts, edge.number


def _numbers(edges: Iterable[Edge]) -> tuple[int, ...]:
    return tuple(sorted({edge.number for edge in edges}))


def _edges(edges: Sequence[Edge]) -> str:
    return f"{len(edges)} edge{'s' if len(edges) > 1 else ''}"


def _all(edges: Sequence[Edge]) -> str:
    return "both edges" if len(edges) == 2 else f"all {_edges(edges)}"


def _far(host: str, edges: Iterable[Edge]) -> Iterable[str]:
    return dict.fromkeys(name for edge in edges for name in edge.hosts if name != host)


def _subject(host: str, edges: Iterable[Edge]) -> str:
    return f"{host} {listed(dict.fromkeys(edge.netdev(host) for edge in edges))}"


def _spread(figures: Iterable[float | None]) -> str:
    known = sorted(figure for figure in figures if figure is not None)
    if not known:
        return ""
    low, high = f"{known[0]:.2f}", f"{known[-1]:.2f}"
    return f"{low} Gb/s" if low == high else f"{low} to {high} Gb/s"
