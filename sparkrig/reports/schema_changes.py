"""What the verbs that change a host print with --json, a type each (sparkrig/reports/schema.py)."""

from __future__ import annotations

from typing import Any, Literal

from typing_extensions import TypedDict

from sparkrig.host import firmware
from sparkrig.refusal import Refused

# update


class Moved(TypedDict):
    """A version, or a release of the kernel; empty where there is none."""

    before: str
    after: str


class FirmwarePart(TypedDict):
    """Firmware of the board: what it has, what the release has, what fwupd offers, and the older one it offers."""

    part: firmware.Which
    state: firmware.State
    board: str
    release: str
    offered: str
    older: str
    why: str


class UpdateStep(TypedDict):
    """Something that an update does to a host, and roughly how many seconds it takes."""

    what: str
    seconds: int


class UpdatedHost(TypedDict):
    """What an update would do to one Spark.

    unread: why it could not be read; dgx_os: by /etc/dgx-release; release: the newest of NVIDIA's releases that
    it has, None where it has none that it knows of; goal: the one to reach, None for what apt offers; behind_by:
    how many releases it knows of that are newer; kernel: the one that boots next; kernel_unknown: why that is not
    known after the update, or empty; reboot_due: why one is due already, or empty; bytes: to download;
    lists_age_s: how many seconds ago apt fetched its package lists, None for never; recipes_left_out: why a
    recipe of NVIDIA's is not known, by its file; not_offered: packages of the goal, as `NAME VERSION`, that apt
    would not bring; no_way_back: parts of driver and kernel, as NAME=VERSION, that could not be installed again;
    kernels_without_module: kernels of now that would have no nvidia.ko of the driver; steps: in their order, none
    where nothing would be done; exit_code: of this host alone.
    """

    name: str
    unread: str | None
    dgx_os: str | None
    release: str | None
    goal: str | None
    behind_by: int | None
    removed_by_owner: list[str]
    driver: Moved | None
    kernel: Moved | None
    kernel_unknown: str
    upgraded: list[str]
    new: list[str]
    removed: list[str]
    kept_back: list[str]
    held_by_others: list[str]
    reboot_due: str
    bytes: int | None
    lists_age_s: int | None
    recipes_left_out: dict[str, str]
    not_offered: list[str]
    no_way_back: list[str]
    kernels_without_module: list[str]
    firmware: list[FirmwarePart]
    steps: list[UpdateStep]
    refusals: list[Refused]
    seconds: int
    exit_code: int


class Update(TypedDict):
    """What an update would do, host by host, in the order in which it would.

    mixed: what would leave the hosts of a cluster apart, in words.
    """

    schema: Literal["sparkrig.update/1"]
    inventory: str
    hosts: list[UpdatedHost]
    mixed: list[str]
    exit_code: int


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
