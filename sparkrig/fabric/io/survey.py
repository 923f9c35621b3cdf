"""A look at a group of hosts together: what each shows of its fabric, and who hears whom meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from pyinfra.api import Host

from sparkrig.fabric import neighbours
from sparkrig.fabric.io import joining
from sparkrig.fabric.survey import Survey
from sparkrig.facts.neighbours import Neighbours
from sparkrig.facts.survey import Looked
from sparkrig.facts.survey import Survey as Asked
from sparkrig.fleet import Fleet
from sparkrig.ssh import remote
from sparkrig.ssh.remote import Failed, Lost

LOOK_S = 60  # times `patience`; a healthy host answers within two


def look(hosts: Mapping[str, Host | Failed | Lost], fleet: Fleet, step: Callable[[str], None]) -> Iterator[Survey]:
    """The survey of each group of these hosts, which are asked at once.

    hosts: each host of them, or why it is not connected. step: receives what begins.
    """
    which = "both hosts" if len(hosts) == 2 else "all hosts"
    step(f"look at {which}, and see which cage reaches which" if len(hosts) > 1 else "look at the host")
    patience = max(fleet[name].patience for name in hosts)
    looked = ask(hosts, Asked(patience=patience, fan=max(map(fleet.fan, hosts))), patience)
    read = {name: each.found.network for name, each in looked.items() if isinstance(each, Looked)}
    fleet = joining.joined(fleet, read)
    for group in fleet.groups():
        if mine := {name: looked[name] for name in group if name in looked}:
            yield survey(fleet, mine, {})


def ask(
    hosts: Mapping[str, Host | Failed | Lost], asked: Asked, patience: float
) -> dict[str, Looked | Failed | Lost]:
    """What each host shows of its fabric, of hosts that are asked at once. patience: factor on their deadlines."""
    seconds = int(LOOK_S * patience)
    return remote.each(hosts, lambda at: remote.read(at, asked, seconds=seconds))


def survey(
    fleet: Fleet, looked: Mapping[str, Looked | Failed | Lost], heard: Mapping[str, neighbours.Neighbours]
) -> Survey:
    """What the looks at a group come to. heard: by whom its hosts are reached, where the looks did not ask."""
    read = {name: each for name, each in looked.items() if isinstance(each, Looked)}
    return Survey(
        fleet,
        tuple(name for name in fleet if name in looked),
        found={name: each.found for name, each in read.items()},
        heard={**heard, **{name: each.heard for name, each in read.items() if each.heard}},
        unread={name: str(why) for name, why in looked.items() if isinstance(why, Exception)},
    )


def hear(
    hosts: Mapping[str, Host | Failed | Lost], patience: float, fan: int = 1
) -> dict[str, neighbours.Neighbours]:
    """Who hears whom below IP, of hosts that are asked at once; why not, of those that do not answer.

    patience: factor on the deadlines of a host; fan: how many hosts a netdev may reach.
    """
    seconds = int(LOOK_S * patience)
    heard = remote.each(hosts, lambda at: remote.read(at, Neighbours(), patience, fan, seconds=seconds))
    return {
        name: neighbours.Neighbours(trouble=str(result)) if isinstance(result, Exception) else result
        for name, result in heard.items()
    }
