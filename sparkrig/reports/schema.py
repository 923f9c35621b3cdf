"""The documents that verbs print with --json, a type each; docs/schema/ is made from them.

Fields are only ever added. What would break a reader gets the next number, in the document's field `schema`.
"""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from sparkrig.reports.fields import Unread

# summary


class Spark(TypedDict):
    """dgx_os: None where the host does not name it."""

    vendor: str
    dgx_os: str | None
    kernel: str


class Driver(TypedDict):
    """Driver and kernel packages of the branch.

    version: None where no driver of the branch is installed; held: how many packages are; unheld: those that are
    to be held and are not; later: installed ones of a later branch; would_move: what an upgrade would move, None
    where apt could not simulate one, with its reason in trouble.
    """

    version: str | None
    held: int
    unheld: list[str]
    later: list[str]
    would_move: list[str] | None
    trouble: str


class Rail(TypedDict):
    """One declared fabric netdev; each field None where it is not there or not known.

    address: as declared; mtu, path_mtu: bytes; gbps: Gb/s of the last measurement on record, at measured_path_mtu,
    measured_at (ISO 8601); complaints: what is not as declared, by the field that it is about;
    unknown: the fields of which that is unknown, such as a figure from before a reboot.
    """

    netdev: str
    cabled: bool
    address: str
    mtu: int | None
    device: str | None
    path_mtu: int | None
    gid_index: int | None
    gbps: float | None
    measured_path_mtu: int | None
    measured_at: str | None
    complaints: dict[str, str]
    unknown: list[str]


class Containers(TypedDict):
    """toolkit: its version, None where it is not installed; nvidia_runtime: whether docker knows it."""

    toolkit: str | None
    nvidia_runtime: bool


class Figures(TypedDict):
    """One Spark. environment: the GID lines that containers get; None where the file is not there.

    unconfirmed: a sentence about each network change that goes back unless its run confirms it; journal_lost:
    whether the journal of the runs on it is gone.
    """

    spark: Spark
    driver: Driver
    rails: list[Rail]
    containers: Containers
    environment: list[str] | None
    unconfirmed: list[str]
    journal_lost: bool


class Summary(TypedDict):
    """What each Spark of an inventory is set to, by its name."""

    schema: Literal["sparkrig.summary/1"]
    hosts: dict[str, Figures | Unread]
