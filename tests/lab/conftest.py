"""The virtual pair as fixtures. Tests that need it fail where it cannot be had; they are never skipped."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab import CABLED, NODES, SOLO, pair
from lab.image import Source
from lab.layout import cluster
from lab.machine import Machine
from lab.mirror import mirror
from tests.lab.guests import LIMIT_S, Guest, Pair
from tests.lab.inventories import inventory_with
from tests.lab.serving import READY, SETTINGS, make_ready
from tests.lab.states import ALONE, DEPLOYED, deploy_alone, deploy_once

SUITE = "trixie"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests of this folder need the lab."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.lab)
            item.add_marker(pytest.mark.timeout(LIMIT_S))


@pytest.fixture(scope="session")
def source() -> Source:
    """What the guests are built from."""
    return Source(SUITE, mirror())


@pytest.fixture(scope="session")
def lab_pair(source: Source) -> Pair:
    """The pair, up, in whatever state the tests before left it."""
    pair.up(NODES, source)
    return Pair(*(Guest(node) for node in NODES))


@pytest.fixture
def pristine(lab_pair: Pair) -> Pair:
    """The pair as it was when it had first booted."""
    pair.reset(NODES)
    return lab_pair


@pytest.fixture(scope="session")
def deployed_once(lab_pair: Pair) -> Pair:
    """The pair after one deploy on factory-fresh hosts, kept as the snapshot `deployed`."""
    deploy_once(lab_pair)
    return lab_pair


@pytest.fixture
def deployed(deployed_once: Pair) -> Pair:
    """The pair as the deploy left it."""
    pair.reset(NODES, DEPLOYED)
    return deployed_once


@pytest.fixture(scope="session")
def built_solo(source: Source) -> Iterator[Guest]:
    """The lone Spark, booted once."""
    pair.up([SOLO], source)
    yield Guest(SOLO)
    Machine(SOLO).stop()


@pytest.fixture
def solo(built_solo: Guest) -> Iterator[Guest]:
    """The lone Spark as it was when it had first booted; stopped afterwards, to leave the cores to the pair."""
    pair.reset([SOLO])
    yield built_solo
    Machine(SOLO).stop()


@pytest.fixture(scope="session")
def deployed_alone(built_solo: Guest) -> Guest:
    """The lone Spark after one deploy."""
    deploy_alone()
    return built_solo


@pytest.fixture
def alone(deployed_alone: Guest) -> Iterator[Guest]:
    """The lone Spark as the deploy left it; stopped afterwards, as `solo` is."""
    pair.reset([SOLO], ALONE)
    yield deployed_alone
    Machine(SOLO).stop()


@pytest.fixture(scope="module")
def pair_again() -> Iterator[None]:
    """The pair as it was, after a file whose tests lay other cables; the other guests stopped."""
    yield
    pair.reset(NODES)
    for node in CABLED[2:]:
        Machine(node).stop()


@pytest.fixture(scope="module")
def ring_once(source: Source, pair_again: None) -> None:
    """Three guests, booted once for all of a file."""
    pair.lay(cluster("ring", 3), source)


@pytest.fixture
def ring(ring_once: None) -> None:
    """The three as they first booted, each p0 cabled to p1 of the next."""
    pair.restore(cluster("ring", 3))


@pytest.fixture
def switch(ring_once: None) -> None:
    """The three as they first booted, on a switch as from its box."""
    pair.restore(cluster("switch", 3))


@pytest.fixture(scope="session")
def inventory(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Of the pair that is to serve; a file with another one has a fixture of that name itself."""
    return inventory_with(tmp_path_factory.mktemp("serving"), f"'node_ssh': True, {SETTINGS}")


@pytest.fixture(scope="session")
def ready_once(deployed_once: Pair, inventory: str) -> Pair:
    make_ready(deployed_once, inventory)
    return deployed_once


@pytest.fixture
def ready(ready_once: Pair) -> Pair:
    """The pair with a login over the fabric; image and weights on spark-a alone."""
    pair.reset(NODES, READY)
    return ready_once
