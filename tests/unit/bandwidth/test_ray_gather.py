"""What an all_gather over a Ray cluster printed, what is wrong with it, and the figure."""

from __future__ import annotations

import json
from typing import Any

from sparkrig.bandwidth.ray_gather import parse
from tests.tables import each_row

GOOD = {"nodes": ["10.0.0.1", "10.0.0.2"], "backend": "nccl", "transport": "IB", "wrong": 0}
FIGURES = {"bytes": 2 * 2**30, "seconds": 0.1}


def row(**changed: Any) -> str:
    return f"Job submitted\nsparkrig-ray {json.dumps({**GOOD, **FIGURES, **changed})}\nsucceeded"


def test_the_figure_is_that_of_nccl_tests() -> None:
    found = parse(row())
    assert found and str(found) == "all_gather of 2048 MiB over 2 nodes: 10.74 GB/s by NCCL over IB"
    one = parse(row(nodes=["10.0.0.1"]))
    assert one and one.busbw == 0


def test_what_is_wrong_is_said() -> None:
    rows = {
        "good": ({}, ""),
        "sockets": ({"transport": "Socket"}, "NCCL went over Socket, and IB is expected"),
        "no transport": ({"transport": ""}, "NCCL went over an unknown network, and IB is expected"),
        "gloo": ({"backend": "gloo", "transport": "TCP"}, ""),
        "wrong": ({"wrong": 1}, "1 of 2 ranks got wrong bytes"),
        "alone": ({"nodes": ["10.0.0.1"], "transport": ""}, ""),
    }

    def holds(changed: dict[str, Any], expected: str) -> None:
        found = parse(row(**changed))
        assert found and found.fault == expected

    each_row(rows, holds)


def test_what_is_no_figure_is_none() -> None:
    def holds(text: str) -> None:
        assert parse(text) is None

    rows = ["", "sparkrig-ray {", row()[:-60], row(nodes=[]), row(seconds=0), row(backend="ipc"), row(nodes=7)]
    each_row([(each,) for each in rows], holds)
