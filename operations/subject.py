"""A host that was looked at, made ready for its checks: what the templates and this machine's secrets add."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pydantic import SecretStr

from sparkrig.checks.check import Subject
from sparkrig.checks.network import cabled
from sparkrig.files import File
from sparkrig.fleet import Fleet
from sparkrig.look.state import State
from sparkrig.operations.environment import wanted
from sparkrig.operations.secrets import gathered
from sparkrig.rdma import environment
from sparkrig.refusal import Refusal
from sparkrig.settings import Settings


def subject(name: str, fleet: Fleet, found: Mapping[str, State], inventory: str = "") -> Subject:
    """A host of `found`, which has what was seen of each that could be read. inventory: the file, as typed."""
    mine = fleet[name]
    peers = {peer: found[peer] for peer in fleet.peers(name) if peer in found}
    seen = over(found[name], mine)
    files = _files(name, mine, seen)
    return Subject(name, fleet, seen, peers, files, _secrets(mine), inventory)


def subjects(fleet: Fleet, found: Mapping[str, State], inventory: str = "") -> dict[str, Subject]:
    """Each host that was looked at, by name."""
    return {name: subject(name, fleet, found, inventory) for name in found}


def over(found: State, mine: Settings) -> State:
    """What was seen of a host, with the management netdev that its settings name."""
    return replace(found, network=found.network.over(mine.management_interface))


def _files(name: str, mine: Settings, found: State) -> list[File] | Refusal:
    rails = dict(mine.fabric)
    if mine.group_name is None:  # a Spark on its own needs no cable
        rails = {netdev: mine.fabric[netdev] for netdev in cabled(mine, found)}
    try:
        node = environment.node(
            rails,
            found.rdma,
            found.network.management,
            socket_interface=mine.socket_interface,
            form=mine.form,
            merge_nics=mine.merge_nics,
        )
    except Refusal as refusal:
        return refusal
    return wanted(name, node, rails, mine.environment, mine.nccl_conf)


def _secrets(mine: Settings) -> dict[str, SecretStr | None] | Refusal:
    try:
        return gathered(mine.secrets)
    except Refusal as refusal:
        return refusal
