"""Hosts of no inventory: which words are addresses, what joins them as it was found, what is judged of them."""

from __future__ import annotations

import io
from dataclasses import replace
from ipaddress import IPv4Interface
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from sparkrig import cure, inventory, login
from sparkrig.checks import undeclared
from sparkrig.fabric import as_found
from sparkrig.fleet import Fleet
from sparkrig.network.seen import Network
from sparkrig.onboarding import address
from sparkrig.onboarding.io import unlisted
from sparkrig.refusal import Refusal
from sparkrig.resources.check import check
from sparkrig.ssh import controller
from tests.tables import each_row
from tests.unit.doctored import checks_of
from tests.unit.states import NETDEV, SEEN, TWIN, A, B

PAIR_FILE = Path(__file__).resolve().parents[3] / "inventories" / "pair.py"

WORDS: dict[str, bool] = {
    "here": True,
    "nvidia@spark-a": True,
    "nvidia@127.0.0.1:2201": True,
    "10.0.0.12": True,
    "spark-1a2b.local": True,
    "Spark-1A2B.LOCAL:22": True,
    "fd00::12": True,
    "[fd00::12]:2222": True,
    "spark-a": False,
    "inventories/pair.py": False,
    "pair.py": False,
    "a@b/c.py": False,
    "-nvidia@a": False,
    "@here/spark-a": False,
    "net.enp1s0f0np0.mtu": False,
    "": False,
}


def test_an_address_is_told_from_an_inventory() -> None:
    assert {word: address.is_one(word) for word in WORDS} == WORDS


# --- what joins them


def test_a_host_is_read_over_the_connection_that_an_inventory_has() -> None:
    """Bad bytes, a flood and a lost link are bounded there (sparkrig.ssh)."""
    [data] = unlisted.hosts(["nvidia@no.invalid"], "sparkrig doctor").values()
    [declared] = inventory.merged({"sparks": ["any"]}, PAIR_FILE).values()
    assert data["ssh_paramiko_connect_kwargs"] == declared["ssh_paramiko_connect_kwargs"]


def addressed(network: Network, **changes: str) -> Network:
    """The same with other addresses, by netdev; empty for none."""
    links = {
        name: replace(link, addresses=tuple(map(IPv4Interface, filter(None, [changes[name]]))))
        if name in changes
        else link
        for name, link in network.links.items()
    }
    return replace(network, links=links)


def joined(**changes: str) -> dict[str, dict[str, Any]]:
    """What is found where the second host has other addresses."""
    return as_found.settings({A: SEEN[A].network, B: addressed(SEEN[B].network, **changes)})


def test_a_pair_is_what_shares_the_subnets_of_its_cages() -> None:
    found = joined()
    fleet = Fleet.parse(found, declared=False)
    assert fleet.group(A) == (A, B) and len(fleet.rails(A)) == 2
    assert found[A]["mtu"] == found[B]["mtu"] == 9000
    assert set(found[A]["fabric"]) == {NETDEV, TWIN}
    assert not fleet.declared and Fleet.parse(found).declared


def test_what_shares_nothing_stands_alone() -> None:
    assert joined(**{NETDEV: "", TWIN: ""}) == {A: {}, B: {}}
    assert joined(**{NETDEV: "10.1.1.1/24", TWIN: "10.1.2.1/24"}) == {A: {}, B: {}}
    one = joined(**{TWIN: ""})
    assert [set(each["fabric"]) for each in one.values()] == [{NETDEV}, {NETDEV}], "the other twin joins no one"


def test_the_least_mtu_is_what_both_are_compared_by() -> None:
    links = SEEN[B].network.links
    small = {**links, TWIN: replace(links[TWIN], mtu=1500)}
    found = as_found.settings({A: SEEN[A].network, B: replace(SEEN[B].network, links=small)})
    assert {(each["mtu"], each["bandwidth_path_mtu"]) for each in found.values()} == {(1500, 1024)}
    assert Fleet.parse(found).group(A) == (A, B), "as a pair out of the box is"


