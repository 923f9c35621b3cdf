"""What is wrong with the cables of a ring of three, and which plug to move."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from sparkrig.fabric import cabling_judge as cables
from sparkrig.fabric.cabling import Cable, End, Topology
from sparkrig.fabric.cabling_strangers import loops, strangers
from sparkrig.text import listed, rails
from sparkrig.verdict import Finding, Verdict

# by each end, the one that its cable leads to
_Plan = Mapping[End, End]


class _Way(NamedTuple):
    """What to do about cables that lie elsewhere, and what leads where then; empty where that is not known."""

    cure: str
    after: _Plan


def findings(shown: Topology) -> Iterator[Finding]:
    """The findings of a ring, causes first; nothing where all is well."""
    yield from strangers(shown)
    yield from loops(shown)
    yield from _switch(shown)
    stray = [cable for cable in shown.cables if _leads_elsewhere(shown, cable)]
    wanted = _plan(cable for cable in shown.cables if cable.wanted)
    way = _way_out(stray, shown, wanted)
    for cable in stray:
        yield _elsewhere(shown, cable, wanted, way.cure)
    yield from _no_cable_left(shown, wanted, way)
    for cable in shown.cables:
        if cable.wanted and not shown.explained(cable) and shown.read(*cable.ends):
            yield from cables.of_cable(shown, cable)


def _leads_elsewhere(shown: Topology, cable: Cable) -> bool:
    """Whether a cable joins two hosts where none is wanted; ways through a switch are no cables."""
    return cable.real and not cable.wanted and not cable.loops and not shown.switched(cable)


def _switch(shown: Topology) -> Iterator[Finding]:
    """A switch between the Sparks: one finding, whatever number of cages it joins."""
    joined = [cable for cable in shown.cables if cable.heard and shown.switched(cable)]
    ends = sorted({end for cable in joined for end in cable.ends})
    if not ends:
        return
    apart = [
        cable
        for cable in shown.cables
        if cable.wanted and not cable.real and {*cable.ends} & {*ends} and shown.read(*cable.ends)
    ]
    numbers = tuple(sorted(rail for cable in apart for rail in cable.rails))
    lacking = f", and not {listed(' to '.join(map(str, cable.ends)) for cable in apart)}" if apart else ""
    verdict = Verdict(
        "fault" if apart else "degraded",
        "switch",
        f"a switch joins {listed(map(str, ends))}{lacking}, and a ring is wanted",
        "declare topology switch, with one plug of each Spark in it; or join the Sparks by three cables",
    )
    yield Finding("cluster", verdict, numbers)


def _plan(wanted: Iterable[Cable]) -> _Plan:
    return {end: far for cable in wanted for end, far in (cable.ends, cable.ends[::-1])}


def _elsewhere(shown: Topology, stray: Cable, wanted: _Plan, cure: str) -> Finding:
    """A cable that leads elsewhere: `p0 of spark-b reaches p1 of spark-a, and wanted is p1 of spark-c`."""
    one, other = stray.ends if stray.one in wanted else stray.ends[::-1]
    far = wanted.get(one)
    text = f"{one} reaches {other}, and wanted is {far or 'no cable'}"
    numbers = sorted({rail for end in stray.ends for rail in shown.at(end).rails})
    verdict = Verdict("fault", "cable-crossed", text, cure)
    return Finding(rails(numbers) if numbers else one.host, verdict, tuple(numbers))


def _no_cable_left(shown: Topology, wanted: _Plan, way: _Way) -> Iterator[Finding]:
    """A cable that is out beside one that lies elsewhere: no plug is left for it once that one is moved."""
    free = [end for end in wanted if not shown.taken(end)]
    if not way.after or any(shown.at(end).state != "no carrier" for end in free):
        return
    there = sum(cable.real for cable in shown.cables)
    short = f"{there} of three cables {'is' if there == 1 else 'are'} there"
    dark = f"{listed(map(str, sorted(free)))} have no carrier"
    for cable in shown.cables:
        if cable.wanted and shown.explained(cable) and cable.one not in way.after:
            ends = listed(map(str, cable.ends))
            text = f"{dark}: {short}, and none is left for {ends}"
            cure = f"seat a QSFP cable in {ends} until it clicks, once the others are where they belong"
            yield Finding(rails(cable.rails), Verdict("fault", "cable-out", text, cure), cable.rails)


def _way_out(stray: Iterable[Cable], shown: Topology, wanted: _Plan) -> _Way:
    """The fewest plugs to move: two that change places, or both of some hosts; else each cable by itself."""
    there = _plan(cable for cable in shown.cables if cable.real)
    at_one_host_first = sorted(
        combinations(sorted({*there, *wanted}), 2), key=lambda ends: ends[0].host != ends[1].host
    )
    for one, other in at_one_host_first:
        if _fits(after := _moved(there, {one: other, other: one}), wanted):
            if one in there and other in there:
                return _Way(f"swap the plugs in {one} and {other}", after)
            here, free = (one, other) if one in there else (other, one)
            return _Way(f"move the plug from {here} to {free}", after)
    names = [host.name for host in shown.hosts]
    for count in range(1, len(names) + 1):
        for turned in combinations(names, count):
            if _fits(after := _moved(there, dict(_both(shown, turned))), wanted):
                renamed = _or_renamed(names) if count == len(names) else ""
                return _Way(f"swap the two plugs of {listed(turned)}{renamed}", after)
    each = (
        f"let the cable from {one} lead to {wanted[one]}"
        for cable in stray
        for one in [next((end for end in cable.ends if end in wanted), None)]
        if one
    )
    return _Way("; ".join(each), {})


def _or_renamed(names: Sequence[str]) -> str:
    """Where each p0 leads to p1 of the host before, the other order of the hosts is a cure, too."""
    first, *others = names
    return f", or name the hosts as {listed([first, *others[::-1]])} where fabric_network gives the addresses"


def _both(shown: Topology, hosts: Iterable[str]) -> Iterator[tuple[End, End]]:
    for host in shown.hosts:
        if host.name in hosts and len(host.cages) == 2:
            one, other = (End(host.name, cage.name) for cage in host.cages)
            yield from ((one, other), (other, one))


def _moved(there: _Plan, places: Mapping[End, End]) -> _Plan:
    """The cables once plugs have changed places."""
    return {places.get(end, end): places.get(far, far) for end, far in there.items()}


def _fits(there: _Plan, wanted: _Plan) -> bool:
    return all(wanted.get(end) == far for end, far in there.items())
