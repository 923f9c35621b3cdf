"""The check of a pair's fabric: the survey, every case that can be measured, NCCL, and what it all comes to."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol, TypeVar

from pyinfra.api import Host

from sparkrig import text
from sparkrig.bandwidth import bands, measurement, perftest_run
from sparkrig.bandwidth.measurement import Case, Measurement, Run
from sparkrig.bandwidth.perftest_preflight import Users, judge_preflight
from sparkrig.bandwidth.perftest_run import Pace
from sparkrig.cure import over_ssh, verb
from sparkrig.fabric.neighbours import Neighbours
from sparkrig.fabric.survey import Survey
from sparkrig.facts.nic import Nics
from sparkrig.facts.survey import Looked
from sparkrig.facts.survey import Survey as Asked
from sparkrig.fleet import Fleet, Rail
from sparkrig.host import nic
from sparkrig.io import fabric_cases, nccl_run, remote, survey
from sparkrig.io.measure import Bench
from sparkrig.io.remote import Failed, Lost
from sparkrig.look.state import State
from sparkrig.settings import Settings
from sparkrig.verdict import Finding, Verdict, worst

T = TypeVar("T")


class Progress(fabric_cases.Progress, Protocol):
    """Receives how far a check is."""

    def step(self, what: str) -> None:
        """Something without a figure begins."""

    def surveyed(self, found: Survey, cases: Sequence[Case]) -> None:
        """The pair was looked at, and this is what will be measured."""


@dataclass(frozen=True)
class Known:
    """What a run that changes a pair has seen of it, and what still stands.

    found: by host, its last look; heard: by host, by whom it is reached below IP. Each is empty where the look has
    to ask. What a cable, a link or a GID did since shows in the trials: their clients ping the peer's address from
    the rail's own netdev, with frames of its MTU, and use the GID by its index.
    """

    found: Mapping[str, State] = field(default_factory=dict)
    heard: Mapping[str, Neighbours] = field(default_factory=dict)


_NOTHING = Known()
_STANDS = ("network", "rdma", "files")  # of Known.found; counters, the load and who measures are always asked


def check(
    hosts: Mapping[str, Host], fleet: Fleet, progress: Progress, *, thorough: bool, known: Known = _NOTHING
) -> Run:
    """Survey a pair and measure every rail that can be. Raises Failed or Lost where it cannot be surveyed.

    hosts: both, the leading one first. thorough: see sparkrig.bandwidth.bands.cases, and NCCL is asked too
    (sparkrig.io.nccl_run). A rail that cannot be measured, or a case that breaks off, is a verdict of the run; the
    hosts are left as they were.
    """
    started_at = datetime.now(UTC).isoformat(timespec="seconds")
    one, other = hosts
    seen, others = _looked(hosts, fleet, progress, known)
    bench = _bench(seen, hosts, fleet[one])
    cases = bands.cases(list(bench.ends), one, other, thorough=thorough, links=seen.pcie_links())
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
        health=(*seen.health(), *gathered.health, *_after(seen, bench)),
    )


def _looked(
    hosts: Mapping[str, Host], fleet: Fleet, progress: Progress, known: Known
) -> tuple[Survey, list[Finding]]:
    """The survey of a pair, and who else measures there; one exec on each host, at the same time."""
    progress.step("look at both hosts, see which cage reaches which, and that nobody else measures")
    looked = _asked(hosts, fleet, known)
    if any(_rebooted(known.found.get(name), each.found) for name, each in looked.items()):
        known = _NOTHING  # links, addresses and the indexes of GIDs are of the boot before
        looked = _asked(hosts, fleet, known)
    found = {name: each.over(known.found.get(name)) for name, each in looked.items()}
    others = [finding for name, each in looked.items() for finding in _others(name, each.users)]
    return survey.survey(fleet, found, known.heard), others


def _asked(hosts: Mapping[str, Host], fleet: Fleet, known: Known) -> dict[str, Looked]:
    """What each host shows of what is not known. Raises Failed where one cannot be read."""
    patience = max(fleet[name].patience for name in hosts)
    wait = max(Pace(fleet[name].bandwidth_seconds, patience).wait for name in hosts)
    asked = Asked(
        _STANDS if known.found.keys() >= hosts.keys() else (),
        patience=None if known.heard.keys() >= hosts.keys() else patience,
        port=(wait, perftest_run.FIRST_PORT),
    )
    looked: dict[str, Looked] = {}
    for name, each in survey.ask(hosts, asked, patience).items():
        if isinstance(each, Exception):
            raise Failed(f"{name} cannot be read: {each}")
        looked[name] = each
    return looked


def _rebooted(known: State | None, found: State) -> bool:
    """Whether a host was booted since what is known of it was seen."""
    return known is not None and known.identity.boot_id not in ("", found.health.boot_id)


def _others(name: str, users: Users | None) -> list[Finding]:
    """What else uses perftest on a host. Raises Failed where that is sparkrig itself."""
    if users is None:
        return []
    if users.running:
        raise Failed(f"sparkrig already measures on {name} ({users.running[0]}); wait for its end")
    return [Finding(name, verdict) for verdict in judge_preflight(users)]


def _bench(seen: Survey, hosts: Mapping[str, Host], settings: Settings) -> Bench:
    able = [rail for rail in seen.rails if seen.blocked(rail) is None]
    return Bench(
        hosts,
        {rail.number: seen.ends(rail) for rail in able},
        {rail.number: seen.suspects(rail) for rail in able},
        bands.expected(settings),
        Pace(settings.bandwidth_seconds, settings.patience, seen.virtual),
        secrets.token_hex(4),
    )


def _after(seen: Survey, bench: Bench) -> list[Finding]:
    """The RDMA errors that the measurement brought on; a host without hardware that counts them is not asked."""
    before = {name: _real(seen.found[name].nics) for name in bench.hosts}
    asked = {name: at for name, at in bench.hosts.items() if before[name]}
    found = []
    looks = remote.each(asked, lambda at: remote.read(at, Nics(), seconds=bench.pace.script))
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
    # of equals the figure that shows most: alone, and with several queue pairs
    telling = sorted(mine, key=lambda each: (each.together, -each.queue_pairs))
    verdict = worst(each.verdict for each in telling)
    if verdict.healthy:
        verdict = Verdict("healthy", evidence=measurement.summary(mine))
    return measurement.Rail(rail.number, seen.ends(rail), verdict)
