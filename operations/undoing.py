"""An undo of hosts that were set up together: planned, shown, agreed to, and carried out, all of them or none."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, Any, TypeVar

from sparkrig.cure import verb
from sparkrig.operations import looking
from sparkrig.refusal import Refusal
from sparkrig.terminal import project, terminal

if TYPE_CHECKING:
    from pyinfra.api import Host
    from rich.console import Console

    from sparkrig.fleet import Fleet
    from sparkrig.runs.journal import Journal
    from sparkrig.runs.undo import Plan
    from sparkrig.runs.undo_outcome import Undone
    from sparkrig.ssh.remote import Failed, Lost

T = TypeVar("T")


@dataclass
class Group:
    """A cluster, or a Spark on its own, which goes back together.

    names: those that go back; others: those that --limit leaves as they are; outcome: what came of it, with its
    exit code.
    """

    names: tuple[str, ...]
    others: tuple[str, ...] = ()
    journals: dict[str, Journal] = field(default_factory=dict)
    plans: dict[str, Plan] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    outcome: str = "nothing to undo"
    code: int = 0

    @property
    def due(self) -> bool:
        return self.code == 0 and any(self.plans.values())

    @property
    def target(self) -> str:
        """The run that goes back."""
        return next(iter(self.plans.values())).run

    @property
    def left(self) -> list[str]:
        """What is not put back, a sentence each."""
        from sparkrig.runs.undo_outcome import left_alone

        return [said for name, plan in self.plans.items() for said in left_alone(name, plan)]

    @property
    def undone(self) -> Undone:
        """What came of it, for programs."""
        from sparkrig.runs.undo_outcome import Undone, left_behind

        left = {name: left_behind(plan) for name, plan in self.plans.items()}
        return Undone(self.names, self.plans, self.outcome, self.code, left)

    def ends(self, outcome: str, code: int) -> None:
        self.outcome, self.code = outcome, code


@dataclass(frozen=True)
class Asked:
    """Which run is to be taken back, where, and how much of it."""

    inventory: Path
    run: str | None
    limit: tuple[str, ...]
    one_host: bool
    everything: bool
    restart_docker: bool

    def group(self, names: tuple[str, ...]) -> Group | None:
        """What of a group goes back; None where --limit names none of it."""
        mine = tuple(name for name in names if not self.limit or name in self.limit)
        return Group(mine, tuple(name for name in names if name not in mine)) if mine else None

    def command(self, target: str, limit: Iterable[str], *, one_host: bool) -> str:
        """What is typed to take back that run, on these hosts alone where they are named."""
        words = ["sparkrig", "undo", project.as_typed(self.inventory), target]
        words += [word for name in limit for word in ("--limit", name)]
        return shlex.join([*words, *(["--one-host"] if one_host else [])])


def undone(
    console: Console, data: Mapping[str, Mapping[str, Any]], fleet: Fleet, asked: Asked, *, dry: bool, yes: bool
) -> list[Group]:
    """Each group with what became of it: planned, shown, agreed to, and carried out. data: of each host.

    Raises Refusal before anything is changed.
    """
    from sparkrig.ssh import session  # isort: skip - it patches the standard library before pyinfra is loaded
    from sparkrig.operations import journal

    with session.connected(data) as hosts:
        found = session.ask(hosts, "Reading the journals", journal.look)
        armed = {name: each.armed for name, each in found.items() if not isinstance(each, Exception)}
        why = "" if dry else "superseded by sparkrig undo"
        if looking.settle(fleet, hosts, armed, why, connected=True):
            found = session.ask(hosts, "Reading the journals", journal.look)
        for name, each in found.items():
            for line in [] if isinstance(each, Exception) else [*each.left_out(), *_clock(each)]:
                console.print(f"{name}: {line}", markup=False, soft_wrap=True)
        made = [_planned(group, found, asked) for names in fleet.groups() if (group := asked.group(names))]
        for group in made:
            _leave(group, hosts, fleet, asked)
            _show(console, group)
        due = [group for group in made if group.due and not dry]
        agreed = bool(due) and (yes or terminal.confirm("Do this?"))
        for group in due:
            if agreed:
                _carry_out(console, group, hosts, fleet, asked)
            else:
                group.ends("declined", 1)
    if any(isinstance(found[name], Exception) for group in made for name in group.names):
        terminal.echo(f"Try: {verb('doctor', 'access')}", err=True)
    return made


def _clock(found: Journal) -> list[str]:
    """A clock that is wrong, which is no obstacle to an undo, and makes the times in its plan wrong."""
    from sparkrig.host import preflight

    ahead_s = found.now - time()
    if abs(ahead_s) <= preflight.SKEW_MAX_S:
        return []
    return [f"{preflight.skew(ahead_s)}, and the times of its runs are by it. Try: {preflight.SET_CLOCK}"]


def _planned(group: Group, found: Mapping[str, Journal | Failed | Lost], asked: Asked) -> Group:
    """What is to be done to one group; nothing where a host cannot be read, or lost what it kept."""
    from sparkrig.runs import undo as judgement
    from sparkrig.runs import undo_target

    unread = [
        f"{name} cannot be read: {found[name]}" for name in group.names if isinstance(found[name], Exception)
    ]
    if unread:
        group.unread = unread
        group.ends("; ".join([*unread, "nothing is undone"]), 3)
        return group
    group.journals = {name: each for name in group.names if not isinstance(each := found[name], Exception)}
    others = {name: None if isinstance(there := found.get(name), Exception) else there for name in group.others}
    code = 1
    try:
        target = undo_target.target(group.journals, asked.run)
        if not target:
            return group
        keep = [name for name, each in group.journals.items() if each.find(target)]
        command = f"{asked.command(target, keep, one_host=True)} --dry"
        code = 3
        undo_target.readable(target, group.journals)
        if not asked.one_host:
            code = 1
            undo_target.spared(target, group.journals, others, command)
            code = 3
            undo_target.whole(target, group.journals, others, command)
    except Refusal as refusal:
        group.ends(f"{refusal.what}; nothing is undone. Try: {refusal.cure}", code)
        return group
    group.plans = {
        name: judgement.plan(each, target, everything=asked.everything) for name, each in group.journals.items()
    }
    return group


def _answers(
    group: Group,
    hosts: Mapping[str, Host | Failed | Lost],
    fleet: Fleet,
    which: Callable[[Plan], object],
    title: str,
    question: Callable[[Host, Plan, float], T],
) -> dict[str, T] | None:
    """What the hosts of the plans that `which` names answer; None where one does not, which ends the group."""
    from sparkrig.ssh import session

    of = {name: hosts[name] for name, plan in group.plans.items() if which(plan)}
    found = session.ask(of, title, lambda at: question(at, group.plans[at.name], fleet[at.name].patience))
    lost = [f"{name}: {answer}" for name, answer in found.items() if isinstance(answer, Exception)]
    if lost:
        group.ends("; ".join(lost), 3)
        return None
    return {name: answer for name, answer in found.items() if not isinstance(answer, Exception)}


def _leave(group: Group, hosts: Mapping[str, Host | Failed | Lost], fleet: Fleet, asked: Asked) -> None:
    """Complete a plan by what each host has to be asked.

    What others changed is merged; docker is asked whether it starts with a daemon.json that goes back, and what
    its restart would stop; the host, what keeps a file from going back.
    """
    from sparkrig.operations import undo as operations
    from sparkrig.runs import undo as judgement
    from sparkrig.runs import undo_merge

    if not group.plans:
        return
    read = _answers(group, hosts, fleet, undo_merge.texts_of, "Reading what was changed since", operations.read)
    if read is None:
        return
    group.plans |= read
    group.outcome = "planned" if group.due else f"nothing is left to undo of {group.target}"
    docker = "Asking docker whether it starts with what stood there"
    fit = _answers(group, hosts, fleet, lambda plan: plan.checked, docker, operations.fit)
    if fit is None:
        return
    group.plans |= fit
    if group.left and not group.due:
        group.ends(f"nothing else is undone: {'; '.join(group.left)}", 2)
        return
    files = "Looking whether each file can be put back"
    barred = _answers(group, hosts, fleet, lambda plan: plan.targets, files, operations.barred)
    if barred is None:
        return
    running = _answers(group, hosts, fleet, lambda plan: plan.docker, "Asking docker what runs", _running)
    if running is None:
        return
    try:
        judgement.judge(group.plans, running, barred, restart_docker=asked.restart_docker)
    except Refusal as refusal:
        group.ends(f"{refusal.what}. Nothing is undone. Try: {refusal.cure}", 1)


def _running(at: Host, _: Plan, patience: float) -> int:
    """How many containers run there."""
    from sparkrig.facts.resources import of_resource
    from sparkrig.resources.containers import CONTAINERS
    from sparkrig.ssh import remote

    return remote.read(at, of_resource(CONTAINERS)(), seconds=int(60 * patience)).running


def _carry_out(
    console: Console,
    group: Group,
    hosts: Mapping[str, Host | Failed | Lost],
    fleet: Fleet,
    asked: Asked,
) -> None:
    from sparkrig.operations import undo as operations
    from sparkrig.operations.guard import RolledBack
    from sparkrig.operations.journal import Run
    from sparkrig.ssh.remote import Failed, Lost
    from sparkrig.terminal import progress

    target = group.target
    able = {name: host for name in group.names if not isinstance(host := hosts[name], Exception)}
    run = Run(asked.command(target, asked.limit, one_host=asked.one_host), undoes=target)
    again = f"the same again goes on: {run.why}"
    try:
        with progress.hosts(able, f"Undoing {target}") as told:
            group.plans |= operations.carry_out(
                run, able, group.plans, fleet[group.names[0]], told, restart_docker=asked.restart_docker
            )
        done = f"undone{', but not all' if group.left else ''}, as run {run.id}"
        group.ends("; ".join([done, *group.left]), 2 if group.left else 0)
        console.print(*(f"{', '.join(group.names)}: {done}", *group.left), sep="\n", markup=False, soft_wrap=True)
        return
    except Refusal as refusal:
        group.ends(str(refusal), 1)
    except RolledBack as why:
        group.ends(f"rolled back: {why}; nothing else was changed", 4)
    except (Failed, Lost) as error:
        group.ends(f"broke off: {error}; {again}", 3)
    console.print(f"{', '.join(group.names)}: {group.outcome}", soft_wrap=True)


def _show(console: Console, group: Group) -> None:
    from sparkrig.runs.render.journal import undoing

    if group.plans:
        console.print(undoing(group.plans, group.journals))
    if group.unread:
        console.print(*group.unread, "Nothing is undone", sep="\n", soft_wrap=True)
    elif not group.due:
        console.print(f"{', '.join(group.names)}: {group.outcome}", soft_wrap=True)
