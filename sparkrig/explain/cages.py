"""A Spark's QSFP cages, whichever tool shows them: which cage, which twin, its address, its MTU, its carrier.

ip, netplan, nmcli, ibstat, rdma and their like each make `Netdev`s of what they print; what those mean is judged
here, once. A cage without a cable is no fault, for most Sparks use one of their two.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Interface

from sparkrig.cure import on_host, quoted
from sparkrig.explain.explanation import CAGE, CAGE_GBPS, PATH_MTU
from sparkrig.fabric import cage_judge
from sparkrig.fabric.cabling import CAGE_SPEED_MBPS, End
from sparkrig.network.links import in_one_subnet
from sparkrig.text import listed
from sparkrig.verdict import Finding, Verdict

MTU = 9000  # the default of the setting mtu, which needs pydantic to be read
OWN_SUBNETS = (
    "give each twin an address in a subnet of its own, by netplan or nmcli (sparkrig onboard does it on both)"
)


@dataclass(frozen=True)
class Netdev:
    """What a paste shows of one netdev; None where it does not show it.

    name: its own, or that of its RDMA device; enabled: administratively up; addressed: whether it has an IPv4
    address, which is known before the address itself is; path_mtu: of its RDMA device, bytes; master: the bond or
    bridge that it is part of.
    """

    name: str
    enabled: bool | None = None
    carrier: bool | None = None
    addressed: bool | None = None
    addresses: tuple[IPv4Interface, ...] = ()
    mtu: int | None = None
    path_mtu: int | None = None
    speed_mbps: int | None = None
    master: str = ""

    @property
    def cage(self) -> str:
        """Its cage (p0, p1); empty where it is no fabric netdev."""
        place = CAGE.fullmatch(self.name)
        return f"p{place[2]}" if place else ""

    @property
    def netdev(self) -> str:
        """The netdev's name, where an RDMA device's is shown."""
        place = CAGE.fullmatch(self.name)
        return f"en{place[1]}s0f{place[2]}np{place[2]}" if place else self.name

    @property
    def twin(self) -> str:
        """The netdev on the other half of its cage."""
        return self.netdev.replace("enP2p", "enp") if "P2p" in self.netdev else self.netdev.replace("enp", "enP2p")

    @property
    def linked(self) -> bool:
        """Whether its cable leads to something, as far as is shown: an address is given to no empty cage."""
        return bool(self.addressed) if self.carrier is None else self.carrier

    @property
    def shown(self) -> str:
        state = {True: "up", False: "down", None: ""}[self.carrier if self.carrier is not None else self.enabled]
        parts = [
            f"{self.name} {state}".strip(),
            *(str(address) for address in self.addresses),
            f"MTU {self.mtu}" if self.mtu else "",
            f"path MTU {self.path_mtu}" if self.path_mtu and self.carrier else "",
            f"in {self.master}" if self.master else "",
        ]
        return " ".join(filter(None, parts))


def read(netdevs: Iterable[Netdev]) -> str:
    """What was read, in one line."""
    return ", ".join(netdev.shown for netdev in netdevs)


def judged(netdevs: Sequence[Netdev], *, whole: bool = False, state: str = "up") -> list[Finding]:
    """The findings on the cages of one Spark.

    whole: whether all of its netdevs are listed; state: what those are that nothing is wrong with.
    """
    cages: dict[str, list[Netdev]] = {}
    for netdev in netdevs:
        if netdev.cage:
            cages.setdefault(netdev.cage, []).append(netdev)
    findings = [finding for cage, twins in cages.items() for finding in _cage(cage, twins, state, whole=whole)]
    fabric = {twin.name: twin.addresses[0] for twins in cages.values() for twin in twins if twin.addresses}
    findings += [Finding("the fabric", verdict) for verdict in one_subnet(fabric)]
    dark = [netdev for twins in cages.values() for netdev in twins if netdev.carrier is False]
    if dark and not any(netdev.linked for twins in cages.values() for netdev in twins):
        findings.append(Finding("the cages", no_cable(dark)))
    elif whole and not cages:
        findings.append(Finding("the cages", no_connectx()))
    return findings


def notes(netdevs: Sequence[Netdev]) -> Iterator[str]:
    """The cages that have no cable beside one that has."""
    linked = {netdev.cage for netdev in netdevs if netdev.cage and netdev.linked}
    empty = sorted({netdev.cage for netdev in netdevs if netdev.cage and netdev.carrier is False} - linked)
    if linked and empty:
        yield f"cage {listed(empty)} has no cable, or nothing at its other end, which is no fault"


def no_cable(netdevs: Sequence[Netdev]) -> Verdict:
    why = f"{listed(netdev.name for netdev in netdevs)} {'has' if len(netdevs) == 1 else 'have'} no link"
    cure = "plug the cable in on both ends; on one Spark without a cable this is as it should be"
    return Verdict("unknown", "no-carrier", why, cure)


def no_connectx() -> Verdict:
    """An empty list of netdevs: seen on releases whose hot-plug takes an uncabled ConnectX-7 off the bus."""
    why = "no netdev of a QSFP cage is there: without a cable the ConnectX-7 may leave the PCI bus, no fault"
    cure = "plug the cable in on both ends, then: lspci -d 15b3: (one Spark needs no cable)"
    return Verdict("unknown", "no-connectx", why, cure)


def one_subnet(fabric: Mapping[str, IPv4Interface], how: str = "") -> list[Verdict]:
    """A verdict for each two of a Spark's netdevs in one subnet, or one for all of more. how: said behind it."""
    sentences = in_one_subnet(fabric)
    if len(sentences) > 2:
        sharing = [
            f"{name} ({address})"
            for name, address in fabric.items()
            if any(address.network.overlaps(other.network) for key, other in fabric.items() if key != name)
        ]
        sentences = [f"{listed(sharing)} share a subnet; NCCL needs each netdev in its own"]
    return [Verdict("fault", "one-subnet", f"{why}{how}", OWN_SUBNETS) for why in sentences]