def test_three_are_a_ring_by_cables_and_else_on_a_switch() -> None:
    base = SEEN[A].network
    links = {name: link for name, link in base.links.items() if link.port}
    first, second, *_ = [name for name, link in links.items() if link.carrier]

    def host(one: str, two: str) -> Network:
        return addressed(base, **{first: one, second: two})

    ring = {"a": host("10.0.1.1/24", "10.0.3.1/24"), "b": host("10.0.1.2/24", "10.0.2.2/24")}
    ring["c"] = host("10.0.2.3/24", "10.0.3.3/24")
    switch = {name: host(f"10.0.1.{last}/24", f"10.0.2.{last}/24") for last, name in enumerate("abc", 1)}
    assert {each["topology"] for each in as_found.settings(ring).values()} == {"ring"}
    assert {each["topology"] for each in as_found.settings(switch).values()} == {"switch"}
    pairs = {"a": switch["a"], "b": switch["b"], "c": host("10.0.8.1/24", ""), "d": host("10.0.8.2/24", "")}
    assert [each["pair"] for each in as_found.settings(pairs).values()] == ["a", "a", "c", "c"]


def test_one_host_with_an_odd_address_does_not_part_the_others() -> None:
    """Wherever it stands: twins in one subnet, an address of another, an MTU that no fabric has."""
    b = SEEN[B].network
    fourth = addressed(b, **{NETDEV: "192.168.100.14/24", TWIN: "192.168.101.14/24"})
    small = {**fourth.links, TWIN: replace(fourth.links[TWIN], mtu=68)}
    odds = {
        "share a subnet": addressed(b, **{NETDEV: "192.168.100.31/24", TWIN: "192.168.100.32/24"}),
        "an address may stand once": addressed(b, **{NETDEV: str(SEEN[A].network.fabric[NETDEV])}),
        "setting mtu": replace(fourth, links=small),
    }
    third = addressed(b, **{NETDEV: "192.168.100.13/24", TWIN: "192.168.101.13/24"})

    def holds(why: str, odd: Network) -> None:
        for names in permutations(("odd", A, B, "c")):
            seen = {"odd": odd, A: SEEN[A].network, B: b, "c": third}
            alone = Fleet.parse({name: {"patience": 2.0} for name in names}, declared=False)
            assert alone.fan(A) == 3, "a switch may join them all"
            fleet, said = as_found.joined(alone, {name: seen[name] for name in names})
            assert said.keys() == {"odd"} or (why == "an address may stand once" and said.keys() == {A}), said
            assert why in "".join(said.values())
            assert len(fleet.groups()) == 2 and not fleet.declared
            assert {settings.patience for settings in fleet.values()} == {2.0}

    each_row({why: (why, odd) for why, odd in odds.items()}, holds)


# --- what is judged


def test_nothing_that_only_a_deploy_makes_is_judged() -> None:
    made = checks_of()[A]
    kept = undeclared.checks(made, SEEN[A].identity)
    left = {check.id for check in made} - {check.id for check in kept}
    assert {"driver.hold", "driver.pin", f"net.{NETDEV}.profile", "environment.nccl.conf"} <= left
    assert {"identity.spark", f"pair.{NETDEV}.mtu", "pair.cabling", "gpu.answers"} <= {each.id for each in kept}
    assert undeclared.left_out({A: made}, {A: kept}) == len(
        [check for check in made if check.id in left and check.status != "skipped"]
    )


def test_what_root_alone_can_read_is_skipped_without_root() -> None:
    kept = undeclared.checks(checks_of()[A], replace(SEEN[A].identity, uid=1000))
    said = {check.id: (check.status, check.found) for check in kept}
    for id in ("host.mounts", "host.journal", f"pair.{NETDEV}.ping", "pair.cabling"):
        assert said[id] == ("skipped", "root alone can read it"), id
    assert said["gpu.answers"][0] == "ok"


