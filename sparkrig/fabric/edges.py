"""The rails of a cluster of more than two as edges, each once, and what a look at all hosts shows of one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from sparkrig.bandwidth.cluster_run import Edge
from sparkrig.fabric.neighbours import Neighbours
from sparkrig.fabric.survey import Survey
from sparkrig.fleet import Fleet, Rail
from sparkrig.verdict import Verdict


def between(fleet: Fleet, one: str, other: str) -> list[Rail]:
    """The rails of two hosts, in the order of their PCI domains, so that the first is that of the first twin."""
    return sorted((rail for rail in fleet.rails(one) if rail.far.host == other), key=_domain)


def of(fleet: Fleet, names: Sequence[str]) -> list[tuple[Rail, int]]:
    """Each edge once, as the earlier host of the inventory sees it, with the number of its twin."""
    pairs = combinations(names, 2)
    return [(rail, twin) for pair in pairs for twin, rail in enumerate(between(fleet, *pair))]


def open_edge(rail: Rail, twin: int, verdict: Verdict) -> Edge:
    """An edge without ends: one that cannot be measured, or was not yet."""
    ends = rail.near, rail.far
    return Edge(
        number=rail.number,
        ends={},
        verdict=verdict,
        hosts=(ends[0].host, ends[1].host),
        netdevs=(ends[0].netdev, ends[1].netdev),
        twin=twin,
    )


def view(seen: Survey, one: str, other: str) -> Survey:
    """What is seen of two hosts of a switch by themselves: the frames of the other members count for nothing.

    A rail of a switch has one number on all its edges, so a fault of one port would else be that of every edge.
    """
    third = [each for name, each in seen.found.items() if name not in (one, other)]
    macs = {link.mac.lower() for each in third for link in each.network.links.values()}
    heard = {name: _without(seen.heard[name], macs) for name in (one, other) if name in seen.heard}
    found = {name: seen.found[name] for name in (one, other)}
    return Survey(seen.fleet, (one, other), found, heard)


def blocked(seen: Survey, rail: Rail) -> Verdict | None:
    """Why an edge between two hosts that were read cannot be measured, or None."""
    hosts = rail.near.host, rail.far.host
    alone = view(seen, *hosts) if seen.fleet[hosts[0]].form == "switch" else seen
    return alone.blocked(rail)


def _domain(rail: Rail) -> int:
    """The PCI domain in the name of a netdev: 2 of enP2p1s0f0np0; domain 0 is not spelled."""
    named = re.match(r"enP(\d+)", rail.netdev)
    return int(named.group(1)) if named else 0


def _without(heard: Neighbours, macs: set[str]) -> Neighbours:
    return replace(heard, heard=tuple(each for each in heard.heard if each.mac.lower() not in macs))
