"""The check of a pair's fabric: the survey, every case that can be measured, NCCL, and what it all comes to.

sparkrig.io.cluster_check is that of more than two hosts.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Protocol, TypeVar

from pyinfra.api import Host

from sparkrig import text
from sparkrig.bandwidth import bands, measurement
from sparkrig.bandwidth.measurement import Case, Measurement, Run
from sparkrig.bandwidth.perftest_run import Pace
from sparkrig.cure import over_ssh, verb
from sparkrig.fabric.survey import Survey
from sparkrig.facts.nic import Nics
from sparkrig.fleet import Fleet, Rail
from sparkrig.host import nic
from sparkrig.io import fabric_cases, fabric_look, nccl_run, remote
from sparkrig.io.fabric_look import NOTHING, Known
from sparkrig.io.measure import Bench
from sparkrig.io.remote import Failed, Lost
from sparkrig.settings import Settings
from sparkrig.verdict import Finding, Verdict, worst

T = TypeVar("T")


class Progress(fabric_cases.Progress, Protocol):
    """Receives how far a check is."""

    def step(self, what: str) -> None:
        """Something without a figure begins."""

    def surveyed(self, found: Survey, cases: Sequence[Case]) -> None:
        """The pair was looked at, and this is what will be measured."""


def check(
    hosts: Mapping[str, Host], fleet: Fleet, progress: Progress, *, thorough: bool, known: Known = NOTHING
) -> Run:
    """Survey a pair and measure every rail that can be. Raises Failed or Lost where it cannot be surveyed.

    hosts: both, the leading one first. thorough: see sparkrig.bandwidth.bands.cases, and NCCL is asked too
    (sparkrig.io.nccl_run). A rail that cannot be measured, or a case that breaks off, is a verdict of the run; the
    hosts are left as they were.
    """
    started_at = datetime.now(UTC).isoformat(timespec="seconds")
    one, other = hosts
    seen, others = _looked(hosts, fleet, progress, known)
    bench = _bench(seen, hosts, fleet[one], renews=known is NOTHING)
    cases = bands.cases(list(bench.ends), one, other, thorough=thorough, links=seen.pcie_links(one))
    progress.surveyed(seen, cases)
    measured, sums = fabric_cases.all_measured(bench, cases, progress)
    rails = tuple(_rail(seen, rail, measured) for rail in seen.rails)
    gathered = _nccl(bench, fleet, rails, progress) if thorough else nccl_run.Outcome()
    return Run(
        id=bench.run,
        started_at=started_at,
        pair=fleet[one].group_name or "",
        mtu=fleet[one].mtu,
        hosts=seen.hosts(),
        rails=rails,
        measurements=tuple(measured),
        findings=(*seen.fabric(), *others, *sums, *_beside(rails, measured), *gathered.fabric),
        health=(*seen.health(), *gathered.health, *after(seen, hosts, bench.pace)),
    )


def _looked(
    hosts: Mapping[str, Host], fleet: Fleet, progress: Progress, known: Known
) -> tuple[Survey, list[Finding]]:
    """The survey of a pair, and who else measures there. Raises Failed where one of its hosts cannot be read."""
    progress.step("look at both hosts, see which cage reaches which, and that nobody else measures")
    seen, others = fabric_look.look(hosts, fleet, known)
    for name, why in seen.unread.items():
        raise Failed(f"{name} cannot be read: {why}")
    return seen, others


def _bench(seen: Survey, hosts: Mapping[str, Host], settings: Settings, *, renews: bool) -> Bench:
    able = [rail for rail in seen.rails if seen.blocked(rail) is None]
    return Bench(
        hosts,
        {rail.number: seen.ends(rail) for rail in able},
        {rail.number: seen.suspects(rail) for rail in able},
        bands.expected(settings),
        Pace(settings.bandwidth_seconds, settings.patience, seen.virtual),
        secrets.token_hex(4),
        renews=renews,
    )


def after(seen: Survey, hosts: Mapping[str, Host], pace: Pace) -> list[Finding]:
    """The RDMA errors that the measurement brought on; a host without hardware that counts them is not asked."""
    before = {name: _real(seen.found[name].nics) for name in hosts}
    asked = {name: at for name, at in hosts.items() if before[name]}
    found = []
    looks = remote.each(asked, lambda at: remote.read(at, Nics(), seconds=pace.script))
    for name, now in looks.items():
        if isinstance(now, (Failed, Lost)):
            found.append(Finding(name, Verdict("unknown", "unread", str(now), over_ssh(name, "true"))))
            continue
        both = [netdev for netdev in _real(now) if netdev in before[name]]
        grew = {netdev: nic.errors_grew(before[name][netdev], now[netdev]) for netdev in both}
        found += [Finding(f"{name} {netdev}", verdict) for netdev, verdict in grew.items() if not verdict.healthy]
    return found


def _real(nics: Mapping[str, nic.Nic]) -> dict[str, nic.Nic]:
    """Soft-RoCE repeats what an emulated processor was too slow for: it shows nothing about a cable."""
    return {netdev: each for netdev, each in nics.items() if not each.virtual}


def _nccl(bench: Bench, fleet: Fleet, rails: Sequence[measurement.Rail], progress: Progress) -> nccl_run.Outcome:
    """The result of NCCL on a pair; empty where no rail can be measured: the rails' verdicts are enough."""
    leader = next(iter(bench.hosts))
    addresses = [ends[leader].address for ends in bench.ends.values()]
    if not addresses:
        return nccl_run.Outcome()
    pair = nccl_run.Bench(bench.hosts, fleet, addresses[0], bench.run)
    return nccl_run.check(pair, worst(rail.verdict for rail in rails), progress.step)


def _beside(rails: Sequence[measurement.Rail], measured: Sequence[Measurement]) -> list[Finding]:
    """What is not known of healthy rails that were measured beside others only."""
    alone = {each.rail for each in measured if not each.together}
    numbers = tuple(rail.number for rail in rails if rail.verdict.healthy and rail.number not in alone)
    if not numbers:
        return []
    said = "healthy beside other rails; what is reached alone, and the other way, was not measured"
    verdict = Verdict("healthy", "not-alone", said, verb("bandwidth"))
    return [Finding(text.rails(numbers), verdict)]


def _rail(seen: Survey, rail: Rail, measured: Sequence[Measurement]) -> measurement.Rail:
    blocked = seen.blocked(rail)
    if blocked:
        return measurement.Rail(rail.number, {}, blocked)
    mine = [each for each in measured if each.rail == rail.number]
    verdict = measurement.overall(mine)
    if seen.fleet[rail.near.host].form == "switch":
        verdict = bands.over_switch(verdict)
    return measurement.Rail(rail.number, seen.ends(rail), verdict)
