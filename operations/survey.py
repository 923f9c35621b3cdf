"""A look at a group of hosts together: first what each shows of its fabric, then who hears whom."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeVar

from pyinfra.api import Host

from facts.fabric import Fabric
from facts.neighbours import Neighbours
from operations import remote
from operations.remote import Failed, Lost
from sparkrig import survey
from sparkrig.settings import Fleet
from sparkrig.survey import Survey

T = TypeVar("T")

_LOOK_S = 60  # times `patience`; a healthy host answers within two
_PROBE_S = 3.0  # hosts start within a second of one another


def look(hosts: Mapping[str, Host], fleet: Fleet, lost: Mapping[str, str], step: Callable[[str], None]) -> Survey:
    """The survey of one group of sparkrig.topology.groups.

    hosts: those that are connected; lost: the others, with the reason. Those that do not answer join them in
    the survey's `unread`. step: told what begins.
    """
    names = [name for name in fleet if name in hosts or name in lost]
    step("look at both hosts" if len(names) > 1 else "look at the host")
    patience = max(fleet[name].patience for name in names)
    seconds = int(_LOOK_S * patience)
    found = _each(hosts, lambda at: _fabric(at, seconds))
    step("see which cage reaches which")
    read = {name: at for name, at in hosts.items() if not isinstance(found[name], Exception)}
    heard = _each(read, lambda at: remote.read(at, Neighbours(), _PROBE_S, seconds=seconds))
    failed = {name: str(result) for name, result in {**found, **heard}.items() if isinstance(result, Exception)}
    return Survey(
        fleet,
        tuple(names),
        found={name: result for name, result in found.items() if not isinstance(result, Exception)},
        heard={name: result for name, result in heard.items() if not isinstance(result, Exception)},
        unread={**lost, **failed},
    )


def _fabric(at: Host, seconds: int) -> survey.Fabric:
    found = remote.read(at, Fabric(), seconds=seconds)
    if found is None:
        raise Failed("it printed nothing")
    return found


def _each(hosts: Mapping[str, Host], ask: Callable[[Host], T]) -> dict[str, T | Exception]:
    """What each host answers, or why it does not, asked side by side."""

    def answer(at: Host) -> T | Exception:
        try:
            return ask(at)
        except (Lost, Failed) as error:
            return error

    return dict(zip(hosts, remote.side_by_side(*(partial(answer, at) for at in hosts.values())), strict=True))
