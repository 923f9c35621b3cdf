"""The fabric's profiles and live links, netdev by netdev, and who else defines them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from ipaddress import IPv4Interface

from sparkrig import programs
from sparkrig.host import preflight
from sparkrig.network import definitions, plan, seen
from sparkrig.network.definitions import Definition
from sparkrig.network.differences import Difference, differences, of_netdev
from sparkrig.network.profiles import profile
from sparkrig.refusal import Refusal
from sparkrig.resources.check import Check, Subject, check, refused, there, wrong
from sparkrig.resources.kind import PREFLIGHT, THE_GID, Kind
from sparkrig.resources.resource import Resource
from sparkrig.settings import Settings


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

    def judge(self, subject: Subject) -> None:
        """Raises Refusal for a network that cannot be set up; another check reports a stopped NetworkManager."""
        if subject.found.network.running or not subject.settings.fabric:
            _planned(subject)

    def checks(self, subject: Subject) -> Iterator[Check]:
        found = subject.found.network
        if not declared(subject) and not found.running:
            return
        differs = differences(found, subject.settings)
        left = definitions.left_alone(definitions.find(found, declared(subject)), subject.settings.adopt)
        known = [
            each
            for netdev in declared(subject)
            for each in _netdev(subject, netdev, of_netdev(differs, netdev), left=netdev in left)
        ]
        known += [
            Check(f"net.{each.netdev}.profile", "no profile of ours", each.found or "", "extra", subject.apply)
            for each in differs
            if each.what == "undeclared"
        ]
        if declared(subject):
            known.insert(0, _manager(subject))
        yield from known
        refusal = _refusal(subject)
        if refusal and not wrong(known):  # whatever else the deploy will not touch
            yield Check("net.plan", "a network that can be set up", refusal.what, "drift", refusal.cure)


NETWORK = FabricNetwork()

_CABLE = "seat the QSFP cable on both Sparks, and check that the peer is on"


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
    return plan.plan(subject.found.network, subject.settings, _decided(subject))


def _decided(subject: Subject) -> dict[str, str]:
    """The setting `adopt` of all hosts: what is given for a run takes the place of what every host has."""
    return {key: word for mine in subject.fleet.values() for key, word in mine.adopt.items()}


def _manager(subject: Subject) -> Check:
    id, want = "net.manager", "NetworkManager runs"
    refusals = preflight.manager(subject.found.preflight.manager, running=subject.found.network.running)
    return refused(id, want, refusals[0]) if refusals else Check(id, want, "running")


def _refusal(subject: Subject) -> Refusal | None:
    try:
        _planned(subject)
    except Refusal as refusal:
        return refusal
    return None


def _netdev(subject: Subject, netdev: str, differs: Sequence[Difference], *, left: bool) -> Iterator[Check]:
    """left: whether another definition is left in charge of the netdev."""
    found = subject.found.network
    usable = found.has_carrier(netdev)
    yield _carrier(subject, netdev)
    if others := [each.definition for each in differs if each.definition]:
        yield _second(subject, netdev, others)
    managed = found.running and not left  # a stopped NetworkManager names no profile
    if managed and (usable or subject.settings.group_name):
        yield _profile(subject, netdev, differs)
    if managed and usable:
        yield _active(subject, netdev, differs)
    if usable:
        yield from _link(subject, netdev, {each.what for each in differs}, left=left)


def _carrier(subject: Subject, netdev: str) -> Check:
    """Whether a netdev can be used now; a Spark on its own needs no cable."""
    found, id = subject.found.network, f"net.{netdev}.carrier"
    if found.has_carrier(netdev):
        return Check(id, "a carrier", "a carrier", environment=True)
    what = "no carrier" if netdev in found.links else "no such netdev"
    if subject.settings.group_name is None:
        return Check(id, "a carrier", f"{what}; a Spark on its own needs none", "skipped", environment=True)
    return Check(id, "a carrier", what, "missing", _CABLE, environment=True)


def _link(subject: Subject, netdev: str, whats: Collection[str], *, left: bool) -> Iterator[Check]:
    link, mine = subject.found.network.links[netdev], subject.settings
    yield check(f"net.{netdev}.mtu", "mtu" not in whats, str(mine.mtu), str(link.mtu), subject.apply)
    right = not {"address", "extra address"}.intersection(whats)
    has = ", ".join(map(str, link.addresses)) or "none"
    yield check(f"net.{netdev}.address", right, str(mine.fabric[netdev]), has, subject.apply)
    if not left:
        ipv6 = "it has" if link.ipv6 else "none"
        yield check(f"net.{netdev}.ipv6", "ipv6" not in whats, "no IPv6 address", ipv6, subject.apply)


def _second(subject: Subject, netdev: str, others: Sequence[Definition]) -> Check:
    """More definitions of a declared netdev: which one wins after a reboot is decided by a race."""
    mine = subject.settings
    id, want = f"net.{netdev}.others", "no second definition"
    if any(each.policy(mine.adopt) is None for each in others):
        every = definitions.find(subject.found.network, mine.fabric)  # of all netdevs: one run settles all
        unsaid = [each for each in every if each.policy(mine.adopt) is None]
        refusal = definitions.undecided(unsaid, mine.fabric, _decided(subject))
        return Check(id, want, refusal.what, "extra", refusal.cure)
    return Check(id, want, "; ".join(map(str, others)), "extra", subject.apply)


def _profile(subject: Subject, netdev: str, differs: Sequence[Difference]) -> Check:
    mine = subject.settings
    address = mine.fabric[netdev]
    name = profile(netdev, address, mine.mtu)["connection.id"]
    id, want = f"net.{netdev}.profile", f"{name}: {address}, MTU {mine.mtu}"
    if any(each.what == "profile" for each in differs):
        return there(id, want, None, subject.apply)
    odd = [
        f"{each.property} is {each.found or 'empty'} (declared: {each.declared or 'empty'})"
        for each in differs
        if each.what == "property"
    ]
    odd += [each.found or "" for each in differs if each.what == "unsaved"]
    return check(id, not odd, want, ", ".join(odd) or want, subject.apply)


def _active(subject: Subject, netdev: str, differs: Sequence[Difference]) -> Check:
    named = subject.found.network.active_profile(netdev)
    return check(
        f"net.{netdev}.active",
        all(each.what != "active" for each in differs),
        "our profile is active",
        f"{named} is active" if named else "none is active",
        subject.apply,
    )
