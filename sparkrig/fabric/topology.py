"""Which cage of which host reaches which cage of another, from what the hosts show.

A frame that one twin sends is heard by both twins at the far end of the cable, and may be heard by its own
twin, so it is cages that are matched. A frame that came through is the best evidence; equal cable serials
(as digests) come next, a carrier at both ends last. Sources: [@epappas]
for the serials; the order is our own reasoning.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, product
from operator import attrgetter

from sparkrig import clusters
from sparkrig.fabric import cabling_judge, switch_judge
from sparkrig.fabric.cabling import Cable, Cage, End, Evidence, Host, State, Topology, Twin, Way
from sparkrig.fabric.neighbours import Neighbours
from sparkrig.fabric.switch_judge import Signs
from sparkrig.fleet import Fleet
from sparkrig.network import gid
from sparkrig.network.rdma import Rdma
from sparkrig.network.seen import Network
from sparkrig.refusal import Refusal
from sparkrig.text import listed
from sparkrig.verdict import Finding, Verdict

# Drawn even where a Spark shows none of them, because an uncabled ConnectX-7 is not there: section 1.
_CAGES = ("p0", "p1")
# what a machine is that no host looked at is: where all of the inventory were, and else
_UNNAMED = "that the inventory does not name"
_OTHER = "that was not looked at, or that the inventory does not name"
# by the number of directions in which frames pass
_BY_WAYS: tuple[Evidence, ...] = ("same cable serial", "heard one way", "heard both ways")


@dataclass(frozen=True)
class Seen:
    """What one host shows.

    neighbours: None where the probe was not run; speeds: Mb/s by netdev; cables: a digest of the cable's
    serial number by netdev, empty or absent where it is not known; lost: packets that came out of order, by
    netdev, of those that count them.
    """

    network: Network
    rdma: Rdma
    neighbours: Neighbours | None = None
    speeds: Mapping[str, int | None] = field(default_factory=dict)
    cables: Mapping[str, str] = field(default_factory=dict)
    lost: Mapping[str, int] = field(default_factory=dict)


def build(fleet: Fleet, hosts: Sequence[str], seen: Mapping[str, Seen | None]) -> Topology:
    """The topology of one group of Fleet.groups(), with its findings.

    seen: by host, None or absent for one that could not be read. Hosts of other groups may be among them:
    they are recognized where they are heard.
    """
    heard, strangers = _heard(hosts, seen, _UNNAMED if seen.keys() >= {*fleet} else _OTHER)
    drawn = tuple(_host(fleet, name, seen.get(name), strangers) for name in hosts)
    wanted = _wanted(fleet, hosts, seen)
    form = fleet[hosts[0]].form if len(hosts) > 1 else "cable"
    found = Topology(drawn, tuple(_found(drawn, heard, _serials(hosts, seen), wanted)), form=form)
    known = replace(found, cables=(*found.cables, *_not_found(found, wanted)))
    known = replace(known, cables=tuple(_noted(known, cable, _serials(hosts, seen)) for cable in known.cables))
    return replace(known, findings=_findings(known, hosts, seen))


def _findings(known: Topology, hosts: Sequence[str], seen: Mapping[str, Seen | None]) -> tuple[Finding, ...]:
    """Causes first; one healthy finding where all is well."""
    if twice := [*_twice(hosts, seen)]:  # who hears whom is not known then
        return (*cabling_judge.unread(known), *twice)
    if known.form == "switch":
        found, well = switch_judge.findings(known, _signs(hosts, seen)), switch_judge.all_well
    else:
        found, well = cabling_judge.findings(known), cabling_judge.all_well
    return tuple([*cabling_judge.unread(known), *found] or [well(known)])


def _twice(hosts: Sequence[str], seen: Mapping[str, Seen | None]) -> Iterator[Finding]:
    """MAC addresses that netdevs of two hosts have, one finding for each such hosts."""
    shared: dict[tuple[str, ...], list[str]] = defaultdict(list)
    owners = _owners(seen)
    for mac, ends in sorted(owners.items()):
        names = tuple(dict.fromkeys(end.host for end, _ in ends))
        if len(names) > 1 and {*names} & {*hosts}:
            shared[names].append(f"{listed(f'{netdev} of {end.host}' for end, netdev in ends)} ({mac})")
    for names, said in shared.items():
        all_shared = all(
            {*names} <= {end.host for end, _ in ends}
            for ends in owners.values()
            if {*names} & {end.host for end, _ in ends}
        )
        verdict = _one_machine(names) if all_shared else _one_address(names, said)
        yield Finding(listed(names), verdict)


def _one_machine(names: Sequence[str]) -> Verdict:
    return Verdict(
        "fault",
        "mac-twice",
        f"{listed(names)} show the same MAC addresses on all netdevs: these names lead to one Spark",
        f"compare the addresses of {listed(names)} in the inventory (ssh_hostname) and in ~/.ssh/config; each "
        "Spark has one name",
    )


def _one_address(names: Sequence[str], said: Sequence[str]) -> Verdict:
    return Verdict(
        "fault",
        "mac-twice",
        f"one MAC address is that of {'; one of '.join(said)}: a switch sends their frames to one of them, and "
        "nothing can distinguish whose they are",
        f"on {listed(names)}: ip -br link; remove a MAC address that a profile sets, or reset it to the NIC's "
        "own (ethtool -P NETDEV)",
    )


def _signs(hosts: Sequence[str], seen: Mapping[str, Seen | None]) -> Signs:
    """What the hosts show of their ports of a switch."""
    read = {name: here for name in hosts if (here := seen.get(name))}
    owners = _owners(seen)
    sizes = {(name, netdev): mtu for name, here in read.items() for netdev, mtu in _long(here).items()}
    asked, passed = (
        {
            (end, End(name, cage_of(row.netdev, here.network)))
            for name, here in read.items()
            for row in rows(here.neighbours or Neighbours())
            for end, netdev in owners.get(row.mac, [])
            if end.host != name and _one_size(sizes, (end.host, netdev), (name, row.netdev))
        }
        for rows in (attrgetter("heard"), attrgetter("heard_long"))
    )
    return Signs(
        passed=frozenset(passed & asked),
        dropped=frozenset(asked - passed),
        size=min(sizes.values(), default=0),
        sharing=dict(_sharing(read)),
        lost=_lost(read),
    )


def _one_size(sizes: Mapping[tuple[str, str], int], one: tuple[str, str], other: tuple[str, str]) -> bool:
    """Whether two netdevs have one MTU, and one at which large frames are sent."""
    return one in sizes and sizes[one] == sizes.get(other)


def _long(seen: Seen) -> Mapping[str, int]:
    """The size of the large frames that were sent, by netdev."""
    return seen.neighbours.long if seen.neighbours else {}


def _sharing(read: Mapping[str, Seen]) -> Iterator[tuple[End, str]]:
    """Cages whose twins have addresses in one subnet."""
    for name, here in read.items():
        for cage in _CAGES:
            links = [link for link in here.network.links.values() if link.port == cage]
            for one, other in combinations(links, 2):
                for a, b in product(one.addresses, other.addresses):
                    if a.network.overlaps(b.network):
                        yield End(name, cage), f"{one.name} ({a}) and {other.name} ({b}) share a subnet"


def _lost(read: Mapping[str, Seen]) -> dict[End, int]:
    found: dict[End, int] = {}
    for name, here in read.items():
        for netdev, count in here.lost.items():
            end = End(name, cage_of(netdev, here.network))
            found[end] = found.get(end, 0) + count
    return found


def cables(hosts: Sequence[str], seen: Mapping[str, Seen | None]) -> tuple[Cable, ...]:
    """The cables that are there between hosts, whatever is wanted: by frames, or by equal serial numbers."""
    heard, _ = _heard(hosts, seen, _OTHER)
    drawn = [Host(name, tuple(map(Cage, _CAGES))) for name in hosts]
    return tuple(_found(drawn, heard, _serials(hosts, seen), {}))


def obstacles(fleet: Fleet, hosts: Sequence[str], seen: Mapping[str, Seen | None]) -> list[Refusal]:
    """Why no change of the network can bring the hosts together: every fault of their cabling."""
    return faults(build(fleet, hosts, seen))


def faults(shown: Topology) -> list[Refusal]:
    """Every fault of a cabling.

    What is not known is no reason: a change that does not join the hosts is taken back. Addresses are what a
    deploy mends.
    """
    verdicts = [finding.verdict for finding in shown.findings]
    amiss = [verdict for verdict in verdicts if verdict.level == "fault" and verdict.cause != "switch-subnet"]
    return [Refusal(each.evidence, each.cure) for each in amiss]


def cage_of(netdev: str, network: Network | None) -> str:
    """The cage of a netdev: the kernel's port name, or else the end of its own (enp1s0f0np0), or else itself."""
    link = network.links.get(netdev) if network else None
    if link and link.port:
        return link.port
    return clusters.cage_of(netdev) or netdev


