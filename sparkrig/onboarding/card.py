"""A new Spark's identity card: what it is, how it is reached, what is plugged in, and who else set it up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sparkrig.checks import clones
from sparkrig.host import branches, driver, identity, preflight, releases
from sparkrig.network import definitions
from sparkrig.network.differences import differences
from sparkrig.onboarding.joining import cages
from sparkrig.onboarding.proposal import Proposal
from sparkrig.resources.state import State
from sparkrig.settings import Settings
from sparkrig.text import listed
from sparkrig.verdict import Level

_CAGES = {"p0": "cage p0 (next to the RJ45)", "p1": "cage p1"}


@dataclass(frozen=True)
class Row:
    """One line of the card. level: None for what is neither good nor bad; then: what becomes of it."""

    level: Level | None
    text: str
    then: str = ""


def heading(seen: State) -> str:
    """Who built it, and what runs on it."""
    found = seen.identity
    system = f"DGX OS {found.dgx_os}" if found.dgx_os else "no DGX OS"
    return f"{found.vendor} · {system} · kernel {found.kernel}"


def rows(seen: State, mine: Settings, made: Proposal, group: Mapping[str, State] | None = None) -> list[Row]:
    """What there is to know before anything is done to it.

    mine: its settings, as the proposal has them; group: the Sparks of the inventory that were looked at, by name.
    """
    return [
        _identity(seen, mine),
        *_clones(seen, made.name, group or {}),
        _driver(seen, mine),
        _management(seen),
        *_cages(seen, mine, made),
        *_others(seen, mine, made),
        *(Row("degraded", line) for line in preflight.warnings(seen.preflight, seen.time.synchronised)),
    ]


def _identity(seen: State, settings: Settings) -> Row:
    found = seen.identity
    spark, evidence = identity.is_spark(found)
    memory = f"{found.memory_kib / 2**20:.0f} GiB of memory"
    return Row(
        "healthy" if spark else "degraded" if settings.allow_non_spark else "fault", f"{evidence}; {memory}"
    )


def _clones(seen: State, name: str, group: Mapping[str, State]) -> Iterator[Row]:
    states = {**group, name: seen}
    shared = clones.clones(name, states)
    if shared.machine_id:
        yield Row("degraded", f"its machine-id is also that of {listed(shared.machine_id)}", clones.NEW_MACHINE_ID)
    if shared.host_keys:
        yield Row(
            "degraded", f"its ssh host keys are also those of {listed(shared.host_keys)}", clones.NEW_HOST_KEYS
        )


def _driver(seen: State, mine: Settings) -> Row:
    packages, branch = seen.driver, releases.kept(seen.driver, seen.releases, mine.driver_branch)
    version = driver.branch_version(packages, branch)
    if version is None:
        later = driver.later_driver(packages, branch)
        return Row("degraded", f"no driver of branch {branch}{f', but {listed(later)}' if later else ''}")
    loose, held = driver.unheld(packages, branch), driver.hold_set(packages, branch)
    if loose:
        return Row("degraded", f"driver {version}, {len(loose)} of {len(held)} packages not held", "held by apply")
    return Row("healthy", f"driver {version}, {len(held)} packages held")


def _management(seen: State) -> Row:
    if way := seen.network.management:
        return Row("healthy", f"reached over {way[0]} ({way[1]})", "never touched")
    return Row("degraded", "its management address is not known")


def _cages(seen: State, mine: Settings, made: Proposal) -> Iterator[Row]:
    lit = cages(seen.network)
    mtus = [difference for difference in differences(seen.network, mine) if difference.part == "mtu"]
    for cage in sorted({*_CAGES, *lit}):
        name = _CAGES.get(cage, f"cage {cage}")
        if cage not in lit:
            yield Row(None, f"{name}: no cable")
            continue
        dark = [netdev for netdev in lit[cage] if not seen.network.has_carrier(netdev)]
        text = f"{name}: {' + '.join(lit[cage])}{_speed(seen, lit[cage])}"
        if cage in made.ends:
            text += f", {made.ends[cage]}"
        if dark:
            yield Row("fault", f"{text}; no carrier on {listed(dark)}", "seat the plug again")
        elif small := [each for each in mtus if each.netdev in lit[cage]]:
            yield Row("degraded", "; ".join([text, *map(str, small)]), "set by apply")
        else:
            yield Row("healthy", text)


def _speed(seen: State, netdevs: tuple[str, ...]) -> str:
    speeds = {nic.speed_mbps for name in netdevs if (nic := seen.nics.get(name)) and nic.speed_mbps}
    return f", {listed(f'{speed / 1000:g}' for speed in sorted(speeds))} Gb/s" if speeds else ""


def _others(seen: State, settings: Settings, made: Proposal) -> Iterator[Row]:
    netdevs = settings.fabric or [netdev for cage in cages(seen.network).values() for netdev in cage]
    for definition in definitions.find(seen.network, netdevs):
        word = definition.policy(settings.adopt)
        told = {
            definitions.ADOPT: "adopted",
            definitions.SET_ASIDE: "set aside",
            definitions.LEAVE: "left in charge",
        }
        undecided = "--adopt adopt, set-aside or leave" if made.others else "asked about with the second Spark"
        yield Row("degraded", str(definition), told[word] if word else undecided)


# --- for programs


@dataclass(frozen=True)
class Management:
    """The netdev that ssh came in on, and its address with its prefix."""

    netdev: str
    address: str


@dataclass(frozen=True)
class Newcomer:
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
    cages: Mapping[str, Sequence[str]]
    driver: str | None


def document(seen: State) -> Newcomer:
    """What there is to know of it; no serial number is in it."""
    found, way = seen.identity, seen.network.management
    return Newcomer(
        vendor=found.vendor,
        dgx_os=found.dgx_os,
        kernel=found.kernel,
        memory_kib=found.memory_kib,
        spark=identity.is_spark(found)[0],
        management=Management(way[0], str(way[1])) if way else None,
        cages=cages(seen.network),
        driver=driver.branch_version(seen.driver, branches.BRANCH),
    )
