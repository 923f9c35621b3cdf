"""What a Spark is set to: the part of `sparkrig status` that its one look shows."""

from __future__ import annotations

from dataclasses import dataclass

from sparkrig.bandwidth import records
from sparkrig.checks import resources
from sparkrig.host import driver
from sparkrig.network import environment, gid
from sparkrig.resources.check import Status, Subject
from sparkrig.resources.driver import DRIVER
from sparkrig.resources.state import State
from sparkrig.text import plain

_BESIDE = {"host.journal", "host.rollback", "host.update"}  # checks of what status has from the journal


@dataclass(frozen=True)
class Spark:
    """dgx_os: None where the host does not name it."""

    vendor: str
    dgx_os: str | None
    kernel: str


@dataclass(frozen=True)
class Driver:
    """version: None where no driver of the branch is installed; held: how many of its packages are."""

    version: str | None
    held: int


@dataclass(frozen=True)
class Rail:
    """One declared fabric netdev; each field None where it is not there or not known.

    address: as declared; mtu, path_mtu: bytes; gbps: Gb/s of the last measurement on record, the slowest of
    several, at measured_path_mtu, measured_at (ISO 8601).
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


@dataclass(frozen=True)
class Containers:
    """toolkit: its version, None where it is not installed; nvidia_runtime: whether docker knows it."""

    toolkit: str | None
    nvidia_runtime: bool


@dataclass(frozen=True)
class Differs:
    """A check of what is declared that does not hold, or is unknown, as `sparkrig drift` has it."""

    id: str
    status: Status
    want: str
    found: str


@dataclass(frozen=True)
class Figures:
    """One Spark. environment: the GID lines that containers get; None where the file is not there."""

    spark: Spark
    driver: Driver
    rails: list[Rail]
    containers: Containers
    environment: list[str] | None
    differs: list[Differs]


def figures(subject: Subject) -> Figures:
    """The figures of a host that was looked at."""
    state, branch = subject.found, DRIVER.branch(subject)
    hold, unheld = driver.hold_set(state.driver, branch), driver.unheld(state.driver, branch)
    return Figures(
        spark=Spark(state.identity.vendor, state.identity.dgx_os, state.identity.kernel),
        driver=Driver(driver.branch_version(state.driver, branch), len(hold) - len(unheld)),
        rails=[_rail(subject, netdev) for netdev in subject.settings.fabric],
        containers=Containers(state.containers.toolkit, state.containers.registered),
        environment=_gid_lines(state),
        differs=[
            Differs(check.id, check.status, plain(check.want), plain(check.found))
            for check in resources.checks(subject)
            if check.told and check.id not in _BESIDE and (subject.fleet.declared or check.id == "identity.spark")
        ],
    )


def _rail(subject: Subject, netdev: str) -> Rail:
    state, address = subject.found, subject.settings.fabric[netdev]
    link, device = state.network.links.get(netdev), state.rdma.on(netdev)
    slot = gid.find(state.rdma.gids, netdev, address.ip)
    kept = [record for (of, _), record in records.found(state.files).items() if of == netdev]
    record = min(kept, key=lambda record: record.gbps, default=None)
    return Rail(
        netdev=netdev,
        cabled=state.network.has_carrier(netdev),
        address=str(address),
        mtu=link.mtu if link else None,
        device=device.name if device else None,
        path_mtu=device.active_mtu if device else None,
        gid_index=slot.index if slot else None,
        gbps=record.gbps if record else None,
        measured_path_mtu=record.path_mtu if record else None,
        measured_at=record.measured_at if record else None,
    )


def _gid_lines(state: State) -> list[str] | None:
    """The GID variables that the containers get, as they stand in the file; None where there is no file."""
    file = state.files.get(environment.CONTAINER_ENV)
    if file is None:
        return None
    names = ("NCCL_IB_GID", "NCCL_IB_ROCE", "NCCL_IB_ADDR")
    return [line for line in file.content.splitlines() if line.startswith(names)]
