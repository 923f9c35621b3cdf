"""The fabric of hosts that no inventory declares, as it was found: what their addresses say of who is joined."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from ipaddress import IPv4Network
from itertools import combinations
from typing import Any

from sparkrig.fleet import Fleet
from sparkrig.network.seen import Network, fitting
from sparkrig.settings import SettingsError

_MOST = 8  # addresses of a fabric; a Spark has four netdevs
_LONGEST = 64  # characters of a cluster's name


def joined(fleet: Fleet, seen: Mapping[str, Network]) -> tuple[Fleet, dict[str, str]]:
    """The hosts as what was seen joins them, and why a host stands alone that cannot be joined, by its name.

    One that has an address of another host, or two netdevs in one subnet, does not part the others.
    """
    kept, alone = dict(seen), dict[str, str]()
    while True:
        try:
            return _of(fleet, kept), alone
        except SettingsError as error:
            odd = _odd(fleet, kept)
            alone[odd] = str(error)
            del kept[odd]


def _of(fleet: Fleet, seen: Mapping[str, Network]) -> Fleet:
    """Raises SettingsError."""
    found = settings(seen)
    own = {name: each.model_dump(exclude_unset=True) for name, each in fleet.items()}
    return Fleet.parse({name: {**own[name], **found.get(name, {})} for name in fleet}, declared=False)


def _odd(fleet: Fleet, seen: Mapping[str, Network]) -> str:
    """The host without which the others can be joined; else the one that cannot be with the most of them."""

    def refused(names: Iterable[str]) -> bool:
        try:
            _of(fleet, {name: seen[name] for name in names})
        except SettingsError:
            return True
        return False

    apart = Counter(name for two in combinations(seen, 2) if refused(two) for name in two)
    return max(seen, key=lambda name: (not refused(seen.keys() - {name}), apart[name]))


def settings(seen: Mapping[str, Network]) -> dict[str, dict[str, Any]]:
    """What an inventory would say of each host; nothing of one that shares no subnet of a cage with another.

    The MTU is the least of theirs, so that what is sent to compare them fits through all of them.
    """
    fabrics = {name: fabric if len(fabric := network.fabric) <= _MOST else {} for name, network in seen.items()}
    owners: dict[IPv4Network, set[str]] = defaultdict(set)
    for name, fabric in fabrics.items():
        for address in fabric.values():
            owners[address.network].add(name)
    shared = {network: names for network, names in owners.items() if len(names) > 1}
    found: dict[str, dict[str, Any]] = {name: {} for name in seen}
    for members in _joined(shared):
        rails = {
            name: {netdev: at for netdev, at in fabrics[name].items() if at.network in shared} for name in members
        }
        mtu = min(seen[name].links[netdev].mtu for name, fabric in rails.items() for netdev in fabric)
        for name, fabric in rails.items():
            addresses = {netdev: str(at) for netdev, at in fabric.items()}
            found[name] = {"fabric": addresses, **fitting(mtu), **_group(members, shared)}
    return found


def _joined(shared: Mapping[IPv4Network, set[str]]) -> list[frozenset[str]]:
    """The hosts that subnets join, directly or by way of others."""
    groups: list[frozenset[str]] = []
    for names in shared.values():
        touched = [group for group in groups if group & names]
        groups = [group for group in groups if group not in touched]
        groups.append(frozenset(names).union(*touched))
    return groups


def _group(members: frozenset[str], shared: Mapping[IPv4Network, set[str]]) -> dict[str, str]:
    name = min(members)[:_LONGEST]
    if len(members) == 2:
        return {"pair": name}
    cables = all(len(names) == 2 for names in shared.values() if names <= members)
    return {"cluster": name, "topology": "ring" if cables and len(members) == 3 else "switch"}
