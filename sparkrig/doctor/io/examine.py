"""Looks at a host that change nothing: all of it, and what it shows while its peer is asked, too."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sparkrig.ssh import session  # isort: skip - it patches the standard library before pyinfra is loaded
from pyinfra.api import Host

from sparkrig.checks.reference import kinds
from sparkrig.doctor.examination import Seen
from sparkrig.fabric.io import joining
from sparkrig.fabric.neighbours import Neighbours
from sparkrig.facts.examination import Examination as Look
from sparkrig.facts.together import Part, Together
from sparkrig.fleet import Fleet
from sparkrig.network.ping import targets
from sparkrig.parsing import rows
from sparkrig.resources.network import cabled
from sparkrig.resources.state import State
from sparkrig.settings import Settings
from sparkrig.ssh import remote
from sparkrig.ssh.remote import Keep

_LOOK_S = 90  # times `patience`; a healthy host answers within a few
# the checks that take all hosts of a cluster at the same time, and what of facts/together.py each asks for
_TOGETHER = {"pair.cabling": "neighbours", "pair.halves": "journal", "pair.NETDEV.ping": "pings"}


def limit_s(settings: Settings) -> int:
    """How long a host may take for one look, in seconds."""
    return int(_LOOK_S * settings.patience)


def look(at: Host, fleet: Fleet, keep: Keep | None = None) -> State:
    """Everything that one exec shows of a host. Raises Failed or Lost, like the others; keep: remote.read's."""
    return remote.read(at, Look(), seconds=limit_s(fleet[at.name]), keep=keep)


def together(
    at: Host, fleet: Fleet, state: State, nouns: Collection[str], keep: Keep | None = None
) -> Mapping[str, Part]:
    """What a host shows while its peers are asked, too, in one exec; of facts.together, by the names of its nouns.

    Pings go from each cabled netdev to each that it reaches on a peer.
    """
    mine = fleet[at.name]
    live = cabled(mine, state.network)
    rails = [rail for rail in fleet.rails(at.name) if rail.netdev in live and "pings" in nouns]
    asked = Together(
        patience=mine.patience if "neighbours" in nouns else None,
        targets=[target for rail in rails for target in targets(rail.netdev, rail.far.address.ip, mine.mtu)],
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


def hosts(
    title: str,
    fleet: Fleet,
    data: Mapping[str, Mapping[str, Any]],
    names: Sequence[str],
    keep: Keep | None = None,
) -> tuple[Fleet, Seen]:
    """Look at the hosts, and let those of a pair or cluster listen and ping; with what joins them, as found.

    names: checks that were asked for, all where there are none; keep: is given what each host printed.
    """
    limits = {name: limit_s(fleet[name]) for name in data}
    wanted = {kind.name for name in names for kind in kinds(name)} or _TOGETHER.keys()
    nouns = {_TOGETHER[name] for name in wanted & _TOGETHER.keys()}
    paired = [name for name in data if nouns and (not fleet.declared or data.keys() & set(fleet.peers(name)))]
    with session.staying(
        data, f"Looking at {title}", lambda at: look(at, fleet, keep), paired, wait_s=0, limits_s=limits
    ) as (looked, stayed):
        seen = {name: state for name, state in looked.items() if isinstance(state, State)}
        unread = {name: str(why) for name, why in looked.items() if isinstance(why, Exception)}
        fleet = joining.joined(fleet, {name: state.network for name, state in seen.items()})
        groups = {name: at for name, at in stayed.items() if name in seen and seen.keys() & set(fleet.peers(name))}
        if not groups:
            return fleet, Seen(seen, unread)
        which = "the hosts of each cluster" if any(map(fleet.many, groups)) else "the hosts of each pair"
        answers = session.ask(
            groups, f"Looking at {which} together", lambda at: together(at, fleet, seen[at.name], nouns, keep)
        )
    return fleet, _between(seen, unread, answers, nouns)


def _between(
    seen: Mapping[str, State],
    unread: Mapping[str, str],
    answers: Mapping[str, Mapping[str, Part] | Exception],
    nouns: Collection[str],
) -> Seen:
    """With who hears whom, what pings, and the journals, as far as they were asked for; in words why not."""
    parts: dict[str, dict[str, Any]] = {noun: {} for noun in _TOGETHER.values()}
    for name, answer in answers.items():
        for noun in nouns:
            part = answer if isinstance(answer, Exception) else answer[noun]
            parts[noun][name] = str(part) if isinstance(part, Exception) else part
    heard = {
        name: Neighbours(trouble=each) if isinstance(each, str) else each
        for name, each in parts["neighbours"].items()
    }
    return Seen(seen, unread, heard, parts["pings"], parts["journal"])
