"""Measuring the rails of a pair: the survey, each case with its servers and clients, and what is kept."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Protocol, TypeVar

from pyinfra import host, inventory, logger
from pyinfra import state as run
from pyinfra.api import FunctionCommand, Host, State, operation

from facts.nic import Nics
from operations import nccl, remote, survey
from operations.files import write
from operations.refusal import Commands, say
from operations.remote import Failed, Lost
from sparkrig import bandwidth, history_file, measurement, nic, trial
from sparkrig.bandwidth import Expected, Record
from sparkrig.files import File
from sparkrig.measurement import Case, End, Finding, Measurement, Run
from sparkrig.refusal import Refusal
from sparkrig.settings import Fleet, Rail, Settings
from sparkrig.survey import Survey
from sparkrig.trial import Pace, Trial
from sparkrig.verdict import Verdict, worst

T = TypeVar("T")


class Progress(Protocol):
    """Who is told how far a check is."""

    def step(self, what: str) -> None:
        """Something without a figure begins."""

    def surveyed(self, found: Survey, cases: Sequence[Case]) -> None:
        """The pair was looked at, and this is what will be measured."""

    def started(self, case: Case) -> None:
        """A case begins."""

    def finished(self, measured: Sequence[Measurement]) -> None:
        """What the case came to."""


@dataclass(frozen=True)
class Bench:
    """A pair whose rails can be measured.

    ends: of each rail that can be, by host; suspects: by rail, what would explain a reduced figure.
    """

    hosts: Mapping[str, Host]
    ends: Mapping[int, Mapping[str, End]]
    suspects: Mapping[int, Sequence[Verdict]]
    expected: Expected
    pace: Pace
    run: str


def check(hosts: Mapping[str, Host], fleet: Fleet, progress: Progress, *, thorough: bool) -> Run:
    """Survey a pair and measure every rail that can be. Raises Failed or Lost where it cannot be surveyed.

    hosts: both, the leading one first. thorough: see sparkrig.bandwidth.cases, and NCCL is asked too
    (operations.nccl). A rail that cannot be measured, or a case that breaks off, is a verdict of the run; the
    hosts are left as they were.
    """
    started_at = datetime.now(UTC).isoformat(timespec="seconds")
    one, other = hosts
    seen = survey.look(hosts, fleet, progress.step)
    for name, why in seen.unread.items():
        raise Failed(f"{name} cannot be read: {why}")
    bench = _bench(seen, hosts, fleet[one])
    progress.step("see that nobody else measures")
    others = [finding for found in _all(hosts, lambda at: _preflight(at, bench.pace)) for finding in found]
    cases = bandwidth.cases(list(bench.ends), one, other, thorough=thorough)
    progress.surveyed(seen, cases)
    measured: list[Measurement] = []
    for case in cases:
        progress.started(case)
        shares = run_case(bench, case)
        progress.finished(shares)
        measured += shares
    rails = tuple(_rail(seen, rail, measured) for rail in seen.rails)
    gathered = _nccl(bench, fleet, rails, progress) if thorough else nccl.Outcome()
    return Run(
        id=bench.run,
        started_at=started_at,
        pair=fleet[one].pair or "",
        mtu=fleet[one].mtu,
        hosts=seen.hosts(),
        rails=rails,
        measurements=tuple(measured),
        findings=(*seen.fabric(), *others, *_pair_findings(measured, bench.expected), *gathered.fabric),
        health=(*seen.health(), *gathered.health, *_after(seen, bench)),
    )


@operation(is_idempotent=False)
def measure(due: Callable[[], bool], leads: bool, peer: str, fleet: Fleet, thorough: bool) -> Commands:
    """Measure the rails of a pair where that is due, and keep the figures on both hosts.

    + due: asked when it is needed, for what a run changes decides it
    + leads: whether this host measures; the other half of the pair only shows in the plan that it is due
    + peer: name of the host at the other end
    + fleet: the checked settings of all hosts
    + thorough: see sparkrig.bandwidth.cases
    """
    if not due():
        host.noop("every rail was measured as it is now")
    elif leads:
        yield FunctionCommand(_measure, (inventory.get_host(peer), fleet, thorough), {})
    elif not run.is_executing:
        yield f"# measured by {peer}"


def _measure(state: State, host: Host, peer: Host, fleet: Fleet, thorough: bool) -> bool:
    try:
        done = check({host.name: host, peer.name: peer}, fleet, _Log(host), thorough=thorough)
    except (Failed, Lost) as error:
        say(host, str(Refusal(str(error), f"sparkrig bandwidth, once {peer.name} answers")))
        return False
    for rail in done.rails:
        _report(host, f"rail {rail.number}", rail.verdict)
    for finding in done.findings:
        if finding.verdict.cause:
            _report(host, finding.subject, finding.verdict)
    try:
        host.log(f"kept in {history_file.append(done)}")
    except Refusal as refusal:  # the hosts are as they are, whatever this machine can write
        host.log_styled(f"{refusal.what}; try: {refusal.cure}", fg="yellow", log_func=logger.warning)
    own, mirrored = records(done, host.name, peer.name)
    kept = _keep(state, host, own) and _keep(state, peer, mirrored)
    return kept and done.passed


class _Log:
    """Progress as lines of pyinfra's log."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def step(self, what: str) -> None:
        self._host.log(f"{what} ...")

    def surveyed(self, found: Survey, cases: Sequence[Case]) -> None:
        self._host.log(f"{len(cases)} measurements of {len(found.rails)} rails to make")

    def started(self, case: Case) -> None:
        self._host.log(f"{measurement.title(case)} ...")

    def finished(self, measured: Sequence[Measurement]) -> None:
        for each in measured:
            self._host.log(measurement.sentence(each))


