"""What a black box kept, as its program writes it: two hours of a Spark, to be changed for a test."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from sparkrig.host.blackbox import BlackBox
from sparkrig.watch.blackbox_rows import parse

END = 1795659120.0  # 03:12 on 2026-11-26 in a zone that is an hour ahead
GIB = 2**20
TOTAL = 127535084
LOST, BEFORE = "5d4f3c8e", "11111111"
Step = dict[str, Any]
Change = Callable[[int, Step], object]


def step() -> Step:
    """A Spark that serves: one row's figures."""
    return {
        "memory": {
            "total": TOTAL,
            "available": 22 * GIB,
            "free": 4 * GIB,
            "cached": 18 * GIB,
            "anon": 6 * GIB,
            "shmem": 9000,
            "slab": GIB,
            "swap_total": 16 * GIB,
            "swap_free": 16 * GIB,
        },
        "pressure": {"memory_some": 0.0, "memory_full": 0.0, "io_some": 0.2, "io_full": 0.1, "cpu_some": 1.0},
        "gpu": {"used": 96.0, "mhz": 2405.0, "watts": 44.3, "celsius": 63.0, "margin": 33.0, "reasons": "0x4"},
        "zones": {"acpitz": 61.0, "nvme": 48.0},
        "down": {"enp1s0f0np0": 1},
        "rdma": {"rocep1s0f0": 0},
        "top": [["VLLM::Worker_TP", 4242, 6 * GIB], ["dockerd", 900, 90000]],
    }


def rows(change: Change = lambda _, __: None, count: int = 720, boot: str = LOST, end: float = END) -> list[str]:
    """change: is given how many seconds before the end a row is, and its figures."""
    made = []
    for number in range(count):
        left = (count - 1 - number) * 10
        found = step()
        change(left, found)
        made.append(f"row {number + 1} step {boot} {end - left:.0f} {json.dumps(found)}")
    return made


def printed(change: Change = lambda _, __: None, count: int = 720, *, ago: float = 3600) -> list[str]:
    """What the fact prints, so long after the host came back."""
    booted = END + 95
    return ["runs", f"now {booted + ago:.0f} +0100", *rows(change, count), f"row booted {booted:.0f} 22222222"]


def box(change: Change = lambda _, __: None, count: int = 720, *, ago: float = 3600) -> BlackBox:
    return parse(printed(change, count, ago=ago))


def falling(left: int, found: Step) -> None:
    """A memory that a process takes within forty minutes, as before a wedge: the driver complains at last."""
    share = max(0.0, min(1.0, 1 - left / 2400))
    taken = share * 21.6 * GIB
    memory = found["memory"]
    memory["available"] = int(22 * GIB - taken)
    memory["cached"] = int(18 * GIB - min(taken, 17.5 * GIB))
    memory["free"] = int(4 * GIB - max(0, taken - 17.5 * GIB) * 0.9)
    memory["anon"] = int(6 * GIB + taken)
    found["top"][0][2] = int(6 * GIB + taken)
    if left < 400:
        memory["swap_free"] = int(16 * GIB * left / 400)
        found["pressure"]["memory_full"] = (400 - left) / 4.3
        found["pressure"]["io_full"] = (400 - left) / 6
        found["gpu"] |= {"used": 96.0, "mhz": 2405.0, "watts": 15.0}
    if left < 120:
        line = "NVRM: nvCheckOkFailedNoLog: Check failed: Out of memory [NV_ERR_NO_MEMORY] (0x00000051)"
        found["log"] = {"nvrm": [12, line, line]}
