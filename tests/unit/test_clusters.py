"""Clusters of more than two: what joins them, their addresses by the rule, and what cannot work, and why."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

import pytest

from sparkrig.fleet import Fleet
from sparkrig.settings import SettingsError
from tests.tables import each_row

Data = dict[str, dict[str, Any]]
P0, P0_TWIN, P1, P1_TWIN = "enp1s0f0np0", "enP2p1s0f0np0", "enp1s0f1np1", "enP2p1s0f1np1"


def cluster(count: int, topology: str | None, network: str | None = "10.20.0.0/16", **more: Any) -> Data:
    """So many hosts of one cluster, spark-a first, with the addresses of a network."""
    data: dict[str, Any] = {"cluster": "lab", "topology": topology, "fabric_network": network, **more}
    return {f"spark-{letter}": deepcopy(data) for letter in "abcdefghi"[:count]}


def given(data: Data) -> Data:
    """The same with the addresses spelled."""
    fleet = Fleet.parse(data)
    for name, own in data.items():
        own.pop("fabric_network")
        own["fabric"] = {netdev: str(address) for netdev, address in fleet[name].fabric.items()}
    return data


def ring() -> Data:
    return given(cluster(3, "ring"))


def switch(count: int = 3) -> Data:
    return given(cluster(count, "switch"))


def changed(data: Data, host: str = "spark-a", fabric: Mapping[str, str | None] | None = None) -> Data:
    """The same where a host has other addresses. fabric: by netdev; None takes one away."""
    own = data[host]["fabric"]
    own.update({netdev: address for netdev, address in (fabric or {}).items() if address})
    for netdev, address in (fabric or {}).items():
        if address is None:
            del own[netdev]
    return data


def fabric(fleet: Fleet, name: str) -> dict[str, str]:
    return {netdev: str(address) for netdev, address in fleet[name].fabric.items()}


def test_a_ring_takes_its_addresses_as_the_playbook_gives_them() -> None:
    """nvidia/connect-three-sparks, Option 2: the same subnets on the same netdevs [@nvidia-three-sparks]."""
    fleet = Fleet.parse(cluster(3, "ring", "192.168.0.0/16"))
    subnets = {name: [str(address.network) for address in fleet[name].fabric.values()] for name in fleet}
    assert subnets == {
        "spark-a": [f"192.168.{number}.0/24" for number in (0, 1, 2, 3)],
        "spark-b": [f"192.168.{number}.0/24" for number in (4, 5, 0, 1)],
        "spark-c": [f"192.168.{number}.0/24" for number in (2, 3, 4, 5)],
    }
    assert fabric(fleet, "spark-b") == {
        P0: "192.168.4.12/24",
        P0_TWIN: "192.168.5.12/24",
        P1: "192.168.0.12/24",
        P1_TWIN: "192.168.1.12/24",
    }


def test_each_rail_of_a_ring_is_one_edge_with_one_number() -> None:
    fleet = Fleet.parse(cluster(3, "ring"))
    edges = {
        rail.number: (name, rail.netdev, rail.far.host, rail.far.netdev)
        for name in reversed(fleet.groups()[0])
        for rail in fleet.rails(name)
    }
    assert edges == {
        0: ("spark-a", P0, "spark-b", P1),
        1: ("spark-a", P0_TWIN, "spark-b", P1_TWIN),
        2: ("spark-a", P1, "spark-c", P0),
        3: ("spark-a", P1_TWIN, "spark-c", P0_TWIN),
        4: ("spark-b", P0, "spark-c", P1),
        5: ("spark-b", P0_TWIN, "spark-c", P1_TWIN),
    }
    assert fleet.groups() == [("spark-a", "spark-b", "spark-c")]
    assert fleet.peers("spark-b") == ("spark-a", "spark-c")
    assert [name for name in fleet if fleet.leads(name)] == ["spark-a"]


@pytest.mark.parametrize(("cage", "netdevs"), [("p0", [P0, P0_TWIN]), ("p1", [P1, P1_TWIN])])
def test_a_switch_takes_two_subnets_for_all(cage: str, netdevs: list[str]) -> None:
    fleet = Fleet.parse(cluster(4, "switch", "10.20.2.0/23", fabric_cage=cage))
    assert fabric(fleet, "spark-d") == dict(zip(netdevs, ("10.20.2.14/24", "10.20.3.14/24"), strict=True))
    rails = [(rail.number, rail.far.host) for rail in fleet.rails("spark-b")]
    assert rails == [(number, peer) for number in (0, 1) for peer in ("spark-a", "spark-c", "spark-d")]


def test_two_take_the_addresses_of_the_example_from_one_network() -> None:
    """inventories/pair.py has them spelled."""
    fleet = Fleet.parse(cluster(2, None, "192.168.100.0/23"))
    assert fabric(fleet, "spark-b") == {P0: "192.168.100.12/24", P0_TWIN: "192.168.101.12/24"}


def test_a_cluster_of_two_is_a_pair() -> None:
    data = given(cluster(2, None))
    pair = {name: {"pair": "lab", "fabric": own["fabric"]} for name, own in data.items()}
    here, there = Fleet.parse(data), Fleet.parse(pair)
    assert here.groups() == there.groups() and here.rails("spark-a") == there.rails("spark-a")
    assert {own.group_name for own in (*here.values(), *there.values())} == {"lab"}


def test_eight_clusters_of_eight_are_one_fleet() -> None:
    data = {
        f"spark-{number}{letter}": {
            "cluster": f"lab-{number}",
            "topology": "switch",
            "fabric_network": f"10.{number}.0.0/23",
        }
        for number in range(8)
        for letter in "abcdefgh"
    }
    fleet = Fleet.parse(data)
    assert [len(group) for group in fleet.groups()] == [8] * 8
    assert all(len(fleet.rails(name)) == 14 for name in fleet)
    assert len({address.ip for own in fleet.values() for address in own.fabric.values()}) == 128


def test_what_is_given_stands_as_it_is() -> None:
    data = switch()
    assert {name: dict(own["fabric"]) for name, own in data.items()} == {
        name: fabric(Fleet.parse(data), name) for name in data
    }


def _two_names(data: Data) -> Data:
    data["spark-a"]["pair"] = "lab"
    return data


def _other(data: Data, **values: Any) -> Data:
    data["spark-c"] |= values
    return data


NO_LINK = "has addresses that no link can have"
BAD: dict[str, tuple[Callable[[], Data], list[str]]] = {
    "a ring of four": (
        lambda: cluster(4, "ring"),
        [
            "cluster lab",
            "no direct path between spark-a and spark-c",
            "three hosts are expected",
            "topology switch",
        ],
    ),
    "a ring of two": (
        lambda: cluster(2, "ring"),
        ["a ring has three hosts", "a third host, or topology cable, is expected"],
    ),
    "one by a ring": (lambda: cluster(1, "ring"), ["cluster lab: spark-a is alone in it", "two to 8 hosts"]),
    "nine": (lambda: cluster(9, "switch"), ["9 hosts are one cluster", "8 at most", "spark-i"]),
    "three by a cable": (lambda: cluster(3, "cable"), ["a cable joins two", "ring or switch is expected"]),
    "three and no word": (lambda: cluster(3, None), ["3 hosts, and no topology", "ring or switch is expected"]),
    "four and no word": (lambda: cluster(4, None), ["4 hosts, and no topology", "topology switch is expected"]),
    "pair and cluster": (
        lambda: _two_names(cluster(2, None)),
        ["pair lab and cluster lab are given; one of them"],
    ),
    "a topology of none": (
        lambda: {"spark-a": {"topology": "ring"}},
        ["spark-a", "setting topology is of a cluster"],
    ),
    "a network of none": (
        lambda: {"spark-a": {"fabric_network": "10.0.0.0/16"}},
        ["setting fabric_network is of"],
    ),
    "an unknown form": (lambda: cluster(3, "mesh"), ["topology: cable, ring, switch or None is expected"]),
    "two topologies": (
        lambda: _other(cluster(3, "switch"), topology="ring"),
        ["setting topology is switch on spark-a and ring on spark-c"],
    ),
    "a topology on the last alone": (
        lambda: _other(cluster(3, None), topology="switch"),
        ["cluster lab: setting topology is None on spark-a and switch on spark-c; one value is expected"],
    ),
    "a name in capitals on one": (
        lambda: _other(cluster(3, "switch"), cluster="Lab"),
        ["cluster Lab: spark-c is alone in it, and spark-a is in cluster lab; one spelling"],
    ),
    "two networks": (
        lambda: _other(cluster(3, "switch"), fabric_network="10.9.0.0/16"),
        ["setting fabric_network is 10.20.0.0/16 on spark-a and 10.9.0.0/16 on spark-c"],
    ),
    "two MTUs": (lambda: _other(switch(), mtu=8000), ["setting mtu is 9000 on spark-a and 8000 on spark-c"]),
    "addresses twice": (
        lambda: _other(switch(), fabric_network="10.20.0.0/16"),
        ["spark-c", "stand under fabric, and fabric_network 10.20.0.0/16 is given too"],
    ),
    "a small network": (lambda: cluster(3, "switch", "10.0.0.0/24"), ["10.0.0.0/24 has no room for two subnets"]),
    "a small network for a ring": (
        lambda: cluster(3, "ring", "10.0.0.0/22"),
        ["setting fabric_network: 10.0.0.0/22 has room for 4 subnets", "a ring needs 6; /21"],
    ),
    "a network of loopback": (lambda: cluster(3, "switch", "127.0.0.0/16"), ["127.0.0.0/16", NO_LINK]),
    "a network of multicast": (lambda: cluster(3, "switch", "224.0.0.0/16"), ["224.0.0.0/16", NO_LINK]),
    "a reserved network": (lambda: cluster(3, "ring", "255.255.248.0/21"), ["255.255.248.0/21", NO_LINK]),
    "all addresses": (lambda: cluster(3, "switch", "0.0.0.0/0"), ["spark-a", "0.0.0.0/0", NO_LINK]),
    "no network": (
        lambda: cluster(3, "switch", "10.0.0.1/16"),
        ["spark-a: setting fabric_network: 10.0.0.1/16 is an address of 10.0.0.0/16; 10.0.0.0/16 is expected"],
    ),
    "no network at all": (
        lambda: cluster(3, "switch", "10.0.0.0/33"),
        ["spark-a", "fabric_network: an IPv4 network as ADDRESS/PREFIX or None is expected (found '10.0.0.0/33')"],
    ),
    "no fabric": (lambda: cluster(3, "ring", None), ["spark-a, spark-b and spark-c declare no fabric"]),
    "a cable beside a switch": (
        lambda: changed(
            changed(switch(), "spark-a", fabric={P1: "10.9.0.1/24"}), "spark-b", fabric={P1: "10.9.0.2/24"}
        ),
        ["10.9.0.0/24 is on spark-a and spark-b and not on spark-c", "a cable beside a switch"],
    ),
    "a subnet of one alone": (
        lambda: changed(switch(), fabric={P1: "10.9.0.1/24"}),
        ["10.9.0.0/24 is on spark-a and not on spark-b and spark-c: no other host has it"],
    ),
    "a switch with half an address": (
        lambda: changed(switch(), "spark-b", fabric={P0_TWIN: None}),
        ["10.20.1.0/24 is on spark-a and spark-c and not on spark-b"],
    ),
    "twins in one subnet": (
        lambda: changed(switch(), fabric={P0_TWIN: "10.20.0.99/24"}),
        ["spark-a", "share a subnet; NCCL needs each twin in its own"],
    ),
    "two subnets on one twin": (
        lambda: _other(switch(), fabric={P0: ["10.20.0.13/24", "10.20.1.13/24"]}),
        ["spark-c", f"{P0} has 2 addresses; a twin carries one subnet"],
    ),
    "a name too long for a file": (
        lambda: _other(cluster(3, "ring"), cluster="x" * 65),
        ["spark-c: setting cluster: a name of 1 to 64 characters"],
    ),
    "a ring by one cage": (
        lambda: _other(cluster(3, "ring"), fabric_cage="p1"),
        ["spark-c: setting fabric_cage is p1; a ring has a plug in both cages"],
    ),
    "a ring with one cable missing": (
        lambda: changed(ring(), fabric={P1: None, P1_TWIN: None}),
        ["spark-a", "has 2 addresses; a ring needs four"],
    ),
    "a ring in two subnets": (
        lambda: changed(ring(), "spark-c", fabric={P0: "10.20.0.13/24"}),
        ["10.20.0.0/24 is on spark-a, spark-b and spark-c, as on a switch"],
    ),
    "a subnet of a ring that ends nowhere": (
        lambda: changed(ring(), "spark-c", fabric={P0: "10.9.0.13/24"}),
        ["10.20.2.0/24 is on spark-a alone; each subnet of a ring joins two hosts"],
    ),
    "a ring whose twins lead apart": (
        lambda: changed(ring(), fabric={P0_TWIN: "10.20.3.11/24", P1_TWIN: "10.20.1.11/24"}),
        ["spark-a", f"{P0} and {P1_TWIN} lead to spark-b", "in cages p0 and p1", "both twins of a cage"],
    ),
    "a ring with two cables between two": (
        lambda: (
            changed(changed(ring(), "spark-a", fabric={P1: "10.9.0.1/24"}), "spark-b", fabric={P0: "10.9.0.2/24"})
            | {"spark-c": {**ring()["spark-c"], "fabric": {**ring()["spark-c"]["fabric"], P0: "10.8.0.3/24"}}}
        ),
        ["each subnet of a ring joins two hosts"],
    ),
    "a ring in parts of one /24": (
        lambda: {
            name: {
                **own,
                "fabric": {
                    netdev: f"10.20.0.{32 * int(address.split('.')[2]) + int(address.split('.')[3][:2])}/27"
                    for netdev, address in own["fabric"].items()
                },
            }
            for name, own in ring().items()
        },
        ["spark-a", "have the same first 24 bits, by which NCCL", "subnets of /24"],
    ),
    "a ring in wide subnets": (
        lambda: changed(
            changed(ring(), "spark-a", fabric={P0: "10.40.0.1/16"}), "spark-b", fabric={P1: "10.40.1.1/16"}
        ),
        ["10.40.0.1/16 of spark-a and 10.40.1.1/16 of spark-b differ in their first 24 bits"],
    ),
    "management on the fabric, whose netdevs the network names": (
        lambda: cluster(3, "ring", management_interface=P1),
        ["spark-a: management_interface enp1s0f1np1 is a netdev of the fabric", "allow_management_interface"],
    ),
    "a name for ssh": (
        lambda: {f"{name} x": {**own, "node_ssh": True} for name, own in switch().items()},
        ["with node_ssh its name stands in ssh_config"],
    ),
}


def test_what_cannot_work_is_one_sentence_with_its_reason() -> None:
    def holds(data: Callable[[], Data], parts: list[str]) -> None:
        with pytest.raises(SettingsError) as caught:
            Fleet.parse(data())
        said = str(caught.value)
        assert not [part for part in parts if part not in said], said
        assert "\n" not in said and len(said) < 400, said

    each_row(BAD, holds)


def test_what_can_work_stands() -> None:
    def holds(data: Data) -> None:
        assert Fleet.parse(data)

    each_row(
        {
            "other cages on a switch": (
                changed(switch(), fabric={P0: None, P0_TWIN: None, P1: "10.20.0.11/24", P1_TWIN: "10.20.1.11/24"}),
            ),
            "two on a switch": (cluster(2, "switch"),),
            "both cages on a switch": (
                {
                    name: {**own, "fabric": {**own["fabric"], P1: f"10.9.0.{n}/24", P1_TWIN: f"10.9.1.{n}/24"}}
                    for n, (name, own) in enumerate(switch().items(), 1)
                },
            ),
            "management over the other cage": (cluster(3, "switch", management_interface=P1),),
            "management over the fabric, with consent": (
                cluster(3, "switch", management_interface=P0, allow_management_interface=True),
            ),
            "a ring the other way round": (cluster(3, "ring", "10.8.0.0/21"),),
        },
        holds,
    )


def test_names_of_netdevs_that_tell_no_cage_are_taken_as_they_are() -> None:
    data = ring()
    for own in data.values():
        own["fabric"] = {re.sub(r"np\d", "", netdev): address for netdev, address in own["fabric"].items()}
    assert len(Fleet.parse(data).rails("spark-a")) == 4
