"""What each Spark is set to: what `sparkrig summary` shows, and prints for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sparkrig.bandwidth import records
from sparkrig.fleet import Fleet
from sparkrig.host import driver
from sparkrig.host.driver import Packages
from sparkrig.look.state import State
from sparkrig.network.differences import Difference, differences, of_netdev
from sparkrig.rdma import environment, gid
from sparkrig.value import Unread


@dataclass(frozen=True)
class Spark:
    """dgx_os: None where the host does not name it."""

    vendor: str
    dgx_os: str | None
    kernel: str


@dataclass(frozen=True)
class Driver:
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


@dataclass(frozen=True)
class Rail:
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
    complaints: Mapping[str, str]
    unknown: list[str]

    @property
    def wrong(self) -> list[str]:
        """What is not as declared, a sentence each."""
        return [said for field, said in self.complaints.items() if field not in self.unknown]

    @property
    def doubts(self) -> list[str]:
        """What is not known, a sentence each."""
        return [self.complaints[field] for field in self.unknown]


@dataclass(frozen=True)
class Containers:
    """toolkit: its version, None where it is not installed; nvidia_runtime: whether docker knows it."""

    toolkit: str | None
    nvidia_runtime: bool


@dataclass(frozen=True)
class Figures:
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

    @property
    def in_spec(self) -> bool:
        """Whether nothing of it asks for a deploy."""
        packages, box = self.driver, self.containers
        settled = (
            not packages.unheld
            and not packages.later
            and packages.would_move == []
            and self.environment is not None
            and not self.unconfirmed
            and not self.journal_lost
        )
        return settled and bool(box.toolkit) and box.nvidia_runtime and not any(rail.wrong for rail in self.rails)


@dataclass(frozen=True, kw_only=True)
class Report:
    """What each Spark of an inventory is set to, by its name."""

    schema: Literal["sparkrig.summary/1"] = "sparkrig.summary/1"
    hosts: Mapping[str, Figures | Unread]


def describe(fleet: Fleet, name: str, states: Mapping[str, State]) -> Figures:
    """One host's figures. states: what was seen of each host that could be read, by name."""
    state = states[name]
    found, box = state.identity, state.containers
    return Figures(
        spark=Spark(found.vendor, found.dgx_os, found.kernel),
        driver=_driver(state.driver, fleet[name].driver_branch),
        rails=[_rail(fleet, name, states, netdev) for netdev in fleet[name].fabric],
        containers=Containers(box.toolkit, box.registered),
        environment=_gid_lines(state),
        unconfirmed=[each.sentence for each in state.preflight.armed],
        journal_lost=state.preflight.lost,
    )


def _driver(packages: Packages, branch: int) -> Driver:
    hold, unheld = driver.hold_set(packages, branch), driver.unheld(packages, branch)
    return Driver(
        version=driver.branch_version(packages, branch),
        held=len(hold) - len(unheld),
        unheld=unheld,
        later=driver.later_driver(packages),
        would_move=None if packages.upgrade is None else driver.touched(packages, branch),
        trouble=packages.trouble,
    )


def _rail(fleet: Fleet, name: str, states: Mapping[str, State], netdev: str) -> Rail:
    """One declared fabric netdev; `complaints` has what is not as declared, by field.

    `unknown` names the fields of which that is unknown.
    """
    mine, state = fleet[name], states[name]
    address = mine.fabric[netdev]
    link, device = state.network.links.get(netdev), state.rdma.on(netdev)
    slot = gid.find(state.rdma.gids, netdev, address.ip)
    record, poor = _bandwidth(fleet, name, states, netdev)
    cabled = state.network.has_carrier(netdev)
    complaints = _complaints(of_netdev(differences(state.network, mine), netdev))
    unknown: list[str] = []
    if cabled:
        if device is None:
            complaints["device"] = "no RDMA device sits on it"
        if slot is None:
            complaints["gid_index"] = f"no RoCE v2 GID for {address.ip}"
        if poor:
            complaints["gbps"] = poor.said
            unknown += ["gbps"] if poor.unknown else []
    return Rail(
        netdev=netdev,
        cabled=cabled,
        address=str(address),
        mtu=link.mtu if link else None,
        device=device.name if device else None,
        path_mtu=device.active_mtu if device else None,
        gid_index=slot.index if slot else None,
        gbps=record.gbps if record else None,
        measured_path_mtu=record.path_mtu if record else None,
        measured_at=record.measured_at if record else None,
        complaints=complaints,
        unknown=unknown,
    )


def _complaints(found: Sequence[Difference]) -> dict[str, str]:
    """The differences of a netdev as the screen shows them, by field.

    The cable comes first, then what the live link has. The rest is shown where those are right: what mends them
    mends the rest too.
    """
    live = [each for each in found if each.what in ("address", "extra address", "mtu")]
    shown = [each for each in found if each.what in ("netdev", "carrier")] or live or found
    said: dict[str, str] = {}
    for field, sentence in sorted(map(_complaint, shown), key=lambda each: each[0]):
        said[field] = f"{said[field]}; {sentence}" if field in said else sentence
    return said


def _complaint(each: Difference) -> tuple[str, str]:
    """The field that a difference is about, and a sentence."""
    match each.what:
        case "netdev":
            return "cabled", "there is no such netdev"
        case "carrier":
            return "cabled", "the link has no carrier"
        case "address":
            return "address", f"{each.declared} is not on the link"
        case "extra address":
            return "address", f"the link has {each.found}, {each.declared} alone expected"
        case "mtu":
            return "mtu", f"MTU {each.found}, {each.declared} expected"
        case "ipv6":
            return "ipv6", "the link has an IPv6 address"
        case "definition":
            return "others", each.found or ""
    return "profile", _of_profile(each)


def _of_profile(each: Difference) -> str:
    match each.what:
        case "manager":
            return "NetworkManager does not run"
        case "profile":
            return "no profile yet"
        case "property":
            return f"{each.property} of the profile is {each.found or 'empty'}, {each.declared} expected"
        case "unsaved":
            return "the profile is only in memory"
    return f"{each.found or 'no profile'} is active, {each.declared} expected"


def _bandwidth(
    fleet: Fleet, name: str, states: Mapping[str, State], netdev: str
) -> tuple[records.Record | None, records.Complaint | None]:
    """The figure on record of a netdev, and the complaint about it; of several rails the one that is the worst."""
    mine = [rail for rail in fleet.rails(name) if rail.netdev == netdev]
    here = records.boot(name, states[name].identity)
    kept = records.found(states[name].files)
    found = []
    for rail, record in records.matched(kept, mine):
        there = states.get(rail.far.host)
        far = records.boot(rail.far.host, there.identity if there else None)
        found.append((record, records.complaint(record, rail, fleet[name], here, far)))
    if not mine:  # a Spark on its own, which may have been in a pair
        own = [record for (of, _), record in kept.items() if of == netdev]
        return (own[-1] if own else None), None
    return min(found, key=lambda each: (each[1] is None, each[0] is not None, each[0].gbps if each[0] else 0.0))


def _gid_lines(state: State) -> list[str] | None:
    """The GID variables that the containers get, as they stand in the file; None where there is no file."""
    file = state.files.get(environment.CONTAINER_ENV)
    if file is None:
        return None
    names = ("NCCL_IB_GID", "NCCL_IB_ROCE", "NCCL_IB_ADDR")
    return [line for line in file.content.splitlines() if line.startswith(names)]
