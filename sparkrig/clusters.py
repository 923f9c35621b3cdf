"""The hosts that are set up as one: what joins them, their addresses by a rule, and what cannot work.

Three forms: a cable joins two hosts, a ring three by a cable between each two, a switch two to eight by one port
each. Sources: NVIDIA's playbooks [@nvidia-two-sparks, @nvidia-three-sparks, @nvidia-switch]; the addresses are
those of the ring's playbook, with the host numbers of [@eugr-networking].
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from ipaddress import IPv4Interface, IPv4Network
from itertools import combinations
from typing import Any

from sparkrig.settings import Settings, SettingsError
from sparkrig.text import bare_name, listed

MOST = 8  # hosts on a switch; reports of more were not found
_RING = 3
_FIRST = 11  # the first host's number in each subnet
_TWINS = {"p0": ("enp1s0f0np0", "enP2p1s0f0np0"), "p1": ("enp1s0f1np1", "enP2p1s0f1np1")}
# by place in the inventory: the first subnet of p0's cable, and of p1's; each p0 leads to the next one's p1
_CABLES = ((0, 2), (4, 0), (2, 4))
RING_SUBNETS = 6
NCCL_BITS = 24  # of an address, by which NCCL knows the cable that leads to a peer [@nccl-subnet-routing]

# A host's name in the inventory that can stand in ssh_config; pyinfra lets it begin with a connector.
_SSH_NAME = r"(@[a-z]+/)?[A-Za-z0-9][A-Za-z0-9._-]*"

# What is one thing on all hosts of a cluster, since they share one fabric and one server.
SHARED = (
    "topology",
    "fabric_network",
    "merge_nics",
    "mtu",
    "node_ssh",
    "model",
    "serve_image",
    "serve_revision",
    "serve_nodes",
    "serve_on",
    "serve_form",
    "serve_flags",
    "serve_name",
    "serve_port",
    "serve_trial_port",
    "weights",
    "memory_gib",
)

Hosts = Mapping[str, Settings]


def grouped(hosts: Hosts) -> dict[str, tuple[str, ...]]:
    """The names of each cluster's hosts in the inventory's order, by its name; a Spark on its own is in none."""
    found: dict[str, list[str]] = {}
    for name, settings in hosts.items():
        if settings.group_name:
            found.setdefault(settings.group_name, []).append(name)
    return {cluster: tuple(names) for cluster, names in found.items()}


def addressed(hosts: Hosts) -> dict[str, Settings]:
    """The hosts, with the addresses of those that take them from a network. Raises SettingsError."""
    found = dict(hosts)
    for names in grouped(hosts).values():
        if any(hosts[name].fabric_network for name in names):
            _check_form(names, hosts)
            _check_shared(names, hosts)
            for place, name in enumerate(names):
                found[name] = hosts[name].model_copy(update={"fabric": _derived(names, place, hosts[name])})
    return found


def judge(hosts: Hosts) -> None:
    """Raise SettingsError, one sentence with its reason, for a cluster that cannot work."""
    for name, settings in hosts.items():
        if settings.group_name is None and settings.node_ssh:
            raise SettingsError(
                f"{name}: setting node_ssh needs a peer to log in to; set pair or cluster too, or leave it out"
            )
        if settings.serve_on and settings.group_name is None:
            raise SettingsError(f"{name}: setting serve_on is of a cluster; set cluster too, or leave it out")
        if settings.management_interface in settings.fabric and not settings.allow_management_interface:
            raise SettingsError(
                f"{name}: management_interface {settings.management_interface} is a netdev of the fabric; another "
                "one is expected, or allow_management_interface too"
            )
    for names in grouped(hosts).values():
        _check_form(names, hosts)
        if not any(hosts[name].fabric for name in names):
            raise SettingsError(
                f"{_label(names, hosts)}: {listed(names)} declare no fabric; an address for each cabled netdev is "
                "expected"
            )
        _check_shared(names, hosts)
        _check_names(names, hosts)
        _check_serving(names, hosts)
        rules = {"cable": _check_cable, "ring": _check_ring, "switch": _check_switch}
        rules[hosts[names[0]].form](names, hosts)


def networks(settings: Settings) -> dict[IPv4Network, str]:
    """The netdev of each subnet of a host."""
    return {address.network: netdev for netdev, address in settings.fabric.items()}


def subnets(names: Iterable[str], hosts: Hosts) -> dict[IPv4Network, int]:
    """The number of each subnet of a cluster, in the order in which its hosts name them: that of its rails."""
    found = dict.fromkeys(network for name in names for network in networks(hosts[name]))
    return {network: number for number, network in enumerate(found)}


def netdevs(own: Mapping[str, Any]) -> tuple[str, ...]:
    """The fabric netdevs of a host, from its checked data: those that are declared, or that a network gives."""
    if fabric := own.get("fabric"):
        return tuple(fabric)
    cages = _cages(own.get("topology"), own.get("fabric_cage") or "p0") if own.get("fabric_network") else ()
    return tuple(netdev for cage in cages for netdev in _TWINS[cage])


def _cages(form: str | None, cage: str) -> tuple[str, ...]:
    """The cages that are cabled where the addresses are taken from a network."""
    return tuple(_TWINS) if form == "ring" else (cage,)


def cage_of(netdev: str) -> str:
    """The cage that a netdev's own name tells (enp1s0f0np0); empty where it tells none."""
    ending = re.search(r"n(p\d+)$", netdev)
    return ending.group(1) if ending else ""


