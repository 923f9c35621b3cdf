"""Changing what can strand a Spark, or all hosts of a cluster, so that none is: all of it or nothing.

Each host arms its ways back and applies in a detached unit (templates/guard.py). Then this side proves what no
host can know by itself: that a new ssh connection gets in, and that the hosts reach each other. Only then all are
ordered to commit; a host that hears nothing puts itself back. The recipe is our own; its parts were run on virtual
machines first.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import gevent
from pyinfra.api import Host
from pyinfra.connectors.base import BaseConnector

from sparkrig import programs
from sparkrig.fabric.io.witness import Proof, is_here
from sparkrig.host.armed import Armed, awaited
from sparkrig.network import guard
from sparkrig.network.guard import Order, Probe, Told
from sparkrig.ssh import remote
from sparkrig.ssh.remote import Failed, Lost
from sparkrig.text import listed, plain

APART_S = 5  # between the two proofs that a new connection gets in
PAUSE_S = 1  # between two questions to a host that does not answer
_COUNTDOWN_S = 10  # between two lines of the countdown
_PINGED_S = 40  # for the last ping to end
_WHY = 500  # characters of a reason that a host keeps
_FAILURES = 3  # in a row mean that a host has no guard; fewer may be its connection that breaks off

PREPARE = programs.text("operations/guard_prepare.sh")
SETTLE = programs.text("operations/guard_settle.sh")
START = programs.text("operations/guard_start.sh")
ASK = programs.text("operations/guard_ask.sh")


class RolledBack(Exception):
    """All is as it was before, or puts itself back; the message has the reason, and what is unknown."""


@dataclass
class Bench:
    """One guarded change.

    hosts: all that take part, each of a cluster; orders: of those that have something to change; pings: what
    each host must reach afterwards; folder: of the run, on every host; patience: factor on every deadline; tell:
    shows progress; outside: what others have to prove of the machine that runs this; what: is changed,
    in words.
    """

    hosts: Mapping[str, Host]
    orders: Mapping[str, Order]
    pings: Mapping[str, Sequence[Probe]]
    folder: str
    patience: float
    tell: Callable[[str], None]
    outside: Proof = field(default_factory=Proof)
    what: str = "network"
    deadline: float = field(default=0.0, init=False)

    def place(self, at: Host) -> str:
        """The folder of the guard on a host."""
        return f"{self.folder}/{self.orders[at.name].folder}"

    @property
    def window(self) -> int:
        return max(order.window for order in self.orders.values())

    @property
    def left(self) -> int:
        """Seconds until the first host would roll back."""
        return max(0, int(self.deadline - time.monotonic()))

    @property
    def changing(self) -> dict[str, Host]:
        return {name: self.hosts[name] for name in self.orders}


def prepare(at: Host, run: str, patience: float) -> bool:
    """Make a host ready to be planned for: nothing of an earlier run is armed. Whether it is this machine."""
    told = remote.shell(at, PREPARE, run, seconds=int((60 + guard.BACK_S) * patience))
    return is_here(at, told.strip())


def settle(at: Host, armed: Sequence[Armed], patience: float, why: str = "") -> None:
    """Wait until no guarded change awaits its confirmation on a host. Raises Failed or Lost, with what it awaits.

    armed: those that a look saw; why: the reason for which what a dead controller left goes back at once; where
    there is none nothing is changed, and the host takes it back by itself. What is armed after the time that this
    may take is left to the look that follows.
    """
    seconds = int(max(each.left for each in armed) + guard.GRACE_S + guard.RETURN_S * patience)
    limit = seconds + int(len(armed) * guard.BACK_S * patience)
    try:
        remote.shell(at, SETTLE, str(seconds), why, seconds=limit)
    except (Failed, Lost) as error:
        raise type(error)(f"{awaited(armed)}; that could not be waited for: {error}") from None


def carry_out(bench: Bench) -> dict[str, str]:
    """Change all or nothing; by host, what was to be put back and is not all as it was. Raises RolledBack."""
    names = listed(bench.orders)
    bench.deadline = time.monotonic() + bench.window
    bench.tell(f"rollback armed on {names}: reverts in {bench.window} s unless confirmed")
    try:
        with _counting(bench):
            _expect("applied", _each(bench, lambda at: _start(bench, at)))
            first = _reach(bench)
            bench.tell(f"applied; {_proven(bench)}; reverts in {bench.left} s unless confirmed")
            _link(bench)
            gevent.sleep(max(0.0, max(door.made for door in first.values()) + APART_S - time.monotonic()))
            second = _reach(bench)
        if bench.left < guard.MARGIN_S:
            raise RolledBack(f"only {bench.left} s were left to confirm it")
        answers = _each(bench, lambda at: _ask(bench, at, second[at.name], "commit"))
        _expect("committed", answers)
    except RolledBack as why:
        raise RolledBack(_give_up(bench, str(why))) from None
    bench.tell(f"confirmed on {names}; rollback disarmed")
    amiss = {name: plain(told.detail) for name, told in answers.items() if isinstance(told, Told) and told.detail}
    for name, said in amiss.items():
        bench.tell(f"{name}: what was to be put back is not all as it was: {said}")
    return amiss


def _start(bench: Bench, at: Host) -> Told:
    """Arm and apply; a host that is lost meanwhile goes on by itself, and is asked until its window is over."""
    try:
        text = remote.shell(
            at,
            START,
            bench.place(at),
            bench.orders[at.name].dump(),
            seconds=bench.orders[at.name].limit("start"),
            stdin=programs.file("guard.py"),
        )
        return guard.parse(text)
    except (Lost, Failed, ValueError) as error:  # a connection that breaks off may look like a failure
        try:
            return _until_it_answers(bench, at)
        except Failed:
            raise Failed(str(error)) from None


@dataclass(frozen=True)
class Door:
    """A connection to a host that was made for a question; made: when, by this machine's clock."""

    connector: BaseConnector
    made: float


