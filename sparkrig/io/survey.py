"""A look at a group of hosts together: first what each shows of its fabric, then who hears whom."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pyinfra.api import Host

from sparkrig.fabric import neighbours
from sparkrig.fabric.survey import Survey
from sparkrig.facts.fabric import Fabric
from sparkrig.facts.neighbours import Neighbours
from sparkrig.fleet import Fleet
from sparkrig.io import remote
from sparkrig.io.remote import Failed, Lost

LOOK_S = 60  # times `patience`; a healthy host answers within two


def look(hosts: Mapping[str, Host | Failed | Lost], fleet: Fleet, step: Callable[[str], None]) -> Survey:
    """The survey of one group of sparkrig.fabric.topology.groups.

    hosts: each host of it, or why it is not connected. step: receives what begins.
    """
    names = [name for name in fleet if name in hosts]
    step("look at both hosts" if len(names) > 1 else "look at the host")
    patience = max(fleet[name].patience for name in names)
    seconds = int(LOOK_S * patience)
    found = remote.each(hosts, lambda at: remote.read(at, Fabric(), seconds=seconds))
    step("see which cage reaches which")
    read = {name: at for name, at in hosts.items() if not isinstance(found[name], Exception)}
    heard = hear(read, patience)
    return Survey(
        fleet,
        tuple(names),
        found={name: result for name, result in found.items() if not isinstance(result, Exception)},
        heard=heard,
        unread={name: str(why) for name, why in found.items() if isinstance(why, Exception)},
    )


def hear(hosts: Mapping[str, Host | Failed | Lost], patience: float) -> dict[str, neighbours.Neighbours]:
    """Who hears whom below IP, of hosts that are asked at once; why not, of those that do not answer.

    patience: factor on the deadlines of a host.
    """
    seconds = int(LOOK_S * patience)
    heard = remote.each(hosts, lambda at: remote.read(at, Neighbours(), patience, seconds=seconds))
    return {
        name: neighbours.Neighbours(trouble=str(result)) if isinstance(result, Exception) else result
        for name, result in heard.items()
    }
