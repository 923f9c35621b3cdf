"""What is judged and proposed of a new Spark: its address, its host key, its name, its peer and its fabric."""

from __future__ import annotations

import base64
import re
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

import pytest

from sparkrig.drift.plan import Planned, Step
from sparkrig.network.links import Route
from sparkrig.onboarding import card, hostkey, plan
from sparkrig.onboarding.address import Address, parse
from sparkrig.onboarding.candidates import Candidate, only, ordered
from sparkrig.onboarding.hostkey import HostKey
from sparkrig.onboarding.joining import cages
from sparkrig.onboarding.operator import public
from sparkrig.onboarding.proposal import Proposal
from sparkrig.onboarding.wishes import Wishes
from sparkrig.refusal import Refusal
from sparkrig.resources.state import State
from tests.tables import each_row, table, tabled
from tests.unit.candidates import LOGIN, P0, P1, defined, fabric, fleet, pair, propose, seen
from tests.unit.sshd import fingerprint, keygen

# --- address


def test_an_address_is_what_one_types_after_ssh() -> None:
    def holds(text: str, found: Address) -> None:
        assert parse(text) == found

    each_row(
        [
            ("spark-a.local", Address("spark-a.local")),
            ("nvidia@10.0.0.12", Address("10.0.0.12", "nvidia")),
            ("spark-a:2222", Address("spark-a", None, 2222)),
            ("me.too@[fd00::12]:2222", Address("fd00::12", "me.too", 2222)),
            ("fd00::12", Address("fd00::12")),
            ("nvidia@fe80::1%eth0", Address("fe80::1%eth0", "nvidia")),
        ],
        holds,
    )


def test_what_is_no_address_is_refused() -> None:
    def holds(text: str) -> None:
        with pytest.raises(Refusal, match=r"USER@NAME is expected|one from 1 to 65535 is expected"):
            parse(text)

    each_row(["", "@host", "a b", "host:", "host:0", "host:99999", "-oProxyCommand=x", "u@-x", "a@b@c"], holds)


# --- host keys


@pytest.mark.parametrize("kind", ["ed25519", "ecdsa"])
def test_the_fingerprint_is_the_one_that_ssh_keygen_prints(tmp_path: Path, kind: str) -> None:
    file = keygen(tmp_path / "key", kind).with_suffix(".pub")
    name, encoded, *_ = file.read_text().split()
    key = HostKey(name, base64.b64decode(encoded))
    assert key.fingerprint == hostkey.given(fingerprint(file))
    assert key.console == f"ssh-keygen -lf /etc/ssh/ssh_host_{kind}_key.pub"
    known = tmp_path / "known_hosts"
    known.write_text(hostkey.added("# mine\nother ssh-rsa AAAA", key.line("[10.0.0.12]:2222")))
    found = subprocess.run(["ssh-keygen", "-F", "[10.0.0.12]:2222", "-f", known], capture_output=True, text=True)
    assert encoded in found.stdout
    assert known.read_text().startswith("# mine\nother ssh-rsa AAAA\n[10.0.0.12]:2222 ")


def test_what_is_no_fingerprint_is_refused() -> None:
    def holds(text: str) -> None:
        with pytest.raises(Refusal, match="is no fingerprint"):
            hostkey.given(text)

    each_row(["SHA256:", "MD5:aa:bb", "abc", "SHA256:" + "a" * 42, "SHA256:" + "a" * 43 + "="], holds)


def test_a_private_key_is_not_taken_for_a_public_one(tmp_path: Path) -> None:
    private = keygen(tmp_path / "key")
    key = public(private.with_suffix(".pub").read_text(), "key.pub")
    assert (key.comment, key.line) == ("test", f"{key.bare} test")
    with pytest.raises(Refusal, match="holds a private key") as caught:
        public(private.read_text(), "key")
    assert private.read_text().splitlines()[1] not in str(caught.value)


# --- candidates


SPARK, LAPTOP = Candidate("spark-1a2b.local", ("10.0.0.12",)), Candidate("a-laptop.local", ("10.0.0.2",))