def by_domain(netdev: str) -> tuple[int, str]:
    """Sorts enp1s0f0np0 before enP2p1s0f0np0: PCI domain 0 is not spelled."""
    domain = re.match(r"enP(\d+)", netdev)
    return int(domain.group(1)) if domain else 0, netdev


def _label(names: Sequence[str], hosts: Hosts) -> str:
    mine = hosts[names[0]]
    return f"{'pair' if mine.pair else 'cluster'} {mine.group_name}"


def _derived(names: Sequence[str], place: int, mine: Settings) -> dict[str, IPv4Interface]:
    assert mine.fabric_network is not None
    ring = mine.form == "ring"
    firsts = dict(zip(_cages(mine.form, mine.fabric_cage), _CABLES[place] if ring else (0,), strict=True))
    needed = RING_SUBNETS if ring else 2
    parts = mine.fabric_network.subnets(new_prefix=NCCL_BITS)
    found = [part for part, _ in zip(parts, range(needed), strict=False)]
    if len(found) < needed:
        raise SettingsError(
            f"{names[place]}: setting fabric_network: {mine.fabric_network} has room for {len(found)} subnets of "
            f"/{NCCL_BITS}, and a ring needs {needed}; /21 or a larger network is expected"
        )
    return {
        netdev: IPv4Interface(f"{found[first + twin][_FIRST + place]}/{NCCL_BITS}")
        for cage, first in firsts.items()
        for twin, netdev in enumerate(_TWINS[cage])
    }


# --- how many, and by what


def _check_form(names: Sequence[str], hosts: Hosts) -> None:
    count, label = len(names), _label(names, hosts)
    if any(hosts[name].pair for name in names) and count != 2:
        raise SettingsError(
            f"{label}: exactly two hosts are expected under this name, found {count} ({', '.join(names)}); for "
            "more, cluster in place of pair is expected, with topology"
        )
    if count == 1 and (other := _spelled_otherwise(names[0], hosts)):
        raise SettingsError(
            f"{label}: {names[0]} is alone in it, and {other} is in {_label([other], hosts)}; one spelling of the "
            "name is expected"
        )
    _check_alike("topology", names, hosts)
    check_size(label, names, hosts[names[0]].topology)


def _spelled_otherwise(name: str, hosts: Hosts) -> str:
    """A host of a group whose name differs from that of this host's in capitals alone; empty for none."""
    mine = hosts[name].group_name or ""
    return next(
        (
            other
            for other, settings in hosts.items()
            if settings.group_name
            and settings.group_name != mine
            and settings.group_name.casefold() == mine.casefold()
        ),
        "",
    )


