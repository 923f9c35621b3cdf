"""What `sparkrig onboard` prints for programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Interface
from typing import Any, Literal

from sparkrig.onboarding.card import Newcomer
from sparkrig.onboarding.hostkey import HostKey
from sparkrig.onboarding.plan import Onboarding
from sparkrig.onboarding.proposal import Move


@dataclass(frozen=True)
class Accepted:
    """A check that is accepted on the host by name, and until which day."""

    id: str
    until: str


@dataclass(frozen=True)
class Replaced:
    """What there is of the Spark whose place it takes.

    host_keys: those that known_hosts had of it; accepted: what stays accepted; before: what it
    was, None where nothing is kept of it; servers: what is served again, in words.
    """

    host_keys: list[HostKey]
    accepted: list[Accepted]
    before: Mapping[str, str] | None
    servers: list[str]


@dataclass(frozen=True)
class MovedAddress:
    """An address of a netdev. before: None where it is new; after: None where it goes."""

    before: str | None
    after: str | None


@dataclass(frozen=True, kw_only=True)
class Report:
    """A new Spark, what is proposed for it, and what came of it.

    address, user: how it is reached; peer: None where it stays on its own, or is one of more than two; data,
    peer_data: what is written of both into the inventory; topology: what joins it to its peers, None for one
    alone; others: what is written of each of these; moves: by host and netdev, the addresses of a cluster that it
    joins, before and after; here: what is written on this machine; hosts: by name; outcome: in words; replaced:
    None without --replace; seconds: what each part took (look, deploy, serve, verify).
    """

    schema: Literal["sparkrig.onboard/2"] = "sparkrig.onboard/2"
    address: str
    user: str
    host_key: HostKey
    name: str
    peer: str | None
    inventory: str
    data: Mapping[str, Any]
    peer_data: Mapping[str, Any]
    topology: Literal["cable", "ring", "switch"] | None
    others: Mapping[str, Mapping[str, Any]]
    moves: Mapping[str, Mapping[str, MovedAddress]]
    identity: Newcomer
    here: Sequence[str]
    hosts: Mapping[str, Onboarding]
    outcome: str
    exit_code: int
    replaced: Replaced | None
    seconds: Mapping[str, int]


def moved(moves: Iterable[Move]) -> dict[str, dict[str, MovedAddress]]:
    """The addresses of a cluster, before and after, by host and netdev."""
    found: dict[str, dict[str, MovedAddress]] = {}
    for move in moves:
        found.setdefault(move.host, {})[move.netdev] = MovedAddress(_text(move.before), _text(move.after))
    return found


def _text(address: IPv4Interface | None) -> str | None:
    return str(address) if address else None