def _host(fleet: Fleet, name: str, seen: Seen | None, strangers: Mapping[End, str]) -> Host:
    network = seen.network if seen else None
    real = {link.name for link in network.links.values() if re.fullmatch(r"p\d+", link.port)} if network else set()
    # a Spark on its own does not miss a declared netdev: it has no cable
    declared = set(fleet[name].fabric) if fleet.peers(name) else set()
    numbers = {rail.netdev: rail.number for rail in fleet.rails(name)}
    twins: dict[str, list[Twin]] = {cage: [] for cage in _CAGES}
    for netdev in sorted(real | declared, key=clusters.by_domain):
        twin = _twin(fleet, name, netdev, seen, numbers.get(netdev))
        twins.setdefault(cage_of(netdev, network), []).append(twin)
    return Host(
        name,
        tuple(Cage(cage, tuple(twins[cage]), strangers.get(End(name, cage), "")) for cage in sorted(twins)),
        read=seen is not None,
        silence=_silence(seen),
    )


def _twin(fleet: Fleet, host: str, netdev: str, seen: Seen | None, rail: int | None) -> Twin:
    address = fleet[host].fabric.get(netdev)
    device = seen.rdma.on(netdev) if seen else None
    slot = gid.find(seen.rdma.gids, netdev, address.ip) if seen and address else None
    return Twin(
        netdev,
        _state(netdev, seen),
        rail,
        address=str(address.ip) if address else "",
        device=device.name if device else "",
        gid_index=slot.index if slot else None,
        speed_mbps=seen.speeds.get(netdev) if seen else None,
    )


