"""Two small Sparks with real Ray as a fixture."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ray import environment
from tests.ray.spark import Sparks, sparks


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.ray)
            if item.get_closest_marker("representative") is None:
                item.add_marker(pytest.mark.exhaustive)


@pytest.fixture(scope="session")
def programs() -> Path:
    return environment.folder()


@pytest.fixture
def pair(programs: Path, tmp_path: Path) -> Iterator[Sparks]:
    with sparks(programs, tmp_path) as made:
        yield made
