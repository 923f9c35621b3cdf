"""Each rail was measured as it is now, and no measuring process was left behind."""

from __future__ import annotations

import json

import pytest

from tests.state.conftest import Said, Spark


@pytest.mark.asks(record="cat /var/lib/sparkrig/bandwidth.json", boot="cat /proc/sys/kernel/random/boot_id")
def test_every_rail_has_a_good_measurement(said: Said, spark: Spark) -> None:
    rails = spark.fleet.rails(spark.name)
    if not rails:
        assert said.record.code != 0
        return
    rows = json.loads(said.record.good)["rails"]
    found = {(row["netdev"], row["peer"]): row for row in rows}  # on a switch a netdev has a rail to each peer
    assert len(found) == len(rows) == len(rails)
    for rail in rails:
        row = found[rail.netdev, str(rail.far.address.ip)]
        assert row["address"] == str(rail.address.ip)
        assert row["boot_id"] == said.boot.good, "measured since the last boot"
        # a healthy rail alone reaches 95 Gb/s [@capetron]
        assert row["gbps"] >= (spark.settings.bandwidth_floor or 95)
        assert row["path_mtu"] >= spark.settings.bandwidth_path_mtu


@pytest.mark.asks(
    units="systemctl list-units --all --no-legend 'sparkrig-bandwidth-*'", processes="pgrep -x ib_write_bw"
)
def test_nothing_of_the_measurement_is_left_behind(said: Said) -> None:
    assert said.units.good == ""
    assert said.processes.code == 1
