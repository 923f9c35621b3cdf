"""The check of the fabric of a pair or a cluster: every two hosts once, those of a round at the same time.

Of a ring each edge is measured after the other; on a switch disjoint pairs share a round
(sparkrig.bandwidth.tournament). A pair is the case with one round and two hosts in it; NCCL is asked there too.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from itertools import combinations
from typing import Protocol, TypeVar

import gevent
from pyinfra.api import Host

from sparkrig import text
from sparkrig.bandwidth import bands, measurement, ports, tournament
from sparkrig.bandwidth.io import fabric_cases, nccl_run
from sparkrig.bandwidth.io.measure import Bench
from sparkrig.bandwidth.measurement import Case, Edge, End, Measurement, Run
from sparkrig.bandwidth.perftest_run import Pace
from sparkrig.bandwidth.tournament import Meeting
from sparkrig.cure import over_ssh, verb
from sparkrig.fabric.io import fabric_look
from sparkrig.fabric.io.fabric_look import NOTHING, Known
from sparkrig.fabric.survey import Survey
from sparkrig.facts.nic import Nics
from sparkrig.fleet import Fleet, Rail
from sparkrig.host import nic
from sparkrig.ssh import remote
from sparkrig.ssh.remote import Failed, Lost
from sparkrig.verdict import Finding, Verdict, worst

K = TypeVar("K")
T = TypeVar("T")

# Why rails carry enough alone and too little beside one another: both share the port.
_SHARED_PORT = ("switch-speed", "speed-low")
_NO_NCCL = Verdict(
    "unknown", "nccl-skipped", "NCCL's all_gather is measured on pairs only", "nccl-tests by hand, over all hosts"
)


class Progress(Protocol):
    """Receives how far a check is."""

    def step(self, what: str) -> None:
        """Something without a figure begins."""

    def surveyed(self, found: Survey, edges: Sequence[Edge], rounds: int) -> None:
        """All hosts were looked at; these are the edges, with the verdict of those that cannot be measured."""

    def round(self, number: int, meetings: Sequence[Meeting]) -> None:
        """A round of meetings begins, counted from 1."""

    def meeting(self, hosts: Meeting, cases: Sequence[Case]) -> fabric_cases.Receiver:
        """What receives the cases of two hosts, which measure while others do."""

    def met(self, found: Sequence[Edge]) -> None:
        """Two hosts are done with each other, and this is what their edges came to."""


@dataclass
class _Check:
    """One check: what was seen, the edges by their hosts, what was measured, and why a host was lost meanwhile."""

    hosts: Mapping[str, Host]
    fleet: Fleet
    seen: Survey
    pace: Pace
    thorough: bool
    run: str
    lost: dict[str, str]
    renews: bool
    edges: dict[Meeting, list[Edge]] = field(default_factory=dict)
    measured: list[Measurement] = field(default_factory=list)
    sums: list[Finding] = field(default_factory=list)

    @property
    def names(self) -> tuple[str, ...]:
        return self.fleet.group(self.seen.names[0])

    @property
    def all_edges(self) -> list[Edge]:
        """In the inventory's order, whatever the order of the rounds."""
        return [edge for pair in combinations(self.names, 2) for edge in self.edges[pair]]


def check(
    hosts: Mapping[str, Host | Failed | Lost],
    fleet: Fleet,
    progress: Progress,
    *,
    thorough: bool,
    known: Known = NOTHING,
) -> Run:
    """Survey a pair or a cluster and measure every edge that can be; the hosts are left as they were.

    hosts: all, the leading one first, or why one is not connected. A host that is not there, or is lost on the
    way, leaves the edges of the others. thorough: see sparkrig.bandwidth.bands.cases, and NCCL is asked too, on a
    pair.
    Raises Failed where sparkrig measures there already, or fewer than two hosts can be read.
    """
    started_at = datetime.now(UTC).isoformat(timespec="seconds")
    which = "both" if len(hosts) == 2 else "all"
    progress.step(f"look at {which} hosts, see which cage reaches which, and that nothing else measures")
    seen, others = fabric_look.look(hosts, fleet, known)
    if len(hosts) - len(seen.unread) < 2:
        raise Failed("; ".join(f"{name} cannot be read: {why}" for name, why in seen.unread.items()))
    made = _begun(hosts, fleet, seen, thorough=thorough, renews=known is NOTHING)
    rounds = tournament.rounds([*hosts])
    made.edges = {pair: _open(made, pair) for each in rounds for pair in each}
    played = [met for each in rounds if (met := [pair for pair in each if _ends(made, pair)])]
    progress.surveyed(seen, made.all_edges, len(played))
    for number, met in enumerate(played, 1):
        progress.round(number, met)
        _side_by_side({pair: partial(_meet, made, pair, progress) for pair in met})
    return _whole(made, started_at, others, progress)


