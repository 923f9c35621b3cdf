"""A Spark that runs alone: what is declared of it, by plain commands."""

from __future__ import annotations

from testinfra.host import Host

from tests.state.conftest import Spark


def test_the_declared_users_are_in_the_group_docker(host: Host, spark: Spark) -> None:
    for user in spark.settings.docker_users:
        assert "docker" in host.check_output(f"id -nG {user}").split(), user


def test_the_host_starts_without_a_desktop(host: Host, spark: Spark) -> None:
    if spark.settings.headless:
        assert host.check_output("systemctl get-default") == "multi-user.target"