def speed_low(netdev: str, mbps: int) -> Verdict:
    """A link of a cage below its speed."""
    why = (
        f"{netdev} has {mbps / 1000:g} Gb/s, {CAGE_GBPS:g} expected: the cable, its adapter or the switch behind "
        "it is made for less"
    )
    return Verdict("degraded", "speed-low", why, "try a cable for 200 Gb/s (QSFP56), without a switch in between")


def bonded(master: str, names: Iterable[str] = ()) -> Verdict:
    """Netdevs of cages in a bond: transfers over one broke off (tests/fixtures/paste, nccl-tests-lacp-abort)."""
    parts = listed(names) or "netdevs of a cage"
    why = (
        f"{parts} in the bond {master}: RDMA over a bond breaks off, or takes one part, so let each twin be a rail"
    )
    return Verdict("degraded", "bond", why, f"take the bond {master} apart, then {OWN_SUBNETS}")


def _cage(cage: str, twins: Sequence[Netdev], state: str, *, whole: bool) -> list[Finding]:
    linked = [netdev for netdev in twins if netdev.linked]
    if not linked:
        return []
    verdicts = [
        *_halves(cage, twins, linked, whole=whole),
        *_masters(linked),
        *_addresses(linked),
        *_packets(linked),
        *(speed_low(each.name, mbps) for each in linked if 0 < (mbps := each.speed_mbps or 0) < CAGE_SPEED_MBPS),
    ]
    are = "is" if len(linked) == 1 else "are"
    well = Verdict("healthy", evidence=f"{listed(netdev.name for netdev in linked)} {are} {state}")
    return [Finding(f"cage {cage}", verdict) for verdict in verdicts or [well]]


def _halves(cage: str, twins: Sequence[Netdev], linked: Sequence[Netdev], *, whole: bool) -> Iterator[Verdict]:
    """What is wrong with the half of a cage that carries nothing, while its twin does."""
    for netdev in twins:
        if netdev.carrier is not False:
            continue
        if netdev.enabled:
            yield cage_judge.half_lit(End("this Spark", cage), [netdev.name])
            continue
        why = f"{netdev.netdev} is down while its twin {linked[0].netdev} is up, so half of the cage is idle"
        yield Verdict("degraded", "twin-down", why, on_host(f"sudo ip link set {quoted(netdev.netdev)} up"))
    if whole and len(twins) == 1:
        why = f"there is no {twins[0].twin}: one of the cage's two PCIe links did not come up"
        cure = "shut down, cut the power for a minute, and start with the cable in"
        yield Verdict("fault", "netdev-missing", why, cure)


def _masters(linked: Sequence[Netdev]) -> Iterator[Verdict]:
    for master in dict.fromkeys(netdev.master for netdev in linked if netdev.master.startswith("bond")):
        yield bonded(master, [netdev.name for netdev in linked if netdev.master == master])


def _addresses(linked: Sequence[Netdev]) -> Iterator[Verdict]:
    """The twins without an IPv4 address: a rail is known by its address."""
    if any(netdev.master for netdev in linked):
        return
    without = [netdev.name for netdev in linked if netdev.addressed is False]
    others = [netdev.name for netdev in linked if netdev.addressed is not False]
    if not without:
        return
    has = "has" if len(without) == 1 else "have"
    if others:
        why = f"{listed(without)} {has} no IPv4 address, though its twin {listed(others)} has one"
        rest = "NCCL finds a rail by its address, so half of the cage is idle"
        yield Verdict("degraded", "twin-without-address", f"{why}: {rest}", OWN_SUBNETS)
    else:
        why = f"{listed(without)} {has} a link and no IPv4 address, so that NCCL finds no rail there"
        yield Verdict("degraded", "no-address", why, OWN_SUBNETS)


def _packets(linked: Sequence[Netdev]) -> Iterator[Verdict]:
    """An MTU that makes RDMA send small packets."""
    small = [netdev for netdev in linked if netdev.mtu and netdev.mtu < MTU]
    short = [netdev for netdev in linked if netdev.path_mtu and netdev.path_mtu < PATH_MTU and netdev not in small]
    if small:
        sizes = listed(dict.fromkeys(str(netdev.mtu) for netdev in small))
        why = f"{listed(each.name for each in small)}: MTU {sizes}, {MTU} expected on both ends"
        cure = " && ".join(f"sudo ip link set {quoted(each.netdev)} mtu {MTU}" for each in small)
        yield Verdict("degraded", "mtu", why, on_host(cure, ", on both ends, and in netplan or the profile"))
    if short:
        sizes = listed(dict.fromkeys(str(netdev.path_mtu) for netdev in short))
        why = f"{listed(each.name for each in short)}: path MTU {sizes}, {PATH_MTU} expected"
        yield Verdict("degraded", "path-mtu", why, on_host("ip link show", f" on both ends: MTU {MTU} is needed"))
