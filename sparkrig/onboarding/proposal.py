"""What a new Spark is called, what it is joined to, and which addresses it gets; they collide with nothing.

A Spark on its own gets no fabric. Both hosts of a pair get theirs when the second one comes, and its cable is
seen at both ends. What joins more than two is in sparkrig/onboarding/joining.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from itertools import count
from typing import Any, Literal

from sparkrig.fabric.cabling import Cable, End
from sparkrig.fleet import Fleet
from sparkrig.host.nic import Nic
from sparkrig.look.state import State
from sparkrig.network import definitions, links
from sparkrig.network.definitions import ADOPT, LEAVE, Definition
from sparkrig.network.seen import Network
from sparkrig.refusal import Refusal
from sparkrig.text import listed

FIRST = 11  # the last number of the first Spark's addresses, as in inventories/pair.py
_GROUP = "sparks"  # the name of the first pair or cluster
_SUBNETS = tuple(IPv4Network(f"192.168.{third}.0/24") for third in range(100, 256))

Addresses = Mapping[str, IPv4Interface]
Form = Literal["ring", "switch"]


@dataclass(frozen=True)
class Wishes:
    """What was asked for by hand; each None, or empty, where a proposal will do.

    pair: the name of its pair or cluster; topology: ring or switch, what joins it to the others; adopt: one word
    for every other definition of a fabric netdev (the setting of that name).
    """

    name: str | None = None
    fabric: Mapping[str, str] = field(default_factory=dict)
    pair: str | None = None
    peer: str | None = None
    solo: bool = False
    adopt: str | None = None
    topology: Form | None = None


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


def cages(network: Network) -> dict[str, tuple[str, ...]]:
    """The netdevs of each cage that has a carrier, rail 0 first; without a cage that the way in rides on."""
    ports = sorted(
        (link for link in network.links.values() if link.port),
        key=lambda link: (links.pci_of(link.name), link.name),
    )
    used = {link.port for link in ports if network.carries_ssh(link.name)}
    lit = sorted({link.port for link in ports if link.carrier} - used)
    return {cage: tuple(link.name for link in ports if link.port == cage) for cage in lit}


def _cables(nics: Mapping[str, Nic]) -> dict[str, str]:
    """The digest of the cable in each cage, where the module has a serial number."""
    return {nic.port: nic.cable for nic in nics.values() if nic.cable}


def propose(
    login: Mapping[str, Any],
    seen: State,
    fleet: Fleet,
    others: Mapping[str, State],
    wishes: Wishes,
    known: str | None = None,
    found: Sequence[Cable] = (),
) -> Proposal:
    """What becomes of a Spark that was looked at.

    login: how it is reached, as inventory data; fleet: the inventory as it is, empty for a new one; others: those
    of its Sparks that have no peer yet; known: its name there, where it is in it; found: the cables that were
    seen, where the hosts were asked. Raises Refusal.
    """
    name = called(seen, fleet, wishes, known)
    if known and fleet[known].group_name:
        return Proposal(known, False, {}, {peer: {} for peer in fleet.peers(known)})
    own = {} if known else dict(login)
    peer = None if wishes.solo else peer_of(name, seen, others, wishes, found)
    if peer is None:
        return _alone(name, own, seen, {} if known else given(wishes), wishes, known)
    other, cages = others[peer], cable_to(name, seen, peer, others[peer], found)
    mine, theirs = fleet[known].fabric if known else {}, fleet[peer].fabric
    here, there = _addresses(
        CableEnd(seen, cages[0], given(wishes) or mine), CableEnd(other, cages[1], theirs), fleet, wishes.adopt
    )
    pair = {"pair": wishes.pair or unused_group(fleet)}
    return Proposal(
        name,
        not known,
        pair
        | own
        | ({} if mine else as_setting(here))
        | adopted(seen, here, wishes.adopt, fleet[known].adopt if known else {}),
        {
            peer: pair
            | ({} if theirs else as_setting(there))
            | adopted(other, there, wishes.adopt, fleet[peer].adopt)
        },
        {cages[0]: _at_the_other_end(End(name, cages[0]), End(peer, cages[1]), seen, other, found)},
    )


def _at_the_other_end(here: End, there: End, seen: State, other: State, found: Sequence[Cable]) -> str:
    """What is at the other end of a cage, in words; frames and serial numbers prove it, a carrier does not."""
    same = _cables(seen.nics).get(here.cage, "here") == _cables(other.nics).get(there.cage, "there")
    if same:
        return f"same cable as {there}"
    if any({here, there} == {*cable.ends} for cable in found):
        return f"joined to {there}"
    return f"{there} at the other end, as far as one can tell"


def called(seen: State, fleet: Fleet, wishes: Wishes, known: str | None = None) -> str:
    """Its name in the inventory. known: where it is in it. Raises Refusal."""
    if known:
        _unwished(known, fleet, wishes)
    return known or _name(wishes.name or seen.identity.hostname, fleet, exact=wishes.name is not None)


def unused_group(fleet: Fleet) -> str:
    """A name for another pair or cluster."""
    return _unused(_GROUP, {host.group_name for host in fleet.values()})


def replaced(name: str, login: Mapping[str, Any], seen: State, fleet: Fleet, wishes: Wishes) -> Proposal:
    """What becomes of a Spark that takes the place of one of the inventory: its name, pair and addresses stay.

    login: what of the way to it differs from the inventory's.
    """
    mine = fleet[name]
    data = {**login} | adopted(seen, mine.fabric, wishes.adopt, mine.adopt)
    return Proposal(name, False, data, {peer: {} for peer in fleet.peers(name)})


def _alone(
    name: str,
    own: Mapping[str, Any],
    seen: State,
    fabric: Mapping[str, IPv4Interface],
    wishes: Wishes,
    known: str | None,
) -> Proposal:
    """A Spark without a peer. own: how it is reached; fabric: its addresses by netdev."""
    return Proposal(name, not known, {**own} | as_setting(fabric) | adopted(seen, fabric, wishes.adopt, {}))


def _unwished(known: str, fleet: Fleet, wishes: Wishes) -> None:
    """Raise Refusal where something is asked for that the inventory has already."""
    mine = fleet[known]
    pair = mine.group_name
    told = {
        "--name": wishes.name not in (None, known),
        "--fabric": bool(wishes.fabric and mine.fabric),
        "--pair": bool(pair) and wishes.pair not in (None, pair),
        "--peer": bool(pair) and wishes.peer not in (None, *fleet.peers(known)),
        "--solo": bool(pair) and wishes.solo,
        "--adopt": bool(pair) and wishes.adopt is not None,
        "--topology": bool(pair) and wishes.topology not in (None, mine.form),
    }
    if odd := listed(option for option, asked in told.items() if asked):
        raise Refusal(
            f"{known} is in the inventory, which says otherwise than {odd}", f"the same without {odd}, or edit it"
        )


def _keeps_place(name: str, wishes: Wishes) -> None:
    """Raise Refusal where one that takes another's place is to have something of its own."""
    told = {
        "--name": wishes.name not in (None, name),
        "--fabric": wishes.fabric,
        "--pair": wishes.pair,
        "--peer": wishes.peer,
        "--solo": wishes.solo,
        "--topology": wishes.topology,
    }
    if odd := listed(option for option, asked in told.items() if asked):
        raise Refusal(
            f"--replace {name} keeps its name, its pair and its addresses, and {odd} sets others",
            f"the same without {odd}",
        )


