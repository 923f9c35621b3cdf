"""Small Sparks with real Ray as fixtures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import mark_below
from tests.ray import environment
from tests.ray.spark import PAIR, Sparks, sparks


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # the first one installs Ray
    mark_below(Path(__file__).parent, items, pytest.mark.ray, pytest.mark.timeout(900))


@pytest.fixture(scope="session")
def programs() -> Path:
    return environment.folder()


@pytest.fixture
def pair(programs: Path, tmp_path: Path) -> Iterator[Sparks]:
    with sparks(programs, tmp_path, PAIR) as made:
        yield made
