"""The firewall's rules are loaded, let in what is declared and nothing else, and load at each start."""

from __future__ import annotations

from testinfra.host import Host

from tests.state.conftest import Spark


def test_the_firewall_is_as_declared(host: Host, spark: Spark) -> None:
    allow = spark.settings.firewall_allow
    if allow is None:
        assert host.run("systemctl cat sparkrig-firewall.service").rc != 0
        return
    assert host.check_output("systemctl is-enabled sparkrig-firewall.service") == "enabled"
    rules = host.check_output("nft -s list table inet sparkrig")
    chains = {part.split(" ")[0]: part for part in rules.split("chain ")[1:]}
    assert chains["input"].split("}\n")[0].rstrip().endswith('counter name "refused" drop')
    assert chains["forward"].split("}\n")[0].rstrip().endswith('counter name "published" drop')
    for port in (entry.split(" ")[0].split("/")[0] for entry in allow):
        assert not port.isdigit() or f" ct original proto-dst {port} accept" in chains["allowed"]
    for netdev in spark.settings.fabric:
        assert f'"{netdev}"' in chains["allowed"].split(" accept")[0]
