"""Cables that lie elsewhere than the inventory wants them, and the fewest plugs to move."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from sparkrig.fabric.cabling import Cable, End, Topology
from sparkrig.text import listed, rails
from sparkrig.verdict import Finding, Level, Verdict

# by each end, the one that its cable leads to
_Plan = Mapping[End, End]


class _Way(NamedTuple):
    """What to do about cables that lie elsewhere, and what leads where then; empty where that is not known."""

    cure: str
    after: _Plan


def findings(shown: Topology) -> Iterator[Finding]:
    """Loops, cables that lie elsewhere, and cables that no plug is left for."""
    loops = [cable for cable in shown.cables if cable.loops and not shown.switched(cable)]
    stray = [cable for cable in shown.cables if leads_elsewhere(shown, cable)]
    if not loops and not stray:
        return
    wanted = _plan(cable for cable in shown.cables if cable.wanted)
    way = _way_out(stray, shown, wanted)
    for cable in loops:
        yield _loop(shown, cable, way)
    if stray:
        yield _elsewhere(shown, stray, wanted, way.cure)
    yield from _no_cable_left(shown, wanted, way)


def leads_elsewhere(shown: Topology, cable: Cable) -> bool:
    """Whether a cable lies where none is wanted, in place of one; ways through a switch are no cables.

    Beside all that are wanted, a cable between cages that need none is a spare.
    """
    if not cable.real or cable.wanted or cable.loops or shown.switched(cable):
        return False
    wanted = [each for each in shown.cables if each.wanted]
    return not all(each.real for each in wanted) or any({*cable.ends} & {*each.ends} for each in wanted)


def lacking(shown: Topology, ends: Iterable[End]) -> tuple[int, ...]:
    """The rails of the wanted cables that are not there, and would end in these cages."""
    gone = [cable for cable in shown.cables if cable.wanted and not cable.real and {*ends} & {*cable.ends}]
    return tuple(sorted({rail for cable in gone for rail in cable.rails}))


def _loop(shown: Topology, cable: Cable, way: _Way) -> Finding:
    one, other = cable.ends
    level: Level = "fault" if shown.at(one).rails or shown.at(other).rails else "degraded"
    text = f"{one} reaches {other}: both plugs of one cable sit in the same Spark"
    cure = way.cure if way.after else f"take the cable out of {one.host}"
    return Finding(one.host, Verdict(level, "loop", text, cure), lacking(shown, cable.ends))


def _plan(wanted: Iterable[Cable]) -> _Plan:
    return {end: far for cable in wanted for end, far in (cable.ends, cable.ends[::-1])}


def _elsewhere(shown: Topology, stray: Sequence[Cable], wanted: _Plan, cure: str) -> Finding:
    """The cables that lead elsewhere, which one cure mends.

    `p0 of spark-b reaches p1 of spark-a, and wanted is p1 of spark-c`.
    """
    numbers, texts = set[int](), []
    for cable in stray:
        one, other = cable.ends if cable.one in wanted else cable.ends[::-1]
        if one in wanted:
            numbers |= {rail for end in cable.ends for rail in shown.at(end).rails}
            texts.append(f"{one} reaches {other}, and wanted is {wanted[one]}")
        else:
            lacking = next(each for each in shown.cables if each.wanted and not each.real)
            numbers |= {*lacking.rails}
            texts.append(f"{other} reaches {one}, and wanted is {lacking.one} to {lacking.other}")
    if shown.form == "cable":
        cure = f"{cure}, or name the netdevs of the cages that are cabled in the fabric setting"
    verdict = Verdict("fault", "cable-crossed", "; ".join(texts), cure)
    return Finding(rails(sorted(numbers)), verdict, tuple(sorted(numbers)))


def _no_cable_left(shown: Topology, wanted: _Plan, way: _Way) -> Iterator[Finding]:
    """A cable that is out beside one that lies elsewhere: no plug is left for it once that one is moved."""
    free = [end for end in wanted if not shown.taken(end)]
    if not way.after or any(shown.at(end).state != "no carrier" for end in free):
        return
    there = sum(cable.real for cable in shown.cables)
    short = f"{there} of {len(wanted) // 2} cables {'is' if there == 1 else 'are'} there"
    dark = f"{listed(map(str, sorted(free)))} have no carrier"
    for cable in shown.cables:
        if cable.wanted and shown.explained(cable) and cable.one not in way.after:
            ends = listed(map(str, cable.ends))
            text = f"{dark}: {short}, and none is left for {ends}"
            cure = f"seat a QSFP cable in {ends} until it clicks, once the others are where they belong"
            yield Finding(rails(cable.rails), Verdict("fault", "cable-out", text, cure), cable.rails)


def _way_out(stray: Iterable[Cable], shown: Topology, wanted: _Plan) -> _Way:
    """The fewest plugs to move: two that change places, or both of some hosts; else each cable by itself."""
    there = _plan(cable for cable in shown.cables if cable.real and not shown.switched(cable))
    at_one_host_first = sorted(
        combinations(sorted({*there, *wanted}), 2), key=lambda ends: ends[0].host != ends[1].host
    )
    for one, other in at_one_host_first:
        if _fits(after := _moved(there, {one: other, other: one}), wanted):
            return _Way(_act(there, one, other), after)
    names = [host.name for host in shown.hosts]
    for count in range(1, len(names) + 1):
        for turned in combinations(names, count):
            both = [*_both(shown, turned)]
            if _fits(after := _moved(there, dict([*both, *(ends[::-1] for ends in both)])), wanted):
                return _Way(_of_hosts(there, both, names), after)
    each = (
        f"let the cable from {one} lead to {wanted[one]}"
        for cable in stray
        for one in [next((end for end in cable.ends if end in wanted), None)]
        if one
    )
    return _Way("; ".join(each), {})


def _act(there: _Plan, one: End, other: End) -> str:
    """What to do with the plugs of two cages that change places."""
    if one in there and other in there:
        return f"swap the plugs in {one} and {other}"
    here, free = (one, other) if one in there else (other, one)
    return f"move the plug from {here} to {free}"


def _of_hosts(there: _Plan, both: Sequence[tuple[End, End]], names: Sequence[str]) -> str:
    """What to do with the plugs of some hosts, whose cages change places."""
    if any(end not in there for ends in both for end in ends):
        return listed(_act(there, *ends) for ends in both)
    renamed = _or_renamed(names) if len(both) == len(names) > 2 else ""
    return f"swap the two plugs of {listed(one.host for one, _ in both)}{renamed}"


def _or_renamed(names: Sequence[str]) -> str:
    """Where each p0 leads to p1 of the host before, the other order of the hosts is a cure, too."""
    first, *others = names
    return f", or name the hosts as {listed([first, *others[::-1]])} where fabric_network gives the addresses"


def _both(shown: Topology, hosts: Iterable[str]) -> Iterator[tuple[End, End]]:
    """The two cages of each of some hosts."""
    for host in shown.hosts:
        if host.name in hosts and len(host.cages) == 2:
            one, other = (End(host.name, cage.name) for cage in host.cages)
            yield one, other


def _moved(there: _Plan, places: Mapping[End, End]) -> _Plan:
    """The cables once plugs have changed places."""
    return {places.get(end, end): places.get(far, far) for end, far in there.items()}


def _fits(there: _Plan, wanted: _Plan) -> bool:
    """Whether as many cables as can be lie where they are wanted."""
    return sum(wanted.get(end) == far for end, far in there.items()) == min(len(there), len(wanted))