def as_setting(fabric: Addresses) -> dict[str, Any]:
    return {"fabric": {netdev: str(address) for netdev, address in fabric.items()}} if fabric else {}


def judge(wishes: Wishes, replaces: str | None = None) -> None:
    """Raise Refusal for what cannot be, whatever host it is about. replaces: the one whose place it takes."""
    if replaces:
        _keeps_place(replaces, wishes)
    if wishes.name is not None:
        _name(wishes.name, (), exact=True)
    if wishes.solo and (wishes.peer or wishes.pair):
        raise Refusal("--solo leaves it on its own, and --peer or --pair does not", "one of them")
    if wishes.solo and wishes.topology:
        raise Refusal("--solo leaves it on its own, and --topology does not", "one of them")
    for address in given(wishes).values():
        if address.network.prefixlen > 31:
            raise Refusal(f"--fabric: {address.ip} has no prefix", f"--fabric NETDEV={address.ip}/24")


def _name(text: str, taken: Iterable[str], *, exact: bool) -> str:
    """A name for the inventory. exact: whether it was asked for by name. Raises Refusal."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", text if exact else text.split(".", maxsplit=1)[0]).strip("-_")
    if exact and (plain != text or text in taken):
        why = (
            "is in the inventory already" if text in taken else "is no name; letters, digits, - and _ are expected"
        )
        raise Refusal(f"{text!r} {why}", f"--name {plain or 'spark'}{'-2' if text in taken else ''}")
    return text if exact else _unused(plain.lower() or "spark", taken)


def _unused(name: str, taken: Iterable[str | None]) -> str:
    known = set(taken)
    return name if name not in known else next(f"{name}-{n}" for n in count(2) if f"{name}-{n}" not in known)


# --- the other host


def peer_of(
    own: str, seen: State, others: Mapping[str, State], wishes: Wishes, found: Sequence[Cable] = ()
) -> str | None:
    """The Spark at the other end of the cable; None where there is none, or no cable. Raises Refusal.

    own: the name of the one that was looked at; others: those without a peer; found: the cables that were seen.
    """
    if wishes.peer and wishes.peer not in others:
        raise Refusal(
            f"{wishes.peer} is no Spark of the inventory that has no peer yet",
            f"--peer {next(iter(others))}" if others else "--solo",
        )
    lit = [name for name, other in others.items() if cages(seen.network) and cages(other.network)]
    if wishes.peer and wishes.peer not in lit:
        raise Refusal(
            f"no cable joins it to {wishes.peer}; a carrier is expected on a QSFP cage of both",
            "seat the QSFP cable on both Sparks, or go on with --solo",
        )
    same = [name for name in lit if set(_cables(seen.nics).values()) & set(_cables(others[name].nics).values())]
    reached = [name for name in lit if any(end.host == name for end in reach(own, found))]
    likely = [wishes.peer] if wishes.peer else reached or same or lit
    if len(likely) > 1:
        raise Refusal(f"{listed(likely)} could be at the other end of its cable", f"--peer {likely[0]}, or --solo")
    return next(iter(likely), None)


def reach(name: str, found: Sequence[Cable]) -> dict[End, list[str]]:
    """The ends that cables join to a host, with the cages of its own that each was seen from."""
    reached: dict[End, list[str]] = {}
    for cable in found:
        for own, far in (cable.ends, cable.ends[::-1]):
            if own.host == name and far.host != name:
                reached.setdefault(far, []).append(own.cage)
    return reached


def cable_to(name: str, seen: State, peer: str, other: State, found: Sequence[Cable] = ()) -> tuple[str, str]:
    """The cages of both that are joined: by a cable that was seen, the same serial number, or else the first lit.

    found: the cables that were seen.
    """
    known = [(own, far.cage) for far, cages in reach(name, found).items() if far.host == peer for own in cages]
    here, there = _cables(seen.nics), _cables(other.nics)
    lit = [(mine, theirs) for mine in cages(seen.network) for theirs in cages(other.network)]
    same = [(mine, theirs) for mine, theirs in lit if mine in here and here[mine] == there.get(theirs)]
    return (known or same or lit)[0]


# --- addresses


@dataclass(frozen=True)
class CableEnd:
    """One end of the cable. declared: its addresses, where the inventory or an option has them."""

    seen: State
    cage: str
    declared: Addresses

    @property
    def twins(self) -> tuple[str, ...]:
        return cages(self.seen.network)[self.cage]

    @property
    def netdevs(self) -> tuple[str, ...]:
        """Those of every cage that is lit, the cable's first."""
        lit = cages(self.seen.network)
        return tuple(netdev for cage in (self.cage, *(set(lit) - {self.cage})) for netdev in lit[cage])


