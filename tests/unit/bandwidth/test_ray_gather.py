"""What an all_gather over a Ray cluster printed, what is wrong with it, and the figure."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from sparkrig import programs
from sparkrig.bandwidth.ray_gather import parse
from tests.tables import each_row

RECORDED = Path(__file__).parents[2] / "fixtures" / "ray"
GOOD = {"nodes": ["10.0.0.1", "10.0.0.2"], "backend": "nccl", "transport": "IB", "wrong": 0}
FIGURES = {"bytes": 2 * 2**30, "seconds": 0.1}


def row(**changed: Any) -> str:
    return f"Job submitted\nsparkrig-ray {json.dumps({**GOOD, **FIGURES, **changed})}\nsucceeded"


def test_the_figure_is_that_of_nccl_tests() -> None:
    found = parse(row())
    assert found and str(found) == "all_gather of 2048 MiB over 2 nodes: 10.74 GB/s by NCCL over IB"
    one = parse(row(nodes=["10.0.0.1"]))
    assert one and one.busbw == 0
    silent = parse(row(nodes=["10.0.0.1"], transport=""))
    assert silent and str(silent).endswith("over 1 nodes: 0.00 GB/s by NCCL over no network")


def test_what_two_gpus_printed_is_read() -> None:
    """Recorded through real Ray (tests/fixtures/ray)."""
    for name, backend, transport, busbw in (
        ("p2p", "nccl", "P2P", 191),
        ("shm", "nccl", "SHM", 25),
        ("socket", "nccl", "Socket", 3.8),
        ("gloo", "gloo", "TCP", 0.43),
    ):
        found = parse((RECORDED / f"{name}.txt").read_text())
        assert found and (found.backend, found.transport, found.wrong) == (backend, transport, 0)
        assert found.busbw == pytest.approx(busbw, rel=0.02), name
    assert parse((RECORDED / "too-large.txt").read_text()) is None


def test_what_is_wrong_is_said() -> None:
    rows = {
        "good": ({}, ""),
        "sockets": ({"transport": "Socket"}, "NCCL went over Socket, and IB is expected"),
        "one machine": ({"transport": "P2P"}, "NCCL went over P2P, and IB is expected"),
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


CHANNEL = "vm:1:1 [0] NCCL INFO Channel 00"
NETWORK = f"{CHANNEL}/0 : 1[1] -> 0[0] [receive] via NET"


def test_the_job_names_what_the_channels_of_nccl_go_by(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of NCCL 2.28.9 on two H200 of one machine; IB after NCCL's source."""
    affinity = ModuleType("ray.util.scheduling_strategies")
    affinity.NodeAffinitySchedulingStrategy = None  # type: ignore[attr-defined]
    for stand_in in (ModuleType("ray"), ModuleType("ray.util"), affinity):
        monkeypatch.setitem(sys.modules, stand_in.__name__, stand_in)
    transport, log = runpy.run_path(str(programs.TEMPLATES / "ray_gather.py"))["transport"], tmp_path / "nccl"
    assert transport(log) == ""

    def holds(printed: str, expected: str) -> None:
        log.write_text(f"vm:1:1 [0] NCCL INFO Using network Socket\n{printed}\n", encoding="utf-8")
        assert transport(log) == expected

    rows = {
        "a link between GPUs": (f"{CHANNEL}/0 : 0[0] -> 1[1] via P2P/CUMEM", "P2P"),
        "shared memory": (f"{CHANNEL} : 1[1] -> 0[0] via SHM/direct/direct", "SHM"),
        "sockets": (f"{NETWORK}/Socket/0", "Socket"),
        "verbs": (f"{NETWORK}/IB/0/GDRDMA", "IB"),
        "one channel by sockets": (f"{NETWORK}/IB/0\n{NETWORK}/Socket/0", "Socket"),
        "no channel": ("", ""),
    }
    each_row(rows, holds)