def _report(host: Host, subject: str, verdict: Verdict) -> None:
    if verdict.healthy:
        host.log(f"{subject}: {verdict.evidence or verdict.level}")
    else:
        say(host, f"{subject}: {verdict.cause}: {verdict.evidence}. Try: {verdict.cure}")


def records(done: Run, one: str, other: str) -> tuple[dict[str, Record], dict[str, Record]]:
    """What is kept of a run on its two hosts, by netdev: the least that a rail reached alone."""
    own: dict[str, Record] = {}
    mirrored: dict[str, Record] = {}
    for rail in done.rails:
        alone = [
            each
            for each in done.measurements
            if each.rail == rail.number and each.gbps is not None and each.queue_pairs > 1 and not each.together
        ]
        if alone:
            least = min(alone, key=lambda each: each.gbps or 0.0)
            near, far = rail.ends[one], rail.ends[other]
            own[near.netdev] = _record(near, far, done, least)
            mirrored[far.netdev] = _record(far, near, done, least)
    return own, mirrored


def _record(here: End, there: End, done: Run, least: Measurement) -> Record:
    gbps, path_mtu = round(least.gbps or 0.0, 2), least.path_mtu or 0
    return Record(here.netdev, here.address, there.address, done.mtu, gbps, path_mtu, done.started_at)


def _keep(state: State, at: Host, kept: Mapping[str, Record]) -> bool:
    file = File(bandwidth.RECORD_PATH, bandwidth.dump_records(kept))
    ok, _ = write(file).execute(state, at, remote.login(at))  # type: ignore[arg-type]
    return bool(ok)


def run_case(bench: Bench, case: Case) -> list[Measurement]:
    """One case, from its servers to their end; whatever happens, none of them is left running."""
    done = _trial(bench, case)
    return [trial.judge(done, rail, bench.expected, bench.suspects[rail]) for rail in case.rails]


def _trial(bench: Bench, case: Case) -> Trial:
    receiver, sender = bench.hosts[case.receiver], bench.hosts[case.sender]
    near = {rail: bench.ends[rail][case.sender] for rail in case.rails}
    far = {rail: bench.ends[rail][case.receiver] for rail in case.rails}
    done = Trial(case)
    try:
        words = trial.server_words(case, bench.run, far, bench.pace)
        done = replace(done, servers=trial.parse_server(_shell(receiver, bench, trial.SERVER, words)))
        if done.servers.ports:
            ends = {rail: (near[rail], far[rail]) for rail in case.rails}
            words = trial.client_words(case, ends, done.servers.ports, bench.pace)
            done = replace(done, clients=trial.parse_client(_shell(sender, bench, trial.CLIENT, words)))
    except (Lost, Failed) as error:
        done = replace(done, lost=str(error))
    except BaseException:
        _stop(bench, done, far)
        raise
    return _stop(bench, done, far)


def _stop(bench: Bench, done: Trial, far: Mapping[int, End]) -> Trial:
    """The trial with its servers stopped; they end by themselves where their host cannot be asked."""
    why = any(client.status != 0 for client in done.clients.values()) or bool(done.lost)
    words = trial.stop_words(bench.run, far, done.servers.ports, why=why)
    try:
        printed = _shell(bench.hosts[done.case.receiver], bench, trial.STOP, words)
    except (Lost, Failed) as error:
        return replace(done, lost=done.lost or str(error))
    return replace(done, stopped=trial.parse_stop(printed))


