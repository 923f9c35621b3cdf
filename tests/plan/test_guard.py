"""T1: the network of a pair is changed on both hosts or on neither."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.plan.conftest import Deploy, Host, barred, converged, pair, recorded, sections, well
from tests.plan.guarded import COMMIT, GUARDED, LINK, PREPARE, REVERT, START, WAIT, asked, told

FILE = "deploys/network.py"
SETTLE = "end=$(($(uptime) + $1))"


def hosts(a: dict[str, Any] | None = None, b: dict[str, Any] | None = None) -> list[Host]:
    """A fresh pair whose guards answer well, except as said."""
    found = pair(recorded("fresh-a"), recorded("fresh-b"))
    for host, own in zip(found, (a, b), strict=True):
        host.responses = {**GUARDED, **(own or {})}
    return found


def test_both_are_proven_twice_from_outside_and_over_the_link_before_any_commit(deploy: Deploy) -> None:
    run = well(deploy(hosts(), "-y", file=FILE))
    for name in ("spark-a", "spark-b"):
        assert asked(run, name) == ["start", "wait", "link", "wait", "commit"]
        mine = [command for at, command in run.changes if at == name]
        prepared = next(number for number, command in enumerate(mine) if PREPARE in command)
        assert prepared < next(number for number, command in enumerate(mine) if START in command)
    assert "rollback armed on @fake/spark-a and @fake/spark-b: reverts in 90 s unless confirmed" in run.stderr


def test_the_order_is_in_memory_first_and_names_what_must_be_live(deploy: Deploy) -> None:
    run = deploy(hosts(), "-y", file=FILE)
    start = next(command for name, command in run.changes if name == "spark-b" and START in command)
    found = re.search(r"sparkrig /var/lib/sparkrig/runs/\S+ '(\{.*\})'", start)
    assert found
    order = json.loads(found[1])
    assert [each["verb"] for each in order["profiles"]] == ["add", "add"]
    assert order["profiles"][0]["properties"]["802-3-ethernet.mtu"] == "9000"
    assert order["profiles"][0]["properties"]["ipv4.may-fail"] == "no"
    assert order["links"][0] == {
        "netdev": "enp1s0f0np0",
        "mtu": 9000,
        "address": "192.168.100.12/24",
        "gid": "0000:0000:0000:0000:0000:ffff:c0a8:640c",
    }
    assert order["window"] == 90


@pytest.mark.parametrize(
    ("a", "b", "why"),
    [
        ({}, {START: told("rolled-back", "enp1s0f0np0 has no carrier")}, "spark-b: enp1s0f0np0 has no carrier"),
        ({WAIT: told("rolled-back", "not confirmed")}, {}, "spark-a: not confirmed"),
        (
            {LINK: ["silent 1 enP2p1s0f0np0 192.168.101.12 8972 ", "done"]},
            {},
            "spark-a: no answer on rail 1 from 192.168.101.12 over enP2p1s0f0np0 to 9000 bytes",
        ),
        ({}, {COMMIT: told("rolled-back", "the checkpoint was gone")}, "spark-b: the checkpoint was gone"),
    ],
    ids=["apply fails", "gone before the proof", "link silent", "commit fails"],
)
def test_what_one_half_cannot_do_is_taken_back_on_both(
    deploy: Deploy, a: dict[str, Any], b: dict[str, Any], why: str
) -> None:
    run = deploy(hosts(a, b), "-y", file=FILE)
    assert run.code == 1
    assert why in run.stderr
    assert "the network of @fake/spark-a and @fake/spark-b is as it was before" in run.stderr
    for name in ("spark-a", "spark-b"):
        assert asked(run, name)[-1] == "revert"
    if COMMIT not in b:
        assert "commit" not in asked(run, "spark-a") + asked(run, "spark-b")
    assert "confirmed on" not in run.stderr


def test_a_half_that_cannot_be_read_or_is_refused_at_the_last_look_stops_both(deploy: Deploy) -> None:
    """Between the first look and the order somebody may have switched it off, or pulled a cable."""
    away, unplugged = hosts(b={PREPARE: {"stderr": ["switched off"], "success": False}}), hosts()
    text, plugged = sections(recorded("fresh-b"))["network"], "port enp1s0f0np0 p0 1 "
    assert text.count(plugged) == 1
    unplugged[1].later = {"network": text.replace(plugged, "port enp1s0f0np0 p0 0 ")}
    for case, why in ((away, "@fake/spark-b: switched off; no network was"), (unplugged, "has no carrier")):
        run = deploy(case, "-y", file=FILE)
        assert run.code == 1
        assert [line for line in run.stderr.splitlines() if "Refused: " in line and why in line]
        assert asked(run, "spark-a") == asked(run, "spark-b") == []


def test_a_host_that_does_not_know_its_guard_is_never_called_put_back(deploy: Deploy) -> None:
    lost = {text: {"stderr": ["no such file"], "success": False} for text in (START, WAIT, REVERT)}
    run = deploy(hosts(b=lost), "-y", file=FILE)
    assert run.code == 1
    assert "the network of @fake/spark-a is as it was before" in run.stderr
    assert "@fake/spark-b is unknown (no such file)" in run.stderr


def test_a_half_that_confirmed_and_was_lost_is_told_to_go_back_once_it_answers(deploy: Deploy) -> None:
    """Its dead-man is disarmed, so it would stay changed while the other host is back."""
    lost = {text: {"stderr": ["lost"], "success": False} for text in (COMMIT, REVERT)}
    run = deploy(hosts(b={**lost}), "-y", file=FILE)
    assert run.code == 1
    assert asked(run, "spark-b").count("revert") > 1
    assert asked(run, "spark-b")[-1] == "revert"
    assert "@fake/spark-b is unknown (lost)" in run.stderr


def test_what_could_not_be_put_back_is_not_called_as_before(deploy: Deploy) -> None:
    worse = {COMMIT: told("rolled-back", "gone"), REVERT: told("rolled-back", "why; not as before: cx differs")}
    run = deploy(hosts(b=worse), "-y", file=FILE)
    assert "the network of @fake/spark-a is as it was before" in run.stderr
    assert "@fake/spark-b is rolled-back (why; not as before: cx differs)" in run.stderr


def test_a_lone_spark_is_guarded_too(deploy: Deploy) -> None:
    run = well(
        deploy(
            [
                Host(
                    "@fake/spark-a",
                    recorded("fresh-a"),
                    data={"fabric": {"enp1s0f0np0": "10.9.9.1/24"}},
                    responses=GUARDED,
                )
            ],
            "-y",
            file=FILE,
        )
    )
    assert asked(run, "spark-a")[-1] == "commit"


def test_a_way_in_that_cannot_be_named_changes_the_network_of_no_half(deploy: Deploy) -> None:
    """Through a tunnel ssh ends on lo, and it may ride on the very rail that is to be changed."""
    came_in, hidden = "ssh 10.0.2.12\n", "ssh 127.0.0.1\n"
    found = hosts()
    assert found[1].seen.count(came_in) == 1
    found[1].seen = found[1].seen.replace(came_in, hidden)
    run = deploy(found, "-y", file=FILE)
    assert run.code == 1 and asked(run, "spark-a") == asked(run, "spark-b") == []
    (line,) = [line for line in run.stderr.splitlines() if "Refused: " in line and "spark-b" in line]
    assert "it ends at 127.0.0.1, on lo or on no netdev of this host" in line and "management_interface" in line
    found[1].data = {**found[1].data, "management_interface": "enP7s7"}
    run = well(deploy(found, "-y", file=FILE))
    assert asked(run, "spark-b")[-1] == "commit"


def test_the_window_is_a_setting(deploy: Deploy) -> None:
    run = deploy(hosts(), "-y", "--data", "rollback_seconds=45", file=FILE)
    assert "reverts in 45 s unless confirmed" in run.stderr


def test_what_a_dead_run_left_armed_is_settled_before_the_host_is_judged(deploy: Deploy) -> None:
    """Its links are as declared, and a run that took them for that would end well before they go back."""
    for flags, reason in ((("-y",), "'superseded by run "), (("--dry",), "sparkrig 135 ''")):
        found = pair(barred(converged("a"), "armed OLD 70 dead"), converged("b"))
        found[0].responses = {SETTLE: []}
        run = deploy(found, *flags, file=FILE)
        sent = [command for at, command in run.changes if SETTLE in command]
        assert len(sent) == 1 and reason in sent[0], flags
        assert run.code == 1 and len(run.changes) == 1, run.changes
        assert "run OLD broke off in the middle of its network change, which goes back in 70 s" in run.stderr
        looks = [at for at, command in run.commands if "#sparkrig:end identity" in command]
        assert looks.count("spark-a") == 2, "it is looked at again, and what is still armed then is a refusal"
        assert "Refused: run OLD broke off" in run.stderr
