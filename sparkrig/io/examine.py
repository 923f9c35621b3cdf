"""Looks at a host that change nothing: all of it, and what it shows while its peer is asked, too."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from pyinfra.api import Host

from sparkrig.facts.examination import Examination as Look
from sparkrig.facts.together import Part, Together
from sparkrig.fleet import Fleet
from sparkrig.io import remote
from sparkrig.io.remote import Keep
from sparkrig.look.state import State
from sparkrig.network.ping import targets
from sparkrig.parsing import rows
from sparkrig.resources.network import cabled
from sparkrig.settings import Settings

_LOOK_S = 90  # times `patience`; a healthy host answers within a few


def limit_s(mine: Settings) -> int:
    """How long a host may take for one look, in seconds."""
    return int(_LOOK_S * mine.patience)


def look(at: Host, fleet: Fleet, keep: Keep | None = None) -> State:
    """Everything that one exec shows of a host. Raises Failed or Lost, like the others; keep: remote.read's."""
    return remote.read(at, Look(), seconds=limit_s(fleet[at.name]), keep=keep)


def together(
    at: Host, fleet: Fleet, found: State, nouns: Collection[str], keep: Keep | None = None
) -> Mapping[str, Part]:
    """What a host shows while its peers are asked, too, in one exec; of facts.together, by the names of its nouns.

    Pings go from each cabled netdev to each that it reaches on a peer.
    """
    mine = fleet[at.name]
    live = cabled(mine, found.network)
    rails = [rail for rail in fleet.rails(at.name) if rail.netdev in live and "pings" in nouns]
    asked = Together(
        patience=mine.patience if "neighbours" in nouns else None,
        targets=[each for rail in rails for each in targets(rail.netdev, rail.far.address.ip, mine.mtu)],
        journal="journal" in nouns,
        fan=fleet.fan(at.name),
    )
    none: dict[str, Part] = {"pings": {}} if "pings" in nouns else {}
    if not asked.nouns:
        return none
    printed = rows.of(remote.printed(at, asked, seconds=limit_s(mine)))
    parts = remote.parsed("look", lambda: asked.parts(printed))
    for name in ("neighbours", "pings"):
        if keep and isinstance(part := parts.get(name), list):
            keep(at.name, name, "\n".join(part))
    return {**none, **{name: asked.part(name, parts[name]) for name in asked.nouns}}