def _addresses(mine: CableEnd, theirs: CableEnd, fleet: Fleet, adopt: str | None) -> tuple[Addresses, Addresses]:
    """The fabric of both hosts: what is declared of one stays, and the other goes beside it. Raises Refusal."""
    here = mine.declared or standing(mine, adopt)
    there = theirs.declared or standing(theirs, adopt)
    if not here and not there:
        there = _fresh(theirs.twins[: len(mine.twins)], used(fleet, mine.seen, theirs.seen))
    taken = given_out(fleet)
    return here or beside(mine.netdevs, there, taken), there or beside(theirs.netdevs, here, taken)


def used(fleet: Fleet, *seen: State) -> list[IPv4Network]:
    """Networks that an address of a new fabric must not be in: those of the inventory, and what Sparks reach."""
    own = [address.network for host in fleet.values() for address in host.fabric.values()]
    return own + [network for each in seen for network in _reached(each)]


def given_out(fleet: Fleet) -> set[IPv4Address]:
    """Every address of the inventory's fabrics."""
    return {address.ip for host in fleet.values() for address in host.fabric.values()}


def given(wishes: Wishes) -> dict[str, IPv4Interface]:
    try:
        return {netdev: IPv4Interface(address) for netdev, address in wishes.fabric.items()}
    except ValueError as error:
        raise Refusal(f"--fabric: {error}", f"--fabric enp1s0f0np0={_SUBNETS[0][FIRST]}/24") from None


