"""Surveys of a pair, in spec and with one fault each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from sparkrig.fabric.neighbours import Heard, Neighbours
from sparkrig.fabric.survey import Survey
from sparkrig.facts.fabric import Fabric
from sparkrig.fleet import Fleet

RECORDED = Path(__file__).resolve().parent.parent / "fixtures" / "spark"


SETTINGS = {
    name: {
        "pair": "p",
        "bandwidth_floor": 0.01,
        "fabric": {"enp1s0f0np0": f"192.168.100.{last}/24", "enP2p1s0f0np0": f"192.168.101.{last}/24"},
    }
    for name, last in (("spark-a", 11), ("spark-b", 12))
}


def surveyed(change: Callable[[str, str], str] = lambda _, text: text) -> Survey:
    """The recorded pair; `change` is given each host's name and what its look printed."""
    found = {}
    for name in SETTINGS:
        text = (RECORDED / f"fabric-{name[-1]}.txt").read_text()
        found[name] = Fabric().process(change(name, text).splitlines())
    near = {name: {link.name: link.mac for link in found[name].network.links.values()} for name in found}
    heard = {
        name: Neighbours(
            sent=dict.fromkeys(RAILS, 40), heard=tuple(Heard(netdev, near[other][netdev], 40) for netdev in RAILS)
        )
        for name, other in (("spark-a", "spark-b"), ("spark-b", "spark-a"))
    }
    return Survey(Fleet.parse(SETTINGS), tuple(SETTINGS), found, heard)


RAILS = ("enp1s0f0np0", "enP2p1s0f0np0")