def check_size(label: str, names: Sequence[str], form: str | None) -> None:
    """Raise SettingsError where that many hosts cannot be joined so. form: the setting topology, None for none."""
    count = len(names)
    if count == 1:
        raise SettingsError(
            f"{label}: {names[0]} is alone in it; two to {MOST} hosts are expected under this name, and none "
            "for a Spark on its own"
        )
    if count > MOST:
        raise SettingsError(
            f"{label}: {count} hosts are one cluster ({', '.join(names)}); {MOST} at most are expected, since no "
            "larger one was published"
        )
    if form == "ring":
        _check_size_of_ring(label, names)
    elif form != "switch" and count > 2:
        what = f"a cable joins two hosts, and {count} are named" if form else f"{count} hosts, and no topology"
        other = "ring or switch" if count == _RING else "switch"
        raise SettingsError(f"{label}: {what} ({', '.join(names)}); topology {other} is expected")


def _check_size_of_ring(label: str, names: Sequence[str]) -> None:
    if len(names) > _RING:
        raise SettingsError(
            f"{label}: a ring of {len(names)} has no direct path between {names[0]} and {names[2]}, which are "
            f"opposite, and RDMA is not forwarded; three hosts are expected ({', '.join(names)}), or topology "
            "switch"
        )
    if len(names) < _RING:
        raise SettingsError(
            f"{label}: a ring has three hosts, found {', '.join(names)}; a third host, or topology cable, is "
            "expected"
        )


def _check_shared(names: Sequence[str], hosts: Hosts) -> None:
    for field in SHARED:
        _check_alike(field, names, hosts)


def _check_alike(field: str, names: Sequence[str], hosts: Hosts) -> None:
    first, *others = names
    for other in others:
        mine, theirs = getattr(hosts[first], field), getattr(hosts[other], field)
        if mine != theirs:
            raise SettingsError(
                f"{_label(names, hosts)}: setting {field} is {mine} on {first} and {theirs} on {other}; one "
                "value is expected"
            )


def _check_names(names: Sequence[str], hosts: Hosts) -> None:
    for name in names:
        if hosts[name].node_ssh and not re.fullmatch(_SSH_NAME, name):
            raise SettingsError(
                f"{name}: with node_ssh its name stands in ssh_config; letters, digits, dots, dashes are expected"
            )


def _check_serving(names: Sequence[str], hosts: Hosts) -> None:
    for wanted in hosts[names[0]].serve_on:
        if not any(_is(name, wanted) for name in names):
            raise SettingsError(
                f"{_label(names, hosts)}: setting serve_on names {wanted}, which is none of its hosts; some of "
                f"{', '.join(names)} are expected"
            )


def serving_order(names: Sequence[str], serve_on: Sequence[str]) -> tuple[str, ...]:
    """The hosts of a cluster in the order in which they serve: those that are named first, then the others."""
    named = [name for wanted in serve_on for name in names if _is(name, wanted)]
    return tuple(dict.fromkeys((*named, *names)))


def _is(name: str, wanted: str) -> bool:
    """Whether that host is meant: a name in the inventory may begin with a connector of pyinfra's."""
    return wanted in (name, bare_name(name))


# --- subnets


def _check_cable(names: Sequence[str], hosts: Hosts) -> None:
    one, two = names
    here, there = networks(hosts[one]), networks(hosts[two])
    for owner, other, mine, theirs in ((one, two, here, there), (two, one, there, here)):
        if not theirs:
            raise SettingsError(
                f"{other}: setting fabric is empty, and its peer {owner} declares one; "
                f"an address in each of {', '.join(map(str, mine))} is expected"
            )
        for network, netdev in mine.items():
            if network not in theirs:
                expected = ", ".join(map(str, theirs))
                raise SettingsError(
                    f"{owner}: {hosts[owner].fabric[netdev]} on {netdev} lies outside every subnet of its peer "
                    f"{other}; expected one in {expected}"
                )


