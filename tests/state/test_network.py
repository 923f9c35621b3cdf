"""The fabric's links, as the kernel has them; the profile alone proves nothing."""

from __future__ import annotations

import json

from testinfra.host import Host

from tests.state.conftest import Spark


def test_links_have_address_and_mtu(host: Host, spark: Spark, cabled: dict[str, str]) -> None:
    found = {link["ifname"]: link for link in json.loads(host.check_output("ip -j -4 addr")) if link}
    for netdev, address in cabled.items():
        assert found[netdev]["mtu"] == spark.settings.mtu
        assert [f"{each['local']}/{each['prefixlen']}" for each in found[netdev]["addr_info"]] == [address]


def test_no_change_of_it_goes_back_by_itself(host: Host) -> None:
    states = host.check_output("head -qn 1 /var/lib/sparkrig/runs/*/guard/state 2>/dev/null || :")
    assert {"armed", "applied"}.isdisjoint(states.split())
    assert "sparkrig-deadman" not in host.check_output("systemctl list-timers --all --no-legend")


def test_each_link_is_held_by_one_profile_that_comes_back_at_boot(
    host: Host, spark: Spark, cabled: dict[str, str]
) -> None:
    active = host.check_output("nmcli -t -f DEVICE,NAME connection show --active").splitlines()
    ours = [netdev for netdev in cabled if f"{netdev}:sparkrig-{netdev}" in active]
    if "leave" not in spark.settings.adopt.values():  # else others may be in charge of the rest
        assert ours == list(cabled)
    for netdev in ours:
        said = host.check_output(
            "nmcli -g connection.autoconnect,802-3-ethernet.mtu,ipv4.never-default,ipv4.may-fail"
            " connection show %s",
            f"sparkrig-{netdev}",
        )
        assert said.split() == ["yes", str(spark.settings.mtu), "yes", "no"]


def test_the_fabric_is_no_way_out(host: Host, spark: Spark) -> None:
    routes = json.loads(host.check_output("ip -j -4 route show default"))
    assert {route["dev"] for route in routes}.isdisjoint(spark.settings.fabric)


def test_full_frames_reach_the_peer_unfragmented(host: Host, spark: Spark) -> None:
    for rail in spark.fleet.rails(spark.name):
        size, target = spark.settings.mtu - 28, str(rail.far.address.ip)
        host.run_expect([0], "ping -q -c 1 -W 10 -M do -s %s -I %s %s", str(size), rail.netdev, target)
