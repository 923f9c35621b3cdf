"""The lab's fixtures for the fault tests, and which of them CI leaves to `make faults`."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab import NODES, pair
from tests.conftest import mark_below
from tests.faults import endstate
from tests.faults.endstate import State
from tests.lab.conftest import deployed, deployed_once, lab_pair, pristine, source  # noqa: F401 - they are fixtures
from tests.lab.guests import LIMIT_S, Pair
from tests.lab.states import DEPLOYED


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    mark_below(Path(__file__).parent, items, pytest.mark.lab, pytest.mark.timeout(LIMIT_S))


@pytest.fixture(scope="session")
def undisturbed(deployed_once: Pair) -> State:  # noqa: F811
    """What both hosts are after a deploy that nothing befell."""
    pair.reset(NODES, DEPLOYED)
    return endstate.of(deployed_once)
