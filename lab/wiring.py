"""Cables between cages, and between cages and the ports of a switch: pure, to qemu arguments and carriers.

Every rail is a Unix datagram socket at each end: no port, no order of start, and a guest that restarts
finds its cable as it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lab.errors import LabError
from lab.nodes import CABLED, CAGES, SWITCH, check, fabric

End = tuple[str, str]
"""A node and one of its cages; or the switch and one of its ports, named after the node that it is for."""


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


def ring(nodes: Sequence[str]) -> Cabling:
    """Each p0 to the next one's p1, as NVIDIA cables three Sparks."""
    return tuple(
        Cable((node, "p0"), (following, "p1"))
        for node, following in zip(nodes, (*nodes[1:], nodes[0]), strict=True)
    )


def star(nodes: Sequence[str]) -> Cabling:
    """Each p0 to a port of the switch; p1 has no cable."""
    return tuple(Cable((node, "p0"), (SWITCH, node)) for node in nodes)


def swapped(cabling: Cabling, one: End, other: End) -> Cabling:
    """The same cables with the plugs of two ends in one another's place."""
    places = {one: other, other: one}
    return tuple(
        replace(cable, one=places.get(cable.one, cable.one), other=places.get(cable.other, cable.other))
        for cable in cabling
    )


def parse(words: Sequence[str]) -> Cabling:
    """The cables that a person names, each as `spark-a:p0=spark-b:p1`. LabError for what cannot be laid."""
    cabling: Cabling = ()
    for word in words:
        one, equals, other = word.partition("=")
        if not equals:
            raise not_a_cable(word)
        cable = Cable(end(one, word), end(other, word))
        for plug in (cable.one, cable.other):
            if cable.one == cable.other or cable_at(plug, cabling):
                raise LabError(
                    f"two plugs are to go into {':'.join(plug)}",
                    expected="each cage once",
                    attempt="sparkrig lab rewire straight",
                )
        cabling += (cable,)
    return cabling


def end(text: str, word: str) -> End:
    """`spark-a:p0`, or `switch:spark-a`, as a part of `word`."""
    node, _, cage = text.partition(":")
    if cage in CABLED if node == SWITCH else cage in CAGES and check(node) in CABLED:
        return node, cage
    raise not_a_cable(word)


def not_a_cable(word: str) -> LabError:
    """The complaint about what a person typed as a cable."""
    return LabError(
        f"{word!r} names no cable",
        expected="two ends, such as spark-a:p0=spark-b:p1 or spark-a:p0=switch:spark-a",
        attempt="sparkrig lab rewire straight",
    )


def cages(node: str) -> dict[str, tuple[str, str]]:
    """The two netdevs behind each cage of a node, or behind each port of the switch (a0 and a1: of spark-a)."""
    if node == SWITCH:
        return {each: (f"{each[-1]}0", f"{each[-1]}1") for each in CABLED}
    return CAGES if fabric(node) else {}


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
    for cage, twins in cages(node).items():
        cable = cable_at((node, cage), cabling)
        found |= dict.fromkeys(twins, cable is not None and cable.plugged)
    return found


def rails(node: str, cabling: Cabling, home: Path) -> list[str]:
    """qemu's `-netdev` arguments, one per fabric netdev of `node`."""
    arguments = []
    for cage, twins in cages(node).items():
        far = far_end((node, cage), cabling)
        for lane, twin in enumerate(twins):
            # without a cable it leads nowhere, but qemu asks for an end
            peer = rail(far[0], cages(far[0])[far[1]][lane], home) if far else rail(node, f"{twin}-nowhere", home)
            arguments += ["-netdev", datagrams(twin, rail(node, twin, home), peer)]
    return arguments


def datagrams(netdev: str, ours: Path, theirs: Path) -> str:
    """qemu's backend of a netdev, whose frames are datagrams from one Unix socket to another."""
    return f"dgram,id={netdev},local.type=unix,local.path={ours},remote.type=unix,remote.path={theirs}"


def rail(node: str, netdev: str, home: Path) -> Path:
    """The socket at one end of a rail."""
    return home / node / f"{netdev}.rail"
