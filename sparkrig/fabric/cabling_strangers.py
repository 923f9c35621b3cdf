"""What is on a fabric beside the hosts of a pair: other machines, switches, loops."""

from __future__ import annotations

from collections.abc import Iterator

from sparkrig.fabric.cabling import Cable, End, Topology
from sparkrig.text import listed
from sparkrig.verdict import Finding, Level, Verdict


def strangers(shown: Topology) -> Iterator[Finding]:
    for host in shown.hosts:
        for cage in host.cages:
            if cage.stranger:
                end = End(host.name, cage.name)
                lacking = _lacking(shown, end)
                yield Finding(f"{host.name} {cage.name}", _stranger(shown, end, lacking), lacking)


def _lacking(shown: Topology, *ends: End) -> tuple[int, ...]:
    """The rails of the wanted cables that are not there, and would end in these cages."""
    gone = [cable for cable in shown.cables if cable.wanted and not cable.real and {*ends} & {*cable.ends}]
    return tuple(sorted({rail for cable in gone for rail in cable.rails}))


def _stranger(shown: Topology, end: End, lacking: tuple[int, ...]) -> Verdict:
    level: Level = "fault" if lacking else "degraded"
    pair = len(shown.hosts) < 3
    return Verdict(
        level,
        "foreign-neighbour",
        f"{end} hears {shown.at(end).stranger}, "
        f"so its cable leads to {'a third' if pair else 'another'} Spark, or to a switch that has other machines",
        f"follow the cable from {end}, or declare the machine at its far end{' as the peer' if pair else ''}",
    )


def switches(shown: Topology) -> Iterator[Finding]:
    end = next((end for cable in shown.cables for end in cable.ends if len(shown.reached(end)) > 1), None)
    if end is not None:
        verdict = Verdict(
            "degraded",
            "switch",
            f"{end} reaches {listed(map(str, shown.reached(end)))}, so a switch joins them all",
            "give each pair of cages a VLAN of its own on the switch, or join the Sparks by cables",
        )
        yield Finding("pair", verdict)


def loops(shown: Topology) -> Iterator[Finding]:
    for cable in shown.cables:
        if cable.loops and not shown.switched(cable):
            one, other = cable.ends
            needed = shown.at(one).rails or shown.at(other).rails
            verdict = Verdict(
                "fault" if needed else "degraded",
                "loop",
                f"{one} reaches {other}: both plugs of one cable sit in the same Spark",
                _way_out(shown, cable),
            )
            yield Finding(one.host, verdict, _lacking(shown, one, other))


def _way_out(shown: Topology, loop: Cable) -> str:
    """Which plug of a loop belongs where."""
    for cable in shown.cables:
        for kept, far in (cable.ends, cable.ends[::-1]):
            if cable.wanted and kept in loop.ends and not shown.taken(far):
                moved = loop.one if kept == loop.other else loop.other
                return f"move the plug from {moved} to {far}"
    return f"take the cable out of {loop.one.host}"
