"""The service of the clock asks the servers that are declared, and none of ours where none are."""

from __future__ import annotations

from testinfra.host import Host

from tests.state.conftest import Spark

FILES = ("/etc/systemd/timesyncd.conf.d/60-sparkrig.conf", "/etc/chrony/sources.d/sparkrig.sources")
MANAGER = "org.freedesktop.timesync1 /org/freedesktop/timesync1 org.freedesktop.timesync1.Manager"


def test_the_service_of_the_clock_asks_the_declared_servers(host: Host, spark: Spark) -> None:
    there = [file for file in FILES if host.run("test -e %s", file).rc == 0]
    if not spark.settings.ntp:
        assert there == []
        return
    if host.run("test -x /usr/sbin/chronyd").rc == 0:
        asked = host.check_output("chronyc -N -c sources -a | cut -d, -f3").split()
    else:
        asked = host.check_output(f"busctl get-property {MANAGER} SystemNTPServers").replace('"', "").split()
    assert len(there) == 1 and {*spark.settings.ntp} <= {*asked}
