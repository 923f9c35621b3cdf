"""What is declared of a host's network, beside what is there.

This is the one judgement of it, and its words: the deploy's plan and refusals, the checks, the survey and the
onboarding card are made of what `aspects` finds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Interface
from typing import Literal, Protocol

from sparkrig.cure import deploy, quoted
from sparkrig.network import definitions, links
from sparkrig.network.definitions import Definition, Settled
from sparkrig.network.profiles import profile, uuid
from sparkrig.network.seen import Network
from sparkrig.refusal import Refusal

Part = Literal[
    "carrier",
    "others",  # definitions of the netdev that are not ours
    "profile",  # ours: it is there, is saved, and says what is declared
    "active",  # the profile that is
    "mtu",  # of the link, as all below
    "address",
    "ipv6",
]
Status = Literal["ok", "drift", "missing", "extra", "skipped"]  # as checks have them

_CABLE = "seat the QSFP cable on both Sparks, and check that the peer is on"


class Declared(Protocol):
    """What an inventory declares of a host's network, as sparkrig.settings.Settings has it."""

    @property
    def fabric(self) -> Mapping[str, IPv4Interface]: ...
    @property
    def mtu(self) -> int: ...
    @property
    def group_name(self) -> str | None: ...
    @property
    def adopt(self) -> Mapping[str, str]: ...
    @property
    def allow_management_interface(self) -> bool: ...


@dataclass(frozen=True)
class Aspect:
    """One thing of one netdev: what is declared, and what is there, in words without a full stop.

    cure: what mends it, empty where it holds. What no deploy mends is found as a sentence of its own.
    """

    netdev: str
    part: Part
    want: str
    found: str
    status: Status = "ok"
    cure: str = ""

    @property
    def differs(self) -> bool:
        return self.status not in ("ok", "skipped")

    def __str__(self) -> str:
        name = "MTU" if self.part == "mtu" else self.part
        return f"{name} of {self.netdev}: {self.found} (declared: {self.want})"


def differences(seen: Network, settings: Declared, decided: Mapping[str, str] | None = None) -> tuple[Aspect, ...]:
    """What of `aspects` is not as declared."""
    return tuple(aspect for aspect in aspects(seen, settings, decided) if aspect.differs)


def aspects(seen: Network, settings: Declared, decided: Mapping[str, str] | None = None) -> Iterator[Aspect]:
    """All that is declared, netdev by netdev in rail order, then our profiles that nothing declares.

    A Spark on its own needs no cable: there, of a netdev without a carrier nothing else is expected. Of a netdev
    that another definition is left in charge of, only the declared address and MTU are expected on its link.
    decided: as `settled` has it.
    """
    others = definitions.find(seen, settings.fabric)
    left = definitions.left_alone(others, settings.adopt)
    for netdev in settings.fabric:
        yield _carrier(seen, settings, netdev)
        cabled, managed = seen.has_carrier(netdev), netdev not in left
        if managed and (cabled or settings.group_name is not None):
            if theirs := [each for each in others if netdev in each.given]:
                yield _others(seen, settings, netdev, theirs, decided)
            if seen.running:  # a stopped NetworkManager names no profile
                yield _profile(seen, settings, netdev)
        if cabled and managed:
            yield from _activation(seen, settings, netdev)
        elif cabled:
            yield from _left(seen, settings, netdev)
    yield from _undeclared(seen, settings.fabric)


def settled(seen: Network, settings: Declared, decided: Mapping[str, str] | None = None) -> Settled:
    """What becomes of other definitions of netdevs that are expected to be usable. Raises Refusal.

    decided: the setting `adopt` of all hosts, where it is not that of this one alone.
    """
    expected = [name for name in settings.fabric if seen.has_carrier(name) or settings.group_name is not None]
    others = definitions.find(seen, settings.fabric)
    return definitions.settle(
        [each for each in others if not each.given.keys().isdisjoint(expected)],
        settings.adopt,
        settings.fabric,
        seen.profiles,
        seen.netplan,
        settings.adopt if decided is None else decided,
    )


