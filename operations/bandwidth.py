"""The bandwidth of a pair's rails, measured where that is due, and kept on both hosts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyinfra import host, inventory, logger
from pyinfra import state as run
from pyinfra.api import FunctionCommand, Host, State, operation

from sparkrig import text
from sparkrig.bandwidth import bands, measurement, records
from sparkrig.bandwidth.measurement import Case, Measurement
from sparkrig.bandwidth.records import Record
from sparkrig.cure import over_ssh
from sparkrig.fabric.survey import Survey
from sparkrig.files import MEASURED, File
from sparkrig.fleet import Fleet
from sparkrig.io import history_file, remote
from sparkrig.io.remote import Failed, Lost
from sparkrig.operations import journal, plan
from sparkrig.operations.files import write
from sparkrig.operations.journal import recorded
from sparkrig.operations.refusal import Commands, refusing, say
from sparkrig.refusal import Refusal
from sparkrig.runs.change import Change
from sparkrig.verdict import Verdict

if TYPE_CHECKING:
    from sparkrig.io.fabric_check import Known

_KEEP_S = 60  # to write a file; times `patience`


@dataclass(frozen=True)
class Due:
    """Why rails are to be measured. changes: False where the hosts are as declared, and were only booted since."""

    why: str
    changes: bool = True


@operation(is_idempotent=False)
@refusing
def measure(
    due: Callable[[], Due | None],
    leads: bool,
    peer: str,
    fleet: Fleet,
    thorough: bool,
    known: Callable[[], Known],
) -> Commands:
    """Measure the rails of a pair where that is due, and keep the figures on both hosts.

    + due: asked when it is needed, for what a run changes decides it
    + leads: whether this host measures; the other half of the pair only shows in the plan that it is due
    + peer: name of the host at the other end
    + fleet: the checked settings of all hosts
    + thorough: see sparkrig.bandwidth.bands.cases
    + known: what this run has seen of the pair, and still stands
    """
    reason = due()
    if reason is None:
        host.noop("every rail was measured as it is now")
    elif reason.changes:
        plan.report([Change("rails", f"to {peer}", reason.why, "measured")])
        yield from _as_change(leads, peer, fleet, thorough, known)
    elif not run.is_executing:
        host.log(f"{reason.why}: the rails would be measured, which is no change")
    elif not leads:
        host.noop(f"measured by {peer}")
    elif not _as_look(reason.why, inventory.get_host(peer), fleet, thorough, known):
        yield FunctionCommand(_failed, (), {})


@operation()
def leave(why: str) -> Commands:
    """Measure nothing, and say so.

    + why: in words
    """
    host.noop(why)
    yield from ()


@recorded
def _as_change(leads: bool, peer: str, fleet: Fleet, thorough: bool, known: Callable[[], Known]) -> Commands:
    if leads:
        yield FunctionCommand(_as_command, (inventory.get_host(peer), fleet, thorough, known), {})
    elif not run.is_executing:
        yield f"# measured by {peer}"


def _as_command(state: State, host: Host, *how: Any) -> bool:  # noqa: ARG001 - pyinfra passes both, by name
    return _measure(host, *how)


def _as_look(why: str, peer: Host, fleet: Fleet, thorough: bool, known: Callable[[], Known]) -> bool:
    """Measure at once, as an operation asks a fact: pyinfra counts what an operation yields as a change.

    The pair is locked meanwhile, and the journal gets no run. Raises Refusal where another run holds a lock.
    """
    here = inventory.get_host(host.name)
    here.log(f"{why}: the rails are measured, which is no change")
    with ExitStack() as held:
        if not journal.begun(here):
            pair = {each.name: each for each in (here, peer)}
            held.enter_context(journal.locked(journal.current(), pair))
        return _measure(here, peer, fleet, thorough, known)


def _failed(state: State, host: Host) -> bool:  # noqa: ARG001 - pyinfra passes both, by name
    return False  # what is wrong was printed


def _measure(host: Host, peer: Host, fleet: Fleet, thorough: bool, known: Callable[[], Known]) -> bool:
    from sparkrig.io.fabric_check import check  # a run that only looks need not know how to measure

    try:
        done = check({host.name: host, peer.name: peer}, fleet, _Log(host), thorough=thorough, known=known())
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
    own, mirrored = records.of(done, host.name, peer.name, bands.expected(fleet[host.name]))
    return _keep(host, {host: own, peer: mirrored}, fleet) and done.passed


class _Log:
    """Progress as lines of pyinfra's log."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def step(self, what: str) -> None:
        self._host.log(f"{what} ...")

    def surveyed(self, found: Survey, cases: Sequence[Case]) -> None:
        self._host.log(f"{text.rails([rail.number for rail in found.rails])}: {len(cases)} measurements to make")

    def added(self, cases: Sequence[Case]) -> None:
        numbers = text.rails([rail for case in cases for rail in case.rails])
        self._host.log(f"{numbers}: what was reached at once does not show that each is healthy, so alone, too")

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


def _keep(host: Host, kept: Mapping[Host, Mapping[str, Record]], fleet: Fleet) -> bool:
    def write_to(at: Host) -> None:
        seconds = int(_KEEP_S * fleet[at.name].patience)
        remote.execute(at, write(File(MEASURED, records.dump(kept[at]))), seconds)

    answers = remote.each({at.name: at for at in kept}, write_to)
    for name, answer in answers.items():
        if isinstance(answer, (Failed, Lost)):
            what = f"what was measured cannot be kept on {name}: {answer}"
            say(host, str(Refusal(what, over_ssh(name, "df -h /var/lib"))))
    return not any(isinstance(each, Exception) for each in answers.values())
