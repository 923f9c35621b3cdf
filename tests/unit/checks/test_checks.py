"""The checks of a host: each declared thing, moved by itself, is found under its own id and under no other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sparkrig.checks import resources
from sparkrig.cure import cure_of
from sparkrig.fleet import Fleet
from sparkrig.operations.subject import subject
from sparkrig.resources.check import wrong
from tests.plan.conftest import REBOOTED
from tests.tables import each_row
from tests.unit.states import (
    MOVED,
    NETDEV,
    PAIR,
    SEEN,
    TWIN,
    A,
    Change,
    found,
    link,
    no_link,
    same,
    second_profile,
)


def ids(change: Change, **data: Any) -> set[str]:
    return {check.id for check in found(change, **data) if check.wrong or check.status == "unknown"}


# --- moving one thing


def booted(id: str) -> Change:
    return lambda state: replace(state, identity=replace(state.identity, boot_id=id))


def test_a_settled_host_is_in_spec() -> None:
    assert wrong(found()) == []
    assert len(found()) > 40


def test_what_was_moved_is_found_and_nothing_else() -> None:
    def holds(change: Change, expected: set[str]) -> None:
        assert ids(change) == expected

    each_row(MOVED, holds)


def test_what_does_not_hold_says_what_to_do() -> None:
    def holds(change: Change) -> None:
        for check in wrong(found(change)):
            assert check.cure, check
            assert check.want and check.found and not check.found.endswith("."), check

    each_row({name: change for name, (change, _) in MOVED.items()}, holds)


def test_a_rail_that_was_not_measured_since_a_boot_is_unknown() -> None:
    """Not drift: nothing says that it is another one; and the measurement of before says nothing of now."""
    since, hidden = "not measured since the boot of", "cannot be told, and it may be a later one"
    probe, cat = "pyinfra pair.py deploys/probe.py", "cat /proc/sys/kernel/random/boot_id"

    def holds(own: Change, peer: Change, said: str, cure: str) -> None:
        seen = [each for each in found(own, peer) if each.wrong or each.status == "unknown"]
        assert [each.id for each in seen] == [f"bandwidth.{NETDEV}", f"bandwidth.{TWIN}"]
        assert {(each.status, each.found, each.cure, each.environment) for each in seen} == {
            ("unknown", said, cure, True)
        }

    each_row(
        {
            "own": (booted(REBOOTED), same, f"{since} spark-a", probe),
            "the peer's": (same, booted(REBOOTED), f"{since} spark-b", probe),
            "both": (booted(REBOOTED), booted(REBOOTED), f"{since} spark-a and spark-b", probe),
            "own not read": (booted(""), same, f"the boot of spark-a {hidden}", f"ssh spark-a {cat}"),
            "the peer's not read": (same, booted(""), f"the boot of spark-b {hidden}", f"ssh spark-b {cat}"),
        },
        holds,
    )


def test_a_peer_that_was_not_read_leaves_the_measurement_as_it_is() -> None:
    fleet = Fleet.parse(PAIR)
    (first, *_) = (each for each in resources.checks(subject(A, fleet, {A: SEEN[A]})) if each.noun == "bandwidth")
    assert (first.status, first.found) == ("ok", "0.44 Gb/s, 2026-11-22T19:51:37+00:00")


def test_every_id_stands_once_and_begins_with_its_noun() -> None:
    known = [check.id for check in found()]
    assert len(known) == len(set(known))
    nouns = {check.noun for check in found()}
    assert nouns <= {
        "identity",
        "host",
        "driver",
        "net",
        "rdma",
        "containers",
        "environment",
        "secrets",
        "trust",
        "bandwidth",
        "release",
    }


def test_a_lone_spark_needs_no_cable() -> None:
    fleet = Fleet.parse({A: {"fabric": PAIR[A]["fabric"], "allow_non_spark": True}})
    change = no_link(NETDEV)
    seen = resources.checks(subject(A, fleet, {A: link(TWIN, carrier=False)(change(SEEN[A]))}))
    skipped = {check.id for check in seen if check.status == "skipped"}
    assert {f"net.{NETDEV}.carrier", f"net.{TWIN}.carrier", f"rdma.{NETDEV}.device"} <= skipped
    assert not [check for check in wrong(seen) if check.noun in ("net", "rdma")]


def test_a_declaration_that_moves_is_another_want() -> None:
    before = {check.id: check.want for check in found()}
    after = {check.id: check.want for check in found(mtu=8000, environment={"HF_HOME": "/models"})}
    moved = {id for id, want in after.items() if before[id] != want}
    assert moved == {
        f"net.{NETDEV}.profile", f"net.{NETDEV}.mtu", f"net.{TWIN}.profile", f"net.{TWIN}.mtu",
        "environment.container.env",
    }  # fmt: skip


def test_the_second_profile_is_set_aside_by_the_command_it_prints() -> None:
    check = next(each for each in found(second_profile("it's mine")) if each.id.endswith(".others"))
    assert cure_of(check.cure).command == (
        'pyinfra pair.py deploys/cluster.py --data \'adopt={"it\'"\'"\'s mine": "set-aside"}\''
    )
    assert not ids(second_profile(), adopt={"mine": "leave"}) - {"net.plan"}


def test_a_setting_for_one_run_keeps_what_was_decided_before() -> None:
    """--data takes the place of what stands in the inventory, on every host."""
    both = lambda state: second_profile("one")(second_profile("two", "2")(state))  # noqa: E731
    (check,) = (each for each in found(both, adopt={"other": "leave"}) if each.id.endswith(".others"))
    command = cure_of(check.cure).command
    assert command.endswith(""" --data 'adopt={"other": "leave", "two": "set-aside", "one": "set-aside"}'""")
    assert "'one'" in check.found and "'two'" in check.found