def _begun(
    hosts: Mapping[str, Host | Failed | Lost], fleet: Fleet, seen: Survey, *, thorough: bool, renews: bool
) -> _Check:
    patience = max(fleet[name].patience for name in hosts)
    return _Check(
        {name: at for name, at in hosts.items() if not isinstance(at, Exception)},
        fleet,
        seen,
        Pace(fleet[next(iter(hosts))].bandwidth_seconds, patience, seen.virtual),
        thorough,
        secrets.token_hex(4),
        lost={name: f"{name} cannot be read ({why})" for name, why in seen.unread.items()},
        renews=renews,
    )


def _whole(made: _Check, started_at: str, others: Sequence[Finding], progress: Progress) -> Run:
    lead = made.fleet[made.names[0]]
    fabric = [each for each in made.seen.fabric() if each.verdict.cause != "unread"]  # made.lost has those
    found = ports.judge(made.all_edges, made.measured, made.lost, lead.form)
    known = made.seen.hosts()
    gathered = _nccl(made, progress) if made.thorough else nccl_run.Outcome()
    there = {name: at for name, at in made.hosts.items() if name not in made.lost}
    return Run(
        id=made.run,
        started_at=started_at,
        pair=lead.group_name or "",
        mtu=lead.mtu,
        hosts={name: known.get(name, measurement.Host()) for name in made.names},
        rails=found.edges,
        measurements=tuple(made.measured),
        findings=(*found.findings, *fabric, *others, *made.sums, *_beside(made), *gathered.fabric),
        health=(*made.seen.health(), *gathered.health, *_errors(made.seen, there, made.pace)),
        topology=lead.form,
        ports=found.ports,
        missing=made.lost,
    )


def _nccl(made: _Check, progress: Progress) -> nccl_run.Outcome:
    """The result of NCCL on a pair; empty where no rail can be measured: the rails' verdicts are enough."""
    lead, *others = made.names
    if len(others) > 1:
        skipped = (Finding("cluster", _NO_NCCL),) if made.fleet[lead].nccl_image else ()
        return nccl_run.Outcome(health=skipped)
    addresses = [edge.ends[lead].address for edge in made.all_edges if edge.ends]
    if made.lost or not addresses:
        return nccl_run.Outcome()
    bench = nccl_run.NcclBench(made.hosts, made.fleet, addresses[0], made.run)
    return nccl_run.check(bench, worst(edge.verdict for edge in made.all_edges), progress.step)


def _errors(seen: Survey, hosts: Mapping[str, Host], pace: Pace) -> list[Finding]:
    """The RDMA errors that the measurement brought on; a host without hardware that counts them is not asked."""
    before = {name: _real(seen.found[name].nics) for name in hosts}
    asked = {name: at for name, at in hosts.items() if before[name]}
    findings = []
    looks = remote.each(asked, lambda at: remote.read(at, Nics(), seconds=pace.script))
    for name, now in looks.items():
        if isinstance(now, (Failed, Lost)):
            findings.append(Finding(name, Verdict("unknown", "unread", str(now), over_ssh(name, "true"))))
            continue
        both = [netdev for netdev in _real(now) if netdev in before[name]]
        grew = {netdev: nic.errors_grew(before[name][netdev], now[netdev]) for netdev in both}
        findings += [
            Finding(f"{name} {netdev}", verdict) for netdev, verdict in grew.items() if not verdict.healthy
        ]
    return findings


def _real(nics: Mapping[str, nic.Nic]) -> dict[str, nic.Nic]:
    """Soft-RoCE repeats what an emulated processor was too slow for: it shows nothing about a cable."""
    return {netdev: each for netdev, each in nics.items() if not each.virtual}


# --- two hosts


def _open(made: _Check, pair: Meeting) -> list[Edge]:
    """The edges of two hosts before they meet; one that cannot be measured has its verdict, and no ends."""
    edges = [_edge(made, rail, twin) for twin, rail in enumerate(made.fleet.between(*pair))]
    return sorted(edges, key=lambda edge: edge.number)


