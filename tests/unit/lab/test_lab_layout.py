"""What joins the guests: cables as they belong, as a person names them, and what cannot be."""

from __future__ import annotations

import json
import runpy
from ipaddress import IPv4Network
from pathlib import Path

import pytest

from lab import layout, states, switched
from lab.errors import LabError
from lab.layout import Layout, cluster, in_force, pair, put_in_force
from lab.nodes import CAGES
from lab.switch import Port
from lab.wiring import CROSSED, STRAIGHT, Cable, carriers, parse, rails
from sparkrig.fleet import Fleet

HOME = Path("/lab")
ROOT = Path(__file__).resolve().parents[3]
RING, SWITCH = cluster("ring", 3), cluster("switch", 4)


def remotes(node: str, of: Layout) -> list[str]:
    """Where the frames of each fabric netdev go."""
    return [word.rpartition("remote.path=/lab/")[2] for word in rails(node, of.cabling, HOME)[1::2]]


def test_a_ring_joins_each_p0_with_p1_of_the_next_twin_by_twin() -> None:
    assert remotes("spark-b", RING) == [
        "spark-c/enp1s0f1np1.rail",
        "spark-c/enP2p1s0f1np1.rail",
        "spark-a/enp1s0f0np0.rail",
        "spark-a/enP2p1s0f0np0.rail",
    ]
    assert all(set(carriers(node, RING.cabling).values()) == {True} for node in RING.nodes)


def test_every_frame_that_leaves_a_socket_has_one_that_answers_it() -> None:
    for each in (RING, SWITCH, RING.crossed, SWITCH.crossed, pair(), pair().crossed):
        ends = {}
        for node in (*each.nodes, *(["switch"] if each.switched else [])):
            for word in rails(node, each.cabling, HOME)[1::2]:
                ours, theirs = (part.partition("path=")[2].split(",")[0] for part in word.split("type=unix,")[1:])
                ends[ours] = theirs
        assert all(ends[ends[ours]] == ours for ours in ends if "nowhere" not in ends[ours])


def test_a_switch_has_a_port_of_two_netdevs_for_each_spark_and_p1_has_no_cable() -> None:
    assert remotes("spark-c", SWITCH)[:2] == ["switch/c0.rail", "switch/c1.rail"]
    assert "nowhere" in remotes("spark-c", SWITCH)[2]
    assert list(carriers("spark-c", SWITCH.cabling).values()) == [True, True, False, False]
    three = cluster("switch", 3)
    assert [netdev for netdev, up in carriers("switch", three.cabling).items() if not up] == ["d0", "d1"]


def test_crossed_is_the_second_sparks_plugs_in_one_anothers_cage() -> None:
    assert {frozenset((cable.one, cable.other)) for cable in pair().crossed.cabling} == {
        frozenset((cable.one, cable.other)) for cable in CROSSED
    }
    assert [cable.plugged for cable in pair().crossed.cabling] == [True, False]
    assert remotes("spark-b", RING.crossed)[:2] == ["spark-a/enp1s0f0np0.rail", "spark-a/enP2p1s0f0np0.rail"]
    assert RING.crossed.straight == RING


def test_cables_as_a_person_names_them() -> None:
    named = parse(["spark-a:p0=spark-c:p1", "spark-b:p0=spark-a:p1"])
    assert named == (Cable(("spark-a", "p0"), ("spark-c", "p1")), Cable(("spark-b", "p0"), ("spark-a", "p1")))
    assert parse(["spark-a:p1=switch:spark-b"]) == (Cable(("spark-a", "p1"), ("switch", "spark-b")),)


