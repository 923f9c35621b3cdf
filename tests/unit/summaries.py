"""What `sparkrig summary` is given."""

from __future__ import annotations

from sparkrig.facts.spark import Spark
from sparkrig.look.state import State
from tests.plan.conftest import recorded

A, B = "spark-a", "spark-b"


RAIL, OTHER = "enp1s0f0np0", "enP2p1s0f0np0"


FABRIC = {
    A: {RAIL: "192.168.100.11/24", OTHER: "192.168.101.11/24"},
    B: {RAIL: "192.168.100.12/24", OTHER: "192.168.101.12/24"},
}


LAB = {name: {"pair": "p", "fabric": fabric, "bandwidth_floor": 0.01} for name, fabric in FABRIC.items()}


def text(kind: str, name: str) -> str:
    return recorded(f"{kind}-{name[-1]}")


def state(kind: str = "converged", name: str = A) -> State:
    return Spark().process(text(kind, name).splitlines())
