"""The host has the declared name, now and at its next start, and finds it without any DNS."""

from __future__ import annotations

from testinfra.host import Host

from tests.state.conftest import Spark


def test_the_host_has_the_declared_name(host: Host, spark: Spark) -> None:
    name = spark.settings.hostname
    if name is None:
        return
    assert host.check_output("uname -n") == host.check_output("cat /etc/hostname") == name
    rows = host.check_output("grep '^127\\.0\\.1\\.1[[:blank:]]' /etc/hosts").splitlines()
    assert any(name in row.partition("#")[0].split()[1:] for row in rows)
