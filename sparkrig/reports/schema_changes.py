"""What the verbs that change a host print with --json, a type each (sparkrig/reports/schema.py)."""

from __future__ import annotations

from typing import Any, Literal

from typing_extensions import TypedDict

from sparkrig.refusal import Refused

# onboard


class HostKey(TypedDict):
    """kind: its name on the wire; fingerprint: as ssh-keygen -lf prints it."""

    kind: str
    fingerprint: str


class Management(TypedDict):
    """The netdev that ssh came in on, and its address with its prefix."""

    netdev: str
    address: str


class Newcomer(TypedDict):
    """A Spark as it was found.

    dgx_os: None where the host does not name it; spark: whether it is one; management: None where it is not known;
    cages: the netdevs of each that has a carrier; driver: None where none of the branch is installed.
    """

    vendor: str
    dgx_os: str | None
    kernel: str
    memory_kib: int
    spark: bool
    management: Management | None
    cages: dict[str, list[str]]
    driver: str | None


class Onboarding(TypedDict):
    """What is done to one host: to let pyinfra in, and by the deploy.

    container_restarts: running containers that a restart of docker stops; network_reverts_s: after how many
    seconds a network change that was not proven goes back by itself, None where there is none.
    """

    login: list[str]
    steps: list[str]
    refusals: list[Refused]
    reboots: int
    container_restarts: int
    network_reverts_s: int | None


class Accepted(TypedDict):
    """A check that is accepted on the host by name, and until which day."""

    id: str
    until: str


class MissingWeights(TypedDict):
    """Weights that a peer has: OWNER/NAME, or a GGUF file below it. cure: what copies them."""

    name: str
    bytes: int
    cure: str


class Replaced(TypedDict):
    """What there is of the Spark whose place it takes.

    host_keys: those that known_hosts had of it; accepted: what stays accepted; weights: what the new one lacks.
    """

    host_keys: list[HostKey]
    accepted: list[Accepted]
    weights: list[MissingWeights]


class MovedAddress(TypedDict):
    """An address of a netdev. before: None where it is new; after: None where it goes."""

    before: str | None
    after: str | None


class Onboard(TypedDict):
    """A new Spark, what is proposed for it, and what came of it.

    address, user: how it is reached; peer: None where it stays on its own, or is one of more than two; data,
    peer_data: what is written of both into the inventory; topology: what joins it to its peers, None for one
    alone; others: what is written of each of these; moves: by host and netdev, the addresses of a cluster that it
    joins, before and after; here: what is written on this machine; hosts: by name; outcome: in words; replaced:
    None without --replace.
    """

    schema: Literal["sparkrig.onboard/1"]
    address: str
    user: str
    host_key: HostKey
    name: str
    peer: str | None
    inventory: str
    data: dict[str, Any]
    peer_data: dict[str, Any]
    topology: Literal["cable", "ring", "switch"] | None
    others: dict[str, dict[str, Any]]
    moves: dict[str, dict[str, MovedAddress]]
    identity: Newcomer
    here: list[str]
    hosts: dict[str, Onboarding]
    outcome: str
    exit_code: int
    replaced: Replaced | None
