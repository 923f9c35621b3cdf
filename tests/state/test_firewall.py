"""The firewall's rules are loaded, let in what is declared and nothing else, and load at each start."""

from __future__ import annotations

import pytest

from tests.state.conftest import Said, Spark


@pytest.mark.asks(
    unit="systemctl cat sparkrig-firewall.service",
    at_start="systemctl is-enabled sparkrig-firewall.service",
    rules="nft -s list table inet sparkrig",
)
def test_the_firewall_is_as_declared(said: Said, spark: Spark) -> None:
    allow = spark.settings.firewall_allow
    if allow is None:
        assert said.unit.code != 0
        return
    assert said.at_start.good == "enabled"
    chains = {part.split(" ")[0]: part for part in said.rules.good.split("chain ")[1:]}
    assert chains["input"].split("}\n")[0].rstrip().endswith('counter name "refused" drop')
    assert chains["forward"].split("}\n")[0].rstrip().endswith('counter name "published" drop')
    for port in (entry.split(" ")[0].split("/")[0] for entry in allow):
        assert not port.isdigit() or f" ct original proto-dst {port} accept" in chains["allowed"]
    for netdev in spark.settings.fabric:
        assert f'"{netdev}"' in chains["allowed"].split(" accept")[0]
