"""A trial between two hosts: servers on the receiver, clients on the sender, and the servers' end.

sparkrig.bandwidth.perftest_run has the scripts, their words, and the judgement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from pyinfra.api import Host

from sparkrig.bandwidth import perftest_run
from sparkrig.bandwidth.bands import Expected
from sparkrig.bandwidth.measurement import Case, End, Measurement
from sparkrig.bandwidth.perftest_run import Pace, Trial
from sparkrig.ssh import remote
from sparkrig.ssh.remote import Failed, Lost
from sparkrig.verdict import Verdict

_ANSWER_S = 10  # of a host that is there


@dataclass(frozen=True)
class Bench:
    """Two hosts whose rails can be measured.

    ends: of each rail that can be, by host; suspects: by rail, what would explain a reduced figure; lost: why each
    host that was lost does not answer, by its name. It is not asked again, for the others would wait for each
    time-out. renews: whether a session that was lost is made anew; a run that holds locks holds them by its
    session, and has lost them with it.
    """

    hosts: Mapping[str, Host]
    ends: Mapping[int, Mapping[str, End]]
    suspects: Mapping[int, Sequence[Verdict]]
    expected: Expected
    pace: Pace
    run: str
    lost: dict[str, str] = field(default_factory=dict)
    renews: bool = False


def run(bench: Bench, case: Case) -> list[Measurement]:
    """One case, from its servers to their end; whatever happens, none of them is left running."""
    gone = [why for name in (case.sender, case.receiver) if (why := bench.lost.get(name))]
    done = Trial(case, lost=gone[0]) if gone else _trial(bench, case)
    if done.lost and not gone:
        done = _again(bench, done)
    return [perftest_run.judge(done, rail, bench.expected, bench.suspects[rail]) for rail in case.rails]


def _trial(bench: Bench, case: Case) -> Trial:
    receiver, sender = bench.hosts[case.receiver], bench.hosts[case.sender]
    near = {rail: bench.ends[rail][case.sender] for rail in case.rails}
    far = {rail: bench.ends[rail][case.receiver] for rail in case.rails}
    done = Trial(case)
    try:
        words = perftest_run.server_words(case, bench.run, far, bench.pace)
        done = replace(
            done, servers=perftest_run.parse_server(_shell(receiver, bench, perftest_run.SERVER, words))
        )
        if done.servers.ports:
            ends = {rail: (near[rail], far[rail]) for rail in case.rails}
            words = perftest_run.client_words(case, ends, done.servers.ports, bench.pace)
            done = replace(
                done, clients=perftest_run.parse_client(_shell(sender, bench, perftest_run.CLIENT, words))
            )
    except (Lost, Failed) as error:
        done = replace(done, lost=str(error))
    except BaseException:
        _stop(bench, done, far)
        raise
    return _stop(bench, done, far)


def _stop(bench: Bench, done: Trial, far: Mapping[int, End]) -> Trial:
    """The trial with its servers stopped; they end by themselves where their host cannot be asked."""
    why = any(client.status != 0 for client in done.clients.values()) or bool(done.lost)
    words = perftest_run.stop_words(bench.run, far, done.servers.ports, why=why)
    try:
        printed = _shell(bench.hosts[done.case.receiver], bench, perftest_run.STOP, words)
    except (Lost, Failed) as error:
        return replace(done, lost=done.lost or str(error))
    return replace(done, stopped=perftest_run.parse_stop(printed))


def _shell(at: Host, bench: Bench, text: str, words: Sequence[str]) -> str:
    return remote.shell(at, text, *words, seconds=bench.pace.script)


def _again(bench: Bench, done: Trial) -> Trial:
    """A trial that broke off once more, where both hosts answer: a broken session is no proof that one is gone.

    A host that is busy with something else may answer no sign of life for half a minute (sparkrig.ssh.heartbeat).
    """
    silent = _silent(bench, done.case)
    if silent:
        bench.lost.update(silent)
        return replace(done, lost="; ".join(silent.values()))
    if not bench.renews:
        return done
    # the first servers may still run, and would share the rail with the second ones
    far = {rail: bench.ends[rail][done.case.receiver] for rail in done.case.rails}
    stopped = _stop(bench, replace(done, lost=""), far)
    second = stopped if stopped.lost else _trial(bench, done.case)
    if second.lost:
        busy = "twice, although both hosts answer over a new connection: one is busy, or the way there"
        return replace(second, lost=f"{second.lost}, {busy}")
    return second


def _silent(bench: Bench, case: Case) -> dict[str, str]:
    """Why a host of a trial that broke off does not answer, by its name."""

    def answers(at: Host) -> None:
        if bench.renews:
            at.connector = remote.connection(at)
        remote.shell(at, ":", seconds=_ANSWER_S)

    hosts = {name: bench.hosts[name] for name in (case.sender, case.receiver)}
    told = remote.each(hosts, answers)
    return {name: f"{name} was lost ({why})" for name, why in told.items() if isinstance(why, Exception)}
