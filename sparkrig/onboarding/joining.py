"""Whom a new Spark joins, by what, and through which cages.

Two that a cable joins are a pair. A pair's third makes a ring, or is the third on a switch. Frames show which
where they can: a cable alone leads from one cage to one other, so a cage that hears two hosts is on a switch, and
three hosts that each hear the other two, by a cage each, are a ring. What they do not show is asked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from sparkrig import clusters
from sparkrig.fabric.cabling import Cable, End
from sparkrig.fleet import Fleet
from sparkrig.network import links
from sparkrig.network.seen import Network
from sparkrig.onboarding.wishes import Addresses, Form, Wishes
from sparkrig.refusal import Refusal
from sparkrig.resources.state import State
from sparkrig.settings import Settings
from sparkrig.text import listed

_CAGES = ("p0", "p1")


def cages(network: Network) -> dict[str, tuple[str, ...]]:
    """The netdevs of each cage that has a carrier, rail 0 first; without a cage that the way in rides on."""
    ports = sorted(
        (link for link in network.links.values() if link.port),
        key=lambda link: (links.pci_of(link.name), link.name),
    )
    used = {link.port for link in ports if network.carries_ssh(link.name)}
    lit = sorted({link.port for link in ports if link.carrier} - used)
    return {cage: tuple(link.name for link in ports if link.port == cage) for cage in lit}


def _plugs(state: State) -> dict[str, str]:
    """The digest of the cable in each cage, where the module has a serial number."""
    return {nic.port: nic.cable for nic in state.nics.values() if nic.cable}


@dataclass(frozen=True)
class Newcomer:
    """A Spark that was looked at, and the inventory that it comes into.

    name: its own there; others: the Sparks of the inventory that were looked at; cables: those that were seen,
    where the hosts were asked.
    """

    name: str
    seen: State
    fleet: Fleet
    wishes: Wishes
    others: Mapping[str, State] = field(default_factory=dict)
    cables: Sequence[Cable] = ()

    @property
    def new(self) -> bool:
        """Whether it is not in the inventory yet."""
        return self.name not in self.fleet

    @property
    def cages(self) -> dict[str, tuple[str, ...]]:
        return cages(self.seen.network)

    def reach(self) -> dict[End, list[str]]:
        """The ends that cables join to it, with the cages of its own that each was seen from."""
        reached: dict[End, list[str]] = {}
        for cable in self.cables:
            for own, far in (cable.ends, cable.ends[::-1]):
                if own.host == self.name and far.host != self.name:
                    reached.setdefault(far, []).append(own.cage)
        return reached

    # --- whom it joins

    def group(self) -> tuple[str, ...]:
        """The hosts that it joins; none for one on its own. Raises Refusal where several could be meant."""
        if self.wishes.solo:
            return ()
        if meant := named(self.fleet, self.wishes):
            return meant
        near = sorted({far.host for far in self.reach()})
        groups = dict.fromkeys(self.fleet.group(host) for host in near if self.fleet[host].group_name)
        if groups and not self.wishes.peer:
            if len(groups) > 1 or not {*near} <= {*next(iter(groups))}:
                raise Refusal(f"its cables lead to {listed(near)}", f"--peer {near[0]}, or --solo")
            return _of_that_name(next(iter(groups)), self.fleet, self.wishes)
        peer = self._peer()
        likely: list[tuple[str, ...]] = [(peer,)] if peer else []
        if self.wishes.topology and not self.wishes.peer:
            likely += [group for group in self.fleet.groups() if _grows(group, self.fleet)]
        if self.wishes.topology and len(likely) != 1:
            could_be = f"{listed(listed(each) for each in likely)} could be" if likely else "nothing was seen"
            cure = f"--peer {likely[0][0]}, or --solo" if likely else "seat the QSFP cable, or go on with --solo"
            raise Refusal(f"{could_be} at the other end of its cable", cure)
        return next(iter(likely), ())

    def _peer(self) -> str | None:
        """The Spark without a peer at the other end of the cable; None where there is none. Raises Refusal."""
        lonely = {name: each for name, each in self.others.items() if self.fleet[name].group_name is None}
        wished = self.wishes.peer
        if wished and wished not in lonely:
            raise Refusal(
                f"{wished} is no Spark of the inventory that has no peer yet",
                f"--peer {next(iter(lonely))}" if lonely else "--solo",
            )
        lit = [name for name, other in lonely.items() if self.cages and cages(other.network)]
        if wished and wished not in lit:
            raise Refusal(
                f"no cable joins it to {wished}; a carrier is expected on a QSFP cage of both",
                "seat the QSFP cable on both Sparks, or go on with --solo",
            )
        reached = {end.host for end in self.reach()}.intersection(lit)
        plugs = {*_plugs(self.seen).values()}
        same = [name for name in lit if plugs.intersection(_plugs(lonely[name]).values())]
        likely = [wished] if wished else sorted(reached) or same or lit
        if len(likely) > 1:
            raise Refusal(
                f"{listed(likely)} could be at the other end of its cable", f"--peer {likely[0]}, or --solo"
            )
        return next(iter(likely), None)

    # --- by what

    def form(self, group: Sequence[str]) -> Form | None:
        """What joins it to those; None where that is to be asked. Raises Refusal."""
        if len(group) == 1:
            return self.wishes.topology or "cable"
        declared = self.fleet[group[0]].form
        if declared == "cable":
            return self.wishes.topology or seen_form(group, self.name, self.cables)
        if self.wishes.topology not in (None, declared):
            raise Refusal(
                f"the inventory has {listed(group)} as a {declared}, and --topology says {self.wishes.topology}",
                "the same without --topology, or edit it",
            )
        return declared

    def question(self, group: Sequence[str]) -> str:
        """What is asked where frames leave it open, with what they show."""
        reach = sorted(self.reach().items())
        far = [f"{cage} of {self.name} reaches {end}" for end, own in reach for cage in own]
        shown = (
            f"{listed(far)}, which may be a cable or a switch" if far else "no frame shows what its cable leads to"
        )
        return f"{self.name} joins {listed(group)}, as a ring or on a switch: {shown}"


def named(fleet: Fleet, wishes: Wishes) -> tuple[str, ...]:
    """The pair or cluster that --peer or --pair names. Raises Refusal."""
    if wishes.peer and wishes.peer in fleet and fleet[wishes.peer].group_name:
        return _of_that_name(fleet.group(wishes.peer), fleet, wishes)
    if wishes.peer is None and wishes.pair:
        return tuple(host for host, own in fleet.items() if own.group_name == wishes.pair)
    return ()


def _of_that_name(group: tuple[str, ...], fleet: Fleet, wishes: Wishes) -> tuple[str, ...]:
    """The same group. Raises Refusal where --pair says another name."""
    mine = fleet[group[0]].group_name
    if wishes.pair not in (None, mine):
        raise Refusal(
            f"it joins {listed(group)}, which the inventory calls {mine}, and --pair says {wishes.pair}",
            "the same without --pair",
        )
    return group


def _grows(group: Sequence[str], fleet: Fleet) -> bool:
    """Whether one more can join a pair or cluster."""
    return 1 < len(group) < clusters.MOST and fleet[group[0]].form != "ring"


def seen_form(group: Sequence[str], name: str, cables: Sequence[Cable]) -> Form | None:
    """What frames show beyond doubt; None where they leave it open."""
    far: dict[End, set[End]] = defaultdict(set)
    for cable in cables:
        if cable.heard and {end.host for end in cable.ends} <= {name, *group}:
            far[cable.one].add(cable.other)
            far[cable.other].add(cable.one)
    if any(len({end.host for end in ends}) > 1 for own, ends in far.items() if own.host == name):
        return "switch"
    joined = {frozenset((own.host, end.host)) for own, ends in far.items() for end in ends}
    alone = all(len(ends) == 1 for ends in far.values())
    every = {frozenset(pair) for pair in combinations((*group, name), 2)}
    return "ring" if len(group) == 2 and alone and joined == every else None


@dataclass(frozen=True)
class Joint:
    """A Spark, those that it joins, and what joins them: which cage of each leads where."""

    mine: Newcomer
    group: tuple[str, ...]
    form: Form

    @property
    def names(self) -> tuple[str, ...]:
        """All of them, in the inventory's order."""
        every = (*self.group, self.mine.name)
        return every if self.mine.new else tuple(host for host in self.mine.fleet if host in every)

    @property
    def states(self) -> dict[str, State]:
        return {host: self.mine.seen if host == self.mine.name else self.mine.others[host] for host in self.names}

    @property
    def lead(self) -> Settings:
        return self.mine.fleet[self.group[0]]

    @property
    def own(self) -> Addresses:
        """The addresses of the new one, where an option or the inventory has them."""
        its = self.mine.fleet.get(self.mine.name)
        return self.mine.wishes.addresses or (its.fabric if its else {})

    def lit(self, host: str) -> dict[str, tuple[str, ...]]:
        """The netdevs of each cage of a host that has a carrier."""
        return cages(self.states[host].network)

    def cage(self, host: str) -> str:
        """The cage of a host that the cable of a pair, or the switch, is at. Raises Refusal."""
        if self.form == "cable":
            return next(end.cage for ends in self.edges() for end in ends if end.host == host)
        lit, reach = [*self.lit(host)], self.mine.reach()
        if host != self.mine.name:
            declared = [clusters.cage_of(netdev) for netdev in self.mine.fleet[host].fabric]
            seen = [end.cage for end in reach if end.host == host]
            return next(iter((*declared, *seen, *lit)), "p0")
        if not lit:
            raise Refusal(
                f"no cable joins it to {listed(self.group)}; a carrier is expected on a QSFP cage",
                "seat the QSFP cable, or go on with --solo",
            )
        return next((cage for own in reach.values() for cage in own if cage in lit), lit[0])

    def edges(self) -> list[tuple[End, End]]:
        """The ends of the cable between each two: those that were seen, and for the others what is left.

        What is left goes by NVIDIA's way: the third's p0 leads to the first one [@nvidia-three-sparks].
        """
        pairs = [*combinations((*self.group, self.mine.name), 2)]
        free = {host: [*(self.lit(host) if self.form == "cable" else _CAGES)] for host in self.names}
        found: dict[tuple[str, str], tuple[End, End]] = {}
        for pair in pairs:
            for ends in self._candidates(*pair):
                if pair not in found and all(end.cage in free[end.host] for end in ends):
                    found[pair] = ends
                    for end in ends:
                        free[end.host].remove(end.cage)
        for one, other in pairs:
            if (one, other) not in found:
                found[one, other] = End(one, free[one].pop(0)), End(other, free[other].pop(0))
        return [found[pair] for pair in pairs]

    def _candidates(self, one: str, other: str) -> Iterator[tuple[End, End]]:
        """The ends between two hosts: of cables that were seen, of one serial number, of the inventory."""
        for cable in self.mine.cables:
            for ends in (cable.ends, cable.ends[::-1]):
                if (ends[0].host, ends[1].host) == (one, other):
                    yield ends
        here, there = (_plugs(self.states[host]) for host in (one, other))
        for cage, far in ((cage, far) for far in self.lit(other) for cage in self.lit(one)):
            if cage in here and here[cage] == there.get(far):
                yield End(one, cage), End(other, far)
        for rail in self.mine.fleet.rails(one) if {one, other} <= {*self.mine.fleet} else ():
            if rail.far.host == other:
                yield End(one, clusters.cage_of(rail.near.netdev)), End(other, clusters.cage_of(rail.far.netdev))

    def ends(self) -> dict[str, str]:
        """By cage of the new one what is at its other end, in words."""
        if self.form == "switch":
            doubt = "" if self.mine.reach() else ", as far as one can tell"
            return {self.cage(self.mine.name): f"on a switch with {listed(self.group)}{doubt}"}
        both_ways = (each for ends in self.edges() for each in (ends, ends[::-1]))
        return {own.cage: self._at(own, far) for own, far in both_ways if own.host == self.mine.name}

    def _at(self, own: End, far: End) -> str:
        """What is at the other end; frames and serial numbers prove it, a carrier does not."""
        plugs = (_plugs(self.states[end.host]).get(end.cage, end.host) for end in (own, far))
        if len({*plugs}) == 1:
            return f"same cable as {far}"
        seen = any({own, far} == {*cable.ends} for cable in self.mine.cables)
        return f"joined to {far}" if seen else f"{far} at the other end, as far as one can tell"