def test_sparks_come_first_and_once() -> None:
    other = Candidate("gx10-9641.local", ("10.0.0.13",))
    assert ordered([LAPTOP, SPARK, other, SPARK]) == [other, SPARK, LAPTOP]
    assert only([LAPTOP, SPARK]) == SPARK


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ([], "none showed up (nothing that offers ssh)"),
        ([LAPTOP], "none showed up (a-laptop.local)"),
        ([SPARK, Candidate("spark-2.local", ())], "2 showed up (spark-1a2b.local and spark-2.local)"),
    ],
)
def test_a_script_takes_no_guess(found: list[Candidate], words: str) -> None:
    with pytest.raises(Refusal, match=re.escape(words)):
        only(found)


# --- names


def test_a_name_is_the_hosts_own_made_valid_and_unique() -> None:
    def holds(own: str, name: str) -> None:
        here = seen("b", ())
        here = replace(here, identity=replace(here.identity, hostname=own))
        made = propose(here, fleet(spark_a={}), {}, Wishes())
        assert (made.name, made.new, made.peer) == (name, True, None)
        assert made.data == LOGIN

    each_row(table(__file__, "a name is the hosts own made valid and unique"), holds)


@pytest.mark.parametrize("name", ["spark-a", "two words", "@local", "a/b"])
def test_a_name_that_cannot_be_is_refused(name: str) -> None:
    with pytest.raises(Refusal, match="--name"):
        propose(seen("b"), fleet(spark_a={}), {}, Wishes(name=name))


# --- the pair


def test_the_second_spark_makes_a_pair_with_addresses_on_both() -> None:
    made = pair()
    assert made.data == {"pair": "sparks", **LOGIN, "fabric": fabric(P0, "192.168.100.12/24", "192.168.101.12/24")}
    assert made.peer == "spark-a"
    theirs = {"pair": "sparks", "fabric": fabric(P0, "192.168.100.11/24", "192.168.101.11/24")}
    assert made.others == {"spark-a": theirs}
    assert made.ends == {"p0": "p0 of spark-a at the other end, as far as one can tell"}


@pytest.mark.parametrize(("mine", "theirs"), [(("p0",), ()), ((), ("p0",)), ((), ())])
def test_without_a_cable_at_both_ends_it_stays_on_its_own(mine: tuple[str, ...], theirs: tuple[str, ...]) -> None:
    made = pair(seen("b", mine), seen("a", theirs))
    assert (made.peer, made.data, made.others) == (None, LOGIN, {})


def test_a_cage_that_one_came_in_on_is_none_to_set_up() -> None:
    here = seen("b")
    links = dict(here.network.links)
    links[P0[0]] = replace(links[P0[0]], addresses=links["enP7s7"].addresses)
    there = replace(here, network=replace(here.network, links=links, ssh=P0[0]))
    assert (cages(there.network), pair(there).peer) == ({}, None)


def test_the_cages_are_those_that_show_the_same_cable() -> None:
    both = ("p0", "p1")
    made = pair(seen("b", both, {"p0": "aaaa", "p1": "bbbb"}), seen("a", both, {"p0": "bbbb", "p1": "cccc"}))
    assert made.ends == {"p1": "same cable as p0 of spark-a"}
    assert list(made.data["fabric"]) == list(P1)
    assert list(made.others["spark-a"]["fabric"]) == list(P0)


def test_a_peer_that_declares_a_fabric_keeps_it() -> None:
    declared = fabric(P0, "10.1.0.254/24", "10.2.0.7/24")
    made = pair(declared={"fabric": declared})
    assert made.data["fabric"] == fabric(P0, "10.1.0.253/24", "10.2.0.6/24"), "254 was the last one"
    assert made.others["spark-a"] == {"pair": "sparks"}


def test_a_number_that_another_host_has_is_passed_over() -> None:
    other = {"fabric": fabric(P0, "192.168.100.12/24", "192.168.101.12/24")}
    declared = fabric(P0, "192.168.100.11/24", "192.168.101.11/24")
    known = fleet(spark_a={"fabric": declared}, spark_c=other)
    made = propose(seen("b"), known, {"spark-a": seen("a")}, Wishes())
    assert made.data["fabric"] == fabric(P0, "192.168.100.13/24", "192.168.101.13/24")


