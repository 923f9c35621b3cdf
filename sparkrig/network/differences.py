"""What of a host's network is not as declared.

This is the one judgement of it: the deploy's plan, the checks, the survey and the onboarding card are
made from what `differences` finds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Interface
from typing import Literal, Protocol

from sparkrig.network import definitions
from sparkrig.network.definitions import Definition
from sparkrig.network.profiles import profile, uuid
from sparkrig.network.seen import Network

What = Literal[
    "manager",  # NetworkManager does not run
    "netdev",  # it is not there
    "carrier",  # it has none
    "definition",  # another one than ours binds it
    "profile",  # ours is not there
    "property",  # of ours
    "unsaved",  # ours is only in memory, by a run that broke off, and about to be rolled back
    "active",  # another profile than ours, or none
    "mtu",  # of the link
    "address",  # the declared one is not on the link
    "extra address",  # the declared one is on the link, and others too
    "ipv6",  # the link has an IPv6 address
    "undeclared",  # a profile of ours, whose netdev is no longer declared
]


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
class Difference:
    """One thing of one netdev that is not as declared.

    declared, found: the two values, None where there is none; addresses are separated by commas; property: the
    nmcli name of what differs within our profile; definition: the other definition of the netdev.
    """

    netdev: str
    what: What
    declared: str | None
    found: str | None
    property: str = ""
    definition: Definition | None = None


def differences(seen: Network, settings: Declared) -> tuple[Difference, ...]:
    """All that is not as declared, netdev by netdev in rail order, then our profiles that nothing declares.

    A Spark on its own needs no cable: there, a netdev without a carrier is not looked at. Of a netdev that another
    definition is left in charge of, only the declared address and MTU are expected on its link.
    """
    others = definitions.find(seen, settings.fabric)
    left = definitions.left_alone(others, settings.adopt)
    return (
        *(each for netdev in settings.fabric for each in _netdev(seen, settings, netdev, others, left)),
        *_undeclared(seen, settings.fabric),
    )


def of_netdev(found: Sequence[Difference], netdev: str) -> list[Difference]:
    """Those of one netdev."""
    return [each for each in found if each.netdev == netdev]


def _netdev(
    seen: Network, settings: Declared, netdev: str, others: Sequence[Definition], left: Collection[str]
) -> Iterator[Difference]:
    usable, ours = seen.has_carrier(netdev), netdev not in left
    if ours and not seen.running:
        yield Difference(netdev, "manager", "running", None)
    if not usable and settings.group_name is None:
        return
    if not usable:
        yield Difference(netdev, "carrier" if netdev in seen.links else "netdev", "there", None)
    if ours:
        for each in others:
            if netdev in each.given:
                yield Difference(netdev, "definition", None, str(each), definition=each)
    if ours and seen.running:  # a stopped NetworkManager names no profile
        yield from _of_profile(seen, settings, netdev)
    if usable and ours and seen.running:
        yield from _of_activation(seen, settings, netdev)
    if usable:
        yield from _of_link(seen, settings, netdev, ours=ours)


def _of_profile(seen: Network, settings: Declared, netdev: str) -> Iterator[Difference]:
    address = settings.fabric[netdev]
    wanted, known = profile(netdev, address, settings.mtu), seen.profiles.get(uuid(netdev))
    if known is None:
        what = f"{wanted['connection.id']}: {address}, MTU {settings.mtu}"
        yield Difference(netdev, "profile", what, None)
        return
    odd = [key for key, value in wanted.items() if known.properties.get(key) != value]
    for key in odd:
        yield Difference(netdev, "property", wanted[key], known.properties.get(key) or None, key)
    if not odd and not known.saved:
        yield Difference(netdev, "unsaved", "saved", "only in memory")


def _of_activation(seen: Network, settings: Declared, netdev: str) -> Iterator[Difference]:
    if seen.active.get(netdev) != uuid(netdev):
        ours = profile(netdev, settings.fabric[netdev], settings.mtu)["connection.id"]
        yield Difference(netdev, "active", ours, seen.active_profile(netdev) or None)


def _of_link(seen: Network, settings: Declared, netdev: str, *, ours: bool) -> Iterator[Difference]:
    """The live link is judged by itself: nothing shows whether a modified profile was ever activated."""
    link, address = seen.links[netdev], settings.fabric[netdev]
    if link.mtu != settings.mtu:
        yield Difference(netdev, "mtu", str(settings.mtu), str(link.mtu))
    there = ", ".join(map(str, link.addresses)) or None
    if address not in link.addresses:
        yield Difference(netdev, "address", str(address), there)
    elif ours and link.addresses != (address,):
        yield Difference(netdev, "extra address", str(address), there)
    if ours and link.ipv6:
        yield Difference(netdev, "ipv6", "none", "an IPv6 address")


def _undeclared(seen: Network, fabric: Collection[str]) -> Iterator[Difference]:
    for known in seen.profiles.values():
        netdev = known.properties.get("connection.interface-name", "")
        if netdev not in fabric and known.uuid == uuid(netdev):
            yield Difference(netdev, "undeclared", None, known.name)
