"""Taking a run back on the hosts of a pair, or on a lone one: all of it as a run of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from pyinfra.api import Host

from sparkrig.fabric.io import witness
from sparkrig.facts.preflight import BARS
from sparkrig.files import Beside
from sparkrig.host import targets
from sparkrig.host.targets import Barred
from sparkrig.network.guard import LIVE_S, Order
from sparkrig.operations import guard, guarded, journal
from sparkrig.operations.guard import Bench, RolledBack
from sparkrig.operations.journal import Run
from sparkrig.refusal import Refusal
from sparkrig.resources.state import RESOURCES
from sparkrig.runs import lock, undo, undo_merge, undo_outcome
from sparkrig.runs.undo import Plan
from sparkrig.settings import Settings
from sparkrig.ssh import remote
from sparkrig.ssh.remote import Failed, Lost
from sparkrig.ssh.shell import AS_USER, script


class Told(Protocol):
    """Where the progress of an undo is reported."""

    def __call__(self, name: str, step: str) -> None:
        """A host begins a step."""

    def say(self, text: str) -> None:
        """Report something that the user has to know."""


def carry_out(
    run: Run,
    hosts: Mapping[str, Host],
    plans: Mapping[str, Plan],
    settings: Settings,
    told: Told,
    *,
    restart_docker: bool,
) -> dict[str, Plan]:
    """Carry the plans out, the network first, for it alone can fail and be back where it was.

    Returns the plans as they were carried out, with what was not put back; the journals keep that, too.
    run: the undo itself; hosts: both hosts of a pair; settings: the settings of one of them, for its deadlines.
    Raises Refusal where nothing was done, RolledBack where the network is as it was and nothing else was done,
    Failed or Lost where it broke off: the same again goes on from there.
    """
    for name in hosts:
        told(name, "keep what stands there now")
    journal.begin(run, hosts)
    try:
        there = _network(run, hosts, plans, settings, told)
    except Refusal:
        journal.let_go(run, hosts)
        raise
    plans = {name: undo_outcome.network_done(plan, there.get(name, "")) for name, plan in plans.items()}
    try:
        _guarded(run, hosts, plans, settings, told)
    except (Refusal, RolledBack) as why:
        raise Failed(str(why)) from None
    answers = remote.each(
        hosts, lambda at: _host(run, at, plans[at.name], settings.patience, told, restart_docker)
    )
    amiss = [f"{name}: {answer}" for name, answer in answers.items() if isinstance(answer, (Failed, Lost))]
    if amiss:
        raise Failed("; ".join(amiss))
    try:
        journal.end(run, hosts)
    except Refusal as refusal:
        raise Failed(refusal.what) from None
    return {name: answer for name, answer in answers.items() if isinstance(answer, Plan)}


def fit(at: Host, plan: Plan, patience: float) -> Plan:
    """The plan, once docker was asked whether it starts with what goes back. Raises Failed or Lost."""
    merged = plan.merged_docker
    kept = "" if merged else plan.kept_docker
    return undo_outcome.left(
        plan, remote.shell(at, undo.FIT, kept, seconds=int(60 * patience), stdin=merged or None)
    )


def barred(at: Host, plan: Plan, patience: float) -> tuple[Barred, ...]:
    """What of a plan's files cannot be put in its place, with what is beside them. Raises Failed or Lost."""
    seconds = int(60 * patience)
    told = remote.shell(at, BARS, *plan.targets, seconds=seconds)
    for beside in _of_user(plan):
        told += remote.shell(at, AS_USER, "", beside.bars, "sparkrig", seconds=seconds)
    rows = [line.removeprefix("barred ") for line in told.splitlines()]
    return remote.parsed("files that cannot be put back", lambda: targets.parse(rows))


def _of_user(plan: Plan) -> list[Beside]:
    """What the ssh user has beside files that are removed."""
    return [each for each in plan.beside if each.program]


def read(at: Host, plan: Plan, patience: float) -> Plan:
    """The plan, once the files that another one changed were read. Raises Failed or Lost."""
    said = remote.shell(at, undo.TEXTS, *undo_merge.texts_of(plan), seconds=int(60 * patience))
    texts = remote.parsed("files", lambda: undo_merge.parse_texts(said.splitlines()))
    return undo_merge.merged(plan, texts)


def _network(
    run: Run, hosts: Mapping[str, Host], plans: Mapping[str, Plan], settings: Settings, told: Told
) -> dict[str, str]:
    """Put the network back; by host, what is not all as it was."""
    orders = {
        name: Order(
            step=undo.step("network"),
            window=settings.rollback_seconds,
            seconds=int(LIVE_S * settings.patience),
            patience=settings.patience,
            restore=f"{lock.RUNS}/{plans[name].run}/guard/before",
            mine=plans[name].mine,
        )
        for name in hosts
        if plans[name].network
    }
    if not orders:
        return {}
    for name in hosts:
        told(name, "network")
    here = remote.every(hosts, lambda at: guard.prepare(at, run.id, settings.patience))
    own = [name for name, is_here in here.items() if is_here]
    outside = witness.proof(hosts, own, orders, allowed=settings.allow_unwitnessed, patience=settings.patience)
    return guard.carry_out(Bench(hosts, orders, {}, run.folder, settings.patience, told.say, outside))


def _guarded(
    run: Run, hosts: Mapping[str, Host], plans: Mapping[str, Plan], settings: Settings, told: Told
) -> None:
    """Put back the files that can strand a host, those of one resource after the other."""
    for resource in RESOURCES:
        files = {name: plans[name].guarded(resource.guard.what) for name in hosts} if resource.guard else {}
        going = {name: each for name, each in files.items() if each}
        for name in going:
            told(name, resource.guard.what if resource.guard else "")
        if going:
            of = {name: hosts[name] for name in going}
            guarded.carry_out(resource, run, of, going, undo.step(resource.name), settings, told.say)


def _host(run: Run, at: Host, plan: Plan, patience: float, told: Told, restart_docker: bool) -> Plan:
    """Everything but what goes back under guard, on one host; the plan as it was carried out."""

    def step(name: str, text: str, *words: str, seconds: int, stdin: str | None = None) -> str:
        limit = int(seconds * patience)
        told(at.name, name)
        return journal.perform(run, at, undo.step(name), script(text, *words, seconds=limit, _stdin=stdin), limit)

    before = undo.kept(plan.run)
    rows = plan.files(docker=False)
    for beside in _of_user(plan):  # before its file, which shows that there is some
        step(beside.step, AS_USER, "", beside.program, "sparkrig", *beside.words, seconds=60)
    if rows:
        plan = undo_outcome.left(plan, step("files", undo.RESTORE, before, seconds=60, stdin=rows))
    if docker := plan.files(docker=True):
        said = step(
            undo.DOCKER_PART, undo.DOCKER, "yes" if restart_docker else "no", before, seconds=360, stdin=docker
        )
        plan = undo_outcome.left(plan, said)
    if reloads := plan.reloads:
        step("services", "\n".join(("set -e", *reloads)), seconds=180)  # Ray stops after a server on it
    for service in plan.serving:
        step(f"server{f' of {service.name}' if service.name else ''}", service.of(undo.SERVE), seconds=180)
    if words := plan.holds():
        step("holds", undo.HOLDS, *words, seconds=120)
    for after in (resource.after_undo for resource in RESOURCES) if rows else ():
        if after:
            step(after.step, after.program, *after.words, seconds=60)
    plan = undo_outcome.verified(plan, journal.look(at), run.id)
    if left := undo_outcome.left_behind(plan):
        journal.leave(run, at, left)
    return plan
