"""The bandwidth of a pair's rails, measured where that is due, and kept on both hosts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pyinfra import host, inventory, logger
from pyinfra import state as run
from pyinfra.api import FunctionCommand, Host, State, operation

from operations import remote
from operations.files import write
from operations.journal import recorded
from operations.refusal import Commands, say
from operations.remote import Failed, Lost
from sparkrig import history_file, measurement, records
from sparkrig.files import File
from sparkrig.measurement import Case, Measurement
from sparkrig.records import Record
from sparkrig.refusal import Refusal
from sparkrig.settings import Fleet
from sparkrig.survey import Survey
from sparkrig.verdict import Verdict


@operation(is_idempotent=False)
@recorded
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
    from operations.check import check  # a run that only looks need not know how to measure

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
    own, mirrored = records.of(done, host.name, peer.name)
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


def _keep(state: State, at: Host, kept: Mapping[str, Record]) -> bool:
    file = File(records.PATH, records.dump(kept))
    ok, _ = write(file).execute(state, at, remote.login(at))  # type: ignore[arg-type]
    return bool(ok)
