"""Which guests there are and how they are joined: what `up` was asked for, kept for the commands that follow."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from lab.errors import LabError
from lab.nodes import CABLED, PAIR, SOLO, SWITCH
from lab.paths import home
from lab.wiring import STRAIGHT, Cable, Cabling, ring, star, swapped

TOPOLOGIES = ("cable", "ring", "switch")


@dataclass(frozen=True)
class Layout:
    """The guests of one cluster (or the lone one), their cables, and whether they have a LAN in common."""

    topology: str
    nodes: tuple[str, ...]
    cabling: Cabling
    lan: bool

    @property
    def switched(self) -> bool:
        return self.topology == "switch"

    @property
    def straight(self) -> Layout:
        """The same with its cables where they belong."""
        return replace(self, cabling=wanted(self.topology, self.nodes))

    @property
    def crossed(self) -> Layout:
        """The same with the two plugs of the second Spark in one another's cage."""
        second = self.nodes[1]
        return replace(self, cabling=swapped(self.straight.cabling, (second, "p0"), (second, "p1")))

    def laid(self, cabling: Cabling) -> Layout:
        """The same with other cables. LabError for one that leads to what is not there."""
        there = {*self.nodes, SWITCH} if self.switched else {*self.nodes}
        for node in (node for cable in cabling for node, _ in (cable.one, cable.other)):
            if node not in there:
                raise LabError(
                    f"{node} is no part of this {self.topology} of {len(self.nodes)}",
                    expected=f"ends at {', '.join(sorted(there))}",
                    attempt="sparkrig lab rewire straight",
                )
        return replace(self, cabling=cabling)


def pair(cabling: Cabling = STRAIGHT, *, lan: bool = False) -> Layout:
    """Two Sparks with a cable."""
    return Layout("cable", PAIR, cabling, lan)


def solo() -> Layout:
    """The single Spark."""
    return Layout("cable", (SOLO,), (), lan=False)


def cluster(topology: str, count: int) -> Layout:
    """So many Sparks in a ring or on a switch. LabError for what cannot be."""
    if topology == "ring" and count != 3:
        why = "two have one cable" if count < 3 else "opposite ones of four have no cable between them"
        raise LabError(
            f"the lab has no ring of {count}: {why}",
            expected="a ring of 3",
            attempt="sparkrig lab up --nodes 3 --topology ring",
        )
    if topology == "switch" and not 2 <= count <= len(CABLED):
        raise LabError(
            f"the lab has no {count} Sparks for a switch",
            expected=f"2 to {len(CABLED)}",
            attempt="sparkrig lab up --nodes 3 --topology switch",
        )
    if topology == "cable" and count != 2:
        raise LabError(
            f"one cable does not join {count} Sparks",
            expected="2, or --topology ring (3) or switch (2 to 4)",
            attempt="sparkrig lab up --nodes 3 --topology ring",
        )
    nodes = CABLED[:count]
    return Layout(topology, nodes, wanted(topology, nodes), lan=True)


def wanted(topology: str, nodes: Sequence[str]) -> Cabling:
    """The cables as they belong."""
    if tuple(nodes) == (SOLO,):
        return ()
    return {"cable": lambda _: STRAIGHT, "ring": ring, "switch": star}[topology](nodes)


def in_force() -> Layout:
    """The layout of the last `up`, `reset` or `rewire`; the pair before the first."""
    file = home() / "layout.json"
    if not file.is_file():
        return pair()
    found = json.loads(file.read_text())
    cabling = tuple(
        Cable((one[0], one[1]), (other[0], other[1]), plugged) for one, other, plugged in found["cabling"]
    )
    return Layout(found["topology"], tuple(found["nodes"]), cabling, found["lan"])


def put_in_force(layout: Layout) -> None:
    """Keeps the layout for the commands that follow."""
    rows = [[cable.one, cable.other, cable.plugged] for cable in layout.cabling]
    text = json.dumps(asdict(layout) | {"cabling": rows})
    whole = home() / "layout.json.new"
    whole.write_text(text)
    whole.rename(home() / "layout.json")
