"""The bandwidth of the rails of a pair or a cluster, measured where that is due, and kept on all its hosts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyinfra import host, inventory, logger
from pyinfra import state as run
from pyinfra.api import FunctionCommand, Host, State, operation

from sparkrig import text
from sparkrig.bandwidth import bands, measurement, outcome, records
from sparkrig.bandwidth.io import history_file
from sparkrig.bandwidth.measurement import Case, Edge, Measurement, Run
from sparkrig.bandwidth.records import Record
from sparkrig.bandwidth.tournament import Meeting
from sparkrig.cure import from_here, over_ssh
from sparkrig.fabric.survey import Survey
from sparkrig.files import MEASURED, File
from sparkrig.fleet import Fleet
from sparkrig.operations import journal, plan
from sparkrig.operations.files import write
from sparkrig.operations.journal import recorded
from sparkrig.operations.refusal import Commands, refusing, say
from sparkrig.refusal import Refusal
from sparkrig.runs.change import Change
from sparkrig.ssh import remote
from sparkrig.ssh.remote import Failed, Lost
from sparkrig.verdict import Verdict

if TYPE_CHECKING:
    from sparkrig.fabric.io.fabric_look import Known

Kept = Mapping[str, Mapping[Any, Record]]
"""Records by host."""

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
    group: Sequence[str],
    fleet: Fleet,
    thorough: bool,
    known: Callable[[], Known],
) -> Commands:
    """Measure the rails of a cluster where that is due, and keep the figures on all its hosts.

    + due: asked when it is needed, for what a run changes decides it
    + group: names of the hosts; the first measures, and the others only show in the plan that it is due
    + fleet: the checked settings of all hosts
    + thorough: see sparkrig.bandwidth.bands.cases
    + known: what this run has seen of the cluster, and still stands
    """
    leads = group[0] == host.name
    reason = due()
    if reason is None:
        host.noop("every rail was measured as it is now")
    elif reason.changes:
        to = text.listed(name for name in group if name != host.name)
        plan.report([Change("rails", f"to {to}", reason.why, "measured")])
        yield from _as_change(group, fleet, thorough, known)
    elif not run.is_executing:
        host.log(f"{reason.why}: the rails would be measured, which is no change")
    elif not leads:
        host.noop(f"measured by {group[0]}")
    elif not _as_look(reason.why, _hosts(group), fleet, thorough, known):
        yield FunctionCommand(_failed, (), {})


@recorded
def _as_change(group: Sequence[str], fleet: Fleet, thorough: bool, known: Callable[[], Known]) -> Commands:
    if group[0] == host.name:
        yield FunctionCommand(_as_command, (_hosts(group), fleet, thorough, known), {})
    elif not run.is_executing:
        yield f"# measured by {group[0]}"


def _hosts(group: Sequence[str]) -> dict[str, Host]:
    return {name: inventory.get_host(name) for name in group}


def _as_command(state: State, host: Host, *how: Any) -> bool:  # noqa: ARG001 - pyinfra passes both, by name
    return _measure(host, *how)


def _as_look(
    why: str, hosts: Mapping[str, Host], fleet: Fleet, thorough: bool, known: Callable[[], Known]
) -> bool:
    """Measure at once, as an operation asks a fact: pyinfra counts what an operation yields as a change.

    All hosts are locked meanwhile, and the journal gets no run. Raises Refusal where another run holds a lock.
    """
    here = hosts[host.name]
    here.log(f"{why}: the rails are measured, which is no change")
    with ExitStack() as held:
        if not journal.begun(here):
            held.enter_context(journal.locked(journal.current(), hosts))
        return _measure(here, hosts, fleet, thorough, known)


def _failed(state: State, host: Host) -> bool:  # noqa: ARG001 - pyinfra passes both, by name
    return False  # what is wrong was printed


def _measure(
    at: Host, hosts: Mapping[str, Host], fleet: Fleet, thorough: bool, known: Callable[[], Known]
) -> bool:
    """Measure, show and keep it; whether all is well. at: the host that leads."""
    from sparkrig.bandwidth.io.fabric_check import check  # a run that only looks need not know how to measure

    try:
        done = check(hosts, fleet, _Log(at, hosts), thorough=thorough, known=known())
    except (Failed, Lost) as error:
        others = [name for name in hosts if name != at.name]
        answer = "answers" if len(others) == 1 else "answer"
        say(at, Refusal(str(error), f"sparkrig bandwidth, once {text.listed(others)} {answer}"))
        return False
    _show(at, done)
    try:
        at.log(f"kept in {history_file.append(done)}")
    except Refusal as refusal:  # the hosts are as they are, whatever this machine can write
        at.log_styled(f"{refusal.what}; try: {refusal.cure}", fg="yellow", log_func=logger.warning)
    kept = records.of(done, bands.expected(fleet[at.name]))
    return _keep(at, hosts, kept, fleet) and done.passed


def _show(at: Host, run: Run) -> None:
    """What is wrong is said once, of a port or of a rail."""
    at.log(outcome.summary(run).verdict.evidence)
    notes = [each for each in run.findings if each.verdict.healthy and each.verdict.cause]
    for finding in (*outcome.concerns(run), *notes):
        _report(at, finding.subject, finding.verdict)


class _Log:
    """Progress as lines of pyinfra's log; of several pairs that measure at a time only what each came to."""

    def __init__(self, host: Host, group: Collection[str]) -> None:
        self._host, self._of_two, self._rounds = host, len(group) == 2, 0

    def step(self, what: str) -> None:
        self._host.log(f"{what} ...")

    def surveyed(self, _: Survey, edges: Sequence[Edge], rounds: int) -> None:
        self._rounds = rounds
        able = [edge for edge in edges if edge.ends]
        self._host.log(f"{len(able)} of {len(edges)} rails can be measured")

    def round(self, number: int, meetings: Sequence[Meeting]) -> None:
        if not self._of_two:
            met = "; ".join(f"{one} and {other}" for one, other in meetings)
            self._host.log(f"round {number} of {self._rounds}: {met} ...")

    def meeting(self, *_: object) -> _Log:
        return self

    def added(self, cases: Sequence[Case]) -> None:
        numbers = text.rails([rail for case in cases for rail in case.rails])
        self._case(f"{numbers}: what was reached at once does not show that each is healthy, so alone, too")

    def started(self, case: Case) -> None:
        self._case(f"{measurement.title(case)} ...")

    def finished(self, measured: Sequence[Measurement]) -> None:
        for each in measured:
            self._case(measurement.sentence(each))

    def _case(self, said: str) -> None:
        if self._of_two:
            self._host.log(said)

    def met(self, edges: Sequence[Edge]) -> None:
        self._host.log(outcome.sentence(edges))


def _report(host: Host, subject: str, verdict: Verdict) -> None:
    if verdict.healthy:
        host.log(f"{subject}: {verdict.evidence or verdict.level}")
    else:
        say(host, f"{subject}: {verdict.cause}: {verdict.evidence}. Try: {from_here(verdict.cure, host.name)}")


def _keep(at: Host, hosts: Mapping[str, Host], kept: Kept, fleet: Fleet) -> bool:
    def write_to(each: Host) -> None:
        seconds = int(_KEEP_S * fleet[each.name].patience)
        remote.execute(each, write(File(MEASURED, records.dump(kept[each.name].values()))), seconds)

    answers = remote.each(hosts, write_to)
    for name, answer in answers.items():
        if isinstance(answer, (Failed, Lost)):
            what = f"what was measured cannot be kept on {name}: {answer}"
            say(at, Refusal(what, over_ssh(name, "df -h /var/lib")))
    return not any(isinstance(each, Exception) for each in answers.values())
