"""What differs is found once and worded once: the deploy, its plan, drift and the doctor find and say the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from ipaddress import IPv4Interface
from typing import Any

import pytest

from sparkrig import cure
from sparkrig.checks import resources
from sparkrig.deploys import dry
from sparkrig.fabric.survey import Survey
from sparkrig.fleet import Fleet
from sparkrig.network.differences import differences
from sparkrig.operations.network import planned
from sparkrig.operations.subject import subject
from sparkrig.refusal import Refusal
from sparkrig.resources.check import Check, wrong
from sparkrig.resources.state import State
from tests.unit import doctored
from tests.unit.states import (
    MOVED,
    NETDEV,
    SEEN,
    TWIN,
    A,
    B,
    Change,
    in_memory,
    link,
    manager,
    net,
    no_link,
    no_profile,
    profile,
    route,
    same,
    second_profile,
)

ADDRESS = doctored.fleet()[A].fabric[NETDEV]
OTHER = IPv4Interface("192.168.100.99/24")
OTHER_PREFIX = IPv4Interface(f"{ADDRESS.ip}/16")
DATA = {name: {"ssh_hostname": "127.0.0.1"} for name in (A, B)}  # of the inventory; no host is asked
STEP = "profiles and live links"  # of the deploy
LEFT = {"adopt": {"mine": "leave"}}
_PROPERTY_MTU = {"802-3-ethernet.mtu": "1500"}


def both(*changes: Change) -> Change:
    def change(state: State) -> State:
        for each in changes:
            state = each(state)
        return state

    return change


def active(netdev: str, uuid: str) -> Change:
    return lambda state: net(active={**state.network.active, netdev: uuid})(state)


def in_charge(**fields: Any) -> Change:
    """Another profile is left in charge of the first rail. fields: of its link."""
    return both(second_profile(), no_profile(NETDEV), active(NETDEV, "1" * 8), link(NETDEV, **fields))


def renamed(state: State) -> State:
    """The first rail is there, at its place on the PCI bus, under another name."""
    links = {name: each for name, each in state.network.links.items() if name != NETDEV}
    links["eth0"] = replace(state.network.links[NETDEV], name="eth0", pci="0000:01:00.0")
    return net(links=links)(state)


# by name: what is changed, whether something is not as declared, and what is declared besides
PAIRED: dict[str, tuple[Change, bool, dict[str, Any]]] = {
    "healthy": (same, False, {}),
    "MTU 1500 in the profile": (profile(NETDEV, **_PROPERTY_MTU), True, {}),
    "MTU 1500 on the link": (link(mtu=1500), True, {}),
    "MTU 1500 in both": (both(profile(NETDEV, **_PROPERTY_MTU), link(mtu=1500)), True, {}),
    "MTU larger than declared": (link(mtu=9216), True, {}),
    "another MTU declared": (same, True, {"mtu": 8000}),
    "wrong address in the profile": (profile(NETDEV, **{"ipv4.addresses": str(OTHER)}), True, {}),
    "wrong address on the link": (link(addresses=(OTHER,)), True, {}),
    "address with another prefix": (link(addresses=(OTHER_PREFIX,)), True, {}),
    "no address on the link": (link(addresses=()), True, {}),
    "one more address on the link": (link(addresses=(ADDRESS, OTHER)), True, {}),
    "an IPv6 address": (link(ipv6=True), True, {}),
    "second profile": (second_profile(), True, {}),
    "second profile, to be set aside": (second_profile(), True, {"adopt": {"mine": "set-aside"}}),
    "second profile, left in charge": (in_charge(), False, LEFT),
    "left in charge, one more address": (in_charge(addresses=(ADDRESS, OTHER), ipv6=True), False, LEFT),
    "left in charge, wrong MTU": (in_charge(mtu=1500), True, LEFT),
    "left in charge, wrong address": (in_charge(addresses=(OTHER,)), True, LEFT),
    "left in charge, no carrier": (in_charge(carrier=False), True, LEFT),
    "no autoconnect": (profile(NETDEV, **{"connection.autoconnect": "no"}), True, {}),
    "profile of another name": (profile(NETDEV, **{"connection.id": "mine"}), True, {}),
    "profile deleted": (no_profile(NETDEV), True, {}),
    "profile in memory": (in_memory(NETDEV), True, {}),
    "profile down": (active(NETDEV, ""), True, {}),
    "another profile active": (active(NETDEV, "9" * 8), True, {}),
    "netdev absent": (no_link(NETDEV), True, {}),
    "no carrier": (link(carrier=False), True, {}),
    "no carrier, and no profile": (both(link(carrier=False), no_profile(NETDEV)), True, {}),
    "NetworkManager stopped": (net(running=False, profiles={}, states={}, active={}), True, {}),
    "only the other rail": (link(TWIN, mtu=1500), True, {}),
    "a route that collides": (route("192.168.100.0/24"), True, {}),
    "not managed by NetworkManager": (net(states={}), True, {}),
    "under another name": (renamed, True, {}),
    "SSH came in on it, MTU 1500": (both(net(ssh=NETDEV), link(mtu=1500)), True, {}),
}
ALONE: dict[str, tuple[Change, bool, dict[str, Any]]] = {
    "healthy": (same, False, {}),
    "MTU 1500 on the link": (link(mtu=1500), True, {}),
    "netdev absent": (no_link(NETDEV), False, {}),
    "netdev absent, and no profile": (both(no_link(NETDEV), no_profile(NETDEV)), False, {}),
    "no carrier": (link(carrier=False), False, {}),
    "no carrier, MTU 1500": (both(link(carrier=False), link(mtu=1500)), False, {}),
    "no carrier, second profile": (both(link(carrier=False), second_profile()), False, {}),
    "NetworkManager stopped": (net(running=False, profiles={}, states={}, active={}), True, {}),
    "no cable, NetworkManager stopped": (
        both(no_link(NETDEV), no_link(TWIN), net(running=False, profiles={}, states={}, active={})),
        True,
        {},
    ),
    "under another name": (renamed, True, {}),
    "a route that collides": (route("192.168.100.0/24"), True, {}),
}


def of_the_deploy(fleet: Fleet, state: State) -> bool:
    """Whether it changes the network, or refuses to."""
    try:
        return bool(planned(state.network, fleet[A]))
    except Refusal:
        return True


def of_the_plan(fleet: Fleet, seen: dict[str, State]) -> bool:
    """`sparkrig plan`, and what drift holds its checks against."""
    made = dry.planned({name: DATA[name] for name in fleet}, fleet, seen)[A]
    return bool(made.refusals) or any(STEP in step.name for step in made.steps)


def of_the_network(found: list[Check]) -> bool:
    return any(each.noun == "net" for each in wrong(found))


def judged(fleet: Fleet, change: Change) -> dict[str, bool]:
    """By judge: whether anything of the network of spark-a is not as declared."""
    seen = {name: change(SEEN[name]) if name == A else SEEN[name] for name in fleet}
    examined = doctored.checks_of(change, at=A, fleet=fleet, hosts=tuple(fleet))
    return {
        "the deploy": of_the_deploy(fleet, seen[A]),
        "plan": of_the_plan(fleet, seen),
        "drift": of_the_network(resources.checks(subject(A, fleet, seen))),
        "doctor": of_the_network(examined[A]),
    }


@pytest.mark.parametrize("name", PAIRED)
def test_all_agree_on_half_a_pair(name: str) -> None:
    change, differs, declared = PAIRED[name]
    found = judged(doctored.fleet(**declared), change)
    assert found == dict.fromkeys(found, differs)


@pytest.mark.parametrize("name", ALONE)
def test_all_agree_on_a_spark_on_its_own(name: str) -> None:
    change, differs, declared = ALONE[name]
    found = judged(doctored.fleet(alone=True, **declared), change)
    assert found == dict.fromkeys(found, differs)


@pytest.mark.parametrize("name", PAIRED)
def test_the_survey_finds_nothing_that_the_others_do_not(name: str) -> None:
    """It sees links alone, and of those what keeps a rail from being measured, or makes it slow."""
    change, differs, declared = PAIRED[name]
    fleet = doctored.fleet(**declared)
    examined = {**doctored.EXAMINED, A: change(doctored.EXAMINED[A])}
    seen = Survey(fleet, (A, B), examined, doctored.HEARD)
    found = [seen.blocked(rail) for rail in seen.rails]
    if not any(found):
        found = [each for rail in seen.rails for each in seen.suspects(rail) if each.cause == "mtu"]
    assert differs or not any(found)


@pytest.mark.parametrize("name", MOVED)
def test_plan_and_drift_agree_on_the_whole_host(name: str) -> None:
    """The deploy changes just what it mends, and refuses in the words of a check, with its cure."""
    change, _ = MOVED[name]
    fleet, seen = doctored.fleet(), {A: change(SEEN[A]), B: SEEN[B]}
    made = dry.planned(DATA, fleet, seen)[A]
    told = [each for each in resources.checks(subject(A, fleet, seen)) if each.told]
    assert {(each.what, each.cure) for each in made.refusals} <= {(each.found, each.cure) for each in told}
    if not made.refusals:
        assert bool(made.steps) == any(cure.deployment(each.cure) for each in told)


@pytest.mark.parametrize("name", PAIRED)
def test_a_plan_says_of_the_network_what_drift_says(name: str) -> None:
    """Each change from what was found to what is wanted, and each refusal, by a check that does not hold."""
    change, _, declared = PAIRED[name]
    fleet, seen = doctored.fleet(**declared), {A: change(SEEN[A]), B: SEEN[B]}
    made = dry.planned(DATA, fleet, seen)[A]
    told = [each for each in resources.checks(subject(A, fleet, seen)) if each.noun == "net" and each.wrong]
    assert {(each.what, each.cure) for each in made.refusals} <= {(each.found, each.cure) for each in told}
    changes = [change for step in made.steps if STEP in step.name for change in step.changes if change.after]
    mended = {(each.found, each.want) for each in told if each.status != "extra"}  # which is removed
    assert made.refusals or {(each.before or "absent", each.after) for each in changes} == mended


# by name: what is changed, the check, and the end of the one command that all give
ONE_CURE: dict[str, tuple[Change, str, str]] = {
    "docker stopped": (MOVED["docker stopped"][0], "containers.docker", "systemctl start docker"),
    "docker masked": (
        MOVED["docker masked"][0],
        "containers.docker",
        "'systemctl unmask docker.socket docker && systemctl start docker'",
    ),
    "NetworkManager stopped": (manager("loaded"), "net.manager", "sudo systemctl start NetworkManager"),
    "NetworkManager masked": (
        manager("masked"),
        "net.manager",
        "sudo systemctl unmask NetworkManager && sudo systemctl start NetworkManager",
    ),
    "second profile": (second_profile(), f"net.{NETDEV}.others", """--data 'adopt={"mine": "set-aside"}'"""),
}


@pytest.mark.parametrize("name", ONE_CURE)
def test_plan_drift_and_doctor_say_one_sentence_and_one_cure(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cure, "TYPED", ["pair.py"])  # as each verb does that reads an inventory
    change, id, ends = ONE_CURE[name]
    fleet, seen = doctored.fleet(), {A: change(SEEN[A]), B: SEEN[B]}
    [refusal] = dry.planned(DATA, fleet, seen)[A].refusals
    examined = doctored.checks_of(change, at=A, fleet=fleet, hosts=tuple(fleet))[A]
    for found in (resources.checks(subject(A, fleet, seen)), examined):
        [told] = [each for each in found if each.id == id]
        assert (told.found, told.cure) == (refusal.what, refusal.cure)
    assert cure.cure_of(refusal.cure).command.endswith(ends)


def test_each_difference_names_both_values() -> None:
    def of(change: Callable[[State], State]) -> list[str]:
        return [str(each) for each in differences(change(SEEN[A]).network, doctored.fleet()[A])]

    assert of(same) == []
    assert of(link(mtu=1500)) == [f"MTU of {NETDEV}: 1500 (declared: 9000)"]
    assert of(link(addresses=())) == [f"address of {NETDEV}: none (declared: {ADDRESS})"]
    assert of(link(addresses=(ADDRESS, OTHER))) == [
        f"address of {NETDEV}: {ADDRESS}, {OTHER} (declared: {ADDRESS})"
    ]
    assert of(no_profile(NETDEV)) == [
        f"profile of {NETDEV}: absent (declared: sparkrig-{NETDEV}: {ADDRESS}, MTU 9000)"
    ]
    [gone] = of(no_link(TWIN))
    assert gone.startswith(f"carrier of {TWIN}: there is no netdev {TWIN} (found ")
