"""The service of the clock asks the servers that are declared, and none of ours where none are."""

from __future__ import annotations

import pytest

from tests.state.conftest import Said, Spark

FILES = ("/etc/systemd/timesyncd.conf.d/60-sparkrig.conf", "/etc/chrony/sources.d/sparkrig.sources")
MANAGER = "org.freedesktop.timesync1 /org/freedesktop/timesync1 org.freedesktop.timesync1.Manager"


@pytest.mark.asks(
    files=f"ls -d {' '.join(FILES)} 2>/dev/null || :",
    servers="if test -x /usr/sbin/chronyd; then chronyc -N -c sources -a | cut -d, -f3"
    f"; else busctl get-property {MANAGER} SystemNTPServers; fi",
)
def test_the_service_of_the_clock_asks_the_declared_servers(said: Said, spark: Spark) -> None:
    there = said.files.good.splitlines()
    if not spark.settings.ntp:
        assert there == []
        return
    servers = said.servers.good.replace('"', "").split()
    assert len(there) == 1 and {*spark.settings.ntp} <= {*servers}
