"""The fabric's NetworkManager profiles and live links."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pyinfra import host, inventory
from pyinfra import state as run
from pyinfra.api import FunctionCommand, Host, State, operation

from facts.network import Network
from operations import guard, journal, remote
from operations.guard import Bench, RolledBack
from operations.refusal import Commands, refusing, say
from operations.remote import Failed, Lost
from sparkrig import network
from sparkrig.guard import Order, Ping, order
from sparkrig.refusal import Refusal
from sparkrig.settings import Fleet, Settings


def planned(found: network.Network, mine: Settings) -> network.Plan:
    """What the network of a host needs for its settings. Raises Refusal."""
    return network.plan(
        found,
        mine.fabric,
        mine.mtu,
        paired=mine.pair is not None,
        adopt=mine.adopt,
        allow_management=mine.allow_management_interface,
    )


@operation()
@refusing
def fabric(
    plan: network.Plan, moves: Callable[[], bool], leader: str, halves: Sequence[str], fleet: Fleet
) -> Commands:
    """Give each cabled fabric netdev its profile, and its live link the profile's address and MTU.

    Both halves of a pair are changed or neither; each finds its way back alone (operations.guard).

    + plan: what this host needs, by the facts of this run; made anew before anything is changed
    + moves: whether any half needs something, asked when it is needed
    + leader: the half whose turn changes both
    + halves: names of the hosts that change together, this one among them
    + fleet: the checked settings of all hosts
    """
    if run.is_executing and moves():
        yield from journal.beginning()
        if host.name == leader:
            yield FunctionCommand(_lead, (halves, fleet, journal.step()), {})
        else:
            yield FunctionCommand(_follow, (leader,), {})
    elif plan:
        yield "# changed under guard, together with its peer"
    else:
        idle = f"; uncabled: {', '.join(plan.uncabled)}" if plan.uncabled else ""
        host.noop(
            f"{len(fleet[host.name].fabric) - len(plan.uncabled)} fabric netdevs are as they should be{idle}"
        )


def _follow(state: State, host: Host, leader: str) -> bool:  # noqa: ARG001 - pyinfra passes both, by name
    host.log(f"changed together with {leader}, which leads")
    return True


def _lead(state: State, host: Host, halves: Sequence[str], fleet: Fleet, step: str) -> bool:  # noqa: ARG001
    hosts = {name: inventory.get_host(name) for name in halves}
    mine = fleet[host.name]
    try:
        orders = _orders(hosts, fleet, step)
        pings = {name: _pings(fleet, name) for name in hosts}
        if orders:
            guard.carry_out(Bench(hosts, orders, pings, journal.current().folder, mine.patience, host.log))
    except (Refusal, RolledBack) as error:
        say(host, str(error))
        return False
    return True


def _orders(hosts: Mapping[str, Host], fleet: Fleet, step: str) -> dict[str, Order]:
    """What each host has to do, by what it is now. Raises Refusal for a host that cannot be planned for."""

    def order_of(at: Host) -> Order | Refusal | None:
        mine = fleet[at.name]
        guard.prepare(at, journal.current().id, mine.patience)
        try:
            plan = planned(remote.read(at, Network(), seconds=int(60 * mine.patience)), mine)
        except Refusal as refusal:
            return refusal
        return order(plan, step, mine.rollback_seconds, int(20 * mine.patience)) if plan else None

    answers = remote.each(hosts, order_of)
    for name, answer in answers.items():
        if isinstance(answer, Refusal):
            raise answer
        if isinstance(answer, (Failed, Lost)):
            raise Refusal(f"{name}: {answer}; no network was changed", f"ssh {name} true, then run it again")
    return {name: answer for name, answer in answers.items() if isinstance(answer, Order)}


def _pings(fleet: Fleet, name: str) -> list[Ping]:
    mtu = fleet[name].mtu
    return [Ping(rail.number, rail.netdev, str(rail.peer_address.ip), mtu) for rail in fleet.rails(name)]
