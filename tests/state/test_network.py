"""The fabric's links, as the kernel has them; the profile alone proves nothing."""

from __future__ import annotations

import json

import pytest

from tests.state.conftest import Said, Spark, asks_links, cabled

GUARDS = "head -qn 1 /var/lib/sparkrig/runs/*/guard/state 2>/dev/null || :"
FIELDS = "connection.autoconnect,802-3-ethernet.mtu,ipv4.never-default,ipv4.may-fail"


def profiles(spark: Spark) -> list[str]:
    return [f"nmcli -g {FIELDS} connection show sparkrig-{netdev}" for netdev in spark.settings.fabric]


def pings(spark: Spark) -> list[str]:
    """Of a frame as long as the MTU, to the far end of each rail."""
    size = spark.settings.mtu - 28
    return [
        f"ping -q -c 1 -W 10 -M do -s {size} -I {rail.netdev} {rail.far.address.ip}"
        for rail in spark.fleet.rails(spark.name)
    ]


@asks_links
@pytest.mark.asks(addresses="ip -j -4 addr")
def test_links_have_address_and_mtu(said: Said, spark: Spark) -> None:
    found = {link["ifname"]: link for link in json.loads(said.addresses.good) if link}
    for netdev, address in cabled(said, spark).items():
        assert found[netdev]["mtu"] == spark.settings.mtu
        assert [f"{each['local']}/{each['prefixlen']}" for each in found[netdev]["addr_info"]] == [address]


@pytest.mark.asks(guards=GUARDS, timers="systemctl list-timers --all --no-legend")
def test_no_change_of_it_goes_back_by_itself(said: Said) -> None:
    assert {"armed", "applied"}.isdisjoint(said.guards.good.split())
    assert "sparkrig-deadman" not in said.timers.good


@asks_links
@pytest.mark.asks(active="nmcli -t -f DEVICE,NAME connection show --active", profiles=profiles)
def test_each_link_is_held_by_one_profile_that_comes_back_at_boot(said: Said, spark: Spark) -> None:
    links, active = cabled(said, spark), said.active.good.splitlines()
    ours = [netdev for netdev in links if f"{netdev}:sparkrig-{netdev}" in active]
    if "leave" not in spark.settings.adopt.values():  # else others may be in charge of the rest
        assert ours == list(links)
    for netdev, profile in zip(spark.settings.fabric, said.each("profiles"), strict=True):
        if netdev in ours:
            assert profile.good.split() == ["yes", str(spark.settings.mtu), "yes", "no"]


@pytest.mark.asks(routes="ip -j -4 route show default")
def test_the_fabric_is_no_way_out(said: Said, spark: Spark) -> None:
    assert {route["dev"] for route in json.loads(said.routes.good)}.isdisjoint(spark.settings.fabric)


@pytest.mark.asks(pings=pings)
def test_full_frames_reach_the_peer_unfragmented(said: Said) -> None:
    assert [ping.command for ping in said.each("pings") if ping.code != 0] == []
