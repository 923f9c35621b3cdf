"""A node of Ray runs where it is declared, in the declared image, and starts with the host."""

from __future__ import annotations

from testinfra.host import Host

from tests.state.conftest import Spark


def test_the_node_runs_in_the_declared_image(host: Host, spark: Spark) -> None:
    image = spark.settings.ray_image
    if image is None:
        assert not host.file("/etc/systemd/system/sparkrig-ray.service").exists
        return
    assert host.check_output("systemctl is-active sparkrig-ray") == "active"
    assert host.check_output("systemctl is-enabled sparkrig-ray") == "enabled"
    declared = host.check_output("docker image inspect -f '{{.Id}}' %s", image)
    assert host.check_output("docker container inspect -f '{{.Image}}' sparkrig-ray") == declared