def _owners(names: Sequence[str], hosts: Hosts) -> dict[IPv4Network, list[str]]:
    """The hosts that have an address in each subnet."""
    found: dict[IPv4Network, list[str]] = defaultdict(list)
    for name in names:
        for network in networks(hosts[name]):
            found[network].append(name)
    return found


def _check_switch(names: Sequence[str], hosts: Hosts) -> None:
    for network, owners in _owners(names, hosts).items():
        lacking = [name for name in names if name not in owners]
        if not lacking:
            continue
        why = "no other host has it" if len(owners) == 1 else "a cable beside a switch is no fabric for all"
        raise SettingsError(
            f"{_label(names, hosts)}: {network} is on {listed(owners)} and not on {listed(lacking)}: {why}; on a "
            "switch each host has an address in each subnet"
        )


def _check_ring(names: Sequence[str], hosts: Hosts) -> None:
    label = _label(names, hosts)
    for name in names:
        if hosts[name].fabric_cage != "p0":
            raise SettingsError(
                f"{name}: setting fabric_cage is {hosts[name].fabric_cage}; a ring has a plug in both cages, and "
                "no such setting is expected"
            )
        if len(hosts[name].fabric) != 4:
            raise SettingsError(
                f"{name}: setting fabric has {len(hosts[name].fabric)} addresses; a ring needs four, one on "
                "each netdev of both cages"
            )
    for network, owners in _owners(names, hosts).items():
        if len(owners) != 2:
            joined = f"is on {listed(owners)}" + (" alone" if len(owners) == 1 else ", as on a switch")
            raise SettingsError(f"{label}: {network} {joined}; each subnet of a ring joins two hosts")
    for one, other in combinations(names, 2):
        _check_edge(label, one, other, hosts)
    for name in names:
        _check_apart(name, hosts[name])


def _check_edge(label: str, one: str, other: str, hosts: Hosts) -> None:
    """Two hosts of a ring: the two subnets of one cable, whose ends are in one cage each."""
    shared = [network for network in networks(hosts[one]) if network in networks(hosts[other])]
    if len(shared) != 2:
        raise SettingsError(
            f"{label}: {one} and {other} share {len(shared) or 'no'} subnet{'s' if len(shared) != 1 else ''}; a "
            "ring has two between each two hosts, one for each twin of the cable"
        )
    for here, there in ((one, other), (other, one)):
        netdevs = [networks(hosts[here])[network] for network in shared]
        cages = {cage_of(netdev) for netdev in netdevs}
        if len(cages) > 1 and "" not in cages:
            raise SettingsError(
                f"{here}: {listed(netdevs)} lead to {there}, and they are in cages {listed(sorted(cages))}; "
                "both twins of a cage share its cable, so both belong to one cage"
            )
    ends = networks(hosts[one]), networks(hosts[other])
    for network in shared:
        near, far = (hosts[host].fabric[end[network]] for host, end in zip((one, other), ends, strict=True))
        if nccl(near) != nccl(far):
            raise SettingsError(
                f"{label}: {near} of {one} and {far} of {other} differ in their first {NCCL_BITS} bits, by "
                f"which NCCL knows the cable that leads to a peer; subnets of /{NCCL_BITS} are expected"
            )


def _check_apart(name: str, settings: Settings) -> None:
    for (one, here), (other, there) in combinations(settings.fabric.items(), 2):
        if nccl(here) == nccl(there):
            raise SettingsError(
                f"{name}: {here} on {one} and {there} on {other} have the same first {NCCL_BITS} bits, by "
                f"which NCCL knows the cable that leads to a peer; subnets of /{NCCL_BITS} are expected"
            )


def nccl(address: IPv4Interface) -> IPv4Network:
    """The cable that an address is on, as NCCL knows it."""
    return IPv4Network((address.ip, NCCL_BITS), strict=False)
