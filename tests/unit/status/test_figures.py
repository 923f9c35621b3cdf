"""What status shows of recorded Sparks, and of what differs on them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from sparkrig.facts.spark import Spark
from sparkrig.fleet import Fleet
from sparkrig.network import environment
from sparkrig.network.rdma import Rdma
from sparkrig.operations.subject import subject
from sparkrig.resources.state import State
from sparkrig.status.figures import Containers, Driver, Figures, figures
from sparkrig.status.render.status import rows
from tests.plan.conftest import REBOOTED, converged, recorded

A, B = "spark-a", "spark-b"
RAIL, OTHER = "enp1s0f0np0", "enP2p1s0f0np0"
FABRIC = {
    A: {RAIL: "192.168.100.11/24", OTHER: "192.168.101.11/24"},
    B: {RAIL: "192.168.100.12/24", OTHER: "192.168.101.12/24"},
}
FLEET = Fleet.parse(
    {name: {"pair": "p", "fabric": fabric, "bandwidth_floor": 0.01} for name, fabric in FABRIC.items()}
)


def seen(text: str) -> State:
    return Spark().process(text.splitlines())


def of(state: State, name: str = A, fleet: Fleet = FLEET, peers: Mapping[str, State] = {}) -> Figures:
    states = {each: seen(converged(each[-1])) for each in fleet}
    return figures(subject(name, fleet, {**states, **peers, name: state}))


def with_link(state: State, **changes: Any) -> State:
    link = replace(state.network.links[RAIL], **changes)
    return replace(state, network=replace(state.network, links={**state.network.links, RAIL: link}))


def differing(found: Figures) -> dict[str, str]:
    return {each.id: each.found for each in found.differs}


def said(found: Figures) -> str:
    return "\n".join(f"{label}: {text.plain}" for label, text in rows(found))


@pytest.mark.parametrize("name", [A, B])
def test_a_converged_spark(name: str) -> None:
    found = of(seen(converged(name[-1])), name)
    assert found.driver == Driver("580.173.02-0ubuntu0.24.04.1", 43)
    assert (found.spark.vendor, found.spark.dgx_os) == ("NVIDIA DGX Spark Founders Edition", "7.5.0")
    assert found.containers == Containers("1.19.0-1", nvidia_runtime=True)
    assert found.environment == ["NCCL_IB_GID_INDEX=1"] and found.differs == []
    assert [rail.netdev for rail in found.rails] == [RAIL, OTHER]
    for rail in found.rails:
        assert (rail.cabled, rail.address, rail.mtu) == (True, FABRIC[name][rail.netdev], 9000)
        assert (rail.path_mtu, rail.gid_index, rail.measured_path_mtu) == (4096, 1, 4096)
        assert rail.gbps and re.match(r"\d{4}-\d\d-\d\dT", rail.measured_at or "")


def test_a_fresh_spark() -> None:
    found = of(seen(recorded("fresh-a")))
    assert (found.driver.held, found.environment) == (0, None)
    assert found.containers == Containers(None, nvidia_runtime=False)
    assert {(rail.gid_index, rail.gbps, rail.measured_at) for rail in found.rails} == {(None, None, None)}
    assert {f"net.{RAIL}.profile", f"net.{RAIL}.mtu", f"bandwidth.{RAIL}"} <= {*differing(found)}
    text = said(found)
    assert "no toolkit, no nvidia runtime in docker" in text and "not measured" in text
    assert text.count("differs: ") == 6 and text.endswith(" more, which sparkrig drift shows"), (
        "drift has all of them"
    )


def test_a_figure_from_before_a_boot_is_shown_as_one() -> None:
    peer = seen(converged("b"))
    booted = replace(peer, identity=replace(peer.identity, boot_id=REBOOTED))
    found = of(seen(converged("a")), peers={B: booted})
    assert differing(found)[f"bandwidth.{RAIL}"] == f"not measured since the boot of {B}"
    assert "0.44 Gb/s ?" in said(found) and found.rails[0].gbps == 0.44


def test_a_link_that_is_not_as_declared_is_named_as_drift_names_it() -> None:
    found = of(with_link(seen(converged("a")), mtu=1500))
    assert (found.rails[0].mtu, differing(found)[f"net.{RAIL}.mtu"]) == (1500, "1500")


def test_a_cable_that_is_not_there_is_no_fault_of_a_spark_on_its_own() -> None:
    dark = with_link(seen(converged("a")), carrier=False)
    assert differing(of(dark))[f"net.{RAIL}.carrier"] == f"{RAIL} has no carrier"
    alone = of(dark, fleet=Fleet.parse({A: {"fabric": FABRIC[A]}}))
    assert f"net.{RAIL}.carrier" not in differing(alone) and f"rail: {RAIL}: uncabled" in said(alone)


def test_a_lone_spark_without_rdma() -> None:
    state = replace(seen(converged("a")), rdma=Rdma())
    file = state.files[environment.CONTAINER_ENV]
    bare = "\n".join(line for line in file.content.splitlines() if "NCCL_IB" not in line)
    files = {**state.files, environment.CONTAINER_ENV: replace(file, content=bare)}
    found = of(replace(state, files=files), fleet=Fleet.parse({A: {}}))
    assert (found.rails, found.environment) == ([], []) and "no RDMA on this Spark" in said(found)


def test_what_nobody_declared_differs_from_nothing() -> None:
    fleet = Fleet.parse({A: {}}, declared=False)
    assert differing(of(seen(recorded("fresh-a")), fleet=Fleet.parse({A: {}})))
    assert differing(of(seen(recorded("fresh-a")), fleet=fleet)) == {}
    state = seen(recorded("fresh-a"))
    other = replace(state, identity=replace(state.identity, gpu=("NVIDIA A100",), pci=()))
    assert [*differing(of(other, fleet=fleet))] == ["identity.spark"], "what is no Spark is said all the same"


def test_what_the_journal_beside_it_says_is_not_said_twice() -> None:
    state = seen(converged("a"))
    found = of(replace(state, preflight=replace(state.preflight, lost=True, update="an update is open")))
    assert found.differs == []
