"""The fabric's NetworkManager profiles and live links."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from gevent.event import AsyncResult, Event
from pyinfra import host, inventory, logger
from pyinfra import state as run
from pyinfra.api import FunctionCommand, Host, State, operation

from sparkrig.cure import over_ssh
from sparkrig.fabric.io import witness
from sparkrig.facts.resources import of_resource
from sparkrig.fleet import Fleet
from sparkrig.network import plan as network
from sparkrig.network import seen
from sparkrig.network.differences import Part
from sparkrig.network.guard import Order, Probe, order
from sparkrig.network.plan import Plan
from sparkrig.operations import guard, journal
from sparkrig.operations import plan as plans
from sparkrig.operations.guard import Bench, RolledBack
from sparkrig.operations.of_run import of_run
from sparkrig.operations.refusal import Commands, refusing, say
from sparkrig.refusal import Refusal
from sparkrig.resources.network import NETWORK
from sparkrig.runs.change import Change, Kind
from sparkrig.settings import Settings
from sparkrig.ssh import remote
from sparkrig.ssh.remote import Failed, Lost
from sparkrig.text import listed


def planned(found: seen.Network, settings: Settings) -> Plan:
    """What the network of a host needs for its settings. Raises Refusal."""
    return network.plan(found.over(settings.management_interface), settings)


@operation()
@refusing
def fabric(plan: Plan, moves: Callable[[], bool], leader: str, group: Sequence[str], fleet: Fleet) -> Commands:
    """Give each cabled fabric netdev its profile, and its live link the profile's address and MTU.

    All hosts of a cluster are changed or none; each finds its way back alone (sparkrig.operations.guard).

    + plan: what this host needs, by the facts of this run; made anew before anything is changed
    + moves: whether any of them needs something, asked when it is needed
    + leader: the host whose turn changes all, where it comes in time
    + group: names of the hosts that change together, this one among them
    + fleet: the checked settings of all hosts
    """
    plans.report(changes(plan, fleet[host.name].rollback_seconds))
    if run.is_executing and moves():
        yield from journal.beginning()
        yield FunctionCommand(_together, (leader, group, fleet, journal.step()), {})
    elif plan:
        others = "its peer" if len(group) < 3 else "the others of its cluster"
        yield f"# changed under guard, together with {others}"
    else:
        idle = f"; uncabled: {', '.join(plan.uncabled)}" if plan.uncabled else ""
        host.noop(
            f"{len(fleet[host.name].fabric) - len(plan.uncabled)} fabric netdevs are as they should be{idle}"
        )


def changes(plan: Plan, rollback_seconds: int) -> list[Change]:
    """What a plan changes. rollback_seconds: after how many the host takes back what was not confirmed."""
    found = [
        Change(
            _KINDS[aspect.part][0],
            aspect.netdev + _KINDS[aspect.part][1],
            None if aspect.status == "missing" else aspect.found,
            aspect.want,
            interrupts=f"what runs over {change.netdev}, which reverts after {rollback_seconds} s unless proven",
        )
        for change in plan.changes
        for aspect in change.differs
    ]
    found += [Change("profile", name, "there", None) for _, name in plan.remove]
    return found + [Change("netplan", path, "in use", None) for path in plan.move]


# of each thing of a netdev that a deploy changes, its kind, and what stands behind the netdev
_KINDS: Mapping[Part, tuple[Kind, str]] = {
    "profile": ("profile", ""),
    "active": ("link", ", active profile"),
    "mtu": ("mtu", ""),
    "address": ("address", ""),
    "ipv6": ("address", ", IPv6"),
}


@dataclass
class _Turn:
    """The change of a cluster: whether one of its hosts has begun with it, which one, and how it ended."""

    begun: Event = field(default_factory=Event)
    acts: str = ""
    ended: AsyncResult = field(default_factory=AsyncResult)


class _Turns(dict[str, _Turn]):
    """Those of a run, by the name of the host that leads."""


# in which the host that leads has come to this step, where pyinfra runs all at once; with --serial or a small
# --parallel another one may come first, and the one that leads not before it is through
_TURN_S = 5.0


def _together(state: State, host: Host, leader: str, group: Sequence[str], fleet: Fleet, step: str) -> bool:
    """Change all hosts, or wait for the one that does: what was taken back is no success on any."""
    turn = of_run(_Turns, state).setdefault(leader, _Turn())
    if host.name != leader:
        turn.begun.wait(_TURN_S)
    if turn.begun.is_set():
        host.log(f"changed together with {turn.acts}, which leads")
        done: bool = turn.ended.get()
        if not done:
            _complain(host, f"was not changed, or was put back: {turn.acts} leads, and says why")
        return done
    gone = [name for name in group if inventory.get_host(name) not in state.active_hosts]
    if gone:
        _complain(host, f"was not changed: {listed(gone)} failed before, and {as_one(len(group))}")
        return False
    turn.acts = host.name
    turn.begun.set()
    done = False
    try:
        done = _change(host, group, fleet, step)
    finally:
        turn.ended.set(done)
    return done


def as_one(count: int) -> str:
    """That a pair, or a cluster of more, is changed as one."""
    return "a pair is changed as a pair" if count < 3 else "a cluster is changed as one"


def _complain(host: Host, what: str) -> None:
    host.log_styled(f"The network of this host {what}", fg="red", log_func=logger.error)


def _change(host: Host, group: Sequence[str], fleet: Fleet, step: str) -> bool:
    hosts = {name: inventory.get_host(name) for name in group}
    settings = fleet[host.name]
    own: set[str] = set()
    try:
        orders = _orders(hosts, fleet, step, own)
        pings = {name: _pings(fleet, name) for name in hosts}
        if orders:
            allowed = any(fleet[name].allow_unwitnessed for name in own)
            outside = witness.proof(hosts, own, orders, allowed=allowed, patience=settings.patience)
            bench = Bench(hosts, orders, pings, journal.current().folder, settings.patience, host.log, outside)
            guard.carry_out(bench)
    except (Refusal, RolledBack) as error:
        say(host, str(error))
        return False
    return True


def _orders(hosts: Mapping[str, Host], fleet: Fleet, step: str, own: set[str]) -> dict[str, Order]:
    """What each host has to do, by what it is now. Raises Refusal for a host that cannot be planned for.

    own: is given those that are the machine which runs this.
    """

    def order_of(at: Host) -> Order | Refusal | None:
        mine = fleet[at.name]
        if guard.prepare(at, journal.current().id, mine.patience):
            own.add(at.name)
        try:
            plan = planned(remote.read(at, of_resource(NETWORK)(), seconds=int(60 * mine.patience)), mine)
        except Refusal as refusal:
            return refusal
        return order(plan, step, mine.rollback_seconds, mine.patience) if plan else None

    answers = remote.each(hosts, order_of)
    for name, answer in answers.items():
        if isinstance(answer, Refusal):
            raise answer
        if isinstance(answer, (Failed, Lost)):
            raise Refusal(
                f"{name}: {answer}; no network was changed", f"{over_ssh(name, 'true')}, then run it again"
            )
    return {name: answer for name, answer in answers.items() if isinstance(answer, Order)}


def _pings(fleet: Fleet, name: str) -> list[Probe]:
    mtu = fleet[name].mtu
    return [Probe(rail.number, rail.netdev, str(rail.far.address.ip), mtu) for rail in fleet.rails(name)]