def _state(netdev: str, seen: Seen | None) -> State:
    if seen is None:
        return "unread"
    link = seen.network.links.get(netdev)
    if link is None:
        return "missing"
    if link.carrier:
        return "link"
    return "down" if seen.neighbours and netdev in seen.neighbours.down else "no carrier"


def _silence(seen: Seen | None) -> str:
    """Why a host's silence proves nothing of its cables: its probe did not run, or left out a lit netdev."""
    if seen is None:
        return ""
    if seen.neighbours is None:
        return "it was not started"
    if seen.neighbours.trouble:
        return seen.neighbours.trouble
    told = {*seen.neighbours.sent, *seen.neighbours.down}
    lit = {link.name for link in seen.network.links.values() if link.carrier and re.fullmatch(r"p\d", link.port)}
    missing = sorted(lit - told, key=clusters.by_domain)
    return f"it says nothing of {missing[0]}" if missing else ""


def _heard(hosts: Sequence[str], seen: Mapping[str, Seen | None], unknown: str) -> tuple[set[Way], dict[End, str]]:
    """Who heard whom among the hosts, and who else is heard at an end, in words.

    unknown: what a machine is whose address none of them has.
    """
    owners = _owners(seen)
    heards: set[Way] = set()
    strangers: dict[End, str] = {}
    all_known = all(seen.get(name) for name in hosts)  # else an address that no one has may be that host's
    for name in hosts:
        here = seen.get(name)
        for row in here.neighbours.heard if here and here.neighbours else ():
            listener = End(name, cage_of(row.netdev, here.network if here else None))
            senders = owners.get(row.mac, [])
            if not senders and all_known:
                strangers[listener] = f"a machine {unknown} ({row.mac})"
            elif not senders:
                continue
            elif len({end for end, _ in senders}) > 1:
                continue  # a bond gives its address to netdevs of several cages, and they cannot be distinguished
            elif senders[0][0].host not in hosts:
                strangers[listener] = senders[0][0].host
            elif senders[0][0] != listener:
                heards.update(Way(end, listener, netdev, row.netdev) for end, netdev in senders)
    return heards, strangers


