"""Noting on a host what a run changes there: the lock, what stood before, each step, what stands at the end.

The first command that changes something begins the run on that host, and on its peer, so that both are locked or
neither; where nothing changes, nothing is written. `pyinfra -y` asks no operation beforehand what it would do, so
there is no earlier moment at which this could be known without asking a host.
"""

from __future__ import annotations

import getpass
import socket
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache, wraps
from importlib.metadata import version
from secrets import token_hex
from typing import Any

from gevent import spawn
from gevent.lock import BoundedSemaphore
from pyinfra import host, inventory, logger
from pyinfra import state as process
from pyinfra.api import FunctionCommand, Host, QuoteString, State, StringCommand, operation

from sparkrig.cure import over_ssh
from sparkrig.facts.journal import Journal as JournalFact
from sparkrig.files import DECLARED
from sparkrig.onboarding.io import run_claims
from sparkrig.operations import apt, plan
from sparkrig.operations.of_run import of_run
from sparkrig.operations.refusal import Commands, refusing, say
from sparkrig.refusal import Refusal
from sparkrig.runs import journal, lock, recovery
from sparkrig.runs.change import Change
from sparkrig.runs.journal import Journal, Left
from sparkrig.runs.lock import Answer
from sparkrig.serving.served import Service
from sparkrig.ssh import remote
from sparkrig.ssh.remote import Failed, Lost
from sparkrig.ssh.shell import script
from sparkrig.text import plain

_SECONDS = 60  # of each of the scripts here, times patience
_LONGEST_S = 7 * 86400  # of a run; its holder ends with its connection, and in any case then


