"""A Spark as the network fact prints it."""

from __future__ import annotations

import pytest

from tests.unit.network_host import A, B, Host


@pytest.fixture
def host() -> Host:
    return Host()


@pytest.fixture
def ready() -> Host:
    """A host on which everything is as it should be."""
    made = Host()
    made.ours(A)
    made.ours(B)
    return made
