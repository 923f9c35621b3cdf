"""NIC, GPU and health in one look, as the virtual pair printed them, and what is said about them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from pyinfra.api.exceptions import FactProcessError

from sparkrig.facts.fabric import Fabric
from sparkrig.host.condition import Condition, findings
from sparkrig.host.health import Health
from sparkrig.host.nic import Nic, Pcie
from sparkrig.host.nvidia_smi import Gpu

FIXTURES = Path(__file__).parent.parent.parent / "fixtures" / "spark"


def recorded(name: str) -> Condition:
    """What the virtual pair printed, name by name: fabric-a, fabric-b."""
    text = (FIXTURES / f"fabric-{name[-1]}.txt").read_text()
    return Fabric().process(text.splitlines()).condition


@pytest.mark.parametrize("name", ["spark-a", "spark-b"])
def test_a_virtual_spark(name: str) -> None:
    found = recorded(name)
    assert list(found.nics) == ["enP2p1s0f0np0", "enP2p1s0f1np1", "enp1s0f0np0", "enp1s0f1np1"]
    rail = found.nics["enp1s0f0np0"]
    assert (rail.port, rail.device, rail.virtual, rail.pcie.width) == ("p0", "rocep1s0f0", True, None)
    assert set(rail.errors) >= {"duplicate_request"} and rail.sent_bytes is None and rail.sent_packets
    assert (found.gpu.name, found.gpu.gsp, found.gpu.memory_total_mib) == ("NVIDIA GB10", "580.173.02", None)
    assert found.health.kernel == "6.12.107+deb13-amd64" and found.health.next
    assert found.health.next.release == "6.17.0-1029-nvidia" and found.health.perftest == "6.24"


def test_nothing_is_wrong_with_a_virtual_spark() -> None:
    """What a guest cannot have (PCIe link, sensors, a loaded GPU) is neither praised nor blamed."""
    said = findings(recorded("spark-a"), "spark-a")
    assert {found.verdict.level for found in said} == {"healthy"} and all(each.verdict.evidence for each in said)
    assert {found.subject for found in said} == {"spark-a"}


def test_an_emulated_processor_is_no_busy_host() -> None:
    """One login keeps it busy: on slow cores a healthy virtual pair had a load of 1.9 on 1, and was degraded."""
    found = recorded("spark-a")
    assert findings(replace(found, health=replace(found.health, load=9.0)), "a") == findings(found, "a")


def test_everything_that_is_wrong_is_said() -> None:
    spark = Condition(
        {"enP2p1s0f0np0": Nic("enP2p1s0f0np0", "p0", driver="mlx5_core", pcie=Pcie("", "", 32.0, 2))},
        Gpu(name="NVIDIA GB10", driver="1", gsp="2", utilization=99, sm_mhz=700, temperature_c=91),
        replace(recorded("spark-a").health, cma_total_kb=0, cma_free_kb=2**23, memory_available_kb=1, load=9),
    )
    said = {(found.subject, found.verdict.cause) for found in findings(spark, "a") if not found.verdict.healthy}
    assert said == {
        ("a enP2p1s0f0np0", "pcie-width"),
        *(("a", cause) for cause in ("power-clamp", "gsp-mismatch", "gpu-hot", "memory-low", "busy", "kho")),
    }


def test_a_gpu_that_does_not_answer_is_said_once() -> None:
    host = Condition({}, Gpu(trouble="No devices were found"), Health("b", "k"))
    said = [found.verdict.cause for found in findings(host, "a")]
    assert said == ["no-gpu", "memory-unknown", "load-unknown"]


def test_json_without_the_cable() -> None:
    host = Condition({"x": Nic("x", "p0", cable="ab12")}, Gpu(), Health("b", "k"))
    shown = json.dumps(host.to_json())
    assert "ab12" not in shown and "cable" not in shown and '"netdev": "x"' in shown
    assert "ab12" not in repr(host)


@pytest.mark.promise(9)
def test_a_noun_that_cannot_be_read_is_named() -> None:
    lines = (FIXTURES / "fabric-a.txt").read_text().splitlines()
    with pytest.raises(FactProcessError, match=r"health: could not be read \(no answer in time"):
        Fabric().process(lines[:-1])
    with pytest.raises(FactProcessError, match=r"gpu: could not be read \(exit 124\)"):
        Fabric().process([line.replace("gpu 0", "gpu 124") for line in lines])
