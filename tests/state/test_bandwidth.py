"""Each rail was measured as it is now, and no measuring process was left behind."""

from __future__ import annotations

import json

from testinfra.host import Host

from tests.state.conftest import Spark


def test_every_rail_has_a_good_measurement(host: Host, spark: Spark) -> None:
    rails = spark.fleet.rails(spark.name)
    said = host.run("cat /var/lib/sparkrig/bandwidth.json")
    if not rails:
        assert said.rc != 0
        return
    rows = json.loads(said.stdout)["rails"]
    found = {(row["netdev"], row["peer"]): row for row in rows}  # on a switch a netdev has a rail to each peer
    assert len(found) == len(rows) == len(rails)
    boot = host.check_output("cat /proc/sys/kernel/random/boot_id")
    for rail in rails:
        row = found[rail.netdev, str(rail.far.address.ip)]
        assert row["address"] == str(rail.address.ip)
        assert row["boot_id"] == boot, "measured since the last boot"
        # a healthy rail alone reaches 95 Gb/s [@capetron]
        assert row["gbps"] >= (spark.settings.bandwidth_floor or 95)
        assert row["path_mtu"] >= spark.settings.bandwidth_path_mtu


def test_nothing_of_the_measurement_is_left_behind(host: Host) -> None:
    assert host.check_output("systemctl list-units --all --no-legend 'sparkrig-bandwidth-*'") == ""
    assert host.run("pgrep -x ib_write_bw").rc == 1
