"""Cables become qemu arguments, and carriers."""

from __future__ import annotations

from pathlib import Path

from lab.wiring import STRAIGHT, Cable, carriers, far_end, rails

HOME = Path("/lab")
CROSSED = (Cable(("spark-a", "p0"), ("spark-b", "p1")), Cable(("spark-a", "p1"), ("spark-b", "p0")))


def backends(node: str, cabling: tuple[Cable, ...]) -> list[str]:
    return rails(node, cabling, HOME)[1::2]


def test_each_rail_is_a_pair_of_sockets_named_after_its_ends() -> None:
    assert backends("spark-a", STRAIGHT)[0] == (
        "dgram,id=enp1s0f0np0,local.type=unix,local.path=/lab/spark-a/enp1s0f0np0.rail"
        ",remote.type=unix,remote.path=/lab/spark-b/enp1s0f0np0.rail"
    )


def test_carriers_follow_the_plugs() -> None:
    assert carriers("spark-a", STRAIGHT) == {
        "enp1s0f0np0": True,
        "enP2p1s0f0np0": True,
        "enp1s0f1np1": False,
        "enP2p1s0f1np1": False,
    }
    assert set(carriers("spark-b", CROSSED).values()) == {True}


def test_a_solo_spark_has_nothing_to_wire() -> None:
    assert rails("spark-s", STRAIGHT, HOME) == []
    assert carriers("spark-s", STRAIGHT) == {}


def test_a_cable_is_found_from_either_end() -> None:
    assert far_end(("spark-a", "p0"), CROSSED) == ("spark-b", "p1")
    assert far_end(("spark-b", "p1"), CROSSED) == ("spark-a", "p0")
    assert far_end(("spark-s", "p0"), CROSSED) is None