def routed(here: State, *destinations: str, netdev: str = "enP7s7") -> State:
    more = tuple(Route(IPv4Network(each), netdev, "vpn") for each in destinations)
    network = here.network
    return replace(here, network=replace(network, routes=(*network.routes, *more)))


TAKEN: dict[str, tuple[State, State, Mapping[str, Any], str]] = {
    "a route of its own": (routed(seen("b"), "192.168.101.0/24"), seen("a"), {}, "192.168.102"),
    "a route of its peer's": (seen("b"), routed(seen("a"), "192.168.96.0/21"), {}, "192.168.104"),
    "halves of a default route": (routed(seen("b"), "128.0.0.0/1"), seen("a"), {}, "192.168.100"),
    "another pair": (
        seen("b"),
        seen("a"),
        {
            "c": {"pair": "x", "fabric": fabric(P0, "192.168.100.1/24", "192.168.101.1/24")},
            "d": {"pair": "x", "fabric": fabric(P0, "192.168.100.2/24", "192.168.101.2/24")},
        },
        "192.168.102",
    ),
}


@pytest.mark.parametrize(("here", "there", "more", "first"), TAKEN.values(), ids=TAKEN)
def test_subnets_collide_with_nothing(here: State, there: State, more: Mapping[str, Any], first: str) -> None:
    made = pair(here, there, more=more)
    assert made.data["fabric"][P0[0]] == f"{first}.12/24"
    assert made.others["spark-a"]["fabric"][P0[0]] == f"{first}.11/24"


def test_what_has_no_room_is_refused() -> None:
    with pytest.raises(Refusal, match="every subnet from"):
        pair(routed(seen("b"), "192.168.0.0/16"))
    with pytest.raises(Refusal, match="no address is left in"):
        pair(
            declared={"fabric": fabric(P0[:1], "10.0.0.1/31")},
            more={"x": {"fabric": fabric(P0[:1], "10.0.0.0/31")}},
        )
    with pytest.raises(Refusal, match="one host has 4 fabric netdevs, and the other 2"):
        pair(declared={"fabric": fabric((*P0, *P1), *(f"10.{n}.0.1/24" for n in range(4)))})


def test_two_that_could_be_its_peer_are_a_question() -> None:
    known = fleet(spark_a={}, spark_c={})
    others = {"spark-a": seen("a"), "spark-c": seen("a")}
    with pytest.raises(Refusal, match="spark-a and spark-c could be at the other end"):
        propose(seen("b"), known, others, Wishes())
    assert propose(seen("b"), known, others, Wishes(peer="spark-c")).peer == "spark-c"
    assert propose(seen("b"), known, others, Wishes(solo=True)).peer is None
    same = {"spark-a": seen("a", cable={"p0": "aaaa"}), "spark-c": seen("a", cable={"p0": "cccc"})}
    assert propose(seen("b", cable={"p0": "cccc"}), known, same, Wishes()).peer == "spark-c"


@tabled(__file__, "a wish that cannot be is refused")
def test_a_wish_that_cannot_be_is_refused(wishes: dict[str, Any], words: str) -> None:
    with pytest.raises(Refusal, match=words):
        pair(**wishes)


def test_a_peer_without_a_cable_is_said() -> None:
    with pytest.raises(Refusal, match="no cable joins it to spark-a"):
        pair(seen("b", ()), peer="spark-a")


def test_wishes_win() -> None:
    made = pair(name="left", pair="desk", fabric=fabric(P0, "10.0.0.1/24", "10.0.1.1/24"))
    assert (made.name, made.data["pair"]) == ("left", "desk")
    assert made.data["fabric"] == fabric(P0, "10.0.0.1/24", "10.0.1.1/24")
    assert made.others["spark-a"]["fabric"] == fabric(P0, "10.0.0.2/24", "10.0.1.2/24")


# --- one that is in the inventory


