"""The fabric's links, as the kernel has them; the profile alone proves nothing."""

from __future__ import annotations

import json

from testinfra.host import Host

from tests.state.conftest import Spark


def cabled(host: Host, spark: Spark) -> dict[str, str]:
    """Address by netdev of what is declared and there; on a pair all of it must be."""
    links = json.loads(host.check_output("ip -j link"))
    up = {link["ifname"] for link in links if "LOWER_UP" in link.get("flags", [])}
    wanted = {netdev: str(address) for netdev, address in spark.settings.fabric.items()}
    if spark.settings.pair:
        assert set(wanted) <= up
    return {netdev: address for netdev, address in wanted.items() if netdev in up}


def test_links_have_address_and_mtu(host: Host, spark: Spark) -> None:
    wanted = cabled(host, spark)
    found = {link["ifname"]: link for link in json.loads(host.check_output("ip -j -4 addr")) if link}
    for netdev, address in wanted.items():
        assert found[netdev]["mtu"] == spark.settings.mtu
        assert [f"{each['local']}/{each['prefixlen']}" for each in found[netdev]["addr_info"]] == [address]


def test_each_link_is_held_by_one_profile_that_comes_back_at_boot(host: Host, spark: Spark) -> None:
    for netdev in cabled(host, spark):
        active = host.check_output("nmcli -g GENERAL.CONNECTION device show %s", netdev)
        assert active == f"sparkrig-{netdev}"
        said = host.check_output(
            "nmcli -g connection.autoconnect,802-3-ethernet.mtu,ipv4.never-default,ipv4.may-fail"
            " connection show %s",
            active,
        )
        assert said.split() == ["yes", str(spark.settings.mtu), "yes", "no"]


def test_the_fabric_is_no_way_out(host: Host, spark: Spark) -> None:
    routes = json.loads(host.check_output("ip -j -4 route show default"))
    assert {route["dev"] for route in routes}.isdisjoint(spark.settings.fabric)


def test_full_frames_reach_the_peer_unfragmented(host: Host, spark: Spark) -> None:
    for rail in spark.fleet.rails(spark.name):
        size, target = spark.settings.mtu - 28, str(rail.peer_address.ip)
        host.run_expect([0], "ping -q -c 2 -W 10 -M do -s %s -I %s %s", str(size), rail.netdev, target)
