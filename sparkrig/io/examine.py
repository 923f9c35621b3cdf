"""Looks at a host that change nothing: all of it, whom it hears at its cages, whether frames cross its rails."""

from __future__ import annotations

from pyinfra.api import Host

from sparkrig.checks.network import cabled
from sparkrig.fabric.neighbours import Neighbours
from sparkrig.facts.examination import Examination as Look
from sparkrig.facts.neighbours import Neighbours as Listen
from sparkrig.facts.ping import Pings
from sparkrig.fleet import Fleet
from sparkrig.io import remote
from sparkrig.io.remote import Keep
from sparkrig.look.state import State
from sparkrig.network.ping import Ping, targets
from sparkrig.settings import Settings

_LOOK_S = 90  # times `patience`; a healthy host answers within a few


def limit_s(mine: Settings) -> int:
    """How long a host may take for one look, in seconds."""
    return int(_LOOK_S * mine.patience)


def look(at: Host, fleet: Fleet, keep: Keep | None = None) -> State:
    """Everything that one exec shows of a host. Raises Failed or Lost, like the others; keep: remote.read's."""
    return remote.read(at, Look(), seconds=limit_s(fleet[at.name]), keep=keep)


def listen(at: Host, fleet: Fleet, keep: Keep | None = None) -> Neighbours:
    """Whom a host hears below IP; its peer has to be asked at the same time."""
    mine = fleet[at.name]
    return remote.read(at, Listen(), mine.patience, seconds=limit_s(mine), keep=keep)


def ping(at: Host, fleet: Fleet, found: State, keep: Keep | None = None) -> dict[str, tuple[Ping, ...]]:
    """How pings went from each cabled netdev to the one that it reaches on the peer."""
    mine = fleet[at.name]
    live = cabled(mine, found)
    rails = [rail for rail in fleet.rails(at.name) if rail.netdev in live]
    if not rails:
        return {}
    asked = [each for rail in rails for each in targets(rail.netdev, rail.far.address.ip, mine.mtu)]
    return remote.read(at, Pings(), *asked, seconds=limit_s(fleet[at.name]), keep=keep)
