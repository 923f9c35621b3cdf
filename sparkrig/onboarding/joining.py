"""How a Spark joins others of an inventory as one of more than two, or on a switch: by what, and its addresses.

A pair's third makes a ring, or is the third on a switch. Frames show which where they can: a cable alone leads
from one cage to one other, so a cage that hears two hosts is on a switch, and three hosts that each hear the other
two, by a cage each, are a ring. What they do not show is asked. What the inventory has stays where it can stay.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Interface, IPv4Network
from itertools import combinations
from typing import Any

from sparkrig import clusters
from sparkrig.fabric.cabling import Cable, End
from sparkrig.fleet import Fleet
from sparkrig.look.state import State
from sparkrig.onboarding import proposal
from sparkrig.onboarding.proposal import FIRST, Addresses, CableEnd, Form, Proposal, Wishes, cages, reach
from sparkrig.refusal import Refusal
from sparkrig.settings import Settings, SettingsError
from sparkrig.text import listed

# what addresses are taken from by the rule: as in inventories/ring.py and inventories/switch.py, or the next free
_NETWORKS = {
    "ring": tuple(IPv4Network(f"192.168.{third}.0/21") for third in range(96, 256, 8)),
    "switch": tuple(IPv4Network(f"192.168.{third}.0/23") for third in range(100, 256, 2)),
}


# --- whom it joins, and by what


def members(
    name: str, seen: State, fleet: Fleet, others: Mapping[str, State], wishes: Wishes, found: Sequence[Cable]
) -> tuple[str, ...]:
    """The hosts that it joins as one of more than two, or on a switch; none for one on its own, or one of a pair.

    name: its own; others: the Sparks of the inventory that were looked at; found: the cables that were seen.
    Raises Refusal where several could be meant.
    """
    if wishes.solo:
        return ()
    if meant := named(fleet, wishes):
        return meant
    near = {far.host for far in reach(name, found)}
    groups = dict.fromkeys(fleet.group(host) for host in sorted(near) if fleet[host].group_name)
    alone = [host for host in sorted(near) if fleet[host].group_name is None]
    if not wishes.peer and groups and (len(groups) > 1 or alone):
        raise Refusal(f"its cables lead to {listed(sorted(near))}", f"--peer {sorted(near)[0]}, or --solo")
    if groups and not wishes.peer:
        group = next(iter(groups))
        _judge_name(group, fleet, wishes)
        return group
    return _likely(name, seen, fleet, others, wishes, found) if wishes.topology else ()


def named(fleet: Fleet, wishes: Wishes) -> tuple[str, ...]:
    """The cluster that --peer or --pair names."""
    if wishes.peer and wishes.peer in fleet and fleet[wishes.peer].group_name:
        group = fleet.group(wishes.peer)
        _judge_name(group, fleet, wishes)
        return group
    if wishes.peer is None and wishes.pair:
        return tuple(host for host, own in fleet.items() if own.group_name == wishes.pair)
    return ()


def _judge_name(group: Sequence[str], fleet: Fleet, wishes: Wishes) -> None:
    mine = fleet[group[0]].group_name
    if wishes.pair not in (None, mine):
        raise Refusal(
            f"it joins {listed(group)}, which the inventory calls {mine}, and --pair says {wishes.pair}",
            "the same without --pair",
        )


def _likely(
    name: str, seen: State, fleet: Fleet, others: Mapping[str, State], wishes: Wishes, found: Sequence[Cable]
) -> tuple[str, ...]:
    """The one Spark or cluster that can be meant where --topology alone says that there is one. Raises Refusal."""
    lonely = {host: each for host, each in others.items() if fleet[host].group_name is None}
    peer = proposal.peer_of(name, seen, lonely, wishes, found)
    grows = [group for group in fleet.groups() if len(group) > 1 and _takes_one_more(fleet[group[0]], len(group))]
    likely = [*([(peer,)] if peer else []), *([] if wishes.peer else grows)]
    if len(likely) != 1:
        seen_there = f"{listed(listed(each) for each in likely)} could be" if likely else "nothing was seen"
        cure = f"--peer {likely[0][0]}, or --solo" if likely else "seat the QSFP cable, or go on with --solo"
        raise Refusal(f"{seen_there} at the other end of its cable", cure)
    return likely[0]


def _takes_one_more(mine: Settings, count: int) -> bool:
    return mine.form != "ring" and count < clusters.MOST


def form(group: Sequence[str], name: str, fleet: Fleet, wishes: Wishes, found: Sequence[Cable]) -> Form | None:
    """What joins a Spark to a cluster; None where that is to be asked. Raises Refusal."""
    declared = fleet[group[0]].form if len(group) > 1 else "cable"
    if declared != "cable":
        if wishes.topology not in (None, declared):
            raise Refusal(
                f"the inventory has {listed(group)} as a {declared}, and --topology says {wishes.topology}",
                "the same without --topology, or edit it",
            )
        return declared
    return wishes.topology or seen_form(group, name, found)


def seen_form(group: Sequence[str], name: str, found: Sequence[Cable]) -> Form | None:
    """What frames show beyond doubt; None where they leave it open."""
    far: dict[End, set[End]] = defaultdict(set)
    for cable in found:
        if cable.heard and {end.host for end in cable.ends} <= {name, *group}:
            far[cable.one].add(cable.other)
            far[cable.other].add(cable.one)
    if any(len({end.host for end in ends}) > 1 for own, ends in far.items() if own.host == name):
        return "switch"
    joined = {frozenset((own.host, end.host)) for own, ends in far.items() for end in ends}
    alone = all(len(ends) == 1 for ends in far.values())
    every = {frozenset(pair) for pair in combinations((*group, name), 2)}
    return "ring" if len(group) == 2 and alone and joined == every else None


def question(group: Sequence[str], name: str, found: Sequence[Cable]) -> str:
    """What is asked where frames leave it open, with what they show."""
    far = [f"{cage} of {name} reaches {end}" for end, own in sorted(reach(name, found).items()) for cage in own]
    shown = f"{listed(far)}, which may be a cable or a switch" if far else "no frame shows what its cable leads to"
    return f"{name} joins {listed(group)}, as a ring or on a switch: {shown}"


# --- what is written


@dataclass(frozen=True)
class Newcomer:
    """A Spark that joins others.

    login: how it is reached, as inventory data, and what else is one thing for all of the cluster; new: whether it
    is not in the inventory yet.
    """

    name: str
    seen: State
    login: Mapping[str, Any]
    new: bool


def propose(
    mine: Newcomer,
    group: Sequence[str],
    joined: Form,
    fleet: Fleet,
    others: Mapping[str, State],
    wishes: Wishes,
    found: Sequence[Cable],
) -> Proposal:
    """What becomes of a Spark and of those that it joins. others: these, as they were seen. Raises Refusal."""
    name = mine.name
    title = fleet[group[0]].group_name or wishes.pair or proposal.unused_group(fleet)
    names = [*group, name] if mine.new else [host for host in fleet if host in (*group, name)]
    try:
        clusters.check_size(f"cluster {title}", names, joined)
    except SettingsError as error:
        raise Refusal(str(error), "--solo, which leaves it on its own; sparkrig docs clusters") from None
    states = {**{host: others[host] for host in group}, name: mine.seen}
    plan = _Plan(tuple(group), name, tuple(names), joined, fleet, states, wishes, tuple(found))
    addresses = plan.addresses()
    base = {"cluster": title, "topology": joined}
    data = {host: _data(base, addresses[host], plan, host) for host in names}
    own = {**mine.login} if mine.new else plan.differing(mine.login)
    head = {key: data[name].pop(key) for key in (*base, "fabric_network", "fabric_cage") if key in data[name]}
    return Proposal(
        name, mine.new, {**head, **own, **data[name]}, {host: data[host] for host in group}, plan.ends()
    )


def _data(base: Mapping[str, Any], addresses: Mapping[str, Any], plan: _Plan, host: str) -> dict[str, Any]:
    """What is set of a host: what it has not yet."""
    has = plan.fleet.get(host)
    data = {**base, **addresses}
    netdevs = [*addresses.get("fabric", {})] or [*cages(plan.states[host].network).get(plan.cage(host), ())]
    said = has.adopt if has else {}
    data |= proposal.adopted(plan.states[host], netdevs, plan.wishes.adopt, said)
    if has is None:
        return data
    now = {
        "cluster": has.cluster,
        "topology": has.topology,
        "fabric_network": str(has.fabric_network) if has.fabric_network else None,
        "fabric_cage": has.fabric_cage,
        **({} if has.fabric_network else proposal.as_setting(has.fabric)),
    }
    return {key: value for key, value in data.items() if now.get(key) != value}


@dataclass(frozen=True)
class _Plan:
    """What is known of all of them. group: those that are there; names: all, in the inventory's order."""

    group: tuple[str, ...]
    name: str
    names: tuple[str, ...]
    form: Form
    fleet: Fleet
    states: Mapping[str, State]
    wishes: Wishes
    found: tuple[Cable, ...]

    @property
    def lead(self) -> Settings:
        return self.fleet[self.group[0]]

    @property
    def own(self) -> Addresses:
        """The addresses of the new one, where an option or the inventory has them."""
        mine = self.fleet.get(self.name)
        return proposal.given(self.wishes) or (mine.fabric if mine else {})

    def differing(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Those that one of the inventory has otherwise."""
        mine = self.fleet[self.name]
        return {key: value for key, value in settings.items() if getattr(mine, key, value) != value}

    def addresses(self) -> dict[str, dict[str, Any]]:
        """The settings of each host that give its addresses. Raises Refusal."""
        fresh = self.lead.group_name is None and not self.lead.fabric and not self.own
        if self.lead.fabric_network or fresh:
            return self._by_network()
        fabrics = self._ring() if self.form == "ring" else self._switch()
        return {host: proposal.as_setting(fabric) for host, fabric in fabrics.items()}

    def cage(self, host: str) -> str:
        """The cage of a host that is on the switch. Raises Refusal where none of the new one has a carrier."""
        lit = [*cages(self.states[host].network)]
        if host != self.name:
            declared = [clusters.cage_of(netdev) for netdev in self.fleet[host].fabric]
            seen = [end.cage for end in reach(self.name, self.found) if end.host == host]
            return next(iter((*declared, *seen, *lit)), "p0")
        if not lit:
            raise Refusal(
                f"no cable joins it to {listed(self.group)}; a carrier is expected on a QSFP cage",
                "seat the QSFP cable, or go on with --solo",
            )
        seen = [cage for own in reach(self.name, self.found).values() for cage in own]
        return next((cage for cage in seen if cage in lit), lit[0])

    def ends(self) -> dict[str, str]:
        """By cage of the new one what is at its other end, in words."""
        if self.form == "ring":
            there = {end: far for pair in self._edges().values() for end, far in (pair, pair[::-1])}
            return {own.cage: self._told(own, far) for own, far in there.items() if own.host == self.name}
        doubt = "" if reach(self.name, self.found) else ", as far as one can tell"
        return {self.cage(self.name): f"on a switch with {listed(self.group)}{doubt}"}

    def _told(self, own: End, far: End) -> str:
        seen = any({own, far} == {*cable.ends} for cable in self.found)
        return f"joined to {far}" if seen else f"{far} at the other end, as far as one can tell"

    # --- addresses by the rule

    def _by_network(self) -> dict[str, dict[str, Any]]:
        if self.own:
            raise Refusal(
                f"the addresses of {listed(self.group)} are taken from a network, and {self.name} has its own",
                "the same without --fabric; sparkrig docs clusters",
            )
        number = clusters.RING_SUBNETS if self.form == "ring" else 2
        network = self.lead.fabric_network
        if network is None or not _holds(network, number):
            network = self._unused_network()
        found: dict[str, dict[str, Any]] = {host: {"fabric_network": str(network)} for host in self.names}
        for host in self.names if self.form == "switch" else ():
            its = self.fleet.get(host)
            cage = its.fabric_cage if its and its.fabric_network else self.cage(host)
            found[host] |= {"fabric_cage": cage} if cage != "p0" else {}
        return found

    def _unused_network(self) -> IPv4Network:
        used, networks = proposal.used(self.fleet, *self.states.values()), _NETWORKS[self.form]
        free = (network for network in networks if not any(network.overlaps(each) for each in used))
        if found := next(free, None):
            return found
        raise Refusal(
            f"every network from {networks[0]} to {networks[-1]} is in use on these Sparks",
            "say in the inventory: fabric_network (sparkrig docs clusters)",
        )

    # --- addresses that are written out

    def _switch(self) -> dict[str, Addresses]:
        """Those of the cluster stay; the new one gets the next free number in each of their subnets."""
        mine = CableEnd(self.states[self.name], self.cage(self.name), self.own)
        here = mine.declared or proposal.standing(mine, self.wishes.adopt)
        taken = proposal.given_out(self.fleet)
        found = {host: self.fleet[host].fabric for host in self.group}
        lead = found[self.group[0]]
        if not lead:  # one on its own, beside one that has its addresses
            other = CableEnd(self.states[self.group[0]], self.cage(self.group[0]), {})
            return {self.group[0]: proposal.beside(other.netdevs, here, taken), self.name: here}
        return {**found, self.name: here or proposal.beside(mine.netdevs, lead, taken)}

    def _ring(self) -> dict[str, Addresses]:
        """The pair's two subnets stay where they fit a ring; each other cable gets two new ones."""
        fabrics: dict[str, dict[str, IPv4Interface]] = {host: {} for host in self.names}
        edges = self._edges().values()
        used = proposal.used(self.fleet, *self.states.values()) + [each.network for each in self.own.values()]
        subnets = iter(proposal.unused_subnets(2 * sum(not self._kept(ends) for ends in edges), used))
        for ends in edges:
            for end, addresses in zip(ends, self._edge(ends, subnets), strict=True):
                fabrics[end.host] |= addresses
        return {**fabrics}

    def _edge(self, ends: tuple[End, End], subnets: Iterator[IPv4Network]) -> tuple[Addresses, Addresses]:
        """The addresses at both ends of a cable."""
        here, there = map(self._at, ends)
        if self._kept(ends):
            return here, there
        if there and ends[1].host == self.name:  # given by an option
            return proposal.beside(self._twins(ends[0]), there, proposal.given_out(self.fleet)), there
        both = next(subnets), next(subnets)
        one, other = (
            {
                netdev: proposal.at(subnet, subnet[FIRST + self.names.index(end.host)])
                for netdev, subnet in zip(self._twins(end), both, strict=True)
            }
            for end in ends
        )
        return one, other

    def _edges(self) -> dict[tuple[str, str], tuple[End, End]]:
        """The ends of the cable between each two: those that were seen, and for the others what is left.

        What is left goes by NVIDIA's way: the third's p0 leads to the first one [@nvidia-three-sparks].
        """
        one, other = self.group
        pairs = [(one, other), (one, self.name), (other, self.name)]
        free = {host: ["p0", "p1"] for host in self.names}
        found: dict[tuple[str, str], tuple[End, End]] = {}
        for pair in pairs:
            for ends in self._candidates(pair):
                if pair not in found and all(end.cage in free[end.host] for end in ends):
                    found[pair] = ends
                    for end in ends:
                        free[end.host].remove(end.cage)
        for pair in pairs:
            if pair not in found:
                found[pair] = End(pair[0], free[pair[0]].pop(0)), End(pair[1], free[pair[1]].pop(0))
        return {pair: found[pair] for pair in pairs}

    def _candidates(self, pair: tuple[str, str]) -> Iterator[tuple[End, End]]:
        """The ends between two hosts: of cables that were seen, and then those that the inventory has."""
        one, other = pair
        for cable in self.found:
            for ends in (cable.ends, cable.ends[::-1]):
                if (ends[0].host, ends[1].host) == pair:
                    yield ends
        for rail in self.fleet.rails(one) if {one, other} <= {*self.fleet} else ():
            if rail.far.host == other:
                yield End(one, clusters.cage_of(rail.near.netdev)), End(other, clusters.cage_of(rail.far.netdev))

    def _kept(self, ends: tuple[End, End]) -> bool:
        """Whether the addresses at both ends of a cable can stay: two subnets that NCCL tells apart."""
        here, there = ({address.network for address in self._at(end).values()} for end in ends)
        apart = {clusters.nccl(IPv4Interface(str(network))) for network in here}
        return here == there and len(here) == len(apart) == 2 and all(net.prefixlen >= 24 for net in here)

    def _at(self, end: End) -> dict[str, IPv4Interface]:
        """The addresses that a host has at a cage."""
        fabric = self.fleet[end.host].fabric if end.host in self.fleet else {}
        own = self.own if end.host == self.name else fabric
        return {netdev: address for netdev, address in own.items() if clusters.cage_of(netdev) == end.cage}

    def _twins(self, end: End) -> tuple[str, ...]:
        """The netdevs of a cage. Raises Refusal where it has no carrier."""
        twins = cages(self.states[end.host].network).get(end.cage, ())
        if len(twins) != 2:
            raise Refusal(
                f"{end} has no carrier, and a ring has a cable between each two of {listed(self.names)}",
                "seat the QSFP plug there, or the same with --topology switch",
            )
        return twins


def _holds(network: IPv4Network, number: int) -> bool:
    """Whether a network has so many subnets of the rule."""
    return 1 << max(0, clusters.NCCL_BITS - network.prefixlen) >= number


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