def _fresh(rails: Sequence[str], used: Sequence[IPv4Network]) -> dict[str, IPv4Interface]:
    """The first addresses of a pair, each twin in a subnet of its own. Raises Refusal."""
    subnets = unused_subnets(len(rails), used)
    return {name: at(subnet, subnet[FIRST]) for name, subnet in zip(rails, subnets, strict=True)}


def unused_subnets(number: int, used: Sequence[IPv4Network]) -> Sequence[IPv4Network]:
    """So many subnets in a row that overlap with none of `used`. Raises Refusal."""
    for first in range(0, len(_SUBNETS) - number + 1, min(number, 2)):
        subnets = _SUBNETS[first : first + number]
        if not any(subnet.overlaps(each) for subnet in subnets for each in used):
            return subnets
    raise Refusal(
        f"every subnet from {_SUBNETS[0]} to {_SUBNETS[-1]} is in use on these Sparks",
        "--fabric NETDEV=ADDRESS/PREFIX, once for each netdev",
    )


def beside(netdevs: Sequence[str], peer: Addresses, taken: set[IPv4Address]) -> dict[str, IPv4Interface]:
    """The next free number in each subnet of the peer, by the same step in all. Raises Refusal."""
    ends = list(peer.values())
    if len(netdevs) < len(ends):
        raise Refusal(
            f"one host has {len(ends)} fabric netdevs, and the other {len(netdevs)} behind a cage with a carrier",
            "seat the other cable, too",
        )
    for step in _steps():
        free = [at(end.network, end.ip + step) for end in ends if _free(end.ip + step, end.network, taken)]
        if len(free) == len(ends):
            return dict(zip(netdevs, free, strict=False))
    raise Refusal(
        f"no address is left in {listed(str(end.network) for end in ends)}", "--fabric NETDEV=ADDRESS/PREFIX"
    )


def _steps() -> Iterator[int]:
    """1, 2, ... and then -1, -2, ...: within a /24."""
    yield from range(1, 255)
    yield from range(-1, -255, -1)


def _free(address: IPv4Address, network: IPv4Network, taken: set[IPv4Address]) -> bool:
    ends = (network.network_address, network.broadcast_address) if network.prefixlen < 31 else ()
    return address in network and address not in ends and address not in taken


def at(network: IPv4Network, address: IPv4Address) -> IPv4Interface:
    return IPv4Interface(f"{address}/{network.prefixlen}")


def _reached(seen: State) -> list[IPv4Network]:
    """Where a host already gets to something else: by a route of any table, or by an address of its own."""
    routed = [route.destination for route in seen.network.routes if route.destination]
    own = [address.network for link in seen.network.links.values() for address in link.addresses]
    return [network for network in routed if network.prefixlen > 1] + own  # a VPN's default comes as two halves


# --- other people's definitions


def others(seen: State, netdevs: Iterable[str]) -> list[Definition]:
    """Every definition of those netdevs that is not ours."""
    return definitions.find(seen.network, list(netdevs))


def adopted(seen: State, fabric: Iterable[str], word: str | None, said: Mapping[str, str]) -> dict[str, Any]:
    """The setting `adopt`, where a word was given and there is a definition for it. said: the setting so far."""
    found = {each.key: word for each in others(seen, fabric) if word and not each.policy(said)}
    return {"adopt": {**said, **found}} if found else {}


def standing(end: CableEnd, adopt: str | None) -> dict[str, IPv4Interface]:
    """The addresses that other definitions give, where those are to stay."""
    if adopt not in (ADOPT, LEAVE):
        return {}
    told = {
        netdev: given.addresses[0]
        for each in others(end.seen, end.twins)
        for netdev, given in each.given.items()
        if len(given.addresses) == 1
    }
    return {netdev: told[netdev] for netdev in end.twins if netdev in told}
