"""The host has the declared name, now and at its next start, and finds it without any DNS."""

from __future__ import annotations

import pytest

from tests.state.conftest import Said, Spark


@pytest.mark.asks(
    now="uname -n", at_start="cat /etc/hostname", hosts="grep '^127\\.0\\.1\\.1[[:blank:]]' /etc/hosts"
)
def test_the_host_has_the_declared_name(said: Said, spark: Spark) -> None:
    name = spark.settings.hostname
    if name is None:
        return
    assert said.now.good == said.at_start.good == name
    assert any(name in row.partition("#")[0].split()[1:] for row in said.hosts.good.splitlines())