def test_one_that_is_in_the_inventory_and_paired_is_left_as_it_is() -> None:
    ends = [fabric(P0, f"10.0.0.{n}/24", f"10.0.1.{n}/24") for n in (1, 2)]
    known = fleet(a={"pair": "x", "fabric": ends[0]}, b={"pair": "x", "fabric": ends[1]})
    made = propose(seen("b"), known, {}, Wishes(), "b")
    assert made == Proposal("b", False, {}, {"a": {}})
    assert not made.edits


def test_two_that_are_in_the_inventory_become_a_pair_once_there_is_a_cable() -> None:
    known = fleet(spark_a={}, spark_b={})
    made = propose(seen("b"), known, {"spark-a": seen("a")}, Wishes(), "spark-b")
    assert not made.new
    assert made.data == {"pair": "sparks", "fabric": fabric(P0, "192.168.100.12/24", "192.168.101.12/24")}
    assert not propose(seen("b", ()), known, {"spark-a": seen("a")}, Wishes(), "spark-b").edits


def test_what_the_inventory_says_already_is_not_asked_for_otherwise() -> None:
    def holds(wishes: Wishes, option: str) -> None:
        ends = [fabric(P0, f"10.0.0.{n}/24", f"10.0.1.{n}/24") for n in (1, 2)]
        known = fleet(a={"pair": "x", "fabric": ends[0]}, b={"pair": "x", "fabric": ends[1]})
        with pytest.raises(Refusal, match=f"b is in the inventory, which says otherwise than {option}"):
            propose(seen("b"), known, {}, wishes, "b")
        propose(seen("b"), known, {}, Wishes(name="b", pair="x", peer="a"), "b")

    each_row(
        [
            (Wishes(name="other"), "--name"),
            (Wishes(peer="c", solo=True), "--peer and --solo"),
            (Wishes(pair="y"), "--pair"),
            (Wishes(fabric={"enp1s0f0np0": "10.9.0.1/24"}), "--fabric"),
            (Wishes(adopt="leave"), "--adopt"),
        ],
        holds,
    )


# --- other people's definitions


def test_other_definitions_are_given_a_word_on_both() -> None:
    made = pair(defined(seen("b"), 12), defined(seen("a"), 11), adopt="set-aside")
    assert made.data["adopt"] == made.others["spark-a"]["adopt"] == {"40-cx7.yaml": "set-aside"}
    assert made.data["fabric"] == fabric(P0, "192.168.100.12/24", "192.168.101.12/24")


def test_a_word_that_the_inventory_has_already_stays() -> None:
    said = {"adopt": {"40-cx7.yaml": "leave", "old": "adopt"}}
    made = pair(defined(seen("b"), 12), defined(seen("a"), 11), declared=said, adopt="set-aside")
    assert "adopt" not in made.others["spark-a"]
    said["adopt"].pop("40-cx7.yaml")
    made = pair(defined(seen("b"), 12), defined(seen("a"), 11), declared=said, adopt="set-aside")
    assert made.others["spark-a"]["adopt"] == {"old": "adopt", "40-cx7.yaml": "set-aside"}


@pytest.mark.parametrize("word", ["adopt", "leave"])
def test_what_is_adopted_keeps_its_addresses(word: str) -> None:
    made = pair(defined(seen("b"), 12), defined(seen("a"), 11), adopt=word)
    assert made.data["fabric"] == fabric(P0, "192.168.177.12/24", "192.168.178.12/24")
    assert made.others["spark-a"]["fabric"] == fabric(P0, "192.168.177.11/24", "192.168.178.11/24")


def test_where_one_half_alone_is_defined_the_other_goes_beside_it() -> None:
    made = pair(seen("b"), defined(seen("a"), 11), adopt="adopt")
    assert made.data["fabric"] == fabric(P0, "192.168.177.12/24", "192.168.178.12/24")
    assert "adopt" not in made.data


# --- the card, and the plan


def rows(here: State, made: Proposal) -> list[str]:
    mine = fleet(spark_b={"fabric": made.data.get("fabric", {})})["spark-b"]
    return [
        f"{row.level} {row.text}{f' -> {row.then}' if row.then else ''}" for row in card.rows(here, mine, made)
    ]


