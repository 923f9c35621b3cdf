"""Sparks that share a machine-id or ssh host keys: how it is read, and who names it."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

from sparkrig.checks.clones import NEW_MACHINE_ID, Clones, are_one, clones
from sparkrig.facts.resources import Identity as Fact
from sparkrig.host import identity
from sparkrig.onboarding import card
from sparkrig.resources.check import Check
from sparkrig.resources.state import State
from tests.tables import each_row
from tests.unit.candidates import fleet as inventory
from tests.unit.candidates import pair as proposed
from tests.unit.candidates import seen
from tests.unit.doctored import EXAMINED, checks_of, fleet, state
from tests.unit.shells import sh
from tests.unit.states import A, B

HERE, THERE = EXAMINED[A], EXAMINED[B]
KEYS = ("ssh-ed25519 AAAA", "ssh-rsa AAAB")
IDS = ("pair.machine-id", "pair.host-keys")


def host(machine_id: str, *keys: str) -> State:
    return replace(
        HERE, identity=replace(HERE.identity, machine_id=machine_id), trust=replace(HERE.trust, host_keys=keys)
    )


def test_what_a_spark_shares() -> None:
    def holds(others: dict[str, State], expected: Clones) -> None:
        assert clones("b", {"b": host("1", *KEYS), **others}) == expected

    each_row(
        [
            ({}, Clones()),
            ({"a": host("2", "ssh-ed25519 BBBB")}, Clones()),
            ({"a": host("1", "ssh-ed25519 BBBB")}, Clones(("a",))),
            ({"a": host("2", *KEYS)}, Clones((), ("a",))),
            ({"a": host("2", KEYS[1], "ssh-ed25519 BBBB")}, Clones((), ("a",))),
            ({"a": host("1", *KEYS), "c": host("2", "x"), "d": host("1", "y")}, Clones(("a", "d"), ("a",))),
        ],
        holds,
    )
    assert clones("b", {"b": host(""), "a": host("")}) == Clones()  # two that were not read


# --- the fact


def read(tmp_path: Path, text: str) -> str:
    (tmp_path / "machine-id").write_text(text)
    done = sh(Fact.script.replace("/etc/machine-id", f"{tmp_path}/machine-id"))
    assert not text.strip() or text.strip() not in done.stdout
    return identity.parse(done.stdout.splitlines()).machine_id


def test_of_a_machine_id_only_a_digest_leaves_its_host(tmp_path: Path) -> None:
    text = f"{'0123456789abcdef' * 2}\n"
    assert read(tmp_path, text) == hashlib.sha256(text.encode()).hexdigest()
    assert read(tmp_path, "") == read(tmp_path, "uninitialized\n") == ""


# --- doctor


def own(**changes: object) -> list[Check]:
    """What the checks of both hosts say, where the second one is changed."""
    found = checks_of(state(**changes))
    return [check for name in (A, B) for check in found[name] if check.id in IDS]


def test_doctor_names_clones_on_both_with_one_cure() -> None:
    first, keys_a, second, keys_b = own(identity=replace(THERE.identity, machine_id=HERE.identity.machine_id))
    assert (first.status, second.status, keys_a.status, keys_b.status) == ("drift", "drift", "ok", "ok")
    assert "shared with spark-b" in first.found and "shared with spark-a" in second.found
    assert (
        first.cure == second.cure == f"on spark-b: {NEW_MACHINE_ID}" and "systemd-machine-id-setup" in first.cure
    )
    _, first, _, second = own(trust=replace(THERE.trust, host_keys=HERE.trust.host_keys))
    assert (first.status, second.status) == ("drift", "drift") and first.cure == second.cure
    assert "sudo ssh-keygen -A; sudo systemctl restart ssh" in first.cure
    assert first.cure.endswith("ssh-keygen -R spark-b")


def test_two_names_of_one_spark_are_no_clones() -> None:
    """Its one machine-id would be thrown away on it, and both names still lead to it."""
    for check in own(identity=HERE.identity, trust=replace(THERE.trust, host_keys=HERE.trust.host_keys)):
        assert (check.status, check.cause) == ("drift", "")
        assert "spark-a" in check.found and "are one Spark, by the id of its boot" in check.found
        assert "ssh_hostname" in check.cure and "rm " not in check.cure
    assert not are_one(replace(HERE, identity=replace(HERE.identity, boot_id="")), HERE)


def test_doctor_says_nothing_of_what_was_not_read() -> None:
    first, _, second, _ = own(identity=replace(THERE.identity, machine_id=""))
    assert (first.status, second.status) == ("ok", "skipped")
    alone = {check.id: check for check in checks_of(hosts=(A,), fleet=fleet(alone=True), at=A)[A]}
    assert {alone[id].status for id in IDS} == {"skipped"} and "no other" in alone[IDS[0]].found


# --- onboard


def test_the_card_of_a_clone_names_the_other_and_the_commands() -> None:
    here, other = seen("b"), seen("a")
    twin = replace(other, identity=here.identity, trust=here.trust)
    made = proposed()
    mine = inventory(spark_b={"fabric": made.data["fabric"]})["spark-b"]

    def said(found: State) -> list[card.Row]:
        return [row for row in card.rows(here, mine, made, {"spark-a": found}) if "also" in row.text]

    assert said(other) == []
    machine_id, keys = said(twin)
    assert (machine_id.level, machine_id.text) == ("degraded", "its machine-id is also that of spark-a")
    assert "systemd-machine-id-setup" in machine_id.then
    assert keys.text == "its ssh host keys are also those of spark-a" and "ssh-keygen -A" in keys.then