def _shell(at: Host, bench: Bench, text: str, words: Sequence[str]) -> str:
    return remote.shell(at, text, *words, seconds=bench.pace.script)


def _bench(seen: Survey, hosts: Mapping[str, Host], settings: Settings) -> Bench:
    able = [rail for rail in seen.rails if seen.blocked(rail) is None]
    return Bench(
        hosts,
        {rail.number: seen.ends(rail) for rail in able},
        {rail.number: seen.suspects(rail) for rail in able},
        Expected(settings.bandwidth_floor, settings.bandwidth_path_mtu),
        Pace(settings.bandwidth_seconds, settings.patience, trial.VIRTUAL_ACK_TIMEOUT if seen.virtual else None),
        secrets.token_hex(4),
    )


def _all(hosts: Mapping[str, Host], ask: Callable[[Host], T]) -> list[T]:
    """What every host answers, asked side by side; the first that does not is raised."""
    found = remote.each(hosts, ask)
    for name, answer in found.items():
        if isinstance(answer, (Failed, Lost)):
            raise type(answer)(f"{name}: {answer}")
    return [answer for answer in found.values() if not isinstance(answer, (Failed, Lost))]


def _preflight(at: Host, pace: Pace) -> list[Finding]:
    """What else uses perftest on a host; servers that an earlier run of ours left over are ended."""
    words = (str(pace.wait), str(trial.FIRST_PORT))
    users = trial.parse_preflight(remote.shell(at, trial.PREFLIGHT, *words, seconds=pace.script))
    if users.running:
        raise Failed(f"sparkrig already measures on {at.name} ({users.running[0]}); wait for its end")
    return [Finding(at.name, verdict) for verdict in trial.judge_preflight(users)]


def _pair_findings(measured: Sequence[Measurement], expected: Expected) -> list[Finding]:
    """All rails at once, summed up by direction; nothing where a rail is less than healthy by itself."""
    if any(not each.verdict.healthy for each in measured if each.gbps is not None):
        return []
    sums: dict[tuple[str, str], list[float]] = {}
    for each in measured:
        if each.together and each.gbps is not None:
            sums.setdefault((each.sender, each.receiver), []).append(each.gbps)
    return [
        Finding(f"{sender} to {receiver}", bandwidth.judge_pair(sum(figures), len(figures), expected))
        for (sender, receiver), figures in sums.items()
    ]


def _after(seen: Survey, bench: Bench) -> list[Finding]:
    """The RDMA errors that the measurement brought on."""
    found = []
    for name, at in bench.hosts.items():
        try:
            now = remote.read(at, Nics(), seconds=bench.pace.script)
        except (Lost, Failed) as error:
            found.append(Finding(name, Verdict("unknown", "unread", str(error), f"ssh {name} true")))
            continue
        before = seen.found[name].condition.nics
        # soft-RoCE repeats what an emulated processor was too slow for: it says nothing of a cable
        real = {netdev: after for netdev, after in now.items() if netdev in before and not after.virtual}
        grew = {netdev: nic.errors_grew(before[netdev], after) for netdev, after in real.items()}
        found += [Finding(f"{name} {netdev}", verdict) for netdev, verdict in grew.items() if not verdict.healthy]
    return found


def _nccl(bench: Bench, fleet: Fleet, rails: Sequence[measurement.Rail], progress: Progress) -> nccl.Outcome:
    """What NCCL makes of a pair; nothing where no rail can be measured, which says it all."""
    leader = next(iter(bench.hosts))
    addresses = [ends[leader].address for ends in bench.ends.values()]
    if not addresses:
        return nccl.Outcome()
    pair = nccl.Bench(bench.hosts, fleet, addresses[0], bench.run)
    return nccl.check(pair, worst(rail.verdict for rail in rails), progress.step)


def _rail(seen: Survey, rail: Rail, measured: Sequence[Measurement]) -> measurement.Rail:
    blocked = seen.blocked(rail)
    if blocked:
        return measurement.Rail(rail.number, {}, blocked)
    mine = [each for each in measured if each.rail == rail.number]
    # of equals the figure that says most: alone, and with several queue pairs
    telling = sorted(mine, key=lambda each: (each.together, -each.queue_pairs))
    verdict = worst(each.verdict for each in telling)
    if verdict.healthy:
        verdict = Verdict("healthy", evidence=measurement.summary(mine))
    return measurement.Rail(rail.number, seen.ends(rail), verdict)