def test_the_card_of_a_second_spark() -> None:
    assert card.heading(seen("b")).startswith("NVIDIA DGX Spark Founders Edition · DGX OS 7.5.0 · kernel 6.12")
    assert rows(seen("b"), pair()) == [
        "healthy nvidia-smi names NVIDIA GB10; 1 GiB of memory",
        "degraded driver 580.173.02-0ubuntu0.24.04.1, 43 of 43 packages not held -> held by apply",
        "healthy reached over enP7s7 (10.0.2.12/24) -> never touched",
        "degraded cage p0 (next to the RJ45): enp1s0f0np0 + enP2p1s0f0np0, p0 of spark-a at the other end, as far "
        "as one can tell; MTU of enp1s0f0np0: 1500 (declared: 9000); "
        "MTU of enP2p1s0f0np0: 1500 (declared: 9000) -> set by apply",
        "None cage p1: no cable",
    ]


def test_the_card_says_what_is_odd() -> None:
    here = defined(seen("b", cable={"p0": "aaaa"}), 12)
    links = {**here.network.links, P0[1]: replace(here.network.links[P0[1]], carrier=False)}
    here = replace(here, network=replace(here.network, links=links))
    said = rows(here, pair(here, seen("a", cable={"p0": "aaaa"})))
    assert any(
        "same cable as p0 of spark-a; no carrier on enP2p1s0f0np0 -> seat the plug again" in row for row in said
    )
    assert any("40-cx7.yaml defines" in row and "-> --adopt adopt, set-aside or leave" in row for row in said)


def test_the_card_for_programs_has_no_serial_number() -> None:
    told = card.document(seen("b", cable={"p0": "f00d"}))
    assert "f00d" not in str(told)
    assert told.management == card.Management("enP7s7", "10.0.2.12/24")


def test_a_plan_counts_what_somebody_would_notice() -> None:
    known = fleet(
        spark_a={"pair": "x", "fabric": fabric(P0, "10.0.0.1/24", "10.0.1.1/24")},
        spark_b={"pair": "x", "fabric": fabric(P0, "10.0.0.2/24", "10.0.1.2/24")},
    )
    busy = seen("b")
    busy = replace(busy, containers=replace(busy.containers, running=3))
    steps = Planned((Step("Network | profiles and live links"), Step("Containers | docker's nvidia runtime")))
    plans = [
        plan.of("spark-b", busy, known, steps, ["Login: key"]),
        plan.of("spark-a", seen("a"), known, Planned()),
    ]
    assert [step.name for step in plans[0].steps] == [
        "Network: profiles and live links",
        "Containers: docker's nvidia runtime",
    ]
    assert [bool(each) for each in plans] == [True, False]
    assert plan.total(plans, ["here"]) == (
        "4 changes, no reboot; docker of spark-b restarts, and 3 containers with it; the network of spark-b "
        "reverts by itself after 90 s unless it is proven"
    )


@pytest.mark.parametrize(
    ("refusal", "option"),
    [
        (Refusal("x", 'say in the inventory: "adopt": {"40-cx7.yaml": "adopt"}'), "--adopt set-aside"),
        (None, "--restart-docker"),
    ],
)
def test_a_refusal_names_the_option_that_cures_it(refusal: Refusal | None, option: str) -> None:
    from sparkrig.resources import containers

    known = fleet(spark_b={})
    busy = seen("b")
    busy = replace(busy, containers=replace(busy.containers, running=3))
    if refusal is None:
        with pytest.raises(Refusal) as caught:
            containers.plan(busy.containers, restart_docker=False)
        refusal = caught.value
    (told,) = plan.of("spark-b", busy, known, Planned(refusals=(refusal,))).refusals
    assert (told.what, option in told.cure) == (refusal.what, True)


def test_the_card_and_its_document_name_one_driver() -> None:
    new = seen("b")
    rows = tuple(
        replace(row, name="nvidia-driver-580") if row.name == "nvidia-driver-580-open" else row
        for row in new.driver.rows
    )
    closed = replace(new, driver=replace(new.driver, rows=rows))
    for each in (new, closed):
        assert card.document(each).driver == "580.173.02-0ubuntu0.24.04.1"
