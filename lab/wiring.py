"""Cables between the cages of the pair: pure, from a cabling to qemu arguments and carriers.

Every rail is a Unix datagram socket at each end: no port, no order of start, and a guest that restarts
finds its cable as it was.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lab.nodes import CAGES, fabric

End = tuple[str, str]
"""A node and one of its cages."""


@dataclass(frozen=True)
class Cable:
    """A cable from cage to cage; an unplugged one lies ready but gives no carrier."""

    one: End
    other: End
    plugged: bool = True


Cabling = tuple[Cable, ...]

STRAIGHT: Cabling = (
    Cable(("spark-a", "p0"), ("spark-b", "p0")),
    Cable(("spark-a", "p1"), ("spark-b", "p1"), plugged=False),
)

# The one cable that is plugged leads to the other cage of spark-b.
CROSSED: Cabling = (
    Cable(("spark-a", "p0"), ("spark-b", "p1")),
    Cable(("spark-a", "p1"), ("spark-b", "p0"), plugged=False),
)


def cable_at(end: End, cabling: Cabling) -> Cable | None:
    """The cable whose plug is in this cage."""
    return next((cable for cable in cabling if end in (cable.one, cable.other)), None)


def far_end(end: End, cabling: Cabling) -> End | None:
    """The cage at the other end of the cable."""
    cable = cable_at(end, cabling)
    if cable is None:
        return None
    return cable.other if cable.one == end else cable.one


def carriers(node: str, cabling: Cabling) -> dict[str, bool]:
    """Which fabric netdevs of `node` have a carrier."""
    found: dict[str, bool] = {}
    for cage, twins in CAGES.items():
        cable = cable_at((node, cage), cabling)
        found |= {twin: cable is not None and cable.plugged for twin in twins if twin in fabric(node)}
    return found


def rails(node: str, cabling: Cabling, home: Path) -> list[str]:
    """qemu's `-netdev` arguments, one per fabric netdev of `node`."""
    arguments = []
    for cage, twins in CAGES.items():
        far = far_end((node, cage), cabling)
        for lane, twin in enumerate(twins):
            if twin not in fabric(node):
                continue
            # without a cable it leads nowhere, but qemu asks for an end
            peer = rail(far[0], CAGES[far[1]][lane], home) if far else rail(node, f"{twin}-nowhere", home)
            backend = (
                f"dgram,id={twin},local.type=unix,local.path={rail(node, twin, home)},"
                f"remote.type=unix,remote.path={peer}"
            )
            arguments += ["-netdev", backend]
    return arguments


def rail(node: str, netdev: str, home: Path) -> Path:
    """The socket at one end of a rail."""
    return home / node / f"{netdev}.rail"