@dataclass(frozen=True)
class Run:
    """What this process does to its hosts: one id for all of them.

    why: what was typed, without its options, for one may be a secret; undoes: the run that it takes back.
    """

    why: str
    undoes: str = ""
    id: str = field(default_factory=lambda: f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{token_hex(2)}")

    @property
    def folder(self) -> str:
        """Where a host keeps what there is to know of it."""
        return f"{lock.RUNS}/{self.id}"

    def owner(self, hosts: Iterable[str]) -> str:
        """Who and why, as the hosts note it. hosts: the names of all that the run begins on."""
        who = f"{getpass.getuser()}@{socket.gethostname()}"
        return lock.given(self.id, who, self.why, version("sparkrig"), self.undoes, hosts)


@cache
def current() -> Run:
    """The run of this pyinfra process."""
    words = [word for word in sys.argv[1:] if word.endswith(".py")]
    named = [f"--data {found[0]}" for word in sys.argv[1:] if (found := recovery.NAMED.search(word))]
    return Run(" ".join(["pyinfra", *words, *named]))


# --- taking, beginning, ending; each on all hosts side by side


def begin(run: Run, hosts: Mapping[str, Host]) -> None:
    """Lock the hosts and keep what stands there: all of them or none. Raises Refusal.

    Other programs that use apt are waited for, before a run could be waiting for this lock; meanwhile the hosts
    name themselves, so that their order costs no time.
    """
    identities = spawn(_identities, hosts)
    for why in remote.each(hosts, _apt_is_free).values():
        if isinstance(why, Exception):
            raise why if isinstance(why, Refusal) else Refusal(str(why), "the same again, once that is mended")
    names = {str(name) for at in hosts.values() if (name := at.data.get("serve_name"))}
    paths = [path for name in sorted(names) for path in Service(name).paths]
    _take(run, _ordered(hosts, identities.get()), journal.BEGIN, *journal.PATHS, *paths)


def end(run: Run, hosts: Mapping[str, Host]) -> None:
    """Keep what stands on the hosts now, and give their locks back. Raises Refusal where one is not reached."""
    _answers(hosts, lambda at: _shell(at, journal.END, run.id, "", *journal.PATHS))


@contextmanager
def locked(run: Run, hosts: Mapping[str, Host]) -> Iterator[None]:
    """Hold the hosts' locks for something that changes nothing but must be alone. Raises Refusal."""
    _take(run, _ordered(hosts, _identities(hosts)), lock.LOCK)
    try:
        yield
    finally:
        # a host that is gone frees its lock itself, with the session
        remote.each(hosts, lambda at: _shell(at, lock.RELEASE, run.id))


def look(at: Host) -> Journal:
    """The journal of a host. Raises Failed or Lost."""
    return remote.read(at, JournalFact(), seconds=int(_SECONDS * _patience(at)))


def leave(run: Run, at: Host, left: Iterable[Left]) -> None:
    """Keep what an undo did not put back, before it ends. Raises Failed or Lost."""
    rows = "".join(f"{each.item}\t{plain(each.why)}\n" for each in left)
    remote.shell(at, journal.LEFT, run.id, seconds=int(_SECONDS * _patience(at)), stdin=rows)


def unlock(hosts: Mapping[str, Host], locks: Mapping[str, str]) -> dict[str, str]:
    """Free hosts from their locks, whatever holds them; by host, why that could not be done, or nothing.

    locks: the one that was seen on each (sparkrig.runs.lock.Lock.id); one that was taken since stays.
    """
    answers = remote.each(hosts, lambda at: _shell(at, lock.UNLOCK, locks[at.name]))
    return {name: str(answer) if isinstance(answer, Exception) else "" for name, answer in answers.items()}


def _identities(hosts: Mapping[str, Host]) -> dict[str, str | Failed | Lost]:
    """What orders the hosts of a run; one host alone needs no order."""
    if len(hosts) < 2:
        return dict.fromkeys(hosts, "")
    return remote.each(hosts, lambda at: _shell(at, lock.IDENTITY).strip())


def _ordered(hosts: Mapping[str, Host], identities: Mapping[str, str | Failed | Lost]) -> dict[str, Host]:
    """The hosts in the order in which every run takes its locks, whatever an inventory calls them.

    Where two of them have one identity, their names decide. Raises Refusal for one that prints none.
    """
    for name, identity in identities.items():
        if isinstance(identity, Exception):
            raise _unlockable(name, identity, "true")
    return {name: hosts[name] for name in sorted(hosts, key=lambda name: (identities[name], name))}


def _take(run: Run, hosts: Mapping[str, Host], text: str, *words: str) -> None:
    """Take the locks one after the other, in an order that is the same for every run (`_ordered`).

    Two runs that begin at the same moment so meet at the first host that both want, where one of them is refused
    before it holds anything that the other one needs. Side by side, each could take one host, and both would lose.
    """
    _claim(run, hosts)
    owner = run.owner(hosts)
    taken: dict[str, Host] = {}
    for name, at in hosts.items():
        answer = remote.each({name: at}, lambda at: _taken(at, run.id, owner, text, *words))[name]
        if refusal := _why_not(name, answer):
            let_go(run, taken if isinstance(answer, Answer) else {**taken, name: at})
            raise refusal
        taken[name] = at
        if isinstance(answer, Answer) and answer.found == "stale":
            _warn(at, f"took over the lock of {lock.sentence(answer.owner)}, whose session has ended")


def let_go(run: Run, hosts: Mapping[str, Host]) -> None:
    """Give back the locks of a run that did not get all of them, or not to its end.

    Of one without a step nothing stays. A host that is gone frees its lock itself.
    """
    remote.each(hosts, lambda at: _shell(at, journal.ABANDON, run.id))


def _claim(run: Run, hosts: Mapping[str, Host]) -> None:
    try:
        run_claims.claim(run.id)
    except OSError as error:  # it costs no more than a question after a crash
        for at in hosts.values():
            noted = f"this machine cannot note that it works on this host ({error})"
            _warn(at, f"{noted}; after a crash: sparkrig unlock")


def _taken(at: Host, run: str, owner: str, text: str, *words: str) -> Answer:
    """The lock of one host; an earlier process of this machine that is known to be dead is no obstacle."""
    answer = _asked(at, text, run, owner, "", *words)
    if answer.found == "held" and run_claims.dead(answer.owner.run):
        return _asked(at, text, run, owner, answer.owner.run, *words)
    return answer


def _asked(at: Host, text: str, *words: str) -> Answer:
    """What becomes of a lock; its holder is started at the same moment, so that it costs no round trip."""
    spawn(_hold, at, words[0])
    try:
        return lock.parse(_shell(at, text, *words))
    except ValueError as error:
        raise Failed(str(error)) from None


def _hold(at: Host, run: str) -> None:
    """Keep the lock of a host for as long as this connection to it is there (sparkrig.runs.lock.HOLD)."""
    try:
        remote.execute(at, script(lock.HOLD, run, seconds=_LONGEST_S), _LONGEST_S, quiet=True)
    except (Failed, Lost) as error:
        _warn(at, f"the lock of {at.name} is not kept any more, and another run may begin there: {error}")


def _why_not(name: str, answer: Answer | Failed | Lost) -> Refusal | None:
    if isinstance(answer, Answer):
        return answer.refusal(name) if answer.refused else None
    return _unlockable(name, answer, "df -h /run /var/lib")


def _unlockable(name: str, answer: Failed | Lost, command: str) -> Refusal:
    """Why a host cannot be locked; where sshd may allow no second session of one connection, that too.

    With MaxSessions 1 it is chance which of two execs at the same moment is refused.
    """
    cure = over_ssh(name, command)
    if isinstance(answer, Lost) or "MaxSessions" in str(answer):
        cure += f"; {over_ssh(name, 'sudo sshd -T')} | grep -i maxsessions, which must be 2 or more"
    return Refusal(f"{name} cannot be locked: {answer}", cure)


def _warn(at: Host, text: str) -> None:
    at.log_styled(text, fg="yellow", log_func=logger.warning)


def _answers(hosts: Mapping[str, Host], ask: Callable[[Host], Any]) -> None:
    for name, answer in remote.each(hosts, ask).items():
        if isinstance(answer, (Failed, Lost)):
            raise Refusal(f"the journal of {name} cannot be written: {answer}", over_ssh(name, "df -h /var/lib"))


def _shell(at: Host, text: str, *words: str) -> str:
    return remote.shell(at, text, *words, seconds=int(_SECONDS * _patience(at)))


def _patience(at: Host) -> float:
    return float(at.data.get("patience") or 1)


def _apt_is_free(at: Host) -> Refusal | None:
    try:
        apt.wait(at, _patience(at))
    except Refusal as refusal:
        return refusal
    return None


def noted(command: StringCommand, folder: str, name: str) -> StringCommand:
    """A command that notes in the journal, in the same exec, that it begins, and how it ended.

    A host that cannot note it (a full disk) does not run it: exit 74.
    """
    return StringCommand(
        StringCommand("steps=", QuoteString(f"{folder}/steps"), _separator=""),
        StringCommand(journal.NOTE, "note begun ", QuoteString(name), " || exit 74\n", _separator=""),
        StringCommand("(\n", command, "\n)\n", _separator=""),
        StringCommand('rc=$?; note "ended $rc" ', QuoteString(name), "; exit $rc", _separator=""),
        _separator="",
        **command.connector_arguments,
    )


def perform(run: Run, at: Host, name: str, command: StringCommand, seconds: int) -> str:
    """A command as a step of a run, outside of an operation; what it printed. Raises as remote.execute does."""
    return remote.execute(at, noted(command, run.folder, name), seconds)


def note(run: Run, hosts: Mapping[str, Host], word: str, name: str) -> None:
    """One row in the steps of each host. word: `begun` or `ended RC`. Raises Refusal where that fails."""
    text = f'steps=$1\n{journal.NOTE}note "$2" "$3"\n'
    _answers(hosts, lambda at: _shell(at, text, f"{run.folder}/steps", word, name))


@dataclass
class _Begun:
    """Where a run has begun; by the first host of a group, why it was refused there, and whose turn it is."""

    hosts: set[str] = field(default_factory=set)
    refused: dict[str, Refusal] = field(default_factory=dict)
    turns: dict[str, BoundedSemaphore] = field(default_factory=dict)


def recorded(function: Callable[..., Commands]) -> Callable[..., Commands]:
    """Let an operation's commands be noted, and the first of a run begin it.

    A FunctionCommand acts for the cluster, so it is noted on all of its hosts.
    """

    @wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Commands:
        for command in function(*args, **kwargs):
            if isinstance(command, str) and command.startswith("#"):  # a line of the plan, which does nothing
                yield command
                continue
            yield from beginning()
            if isinstance(command, FunctionCommand):
                yield FunctionCommand(_as_step, (command, step()), {})
            else:
                given = command if isinstance(command, StringCommand) else StringCommand(command)
                yield noted(given, current().folder, step())

    return wrapped


def beginning() -> Commands:
    """What begins the run on this host and its peer, unless that was done before."""
    if not begun(host):
        yield FunctionCommand(_begin, (), {})


def begun(at: Host) -> bool:
    """Whether this run has changed something on a host or its peer, and so holds their locks."""
    return at.name in of_run(_Begun).hosts


@operation()
@refusing
def close(
    declaration: Callable[[], str] | None = None,
    unkept: Callable[[], str] = str,
    simulated: Callable[[], bool] | None = None,
    kept: Callable[[str | None], None] | None = None,
) -> Commands:
    """Keep what stands on the host at the end of a run that changed something, and give the lock back.

    + declaration: of a whole deploy, the text that keeps on the host what was declared of it
    + unkept: why this run keeps both although it changed nothing; empty where an earlier run has done so
    + simulated: of a deploy, which leaves what apt simulates on the host: whether its look found that there
    + kept: keeps on this machine what there is to know of the host; given what was declared, if it was anew
    """
    stdin = None
    if not process.is_executing and (why := unkept()):
        if declaration:
            plan.report([Change("file", DECLARED, why, "as declared now")])
        yield f"# what was declared of the host: {why}"
    elif process.is_executing and (begun(host) or unkept()):
        yield from beginning()
        words = current().id, "declares" if declaration else "", *journal.PATHS
        text, more = (f"{apt.KEEP_FIRST}{journal.END}", apt.KEEP_S) if simulated else (journal.END, 0)
        stdin = declaration() if declaration else None
        yield script(text, *words, seconds=int((_SECONDS + more) * _patience(host)), _stdin=stdin)
    else:
        if process.is_executing and simulated and not simulated():
            apt.keep_simulation(inventory.get_host(host.name), _patience(host))
        host.noop("nothing was changed, so there is nothing to note")
    if process.is_executing and kept:
        kept(stdin)


def step() -> str:
    """The name of the operation that is at work on this host, as pyinfra shows it."""
    return ", ".join(sorted(process.get_op_meta(str(host.current_op_hash)).names))


def _members(at: Host) -> dict[str, Host]:
    """The hosts of its pair or cluster, as Settings.group_name has it, or it alone."""
    return {each.name: each for each in inventory if each is at or _group(each) == _group(at) != ""}


def _group(at: Host) -> str:
    return str(at.data.get("cluster") or at.data.get("pair") or "")


def _begin(state: State, host: Host) -> bool:
    begun = of_run(_Begun, state)
    members = _members(host)
    group = next(iter(members))
    with begun.turns.setdefault(group, BoundedSemaphore()):
        if host.name not in begun.hosts and group not in begun.refused:
            try:
                begin(current(), members)
            except Refusal as refusal:
                begun.refused[group] = refusal
            else:
                begun.hosts.update(members)
                for member in members.values():
                    member.log(f"run {current().id} begins; what stood here is kept")
    if group in begun.refused:
        say(host, str(begun.refused[group]))
    return group not in begun.refused


def _as_step(state: State, host: Host, command: FunctionCommand, name: str) -> bool:
    members = _members(host)
    try:
        note(current(), members, "begun", name)
        done = command.execute(state, host, {}) is not False
        note(current(), members, f"ended {0 if done else 1}", name)
    except Refusal as refusal:
        say(host, str(refusal))
        return False
    return done
