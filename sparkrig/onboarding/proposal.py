"""What becomes of a new Spark, and of those that it joins: what is to be written into the inventory.

A Spark on its own gets no fabric. All of a pair or cluster get theirs when the next one comes, and what joins it
is seen at both ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Interface
from typing import Any

from sparkrig import clusters
from sparkrig.fleet import Fleet
from sparkrig.network import definitions
from sparkrig.onboarding import addresses
from sparkrig.onboarding.addresses import as_setting
from sparkrig.onboarding.joining import Joint, Newcomer
from sparkrig.onboarding.wishes import Form, Wishes, unused_group
from sparkrig.refusal import Refusal
from sparkrig.resources.state import State
from sparkrig.settings import SettingsError


@dataclass(frozen=True)
class Proposal:
    """What is to be written into the inventory.

    new: whether the host is not in it yet; data: what is told of it, or set where it is in it; others: the rest of
    its pair or cluster, by name what is set there; ends: by cage of its own what is at the other end, in words.
    """

    name: str
    new: bool
    data: Mapping[str, Any]
    others: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    ends: Mapping[str, str] = field(default_factory=dict)

    @property
    def peer(self) -> str | None:
        """The other host of its pair; None where it has none, or is one of more."""
        return next(iter(self.others)) if len(self.others) == 1 else None

    @property
    def edits(self) -> bool:
        """Whether anything of the inventory is to be changed."""
        return self.new or bool(self.data) or any(self.others.values())

    def written(self, text: str) -> str:
        """An inventory file with all of that in it. Raises Refusal."""
        from sparkrig import inventory_file

        write = inventory_file.with_host if self.new else inventory_file.with_data
        text = write(text, self.name, self.data)
        for other, data in self.others.items():
            if data:
                text = inventory_file.with_data(text, other, data)
        return inventory_file.stopped_together(text) if any(self.others.values()) else text


def propose(
    mine: Newcomer,
    group: tuple[str, ...],
    form: Form | None,
    login: Mapping[str, Any],
    shared: Mapping[str, Any] | None = None,
) -> Proposal:
    """What becomes of a Spark that was looked at.

    group: whom it joins, none where it stays on its own; form: by what; login: how it is reached, as inventory
    data; shared: what is one thing for all of them. Raises Refusal.
    """
    name, fleet = mine.name, mine.fleet
    if not mine.new and fleet[name].group_name:
        return replaced(name, {}, mine.seen, fleet, mine.wishes)
    own = {**login} if mine.new else {}
    if not group or not form:
        fabric = mine.wishes.addresses if mine.new else {}
        return Proposal(
            name, mine.new, own | as_setting(fabric) | _adopted(mine.seen, fabric, mine.wishes.adopt, {})
        )
    title = fleet[group[0]].group_name or mine.wishes.pair or unused_group(fleet)
    joint = Joint(mine, group, form)
    try:
        clusters.check_size(f"cluster {title}", joint.names, form)
    except SettingsError as error:
        raise Refusal(str(error), "--solo, which leaves it on its own; sparkrig docs clusters") from None
    base = {"pair": title} if form == "cable" else {"cluster": title, "topology": form}
    data = {host: _data(joint, host, {**base, **given}) for host, given in addresses.of(joint).items()}
    first = (*base, "fabric_network", "fabric_cage")
    head = {key: data[name].pop(key) for key in first if key in data[name]}
    has = fleet.get(name)
    own |= {key: value for key, value in (shared or {}).items() if not has or getattr(has, key, value) != value}
    return Proposal(
        name, mine.new, {**head, **own, **data[name]}, {host: data[host] for host in group}, joint.ends()
    )


def _data(joint: Joint, host: str, data: dict[str, Any]) -> dict[str, Any]:
    """What is set of a host: what it has not yet."""
    has = joint.mine.fleet.get(host)
    netdevs = [*data.get("fabric", {})] or [*joint.lit(host).get(joint.cage(host), ())]
    data |= _adopted(joint.states[host], netdevs, joint.mine.wishes.adopt, has.adopt if has else {})
    if has is None:
        return data
    now = {
        "cluster": has.cluster,
        "topology": has.topology,
        "fabric_network": str(has.fabric_network) if has.fabric_network else None,
        "fabric_cage": has.fabric_cage,
        **({} if has.fabric_network else as_setting(has.fabric)),
    }
    return {key: value for key, value in data.items() if now.get(key) != value}


def replaced(name: str, login: Mapping[str, Any], seen: State, fleet: Fleet, wishes: Wishes) -> Proposal:
    """What becomes of a Spark in its place of the inventory: its name, its pair or cluster and its addresses stay.

    login: what of the way to it differs from the inventory's.
    """
    settings = fleet[name]
    data = {**login} | _adopted(seen, settings.fabric, wishes.adopt, settings.adopt)
    return Proposal(name, False, data, {peer: {} for peer in fleet.peers(name)})


def _adopted(seen: State, fabric: Iterable[str], word: str | None, said: Mapping[str, str]) -> dict[str, Any]:
    """The setting `adopt`, where a word was given and others define these netdevs. said: the setting so far."""
    others = definitions.find(seen.network, list(fabric))
    found = {definition.key: word for definition in others if word and not definition.policy(said)}
    return {"adopt": {**said, **found}} if found else {}


# --- what changes


@dataclass(frozen=True)
class Move:
    """An address of a netdev: before, None where it is new; after, None where it goes."""

    host: str
    netdev: str
    before: IPv4Interface | None
    after: IPv4Interface | None

    @property
    def sentence(self) -> str:
        if self.after is None:
            return f"{self.before} goes"
        if self.before is None:
            return f"{self.after}"
        return f"{self.after}, as before" if self.after == self.before else f"{self.after}, before {self.before}"


def moves(before: Fleet, after: Fleet, names: Sequence[str]) -> list[Move]:
    """Every address of these hosts, before and after."""
    found = []
    for host in names:
        was, now = before[host].fabric if host in before else {}, after[host].fabric
        found += [Move(host, netdev, was.get(netdev), now.get(netdev)) for netdev in dict.fromkeys((*now, *was))]
    return found
