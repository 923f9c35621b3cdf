"""Runs of the bandwidth check on a ring of three and on a switch, with the figures that a test gives them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import combinations, permutations

from sparkrig.bandwidth import bands, measurement, ports
from sparkrig.bandwidth.bands import Expected, Figure
from sparkrig.bandwidth.measurement import Edge, End, Form, Host, Measurement, Run
from sparkrig.fleet import Fleet
from sparkrig.verdict import Verdict

EXPECTED = Expected(path_mtu=4096)
NAMES = tuple(f"spark-{letter}" for letter in "abcdefgh")
REACHED = Verdict("fault", "unreachable", "it does not answer a ping over this rail", "sparkrig topology")
Way = tuple[str, str, int]
"""Sender, receiver, number of the twin."""
Outcome = float | Verdict | tuple[float, Verdict]
Figures = Callable[[str, str, int], Outcome]


def boot(name: str) -> str:
    """The id of the boot that a host is in."""
    return f"{str(NAMES.index(name)) * 8}-2222-4333-8444-555555555555"


def fleet(count: int, form: Form = "switch", **settings: object) -> Fleet:
    network = {"fabric_network": "10.20.0.0/16"}
    data = {"cluster": "sparks", "topology": form, **network, **settings}
    return Fleet.parse(dict.fromkeys(NAMES[:count], data))


def run(
    figures: Figures = lambda *_: 111.8,
    count: int = 4,
    form: Form = "switch",
    *,
    missing: Mapping[str, str] = {},
    both_ways: bool = True,
) -> Run:
    """A run in which each way carries what is said of it, in Gb/s, or has that verdict."""
    found = fleet(count, form)
    names = NAMES[:count]
    open_ = [
        Edge.blank(rail, twin, Verdict("unknown", "host-lost", next(iter(missing.values()), "")))
        if {*pair} & missing.keys()
        else _ended(Edge.blank(rail, twin, Verdict("unknown")))
        for pair in combinations(names, 2)
        for twin, rail in enumerate(found.between(*pair))
    ]
    measured = [share for edge in open_ if edge.ends for share in _shares(edge, figures, both_ways=both_ways)]
    judged = [_judged(edge, measured) for edge in open_]
    told = ports.judge(judged, measured, missing, form)
    return Run(
        id="r1",
        started_at="2026-11-26T10:00:00+00:00",
        pair="sparks",
        mtu=9000,
        hosts={name: Host(boot_id=boot(name), kernel="6.17.0-1014-nvidia") for name in names},
        rails=told.edges,
        measurements=tuple(measured),
        findings=told.findings,
        topology=form,
        ports=told.ports,
        missing=missing,
    )


def _ended(edge: Edge) -> Edge:
    ends = {
        name: End(f"roce-{netdev}", 3, netdev, f"10.20.{edge.number}.{11 + NAMES.index(name)}")
        for name, netdev in zip(edge.hosts, edge.netdevs, strict=True)
    }
    return replace(edge, ends=ends)


def _shares(edge: Edge, figures: Figures, *, both_ways: bool) -> list[Measurement]:
    ways = [*permutations(edge.hosts)] if both_ways else [edge.hosts]
    return [_share(edge, sender, receiver, figures(sender, receiver, edge.twin)) for sender, receiver in ways]


def _share(edge: Edge, sender: str, receiver: str, outcome: Outcome) -> Measurement:
    words = "ib_write_bw", edge.number, sender, receiver, 4, False
    if isinstance(outcome, Verdict):
        return Measurement(*words, outcome)  # type: ignore[arg-type]
    gbps, verdict = (
        outcome if isinstance(outcome, tuple) else (outcome, bands.judge(Figure(outcome, 4096), EXPECTED))
    )
    return Measurement(*words, verdict, gbps, path_mtu=4096)  # type: ignore[arg-type]


def _judged(edge: Edge, measured: list[Measurement]) -> Edge:
    mine = measurement.of(edge, measured)
    return replace(edge, verdict=measurement.overall(mine)) if mine else edge


def slow_port(host: str, gbps: float = 13.35, *, twins: tuple[int, ...] = (0, 1)) -> Figures:
    """What a host with a slow port gives: each edge of it that much, all others a healthy figure."""

    def figures(sender: str, receiver: str, twin: int) -> float:
        place = (NAMES.index(sender) * 3 + NAMES.index(receiver) + twin) % 7
        return (gbps if host in (sender, receiver) and twin in twins else 111.2) + place / 10

    return figures