def _edge(made: _Check, rail: Rail, twin: int) -> Edge:
    gone = [made.lost[name] for name in (rail.near.host, rail.far.host) if name in made.lost]
    blocked = _lost(gone[0]) if gone else made.seen.blocked(rail)
    if blocked:
        return _explained(made, Edge.blank(rail, twin, blocked))
    return replace(Edge.blank(rail, twin, Verdict("unknown", "not-judged")), ends=made.seen.ends(rail))


def _explained(made: _Check, edge: Edge) -> Edge:
    """The edge with the subject of what the survey found, where that is why it is not healthy."""
    if edge.verdict.healthy:
        return edge
    rail = next(each for each in made.fleet.between(*edge.hosts) if each.number == edge.number)
    causes = {edge.verdict.cause, *(_SHARED_PORT if edge.verdict.cause == "pair-reduced" else ())}
    same = [each for each in made.seen.about(rail) if each.verdict.cause in causes]
    gids = [gid for gid in made.seen.gids() if gid.verdict == edge.verdict]
    return replace(edge, because=next((finding.subject for finding in (*same, *gids)), ""))


def _ends(made: _Check, pair: Meeting) -> dict[int, Mapping[str, End]]:
    """The ends of the edges of two hosts that can be measured, by number."""
    return {edge.number: edge.ends for edge in made.edges[pair] if edge.ends}


def _bench(made: _Check, pair: Meeting) -> Bench:
    one, other = pair
    ends = _ends(made, pair)
    suspects = {
        rail.number: [*(each.verdict for each in made.seen.about(rail)), *made.seen.suspects(rail)]
        for rail in made.fleet.between(one, other)
        if rail.number in ends
    }
    expected = bands.expected(made.fleet[one])
    hosts = {name: made.hosts[name] for name in pair}
    return Bench(hosts, ends, suspects, expected, made.pace, made.run, made.lost, made.renews)


def _cases(made: _Check, pair: Meeting, sender: str, receiver: str, *, thorough: bool) -> list[Case]:
    links = made.seen.pcie_links(pair[0])
    return bands.cases(list(_ends(made, pair)), sender, receiver, thorough=thorough, links=links)


def _meet(made: _Check, pair: Meeting, progress: Progress) -> None:
    """All cases of two hosts; none where one of them was lost since."""
    if not {*pair} & made.lost.keys():
        cases = _cases(made, pair, *pair, thorough=made.thorough)
        measured, sums = fabric_cases.all_measured(_bench(made, pair), cases, progress.meeting(pair, cases))
        made.measured += measured
        made.sums += sums
    made.edges[pair] = [_judged(made, edge) for edge in made.edges[pair]]
    progress.met(made.edges[pair])


def _judged(made: _Check, edge: Edge) -> Edge:
    """The edge with its verdict; where a host was lost, what its figures showed before stays, if that is worse."""
    if not edge.ends:
        return edge
    shares = measurement.of(edge, made.measured)
    gone = [made.lost[name] for name in edge.hosts if name in made.lost]
    if gone:
        figures = [share.verdict for share in shares if share.gbps is not None]
        return replace(edge, verdict=worst([_lost(gone[0]), *figures]))
    return _explained(made, replace(edge, verdict=measurement.overall(shares)))


def _lost(why: str) -> Verdict:
    return Verdict("unknown", "host-lost", why, verb("doctor", "access"))


def _beside(made: _Check) -> list[Finding]:
    """What is not known of healthy rails that were measured beside others only."""
    alone = {(each.rail, each.sender, each.receiver) for each in made.measured if not each.together}
    well = [edge for edge in made.all_edges if edge.verdict.healthy]
    numbers = tuple(sorted({edge.number for edge in well if (edge.number, *edge.hosts) not in alone}))
    if not numbers:
        return []
    said = "healthy beside other rails; what is reached alone, and the other way, was not measured"
    return [Finding(text.rails(numbers), Verdict("healthy", "not-alone", said, verb("bandwidth")))]


def _side_by_side(jobs: Mapping[K, Callable[[], T]]) -> dict[K, T]:
    """What each job gives, all at the same time. Where one fails, the others end, and stop what they started."""
    begun = {key: gevent.spawn(job) for key, job in jobs.items()}
    try:
        gevent.joinall([*begun.values()], raise_error=True)
    finally:
        gevent.killall([each for each in begun.values() if not each.ready()])
    return {key: each.get() for key, each in begun.items()}
