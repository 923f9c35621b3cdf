"""A node of Ray runs where it is declared, in the declared image, and starts with the host."""

from __future__ import annotations

import shlex

import pytest

from tests.state.conftest import Said, Spark


def declared(spark: Spark) -> list[str]:
    image = spark.settings.ray_image
    return [f"docker image inspect -f '{{{{.Id}}}}' {shlex.quote(image)}"] if image else []


@pytest.mark.asks(
    file="ls /etc/systemd/system/sparkrig-ray.service",
    unit="systemctl is-active sparkrig-ray && systemctl is-enabled sparkrig-ray",
    runs="docker container inspect -f '{{.Image}}' sparkrig-ray",
    declared=declared,
)
def test_the_node_runs_in_the_declared_image(said: Said, spark: Spark) -> None:
    if spark.settings.ray_image is None:
        assert said.file.code != 0
        return
    assert said.unit.good.split() == ["active", "enabled"]
    assert said.runs.good == said.declared.good