def _owners(seen: Mapping[str, Seen | None]) -> dict[str, list[tuple[End, str]]]:
    """Ends and netdevs by MAC address."""
    owners: dict[str, list[tuple[End, str]]] = defaultdict(list)
    for name, here in seen.items():
        for link in here.network.links.values() if here else ():
            cage = link.port or clusters.cage_of(link.name)  # as the probe finds its netdevs
            if cage and link.mac:
                owners[link.mac.lower()].append((End(name, cage), link.name))
    return owners


def _serials(hosts: Sequence[str], seen: Mapping[str, Seen | None]) -> dict[End, set[str]]:
    """Digests of cable serials by cage; both twins show the one cable."""
    serials: dict[End, set[str]] = defaultdict(set)
    for name in hosts:
        here = seen.get(name)
        for netdev, digest in here.cables.items() if here else ():
            if digest:
                serials[End(name, cage_of(netdev, here.network if here else None))].add(digest)
    return serials


def _wanted(
    fleet: Fleet, hosts: Sequence[str], seen: Mapping[str, Seen | None]
) -> dict[tuple[End, End], list[int]]:
    """The cables that the rails need, with the numbers of those rails: one for each two cages that they join."""
    networks = {name: here.network if (here := seen.get(name)) else None for name in hosts}
    wanted: dict[tuple[End, End], list[int]] = defaultdict(list)
    for place, name in enumerate(hosts):
        for rail in fleet.rails(name):
            if rail.far.host in hosts[place + 1 :]:  # each edge once
                one, other = (
                    End(end.host, cage_of(end.netdev, networks[end.host])) for end in (rail.near, rail.far)
                )
                wanted[one, other].append(rail.number)
    return dict(wanted)


def _found(
    hosts: Sequence[Host],
    heard: set[Way],
    serials: Mapping[End, set[str]],
    wanted: Mapping[tuple[End, End], list[int]],
) -> Iterator[Cable]:
    """The cables that a frame or a serial number shows; a serial counts only where no frame contradicts it.

    A cable has two ends, so a serial that more of them show is a maker's word for all of its cables.
    """
    ends = [End(host.name, cage.name) for host in hosts for cage in host.cages]
    shown = Counter(digest for digests in serials.values() for digest in digests)
    loud = {end for each in heard for end in (each.sender, each.listener)}
    for one, other in combinations(ends, 2):
        over = tuple(sorted(each for each in heard if {each.sender, each.listener} == {one, other}))
        ways = len({each.sender for each in over})
        same = any(shown[each] == 2 for each in serials.get(one, set()) & serials.get(other, set()))
        if ways or (same and not {one, other} & loud):
            yield Cable(one, other, _BY_WAYS[ways], tuple(wanted.get((one, other), ())), over)


def _not_found(found: Topology, wanted: Mapping[tuple[End, End], list[int]]) -> Iterator[Cable]:
    """The wanted ones that nothing shows, or a carrier at both ends at best."""
    taken = {end for cable in found.cables for end in cable.ends}
    for (one, other), rails in wanted.items():
        if any(cable.ends == (one, other) for cable in found.cables):
            continue
        free = all(
            found.at(end).state == "link" and not found.at(end).stranger and end not in taken
            for end in (one, other)
        )
        yield Cable(one, other, "carrier only" if free else "none", tuple(rails))


def _noted(known: Topology, cable: Cable, serials: Mapping[End, set[str]]) -> Cable:
    """The cable with what else speaks for or against it."""
    one, other = (serials.get(end, set()) for end in cable.ends)
    cages = [known.at(end) for end in cable.ends]
    speeds = [cage.speed_mbps for cage in cages if cage.speed_mbps]
    slots = [twin.gid_index for cage in cages for twin in cage.twins if twin.rail in cable.rails]
    notes = []
    if one and other and cable.real and cable.evidence != "same cable serial":
        notes.append("same cable serial" if one & other else "cable serials differ")
    if speeds and cable.real:
        notes.append(f"{min(speeds) / 1000:g} Gb/s")
    if slots and None not in slots and cable.real:
        notes.append("GIDs at both ends")
    return replace(cable, notes=tuple(notes))