def _carrier(seen: Network, settings: Declared, netdev: str) -> Aspect:
    """Whether a netdev can be used now; one that is not there under its name may be there under another."""
    if seen.has_carrier(netdev):
        return Aspect(netdev, "carrier", "a carrier", "a carrier")
    place = links.pci_of(netdev)
    other = next((link.name for link in seen.links.values() if place and link.pci == place), None)
    if netdev not in seen.links and other:
        look = f"udevadm test-builtin net_setup_link {quoted(f'/sys/class/net/{other}')}"
        found = f"expected {netdev} at {place}, found {other} there"
        cure = f"look at what renames it: {look}, ls /etc/systemd/network /etc/udev/rules.d"
        return Aspect(netdev, "carrier", "a carrier", found, "missing", cure)
    found, cure = f"{netdev} has no carrier", _CABLE
    if netdev not in seen.links:
        ports = ", ".join(sorted(name for name, link in seen.links.items() if link.port))
        there = ports or "no fabric netdev at all"
        found = f"there is no netdev {netdev} (found {there}); an uncabled ConnectX-7 leaves the PCI bus"
        cure = "seat the QSFP cable on both Sparks, then: ip link"
    if settings.group_name is None:
        return Aspect(netdev, "carrier", "a carrier", f"{found}; a Spark on its own needs none", "skipped")
    return Aspect(netdev, "carrier", "a carrier", found, "missing", cure)


def _others(
    seen: Network,
    settings: Declared,
    netdev: str,
    theirs: Sequence[Definition],
    decided: Mapping[str, str] | None,
) -> Aspect:
    """More definitions of a declared netdev: which one wins after a reboot is decided by a race."""
    want = "no second definition"
    try:
        settled(seen, settings, decided)
    except Refusal as refusal:
        return Aspect(netdev, "others", want, refusal.what, "extra", refusal.cure)
    return Aspect(netdev, "others", want, "; ".join(map(str, theirs)), "extra", deploy())


def _profile(seen: Network, settings: Declared, netdev: str) -> Aspect:
    address = settings.fabric[netdev]
    wanted, known = profile(netdev, address, settings.mtu), seen.profiles.get(uuid(netdev))
    want = f"{wanted['connection.id']}: {address}, MTU {settings.mtu}"
    if known is None:
        return Aspect(netdev, "profile", want, "absent", "missing", deploy())
    odd = [
        f"{key} is {known.properties.get(key) or 'empty'} (declared: {value or 'empty'})"
        for key, value in wanted.items()
        if known.properties.get(key) != value
    ]
    if not odd and not known.saved:  # by a run that broke off, and about to be rolled back
        odd = ["only in memory"]
    return _held(netdev, "profile", want, ", ".join(odd) or want, not odd)


def _activation(seen: Network, settings: Declared, netdev: str) -> Iterator[Aspect]:
    """The live link is judged by itself: nothing shows whether a modified profile was ever activated."""
    link, address = seen.links[netdev], settings.fabric[netdev]
    if seen.running:
        named = f"{seen.active_profile(netdev) or 'none'} is active"
        yield _held(netdev, "active", "our profile is active", named, seen.active.get(netdev) == uuid(netdev))
    yield _held(netdev, "mtu", str(settings.mtu), str(link.mtu), link.mtu == settings.mtu)
    has = ", ".join(map(str, link.addresses)) or "none"
    yield _held(netdev, "address", str(address), has, link.addresses == (address,))
    ipv6 = "an IPv6 address" if link.ipv6 else "none"
    yield _held(netdev, "ipv6", "no IPv6 address", ipv6, not link.ipv6)


def _held(netdev: str, part: Part, want: str, found: str, holds: bool) -> Aspect:
    """What a deploy makes so where it does not hold."""
    return Aspect(netdev, part, want, found) if holds else Aspect(netdev, part, want, found, "drift", deploy())


def _left(seen: Network, settings: Declared, netdev: str) -> Iterator[Aspect]:
    """The link where another definition is left in charge: nothing can be done but look."""
    link, address, mtu = seen.links[netdev], settings.fabric[netdev], settings.mtu
    has = ", ".join(map(str, link.addresses)) or "no address"
    given = (
        f"the definition that is left in charge of {netdev} gives its link {has} and MTU {link.mtu}, "
        f"and the inventory says {address} and MTU {mtu}"
    )
    cure = f"change one of the two, or give {netdev} to sparkrig (sparkrig docs adopting)"
    parts: tuple[tuple[Part, str, str, bool], ...] = (
        ("mtu", str(mtu), str(link.mtu), link.mtu == mtu),
        ("address", str(address), has, address in link.addresses),
    )
    for part, want, found, holds in parts:
        yield Aspect(netdev, part, want, found) if holds else Aspect(netdev, part, want, given, "drift", cure)


def _undeclared(seen: Network, fabric: Collection[str]) -> Iterator[Aspect]:
    for known in seen.profiles.values():
        netdev = known.properties.get("connection.interface-name", "")
        if netdev not in fabric and known.uuid == uuid(netdev):
            yield Aspect(netdev, "profile", "no profile of ours", known.name, "extra", deploy())
