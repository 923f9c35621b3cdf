"""`sparkrig init --from ADDRESS`: what is found is declared, so that a deploy of it has nothing to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sparkrig import inventory, login
from sparkrig.fleet import Fleet
from sparkrig.onboarding import declaring
from sparkrig.operations.subject import subjects
from sparkrig.refusal import Refusal
from sparkrig.resources.resource import Resource
from sparkrig.resources.state import RESOURCES, State
from tests.unit import states
from tests.unit.states import SEEN, A, B

ROOT = Path(__file__).resolve().parents[3]
FILE = ROOT / "inventories" / "sparks.py"


def found(seen: Mapping[str, State], **logins: Mapping[str, Any]) -> tuple[Fleet, dict[str, dict[str, Any]], str]:
    """The fleet of an inventory that declares hosts as they are, the data of its hosts, and its text."""
    data = {typed: logins.get(typed, {"ssh_hostname": typed, "ssh_user": "nvidia"}) for typed in seen}
    text = declaring.inventory(FILE, data, seen)
    return *inventory.fleet_of(text, FILE), text


def left(fleet: Fleet, seen: Mapping[str, State]) -> list[tuple[str, str, str]]:
    """What a deploy would do: host, resource and path."""
    rails = {"bandwidth", "identity", "preflight", "driver"}  # of a virtual pair: floors, and what is no Spark
    return [
        (name, resource.name, path)
        for name, subject in subjects(fleet, seen).items()
        for resource in RESOURCES
        if resource.name not in rails
        for path in resource.due(subject)
    ]


def test_a_deployed_pair_is_declared_as_it_was_and_nothing_is_left_to_do() -> None:
    fleet, _, text = found(SEEN)
    assert {name: fleet[name].fabric for name in (A, B)} == {
        name: Fleet.parse(states.PAIR)[name].fabric for name in (A, B)
    }
    assert [*fleet.peers(A)] == [B]
    assert "stop_together()" in text and SEEN[A].identity.hostname not in text, "it was deployed by another name"
    assert left(fleet, SEEN) == []


def test_one_alone_has_its_fabric_and_a_factory_spark_has_none() -> None:
    fleet, data, _ = found({A: SEEN[A]})
    assert fleet[A].group_name is None and [*fleet[A].fabric] == ["enp1s0f0np0", "enP2p1s0f0np0"]
    bare = states.net(links={name: replace(link, addresses=()) for name, link in SEEN[A].network.links.items()})
    factory = replace(bare(SEEN[A]), files={})
    _, data, text = found({A: factory})
    assert data["spark-1b3b"]["ssh_user"] == "nvidia" and "fabric" not in text


def test_what_else_a_setting_tells_is_declared() -> None:
    from sparkrig.resources import time, trust, watch

    texts = {file.path: file.content for file in watch.plan({}, on=True, guard=True).wanted}
    texts |= {time.TIMESYNCD_PATH: "[Time]\nNTP=ntp.lan\n", trust.KNOWN_HOSTS: "peer ssh-ed25519 AAAA\n"}
    there = {path: replace(next(iter(SEEN[A].files.values())), content=text) for path, text in texts.items()}
    state = replace(SEEN[A], files={**SEEN[A].files, **there}, time=replace(SEEN[A].time, asks=("ntp.lan",)))
    small = states.link("enp1s0f0np0", mtu=1500)(states.link("enP2p1s0f0np0", mtu=1500)(state))
    said = {key: value for each in RESOURCES for key, value in each.settings_of(small).items()}
    assert {key: said[key] for key in said if key != "fabric"} == {
        "watch": True, "watch_guard": True, "ntp": ["ntp.lan"], "node_ssh": True, "mtu": 1500,
        "bandwidth_path_mtu": 1024,
    }  # fmt: skip
    assert Resource.settings_of(RESOURCES[0], state) == {}


def test_what_is_declared_can_be_read_again_at_any_size() -> None:
    small = states.link("enp1s0f0np0", mtu=1500)(SEEN[A])
    fleet, _, _ = found({A: small})
    assert (fleet[A].mtu, fleet[A].bandwidth_path_mtu) == (1500, 1024)
    long = replace(SEEN[A], files={}, identity=replace(SEEN[A].identity, hostname="x" * 5000))
    assert [len(name) for name in found({A: long})[0]] == [63]


def test_no_password_is_written_and_this_machine_needs_no_address() -> None:
    secret = {"ssh_hostname": A, "ssh_user": "nvidia", "ssh_password": "hunter2", login.UNLISTED: True}
    _, _, text = found({A: SEEN[A]}, **{A: secret})
    assert "hunter2" not in text and '"ssh_password"' not in text
    _, _, text = found({A: SEEN[A]}, **{A: {login.HERE: "nvidia"}})
    assert '"@here/spark-a"' in text and "ssh_hostname" not in text


def test_nothing_is_declared_that_was_not_seen_as_root() -> None:
    other = replace(SEEN[A], identity=replace(SEEN[A].identity, uid=1000))
    with pytest.raises(Refusal, match=f"{A} shows root alone all that is to be declared"):
        found({A: other})
