"""A host that was looked at, made ready for its checks, with the secrets of this machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pydantic import SecretStr

from sparkrig.fleet import Fleet
from sparkrig.operations.secrets import gathered
from sparkrig.refusal import Refusal
from sparkrig.resources.check import Subject
from sparkrig.resources.state import State
from sparkrig.settings import Settings


def subject(name: str, fleet: Fleet, found: Mapping[str, State]) -> Subject:
    """A host of `found`, which has what was seen of each that could be read."""
    settings = fleet[name]
    peers = {peer: found[peer] for peer in fleet.peers(name) if peer in found}
    seen = over(found[name], settings)
    return Subject(name, fleet, seen, peers, _secrets(settings))


def subjects(fleet: Fleet, found: Mapping[str, State]) -> dict[str, Subject]:
    """Each host that was looked at, by name."""
    return {name: subject(name, fleet, found) for name in found}


def over(state: State, settings: Settings) -> State:
    """What was seen of a host, with the management netdev that its settings name."""
    return replace(state, network=state.network.over(settings.management_interface))


def _secrets(settings: Settings) -> dict[str, SecretStr | None] | Refusal:
    try:
        return gathered(settings.secrets)
    except Refusal as refusal:
        return refusal