def test_the_cure_of_what_is_no_spark_is_no_setting() -> None:
    other = replace(SEEN[A].identity, gpu=("NVIDIA A100",), pci=())
    (found,) = undeclared.checks([check("identity.spark", False, "a DGX Spark", "none", "set it")], other)
    assert found.wrong and cure.cure_of(found.cure).command == "sparkrig onboard"


# --- what a report advises


def test_without_an_inventory_no_cure_is_pyinfras(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cure, "TYPED", ["nvidia@a", "nvidia@b"])
    monkeypatch.setattr(cure, "LISTED", [False])
    monkeypatch.setattr(cure, "LOGINS", {"a": "nvidia@a", "b": "nvidia@b"})
    assert cure.verb("doctor", "access") == "sparkrig doctor nvidia@a nvidia@b access"
    assert cure.verb("undo") == "sparkrig onboard nvidia@a, then sparkrig undo with its inventory"
    assert cure.verb("update").command == "sparkrig onboard nvidia@a"
    assert cure.verb("update", "--check") == "sparkrig update nvidia@a nvidia@b --check"
    assert cure.deploy().command == "sparkrig onboard nvidia@a"
    assert cure.deployment(cure.deploy()) is not None
    assert cure.on_hosts("apt-get update && true", "a", "b") == (
        "ssh -t nvidia@a 'sudo apt-get update && sudo true' && ssh -t nvidia@b 'sudo apt-get update && sudo true'"
    )
    assert cure.look_at("a") == "sparkrig support nvidia@a nvidia@b"
    monkeypatch.setattr(cure, "LOGINS", {"@local": cure.THIS_MACHINE, "spark-a": cure.THIS_MACHINE})
    assert cure.deploy().command == "sparkrig init sparks --here spark-a"
    assert cure.on_hosts("true", "spark-a") == "sudo true"


# --- the machine itself

HERE: dict[str, tuple[int, bool, str, dict[str, Any]]] = {
    "as root": (0, False, "", {}),
    "by a sudo that asks nothing": (1000, True, "", {"_sudo": True}),
    "without root": (1000, False, "what root alone can read is left out. Try: sudo -v", {}),
}


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())


@pytest.mark.usefixtures("alone")
def test_this_machine_is_root_as_far_as_nothing_is_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(controller, "user", lambda: "nvidia")
    monkeypatch.setattr("platform.node", lambda: "spark-a.lan")

    def holds(uid: int, lets: bool, said: str, how: dict[str, Any]) -> None:
        monkeypatch.setattr("os.geteuid", lambda: uid)
        monkeypatch.setattr(unlisted, "_sudo", lambda *_: "" if lets else "a password is required")
        found = unlisted.hosts(["here"], "sparkrig doctor")
        assert found == {"spark-a": {login.UNLISTED: True, login.HERE: "nvidia", **how}}
        assert said in " ".join(capsys.readouterr().err.split())

    each_row(HERE, holds)


@pytest.mark.usefixtures("alone")
def test_a_mac_is_no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    with pytest.raises(Refusal, match="it does not run Linux") as refused:
        unlisted.hosts(["here"], "sparkrig doctor")
    assert "nvidia@spark-1a2b.local" in refused.value.cure


def test_sudo_is_asked_by_its_own_words(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    sudo = tmp_path / "sudo"
    sudo.write_text("#!/bin/sh\nif [ \"$1\" = -n ]; then echo 'sudo: a password is required' >&2; exit 1; fi\n")
    sudo.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert unlisted._sudo("-n", "true") == "sudo: a password is required"
    assert unlisted._sudo(*unlisted._ANSWERED, said="x\n") == ""
    monkeypatch.setenv("PATH", str(tmp_path / "none"))
    assert "it cannot be asked" in unlisted._sudo("-n", "true")
