"""A healthy pair for the doctor's tests, and ways to make it ill."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from ipaddress import IPv4Address
from typing import Any

from sparkrig.checks import access, pair
from sparkrig.doctor.examination import Seen, checks
from sparkrig.fabric.neighbours import Heard, Neighbours
from sparkrig.fabric.survey import Survey
from sparkrig.facts.fabric import Fabric
from sparkrig.fleet import Fleet
from sparkrig.host.blackbox import BlackBox
from sparkrig.host.board import Board
from sparkrig.host.own_address import OwnAddress
from sparkrig.network.ping import Ping
from sparkrig.operations.subject import subjects
from sparkrig.resources.check import Check
from sparkrig.resources.state import State
from tests.plan.conftest import recorded
from tests.unit.states import NETDEV, PAIR, SEEN, TWIN, A, B

Change = Callable[[State], State]

CONDITIONS = {name: Fabric().process(recorded(f"fabric-{name[-1]}").splitlines()).condition for name in (A, B)}
EXAMINED = {
    name: replace(
        SEEN[name],
        nics=CONDITIONS[name].nics,
        gpu=CONDITIONS[name].gpu,
        health=CONDITIONS[name].health,
        own_address=OwnAddress(name, (IPv4Address("127.0.0.1"),)),
        blackbox=BlackBox(),
        board=Board(),
    )
    for name in (A, B)
}
HEARD = {
    name: Neighbours(
        {NETDEV: 40, TWIN: 40},
        (),
        tuple(Heard(netdev, f"52:54:00:1b:{far}:{last}", 38) for netdev, last in ((NETDEV, "01"), (TWIN, "02"))),
    )
    for name, far in ((A, "01"), (B, "00"))
}
CROSSES = {netdev: (Ping(netdev, 8972, 5, 5), Ping(netdev, 56, 5, 5)) for netdev in (NETDEV, TWIN)}


def fleet(*, alone: bool = False, **data: Any) -> Fleet:
    """The pair, or the first half of it on its own."""
    if alone:
        return Fleet.parse({A: {**{key: it for key, it in PAIR[A].items() if key != "pair"}, **data}})
    return Fleet.parse({name: {**values, **data} for name, values in PAIR.items()})


def state(**fields: Any) -> Change:
    """The same host with other nouns."""
    return lambda found: replace(found, **fields)


def checks_of(
    change: Change = lambda found: found,
    *,
    at: str = B,
    fleet: Fleet = fleet(),  # noqa: B008 - it is frozen
    hosts: Sequence[str] = (A, B),
    heard: Mapping[str, Neighbours] = HEARD,
    pings: Mapping[str, pair.Pings | str] = {A: CROSSES, B: CROSSES},
) -> dict[str, list[Check]]:
    """Every check of every host, as `sparkrig doctor` makes them; one host is changed."""
    seen = {name: change(EXAMINED[name]) if name == at else EXAMINED[name] for name in hosts}
    survey = Survey(fleet, (A, B), seen, heard)
    looked = Seen(seen, {}, heard, pings)
    return {
        name: [
            *access.checks(name, {"ssh_user": "nvidia"}, host.found.identity),
            *checks(host, survey if len(hosts) > 1 else None, looked),
        ]
        for name, host in subjects(fleet, seen).items()
    }
