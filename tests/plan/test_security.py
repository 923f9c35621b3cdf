"""T1: secrets and the trust between the hosts of a pair, as a whole deploy has them."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from pydantic import SecretStr

from sparkrig.files import SECRETS_FILE
from sparkrig.resources import secrets, trust
from tests.plan.conftest import A, B, Deploy, Host, converged, pair, sections, well
from tests.plan.trusting import trusting

CANARY = "hf_canary_9f2c"
SECRETS = {"secrets": {"HF_TOKEN": "env:SPARKRIG_TEST_TOKEN"}}
STEP = "Secrets | variables for root alone"
OLD = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGoldAK6OhEwKzKIHUlbmYWlhfGqPGBLoKwvJlNFgC1m"
TRUST = ["Trust | a key pair of this host's own", "Trust | this host and its peer", "Trust | log in to the peer"]


@pytest.fixture
def token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARKRIG_TEST_TOKEN", CANARY)


def holding(letter: str, value: str, name: str = "HF_TOKEN") -> str:
    """A converged host that has one secret."""
    mark = secrets.digest("5a17", name, SecretStr(value))
    rows = f"file 600 root:root\nsalt 5a17\nsecret {name} {mark}\n"
    return converged(letter).replace("\n#sparkrig:end secrets 0", f"{rows}\n#sparkrig:end secrets 0")


@pytest.mark.slow
@pytest.mark.parametrize("flags", [("--dry", "--json"), ("-y", "--json"), ("-y", "-vvv", "--diff", "--debug")])
@pytest.mark.usefixtures("token")
def test_a_secret_is_written_and_never_shown(deploy: Deploy, flags: tuple[str, ...]) -> None:
    run = well(deploy(pair(converged("a"), holding("b", CANARY), **SECRETS), *flags))
    for text in (CANARY, base64.b64encode(CANARY.encode()).decode()):
        assert text not in run.stdout + run.stderr
    if "--dry" in flags:
        assert run.plan[STEP] == {A}
    assert {host for host, _ in run.changes} <= {"spark-a"}


@pytest.mark.usefixtures("token")
def test_a_secret_that_the_host_has_costs_nothing(deploy: Deploy) -> None:
    run = well(deploy(pair(holding("a", CANARY), holding("b", CANARY), **SECRETS), "-y"))
    assert len(run.commands) == 2


def test_a_source_without_a_value_is_refused_before_any_change(deploy: Deploy) -> None:
    run = deploy(pair(converged("a"), holding("b", CANARY), **SECRETS), "-y")
    assert run.code == 1
    assert (
        "[@fake/spark-a] Refused: the secret HF_TOKEN was not found where the setting secrets says" in run.stderr
    )
    assert run.changes == [] and "Traceback" not in run.stderr


def test_a_source_without_a_value_leaves_what_the_host_has(deploy: Deploy) -> None:
    run = well(deploy(pair(holding("a", "old"), holding("b", "old"), **SECRETS), "-y"))
    assert "Secrets kept as the host has them, for their source has none here: HF_TOKEN" in run.stderr
    assert len(run.commands) == 2


@pytest.mark.usefixtures("token")
def test_what_left_the_inventory_leaves_the_host(deploy: Deploy) -> None:
    run = well(deploy(pair(holding("a", "old"), holding("b", CANARY, "OLD")), "-y"))
    removed = [host for host, command in run.changes if SECRETS_FILE in command and "rm -f" in command]
    assert sorted(removed) == ["spark-a", "spark-b"]


def both(a: str, b: str, **settings: Any) -> list[Host]:
    """A pair that logs in to one another, and what each prints of it once both have a key."""
    hosts = pair(a, b, node_ssh=True, **settings)
    for host, letter in zip(hosts, "ab", strict=True):
        host.later = {"trust": sections(trusting(letter))["trust"]}
    return hosts


def test_trust_is_off_unless_it_is_asked_for(deploy: Deploy) -> None:
    run = deploy(pair(converged("a"), converged("b")), "--dry", "--json")
    assert not [step for step in run.plan if step.startswith("Trust")]


def test_trust_that_stands_costs_nothing(deploy: Deploy) -> None:
    run = well(deploy(both(trusting("a"), trusting("b")), "-y"))
    assert len(run.commands) == 2


def test_keys_are_made_exchanged_and_proven_in_this_order(deploy: Deploy) -> None:
    run = deploy(both(converged("a"), converged("b")), "--json", "--dry")
    assert [step for step in run.plan if step.startswith("Trust")] == TRUST
    assert [run.plan[step] for step in TRUST] == [{A, B}, {A, B}, set()], "a login changes nothing"
    run = well(deploy(both(converged("a"), converged("b")), "-y"))
    mine = [command for host, command in run.changes if host == "spark-a"]
    order = [
        next(at for at, command in enumerate(mine) if text in command)
        for text in ("ssh-keygen -q", "readlink -f .ssh/authorized_keys", "while read -r folder", "BatchMode")
    ]
    assert order == sorted(order)
    assert all(command.startswith("timeout -k 5 ") for command in mine)
    writing = [command for command in mine if "mkdir -p .ssh" in command]
    assert len(writing) == 2 and all("runuser -u" in command for command in writing), (
        "root writes in no home folder"
    )


def test_a_peer_that_was_set_up_anew_is_known_by_its_new_keys(deploy: Deploy) -> None:
    run = well(deploy(both(trusting("a", key=OLD), trusting("b")), "-y"))
    assert {host for host, command in run.changes if "readlink -f" in command} == {"spark-a"}
    assert {host for host, command in run.changes if "BatchMode" in command} == {"spark-a", "spark-b"}
    assert not [command for _, command in run.changes if "ssh-keygen" in command]


def test_a_peer_without_a_key_of_now_loses_its_old_ones_and_nothing_else_is_touched(deploy: Deploy) -> None:
    """One that was installed anew: the other host keeps one line and one file of the old one."""
    run = well(deploy(both(trusting("a", key=OLD, host_key=OLD), converged("b")), "-y"))
    there = [name for host, name in run.steps if host == "spark-a"]
    assert there == [TRUST[1], TRUST[1]], "authorized_keys, and the files of the peer"
    mine = [command for host, command in run.changes if host == "spark-a"]
    writing = ("readlink -f .ssh/authorized_keys", "while read -r folder", "BatchMode")  # the last one logs in
    assert [[text in command for text in writing].index(True) for command in mine] == [0, 1, 2]
    assert {host for host, command in run.changes if "BatchMode" in command} == {"spark-a", "spark-b"}


def test_switched_off_again_all_of_it_goes(deploy: Deploy) -> None:
    hosts = pair(trusting("a"), converged("b"))
    run = well(deploy(hosts, "-y"))
    assert {host for host, _ in run.changes} == {"spark-a"}
    commands = [command for _, command in run.changes]
    assert any("rm -f" in each and trust.CLIENT in each and trust.KNOWN_HOSTS in each for each in commands)
    assert any("runuser -u" in each and trust.MARK in each for each in commands)


def test_no_private_key_is_read_by_any_command(deploy: Deploy) -> None:
    run = deploy(both(converged("a"), converged("b")), "-y")
    touching = [line for _, command in run.commands for line in command.splitlines() if trust.KEY in line]
    assert touching
    for line in touching:
        assert "cat " not in line and "base64" not in line and "cp " not in line