def _ask(bench: Bench, at: Host, door: Door, verb: str, why: str = "") -> Told:
    """One question, over a connection that was just made: an old one may be dead and not know it."""
    with _through(at, door):
        text = remote.shell(at, ASK, bench.place(at), verb, why, seconds=bench.orders[at.name].limit(verb))
    try:
        return guard.parse(text)
    except ValueError as error:
        raise Failed(str(error)) from None


def _until_it_answers(bench: Bench, at: Host, verb: str = "wait", why: str = "") -> Told:
    """What a host answers once it is reached again. Raises Lost where it stays away, Failed without a guard."""
    end = bench.deadline + guard.GRACE_S + guard.RETURN_S * bench.patience
    answered = 0
    while True:
        try:
            return _ask(bench, at, _door(at), verb, why)
        except (Lost, Failed) as error:
            answered += isinstance(error, Failed)
            if time.monotonic() >= end or answered == _FAILURES:
                raise
        gevent.sleep(PAUSE_S)


def _door(at: Host) -> Door:
    """A connection made now. Raises Lost."""
    return Door(remote.connection(at), time.monotonic())


@contextmanager
def _through(at: Host, door: Door) -> Iterator[None]:
    """Talk to a host over a connection of its own, for as long as the block takes."""
    old, at.connector = at.connector, door.connector
    try:
        yield
    finally:
        at.connector = old


def _reach(bench: Bench) -> dict[str, Door]:
    """Prove from outside that a new connection gets in, and that the change still stands; the connections."""
    doors: dict[str, Door] = {}

    def proven(at: Host) -> Told:
        doors[at.name] = _door(at)
        return _ask(bench, at, doors[at.name], "wait")

    _expect("applied", _each(bench, proven))
    if reasons := bench.outside.why_not():
        raise RolledBack("; ".join(reasons))
    return doors


def _proven(bench: Bench) -> str:
    """What was just proven, in words."""
    if bench.outside.place:
        return f"another member sees the ssh server of {bench.outside.place.host}"
    if bench.outside.consented:
        return f"not proven from outside of {bench.outside.consented}, as allow_unwitnessed says"
    return "a new ssh connection gets in"


def _link(bench: Bench) -> None:
    """Prove that each host reaches the others over every rail, with the largest packet."""
    seconds = int(min(15 * bench.patience, max(2, bench.left - guard.MARGIN_S - APART_S)))

    def ping(at: Host) -> list[str]:
        words = guard.link_words(seconds, bench.pings.get(at.name, ()))
        told = remote.shell(at, guard.LINK, *words, seconds=2 * seconds + _PINGED_S)
        return remote.parsed("pings", lambda: guard.silent(told))

    answers = remote.each(bench.hosts, ping)
    amiss = [
        f"{name}: {said}"
        for name, answer in answers.items()
        for said in (answer if isinstance(answer, list) else [str(answer)])
    ]
    if amiss:
        raise RolledBack("; ".join(amiss))


def _each(bench: Bench, ask: Callable[[Host], Told]) -> dict[str, Told | Failed | Lost]:
    return remote.each(bench.changing, ask)


def _expect(state: str, answers: Mapping[str, Told | Failed | Lost]) -> None:
    """Raise RolledBack with every host's reason where one is not in that state."""
    amiss = [
        f"{name}: {answer.detail or answer.state}" if isinstance(answer, Told) else f"{name}: {answer}"
        for name, answer in answers.items()
        if not isinstance(answer, Told) or answer.state != state
    ]
    if amiss:
        raise RolledBack("; ".join(amiss))


@contextmanager
def _counting(bench: Bench) -> Iterator[None]:
    """Show the armed rollback as a countdown while it is waited for."""

    def count() -> None:
        while bench.left:
            gevent.sleep(_COUNTDOWN_S)
            bench.tell(f"not confirmed yet; reverts in {bench.left} s")

    counter = gevent.spawn(count)
    try:
        yield
    finally:
        counter.kill()


def _give_up(bench: Bench, why: str) -> str:
    """Put every host back now, or learn that it does so by itself; the whole sentence."""
    bench.tell(f"putting the {bench.what} back: {why}")

    def revert(at: Host) -> Told:
        question = "revert", plain(why)[:_WHY]  # which status shows on every host
        try:
            return _ask(bench, at, _door(at), *question)
        except (Lost, Failed):
            bench.tell(f"{at.name} cannot be asked; unless it confirmed already it reverts in {bench.left} s")
            return _until_it_answers(bench, at, *question)  # one that confirmed never goes back unasked

    answers = _each(bench, revert)
    restored = [name for name, each in answers.items() if isinstance(each, Told) and each.restored]
    others = [f"{name} is {_instead(each)}" for name, each in answers.items() if name not in restored]
    put_back = [f"the {bench.what} of {listed(restored)} is as it was before"] if restored else []
    return f"{why}; {', and '.join([*put_back, *others])}{_all(bench)}"


def _all(bench: Bench) -> str:
    """Of more than two, which hosts were to change, so that the ones that are not named are missed."""
    many = len(bench.orders) > 2
    return f"; it was to change on all of {listed(bench.orders)}, or on none" if many else ""


def _instead(answer: Told | Failed | Lost) -> str:
    """What a host is, where it is not known to be as it was."""
    if isinstance(answer, Told):
        return f"{answer.state} ({answer.detail})" if answer.detail else answer.state
    return f"unknown ({answer})"
