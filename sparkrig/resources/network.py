"""The fabric's profiles and live links, netdev by netdev, and who else defines them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from ipaddress import IPv4Interface
from typing import TYPE_CHECKING, Any

from sparkrig import programs
from sparkrig.host import preflight
from sparkrig.network import plan, seen
from sparkrig.network.differences import Aspect, aspects
from sparkrig.refusal import Refusal
from sparkrig.resources.check import Check, Subject, refused
from sparkrig.resources.kind import PREFLIGHT, THE_GID, Kind
from sparkrig.resources.resource import Resource
from sparkrig.settings import Settings

if TYPE_CHECKING:
    from sparkrig.resources.state import State


class FabricNetwork(Resource[seen.Network]):
    """One look at the kernel, NetworkManager and netplan."""

    name = "network"
    script = programs.text("facts/network.sh")
    shared = (programs.text("facts/network_manager_wait.sh"),)
    kinds = (
        Kind(
            "net.manager",
            "network",
            "NetworkManager runs",
            "the service was stopped or masked",
            PREFLIGHT,
        ),
        Kind(
            "net.NETDEV.carrier",
            "network",
            "the link has a carrier",
            "no cable, a plug that is not seated, or a peer that is off",
            "docs/fabric.md#cabling",
        ),
        Kind(
            "net.NETDEV.others",
            "network",
            "nothing else defines the netdev",
            "NVIDIA's assistant, another tool or a person left a profile or a netplan file",
            "docs/adopting.md",
        ),
        Kind(
            "net.NETDEV.profile",
            "network",
            "our profile is saved, and says what is declared",
            "nmcli changed it, or the inventory did since the last deploy",
            "docs/safety.md#changing-the-network",
        ),
        Kind(
            "net.NETDEV.active",
            "network",
            "our profile is the active one",
            "nmcli took it down, or another profile came up on the netdev",
            "docs/safety.md#changing-the-network",
        ),
        Kind(
            "net.NETDEV.mtu",
            "network",
            "the link itself has the declared MTU",
            "the link was changed by hand (ip link set), or its profile was never activated",
            "docs/fabric.md#bandwidth",
        ),
        Kind(
            "net.NETDEV.address",
            "network",
            "the link has the declared address, and no other",
            "an address was added or removed by hand, or another host has it, too",
            "docs/troubleshooting.md#addresses-are-gone-after-a-reboot",
        ),
        Kind(
            "net.NETDEV.ipv6",
            "network",
            "the link has no IPv6 address, which would move the GID",
            "IPv6 was switched on by hand, or another profile is active",
            THE_GID,
        ),
        Kind(
            "net.plan",
            "network",
            "the deploy could set the network up",
            "a route of a VPN or of the LAN has the fabric's addresses, or a netdev is not managed",
            "docs/safety.md#changing-the-network",
        ),
    )

    def parse(self, lines: Iterable[str]) -> seen.Network:
        return seen.parse(lines)

    def settings_of(self, found: State) -> Mapping[str, Any]:
        fabric = found.network.fabric
        sizes = {found.network.links[netdev].mtu for netdev in fabric}
        addresses = {"fabric": {netdev: str(address) for netdev, address in fabric.items()}} if fabric else {}
        return {**addresses, **seen.fitting(min(sizes))} if sizes else {}

    def judge(self, subject: Subject) -> None:
        """Raises Refusal for a network that cannot be set up; another check reports a stopped NetworkManager."""
        if refusal := _refusal(subject):
            raise refusal

    def checks(self, subject: Subject) -> Iterator[Check]:
        found = subject.found.network
        if not declared(subject) and not found.running:
            return
        known = [_check(aspect) for aspect in aspects(found, subject.settings, subject.fleet.adopt)]
        if declared(subject):
            yield _manager(subject)
        refusal = _refusal(subject)
        if refusal and refusal.what not in {each.found for each in known}:  # whatever else the deploy will not do
            yield refused("net.plan", "a network that can be set up", refusal)
        yield from known


NETWORK = FabricNetwork()


def declared(subject: Subject) -> Mapping[str, IPv4Interface]:
    return subject.settings.fabric


def cabled(mine: Settings, network: seen.Network) -> list[str]:
    """The declared netdevs that are there and have a carrier."""
    return [netdev for netdev in mine.fabric if network.has_carrier(netdev)]


def moves(subject: Subject) -> bool:
    """Whether a deploy would change the network; one that it refuses is left as it is."""
    try:
        return bool(_planned(subject))
    except Refusal:
        return False


def _planned(subject: Subject) -> plan.Plan:
    return plan.plan(subject.found.network, subject.settings, subject.fleet.adopt)


def _manager(subject: Subject) -> Check:
    id, want = "net.manager", "NetworkManager runs"
    refusals = preflight.manager(subject.found.preflight.manager, running=subject.found.network.running)
    return refused(id, want, refusals[0]) if refusals else Check(id, want, "running")


def _refusal(subject: Subject) -> Refusal | None:
    """Why the network cannot be set up; another check reports a stopped NetworkManager."""
    if not subject.settings.fabric or subject.found.network.running:
        try:
            _planned(subject)
        except Refusal as refusal:
            return refusal
    return None


def _check(of: Aspect) -> Check:
    """A cable is nothing that a deploy declares."""
    id = f"net.{of.netdev}.{of.part}"
    return Check(id, of.want, of.found, of.status, of.cure, environment=of.part == "carrier")