def test_what_is_no_cable_is_said() -> None:
    for words, said in {
        "spark-a:p0": "names no cable",
        "spark-a:p2=spark-b:p0": "names no cable",
        "spark-s:p0=spark-b:p0": "names no cable",
        "switch:p0=spark-b:p0": "names no cable",
        "spark-z:p0=spark-b:p0": "no node 'spark-z'",
        "spark-a:p0=spark-a:p0": "two plugs are to go into spark-a:p0",
        "spark-a:p0=spark-b:p0 spark-c:p0=spark-b:p0": "two plugs are to go into spark-b:p0",
    }.items():
        with pytest.raises(LabError, match=said):
            parse(words.split())
    with pytest.raises(LabError, match="spark-c is no part of this cable of 2"):
        pair().laid(parse(["spark-a:p0=spark-c:p0"]))
    with pytest.raises(LabError, match="switch is no part of this ring of 3"):
        RING.laid(parse(["spark-a:p0=switch:spark-a"]))


def test_what_cannot_be_joined_is_refused_with_its_reason() -> None:
    for topology, count, said in (
        ("ring", 4, "opposite ones of four have no cable"),
        ("ring", 2, "two have one cable"),
        ("switch", 5, "no 5 Sparks for a switch"),
        ("switch", 1, "no 1 Sparks for a switch"),
        ("cable", 3, "one cable does not join 3"),
    ):
        with pytest.raises(LabError, match=said):
            cluster(topology, count)


def test_the_layout_is_kept_and_the_pair_is_the_first() -> None:
    assert in_force() == pair()
    for each in (RING.crossed, SWITCH, pair(CROSSED, lan=True)):
        put_in_force(each)
        assert in_force() == each
    assert pair(CROSSED).straight.cabling == STRAIGHT
    assert layout.solo().straight == layout.solo()


def test_an_inventory_has_the_sparks_that_are_at_the_switch() -> None:
    assert switched() == ("spark-a", "spark-b", "spark-c")
    put_in_force(SWITCH)
    assert switched() == SWITCH.nodes
    put_in_force(RING)
    assert len(switched()) == 3


def test_a_saved_state_is_of_its_guests_alone() -> None:
    states.keep("kept", SWITCH, {"spark-b": Port(mtu=1500)})
    assert states.ports("kept", SWITCH) == {"spark-b": Port(mtu=1500)}
    assert states.ports("ready", SWITCH) == {} == states.ports("never", SWITCH)
    with pytest.raises(LabError, match="'kept' is a state of 4 Sparks with the topology switch") as caught:
        states.ports("kept", RING)
    assert caught.value.attempt.startswith("sparkrig lab up --nodes 4 --topology switch")
    states.keep("alone", layout.solo(), {})
    assert json.loads(json.dumps(states.ports("alone", pair()))) == {}


def subnets(file: str, folder: Path) -> dict[str, dict[str, IPv4Network]]:
    """The subnet of each fabric netdev of each host of an inventory."""
    facts = '{"url": "file:/srv/x", "key_url": "file:/srv/key", "fingerprint": "' + "AB" * 20 + '"}'
    (folder / "toolkit.json").write_text(facts)
    fleet = Fleet.parse(dict(runpy.run_path(str(ROOT / "inventories" / file))["sparks"]))
    return {
        name: {netdev: address.network for netdev, address in mine.fabric.items()} for name, mine in fleet.items()
    }


def test_the_inventory_of_the_ring_has_a_subnet_for_each_rail_as_it_is_cabled(lab_folder: Path) -> None:
    found = subnets("lab_ring.py", lab_folder)
    assert tuple(found) == RING.nodes
    used = set()
    for cable in RING.cabling:
        (one, near), (other, far) = cable.one, cable.other
        for ours, theirs in zip(CAGES[near], CAGES[far], strict=True):
            assert found[one][ours] == found[other][theirs]
            used.add(found[one][ours])
    assert len(used) == 6 and all(len(set(each.values())) == 4 for each in found.values())


def test_the_inventory_of_the_switch_has_two_subnets_and_the_sparks_that_are_there(lab_folder: Path) -> None:
    put_in_force(SWITCH)
    found = subnets("lab_switch.py", lab_folder)
    assert tuple(found) == SWITCH.nodes
    assert all(list(each) == list(CAGES["p0"]) for each in found.values())
    assert len({network for each in found.values() for network in each.values()}) == 2
