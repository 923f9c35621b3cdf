"""What a guarded change orders, and what a host says of it: numbers, words and answers, without a host."""

from __future__ import annotations

import json
from dataclasses import replace
from ipaddress import IPv4Interface
from typing import Any

import pytest

from sparkrig.files import MEASURED
from sparkrig.network import guard
from sparkrig.network.guard import Order, Probe, Told
from sparkrig.network.profiles import uuid
from tests.tables import each_row

NETDEV, ADDRESS = "enp1s0f0np0", "192.168.100.11/24"
ORDER = Order("Network | profiles", 60, 20)


def test_how_long_each_verb_may_take_is_the_sum_of_what_it_does() -> None:
    """As docs/safety.md has it; tests of the host's half hold its numbers against these."""
    assert (guard.GRACE_S, guard.ASK_S, guard.RELOAD_S, guard.BACK_S, guard.LIVE_S) == (5, 10, 40, 765, 20)
    assert (guard.ARM_S, guard.SAVE_S, guard.RETURN_S, guard.MARGIN_S) == (120, 100, 60, 10)
    back = 2 * 10 + 765
    two = replace(ORDER, profiles=({}, {}), remove=("u", "v", "w"))
    expected = {
        "start": 120 + 60 + 5 + back,
        "wait": 60 + 5 + back,
        "commit": 100 + 40 + 10 * (2 * 2 + 3) + 20 + back,
    }
    expected["revert"] = expected["commit"]
    assert {verb: two.limit(verb) for verb in expected} == expected
    assert two.limit("wait") == replace(two, profiles=(), remove=()).limit("wait")
    assert replace(two, patience=1.5).limit("wait") == int(1.5 * expected["wait"])


def test_an_order_that_says_no_more_guards_and_discards_what_was_measured() -> None:
    said = json.loads(ORDER.dump())
    assert said == {
        **{
            "step": "Network | profiles",
            "window": 60,
            "seconds": 20,
            "patience": 1.0,
            "profiles": [],
            "remove": [],
        },
        **{"move": [], "links": [], "restore": None, "mine": None, "discard": [MEASURED]},
        **{"part": "", "files": [], "test": ":", "live": ":", "verify": ":", "units": []},
    }


def test_a_plan_becomes_an_order() -> None:
    class Change:
        netdev, verb, mtu = NETDEV, "add", 9000
        properties = {"ipv4.method": "manual"}
        address = IPv4Interface(ADDRESS)

    class Asked:
        changes, remove, move = (Change,), (("u-1", "one"), ("u-2", "two")), ("/etc/netplan/a.yaml",)

    asked: Any = Asked
    made = guard.order(asked, "Network | x", 60, 1.5)
    assert made == Order(
        "Network | x",
        60,
        30,
        1.5,
        profiles=({"uuid": uuid(NETDEV), "verb": "add", "properties": {"ipv4.method": "manual"}},),
        remove=("u-1", "u-2"),
        move=("/etc/netplan/a.yaml",),
        links=(
            {
                **{"netdev": NETDEV, "mtu": 9000, "address": ADDRESS},
                "gid": "0000:0000:0000:0000:0000:ffff:c0a8:640b",
            },
        ),
    )


def test_an_answer_is_the_last_line() -> None:
    answer = json.dumps({"state": "armed", "detail": "x", "left": "12.5"})
    assert guard.parse(f"Welcome to DGX OS\n{answer}\n") == Told("armed", "x", 12.5)
    assert Told("none") == Told("none", "", 0.0)

    def none(text: str) -> None:
        with pytest.raises(ValueError, match="the guard's answer cannot be understood") as raised:
            guard.parse(text)
        assert repr(text.strip()[-200:]) in str(raised.value)

    each_row(
        ["", "no JSON", "[]", '{"state": "armed"}', answer.replace("12.5", "nan"), f"{answer}\nx", "y" * 300], none
    )


def test_a_host_is_as_before_only_where_it_rolled_back_and_says_nothing_else() -> None:
    for state, detail, restored in (
        ("rolled-back", "its window ended", True),
        ("rolled-back", "not as before: the MTU", False),
        ("committed", "", False),
        ("sat-back", "", False),
        ("armed", "", False),
        ("zebra", "", False),
    ):
        assert Told(state, detail).restored is restored, (state, detail)


def test_each_rail_is_pinged_with_the_largest_packet() -> None:
    assert Probe(1, NETDEV, "192.168.100.12", 9000).words == ("1", NETDEV, "192.168.100.12", "8972")
    pings = [Probe(rail, NETDEV, f"192.168.10{rail}.12", 1500) for rail in (0, 1)]
    assert guard.link_words(7, pings) == ["7", *pings[0].words, *pings[1].words]


def test_rails_without_an_answer_are_named() -> None:
    said = guard.silent(
        f"rail 0 answers\nsilent 1 {NETDEV} 10.0.0.2 8972\n"
        f"silent 2 {NETDEV} 10.0.0.3 1472 Message too long, mtu=1500\nsilent 3 {NETDEV} 10.0.0.4 1472 \n"
    )
    assert said == [
        f"no answer on rail 1 from 10.0.0.2 over {NETDEV} to 9000 bytes",
        f"no answer on rail 2 from 10.0.0.3 over {NETDEV} to 1500 bytes (Message too long, mtu=1500)",
        f"no answer on rail 3 from 10.0.0.4 over {NETDEV} to 1500 bytes",
    ]
    assert guard.silent("") == guard.silent("silently\n") == []
