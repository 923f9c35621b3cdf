"""What becomes of a pair's third Spark, and of the next ones: a ring or a switch, and their addresses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from sparkrig import inventory, inventory_file
from sparkrig.fabric.cabling import Cable, End, Way
from sparkrig.fleet import Fleet
from sparkrig.onboarding import joining, proposal
from sparkrig.onboarding.joining import Newcomer
from sparkrig.onboarding.proposal import Proposal
from sparkrig.onboarding.wishes import Form, Wishes
from sparkrig.refusal import Refusal
from sparkrig.resources.state import State
from tests.tables import each_row, table
from tests.unit.candidates import P0, P1, fabric, propose, seen

ROOT = Path(__file__).resolve().parents[3]
A, B, C = "spark-a", "spark-b", "spark-c"
LOGIN = {"ssh_hostname": "10.0.0.9", "ssh_user": "nvidia"}
BOTH = ("p0", "p1")
ENDS = [fabric(P0, f"192.168.100.{last}/24", f"192.168.101.{last}/24") for last in (11, 12)]
PAIR: dict[str, dict[str, Any]] = {
    name: {"pair": "desk", "ssh_hostname": f"{name}.local", "fabric": ends}
    for name, ends in zip((A, B), ENDS, strict=True)
}
RULE = {"cluster": "desk", "topology": "cable", "fabric_network": "10.9.0.0/16"}


def cable(one: tuple[str, str], other: tuple[str, str]) -> Cable:
    """A cable whose ends hear each other."""
    here, there = End(*one), End(*other)
    return Cable(here, there, "heard both ways", heard=(Way(here, there, "x", "y"), Way(there, here, "y", "x")))


def both(data: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {A: data, B: data}


AB = cable((A, "p0"), (B, "p0"))
RING = (AB, cable((A, "p1"), (C, "p0")), cable((B, "p1"), (C, "p1")))
SWITCH = (AB, cable((A, "p0"), (C, "p0")), cable((B, "p0"), (C, "p0")))


def fleet(hosts: Mapping[str, Mapping[str, Any]]) -> Fleet:
    return Fleet.parse(
        {name: {key: each for key, each in data.items() if "ssh" not in key} for name, data in hosts.items()}
    )


def states(names: Sequence[str], lit: tuple[str, ...] = BOTH) -> dict[str, State]:
    return {name: seen("a" if place % 2 else "b", lit) for place, name in enumerate(names)}


def joined(
    hosts: Mapping[str, Mapping[str, Any]] = PAIR,
    form: Form | None = "ring",
    cables: Sequence[Cable] = (),
    lit: tuple[str, ...] = BOTH,
    name: str = C,
    shared: Mapping[str, Any] | None = None,
    **wishes: Any,
) -> Proposal:
    """A Spark that joins all of an inventory."""
    known, others = fleet(hosts), states([*hosts], lit)
    group = tuple(host for host in hosts if host != name)
    mine = Newcomer(name, seen("b", lit), known, Wishes(**wishes), others, cables)
    return proposal.propose(mine, group, form, LOGIN, shared)


def written(made: Proposal, hosts: Mapping[str, Mapping[str, Any]], folder: Path) -> Fleet:
    """The fleet of the inventory that is written."""
    file = folder / "sparks.py"
    text = inventory_file.new(file)
    for name, data in hosts.items():
        text = inventory_file.with_host(text, name, data)
    (folder / "group_data").mkdir(exist_ok=True)
    (folder / "group_data" / "all.py").write_text((ROOT / "inventories/group_data/all.py").read_text())
    return inventory.fleet_of(made.written(text), file)[0]


def addresses(found: Fleet, name: str) -> dict[str, str]:
    return {netdev: str(address) for netdev, address in found[name].fabric.items()}


# --- ring or switch?


def test_frames_tell_a_ring_from_a_switch_and_what_they_leave_open_is_asked() -> None:
    def holds(cables: Sequence[Cable], form: Form | None) -> None:
        assert joining.seen_form((A, B), C, cables) == form

    silent = [Cable(End(A, "p1"), End(C, "p0"), "same cable serial")]
    each_row(
        {
            "each hears the other two, by a cage each": (RING, "ring"),
            "one cage hears two": (SWITCH, "switch"),
            "one cage hears two, and they hear each other nowhere": (SWITCH[1:], "switch"),
            "the pair's own cable is out": (RING[1:], None),
            "one of the two cables": (RING[:2], None),
            "the other one": (RING[::2], None),
            "a serial number is no frame": ([AB, RING[2], *silent], None),
            "another cluster's frames are none of theirs": ((*RING, cable((A, "p0"), ("x", "p0"))), "ring"),
            "two cages of one host at one cage": ((*RING, cable((A, "p0"), (C, "p0"))), None),
            "nothing": ((), None),
        },
        holds,
    )


def test_an_option_answers_and_what_the_inventory_has_is_not_asked() -> None:
    def mine(known: Fleet, wishes: Wishes, cables: Sequence[Cable] = ()) -> Newcomer:
        return Newcomer(C, seen("b", BOTH), known, wishes, cables=cables)

    known = fleet(PAIR)
    assert mine(known, Wishes(topology="switch"), RING).form((A, B)) == "switch"
    assert mine(known, Wishes()).form((A, B)) is None
    assert mine(known, Wishes()).form((A,)) == "cable"
    shown = mine(known, Wishes(), RING[:2]).question((A, B))
    assert shown == (
        "spark-c joins spark-a and spark-b, as a ring or on a switch: p0 of spark-c reaches p1 of spark-a, which "
        "may be a cable or a switch"
    )
    on_switch = fleet(both({**RULE, "topology": "switch"}))
    assert mine(on_switch, Wishes()).form((A, B)) == "switch"
    with pytest.raises(Refusal, match="has spark-a and spark-b as a switch, and --topology says ring"):
        mine(on_switch, Wishes(topology="ring")).form((A, B))


# --- whom it joins


def members(
    hosts: Mapping[str, Mapping[str, Any]], cables: Sequence[Cable] = (), **wishes: Any
) -> tuple[str, ...]:
    lit = wishes.pop("lit", BOTH)
    return Newcomer(C, seen("b", lit), fleet(hosts), Wishes(**wishes), states([*hosts], lit), cables).group()


def test_it_joins_whom_its_cables_lead_to_or_who_is_named() -> None:
    alone = {**PAIR, "x": {}}
    assert members(PAIR) == ()
    assert members(PAIR, RING[:2]) == (A, B)
    assert members(PAIR, RING, solo=True) == ()
    assert members(PAIR, peer=B) == members(PAIR, pair="desk") == members(PAIR, topology="ring") == (A, B)
    assert members({"x": {}}, topology="switch") == ("x",)
    assert members(alone, [cable(("x", "p0"), (C, "p0"))]) == ("x",), "that is a pair"
    assert members(alone, [cable(("x", "p0"), (C, "p0"))], peer=A) == (A, B)
    assert members(alone, pair="sparks") == ("x",), "the name of a new pair"


def test_what_several_could_be_is_refused_with_the_option() -> None:
    alone = {**PAIR, "x": {}}

    def holds(
        hosts: Mapping[str, Any], cables: Sequence[Cable], wishes: dict[str, Any], what: str, cure: str
    ) -> None:
        with pytest.raises(Refusal, match=what) as caught:
            members(hosts, cables, **wishes)
        assert cure in caught.value.cure

    mixed = [*SWITCH, cable(("x", "p0"), (C, "p0"))]
    each_row(
        {
            "a pair and one alone": (
                alone,
                mixed,
                {},
                "its cables lead to spark-a, spark-b and x",
                "--peer spark-a",
            ),
            "by an option": (alone, (), {"topology": "switch"}, "could be at the other end", "--peer x"),
            "nothing lit": ({"x": {}}, (), {"topology": "switch", "lit": ()}, "nothing was seen", "seat the QSFP"),
            "another name": (
                PAIR,
                RING,
                {"pair": "sparks"},
                "calls desk, and --pair says sparks",
                "without --pair",
            ),
            "another name, named": (PAIR, (), {"pair": "y", "peer": A}, "calls desk", "without --pair"),
            "a stranger": (PAIR, (), {"peer": "y", "topology": "ring"}, "y is no Spark", "--solo"),
        },
        holds,
    )


# --- a ring


def test_the_third_makes_a_ring_and_the_pair_keeps_its_addresses(tmp_path: Path) -> None:
    made = joined(cables=RING)
    assert list(made.data) == ["cluster", "topology", *LOGIN, "fabric"]
    assert {host: {**data, "fabric": 0} for host, data in made.others.items()} == both(
        {"cluster": "desk", "topology": "ring", "fabric": 0}
    )
    found = written(made, PAIR, tmp_path)
    assert found.group(A) == (A, B, C) and found[C].form == "ring"
    assert addresses(found, A) == ENDS[0] | fabric(P1, "192.168.102.11/24", "192.168.103.11/24")
    assert addresses(found, B) == ENDS[1] | fabric(P1, "192.168.104.12/24", "192.168.105.12/24")
    assert addresses(found, C) == fabric(
        (*P0, *P1), "192.168.102.13/24", "192.168.103.13/24", "192.168.104.13/24", "192.168.105.13/24"
    )
    assert made.ends == {"p0": "joined to p1 of spark-a", "p1": "joined to p1 of spark-b"}
    kept = [each for each in proposal.moves(fleet(PAIR), found, found.group(A)) if each.before]
    assert len(kept) == 4 and {each.sentence for each in kept if each.host == A} == {
        "192.168.100.11/24, as before",
        "192.168.101.11/24, as before",
    }


def test_addresses_go_where_the_cables_are(tmp_path: Path) -> None:
    """The third's cages the other way round, and the pair's own cable from p0 to p1."""
    crossed = [cable((A, "p0"), (B, "p1")), cable((A, "p1"), (C, "p1")), cable((B, "p0"), (C, "p0"))]
    made = joined(cables=crossed)
    found = written(made, PAIR, tmp_path)
    cages = {
        frozenset((rail.near.netdev[-2:] + A, rail.far.netdev[-2:] + rail.far.host)) for rail in found.rails(A)
    }
    assert cages == {frozenset((f"p0{A}", f"p1{B}")), frozenset((f"p1{A}", f"p1{C}"))}
    moved = {each.netdev: each.sentence for each in proposal.moves(fleet(PAIR), found, (B,))}
    assert moved[P0[0]] == "192.168.106.12/24, before 192.168.100.12/24"
    assert moved[P1[0]] == "192.168.102.12/24"


def test_what_no_frame_shows_goes_by_nvidias_way(tmp_path: Path) -> None:
    made = joined()
    assert made.ends["p0"] == "p1 of spark-a at the other end, as far as one can tell"
    assert [rail.far.host for rail in written(made, PAIR, tmp_path).rails(C)] == [A, A, B, B]


def test_subnets_that_fit_no_ring_are_replaced(tmp_path: Path) -> None:
    def holds(one: str, two: str, kept: bool) -> None:
        ends = [fabric(P0, one.format(last), two.format(last)) for last in (1, 2)]
        hosts = {name: {**data, "fabric": each} for (name, data), each in zip(PAIR.items(), ends, strict=True)}
        found = written(joined(hosts, cables=RING), hosts, tmp_path)
        assert (addresses(found, A)[P0[0]] == ends[0][P0[0]]) is kept

    each_row(table(__file__, "subnets that fit no ring are replaced"), holds)


def test_a_pair_of_two_cables_gives_one_up(tmp_path: Path) -> None:
    four = [
        {**ends, **fabric(P1, f"192.168.102.{last}/24", f"192.168.103.{last}/24")}
        for ends, last in zip(ENDS, (11, 12), strict=True)
    ]
    hosts = {name: {**data, "fabric": each} for (name, data), each in zip(PAIR.items(), four, strict=True)}
    found = written(joined(hosts, cables=RING), hosts, tmp_path)
    assert addresses(found, A) == ENDS[0] | fabric(P1, "192.168.104.11/24", "192.168.105.11/24")


def test_given_addresses_make_the_subnets_of_both_cables(tmp_path: Path) -> None:
    mine = fabric((*P0, *P1), *(f"10.7.{n}.9/24" for n in range(4)))
    found = written(joined(cables=RING, fabric=mine), PAIR, tmp_path)
    assert addresses(found, C) == mine
    assert addresses(found, A) == ENDS[0] | fabric(P1, "10.7.0.10/24", "10.7.1.10/24")
    assert addresses(found, B) == ENDS[1] | fabric(P1, "10.7.2.10/24", "10.7.3.10/24")


def test_frames_that_fit_no_ring_leave_each_cage_to_one_cable(tmp_path: Path) -> None:
    """As where a switch joins them; what is wrong is then found in the cabling."""
    found = written(joined(cables=SWITCH), PAIR, tmp_path)
    assert {len(found[name].fabric) for name in (A, B, C)} == {4}
    assert addresses(found, A).items() >= ENDS[0].items()


def test_a_dark_cage_is_named_before_anything_is_written() -> None:
    with pytest.raises(Refusal, match="p1 of spark-a has no carrier, and a ring has a cable between each two"):
        joined(lit=("p0",))


def test_a_pair_whose_addresses_come_from_a_network_keeps_the_rule(tmp_path: Path) -> None:
    hosts = both(RULE)
    made = joined(hosts, cables=RING)
    assert made.others == both({"topology": "ring"})
    assert made.data == {"cluster": "desk", "topology": "ring", "fabric_network": "10.9.0.0/16", **LOGIN}
    found = written(made, hosts, tmp_path)
    assert addresses(found, C)[P0[0]] == "10.9.2.13/24"
    small = both({**RULE, "fabric_network": "192.168.100.0/23"})
    made = joined(small, cables=RING)
    assert made.others[A] == {"topology": "ring", "fabric_network": "192.168.104.0/21"}, "a /23 has two subnets"
    moved = proposal.moves(fleet(small), written(made, small, tmp_path), (A,))
    assert moved[0].sentence == "192.168.104.11/24, before 192.168.100.11/24"
    with pytest.raises(Refusal, match="are taken from a network, and spark-c has its own"):
        joined(hosts, fabric=fabric(P0, "10.0.0.1/24", "10.0.1.1/24"))


def test_no_fourth_joins_a_ring() -> None:
    hosts = {**both({**RULE, "topology": "ring"}), C: {**RULE, "topology": "ring"}}
    with pytest.raises(Refusal, match="a ring of 4 has no direct path between spark-a and spark-c") as caught:
        joined(hosts, name="spark-d")
    assert caught.value.cure.startswith("--solo")


# --- a switch


def test_the_third_on_a_switch_gets_the_next_number_and_the_pair_keeps_its_own(tmp_path: Path) -> None:
    made = joined(form="switch", cables=SWITCH)
    assert made.others == both({"cluster": "desk", "topology": "switch"})
    found = written(made, PAIR, tmp_path)
    assert addresses(found, A) == ENDS[0]
    assert addresses(found, C) == fabric(P0, "192.168.100.13/24", "192.168.101.13/24")
    assert made.ends == {"p0": "on a switch with spark-a and spark-b"}


def test_the_cage_is_the_one_that_hears_them(tmp_path: Path) -> None:
    by_p1 = [AB, cable((A, "p0"), (C, "p1")), cable((B, "p0"), (C, "p1"))]
    assert list(joined(form="switch", cables=by_p1).data["fabric"]) == list(P1)
    hosts = both({**RULE, "topology": "switch"})
    made = joined(hosts, "switch", by_p1)
    assert made.data["fabric_cage"] == "p1" and made.others == {A: {}, B: {}}
    assert list(addresses(written(made, hosts, tmp_path), C)) == list(P1)


def test_up_to_eight_join_a_switch_and_no_ninth(tmp_path: Path) -> None:
    hosts: dict[str, dict[str, Any]] = {A: {**RULE, "topology": "switch"}, B: {**RULE, "topology": "switch"}}
    for letter in "cdefgh":
        made = joined(hosts, "switch", name=f"spark-{letter}")
        assert not any(made.others.values()), "nothing of the others changes"
        found = written(made, hosts, tmp_path)
        hosts[made.name] = {key: each for key, each in made.data.items() if "ssh" not in key}
    assert [addresses(found, name)[P0[0]] for name in hosts] == [f"10.9.0.{11 + n}/24" for n in range(8)]
    with pytest.raises(Refusal, match="9 hosts are one cluster"):
        joined(hosts, "switch", name="spark-i")


def test_two_on_a_switch_are_written_as_the_shipped_inventory_has_them(tmp_path: Path) -> None:
    made = joined({A: {}}, "switch", name=B)
    ours = {"cluster": "sparks", "topology": "switch", "fabric_network": "192.168.100.0/23"}
    assert made.others == {A: ours} and made.data == {**ours, **LOGIN}
    shipped, _ = inventory.fleet(ROOT / "inventories" / "switch.py")
    found = written(made, {A: {}}, tmp_path)
    assert [found[name].fabric for name in (A, B)] == [shipped[name].fabric for name in (A, B)]
    own = {A: {"fabric": fabric(P0, "10.0.0.1/24", "10.0.1.1/24")}}
    made = joined(own, "switch", name=B)
    assert made.data["fabric"] == fabric(P0, "10.0.0.2/24", "10.0.1.2/24") and "fabric" not in made.others[A]
    with pytest.raises(Refusal, match="a ring has three hosts"):
        joined({A: {}}, "ring", name=B)


def test_what_is_one_thing_for_all_comes_with_it(tmp_path: Path) -> None:
    hosts = {name: {**data, "mtu": 4200} for name, data in PAIR.items()}
    found = written(joined(hosts, "switch", SWITCH, shared={"mtu": 4200}), hosts, tmp_path)
    assert found[C].mtu == 4200


def test_one_of_the_inventory_joins_in_its_place(tmp_path: Path) -> None:
    hosts = {**PAIR, C: {"ssh_hostname": "10.0.0.3"}}
    made = joined(hosts, "switch", SWITCH)
    assert not made.new and made.data == {
        "cluster": "desk",
        "topology": "switch",
        "fabric": fabric(P0, "192.168.100.13/24", "192.168.101.13/24"),
    }
    assert written(made, hosts, tmp_path).group(C) == (A, B, C)


# --- a pair whose cable frames show


def test_frames_show_which_cages_of_a_pair_are_joined() -> None:
    """Three that are cabled as a ring, of which two are in the inventory yet."""
    found = [cable((A, "p0"), (B, "p1"))]
    lonely = {A: seen("a", BOTH), "x": seen("a", BOTH)}
    known = Fleet.parse({A: {}, "x": {}})
    made = propose(seen("b", BOTH), known, lonely, Wishes(name=B), cables=found)
    assert made.peer == A and made.ends == {"p1": "joined to p0 of spark-a"}
    assert list(made.data["fabric"]) == list(P1) and list(made.others[A]["fabric"]) == list(P0)


def test_an_option_that_leaves_it_alone_and_one_that_joins_it_are_no_pair() -> None:
    with pytest.raises(Refusal, match="--topology does not"):
        Wishes(solo=True, topology="ring").judge()
    with pytest.raises(Refusal, match="keeps its name, its pair and its addresses, and --topology sets others"):
        Wishes(topology="ring").judge(A)
