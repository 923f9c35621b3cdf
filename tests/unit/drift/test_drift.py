"""What checks come to: who moved, since when, what is new, what was accepted, and what mends it."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import pytest

from sparkrig.checks import last_declaration
from sparkrig.cure import deploy
from sparkrig.drift.drift import Acceptance, Report, Row, report, unexplained, without
from sparkrig.drift.findings import accepted, holding, mends
from sparkrig.refusal import Refusal
from sparkrig.resources.check import Check
from tests.unit.drift_reports import (
    BEFORE,
    CLEAN,
    DEPLOY,
    DRIFTED,
    HALF,
    INVENTORY,
    LOST,
    NOW,
    OLD,
    SETTLED,
    A,
    B,
    fleet,
    healthy,
    hold,
    kernel,
    made,
    mtu,
    upgrade,
)


def row(made: Report, host: str, id: str) -> Row:
    return next(each for found in made.hosts if found.name == host for each in found.rows if each.id == id)


@pytest.mark.parametrize(
    ("found", "code", "codes"),
    [
        (SETTLED, 0, [0, 0]),
        ({A: healthy(A), B: [mtu(1500)]}, 2, [0, 2]),
        ({A: [upgrade()], B: [mtu(1500)]}, 3, [3, 2]),
        ({A: LOST, B: [mtu(1500)]}, 3, [3, 2]),
        ({}, 1, []),
    ],
    ids=["in spec", "drift", "unknown", "unreachable", "no host"],
)
def test_the_most_severe_host_decides(found: Any, code: int, codes: list[int]) -> None:
    report = made(found)
    assert (report.exit, [host.exit for host in report.hosts]) == (code, codes)


def test_an_unreachable_host_hides_no_drift_elsewhere() -> None:
    assert HALF.exit == 3
    assert row(HALF, A, "net.mtu").counts
    assert HALF.counts.model_dump() == {
        "hosts": 2, "unread": 1, "ok": 3, "drift": 1, "unknown": 1, "accepted": 0, "skipped": 0,
        "new": 1, "still": 0, "fixed": 0,
    }  # fmt: skip


# --- who moved


@pytest.mark.parametrize(
    ("check", "kept", "mover"),
    [
        (mtu(1500), {"net.mtu": "9000"}, "host"),
        (mtu(1500), {"net.mtu": "8000"}, "declaration"),
        (mtu(1500), {}, "declaration"),
        (mtu(1500), None, "declaration"),
        (replace(mtu(1500), environment=True), {"net.mtu": "9000"}, "environment"),
        (replace(mtu(1500), status="extra"), {"driver.hold": "16 held"}, "host"),
        (replace(mtu(1500), status="extra"), {"net.mtu": "ours"}, "declaration"),
        (replace(mtu(1500), status="extra"), {}, "declaration"),
    ],
    ids=[
        "the host",
        "the declaration",
        "a new check",
        "never deployed",
        "nobody",
        "something more",
        "something that was wanted",
        "something that was always there",
    ],
)
def test_who_moved_is_told_by_what_was_wanted_last(check: Check, kept: Any, mover: str) -> None:
    known = None if kept is None else last_declaration.Declared(1.0, kept)
    told = report({A: [check]}, {A: known}, None, [], inventory=INVENTORY, version="0", started=NOW, seconds=1)
    assert row(told, A, "net.mtu").moved == mover


@pytest.mark.parametrize(("days", "mover"), [(1, "host"), (9, "declaration")], ids=["newer", "older"])
def test_the_newer_of_record_and_report_says_what_was_wanted(days: int, mover: str) -> None:
    """The record is a week old, and wanted 8000; the report saw that 9000 was wanted, and held."""
    earlier = made({A: [mtu()]}, when=NOW - timedelta(days=days))
    kept = last_declaration.Declared((NOW - timedelta(days=7)).timestamp(), {"net.mtu": "8000"})
    told = report(
        {A: [mtu(1500)]}, {A: kept}, earlier, [], inventory=INVENTORY, version="0", started=NOW, seconds=1
    )
    assert row(told, A, "net.mtu").moved == mover


def test_who_moved_is_remembered_where_no_deploy_kept_a_record() -> None:
    first = made({A: [mtu()]}, when=BEFORE - timedelta(days=1), deployed=False)
    second = made({A: [mtu(1500)]}, first, when=BEFORE, deployed=False)
    third = made({A: [mtu(1500)]}, second, deployed=False)
    assert [row(each, A, "net.mtu").moved for each in (second, third)] == ["host", "host"]
    other = made({A: [replace(mtu(1500), want="8000")]}, second, deployed=False)
    assert row(other, A, "net.mtu").moved == "declaration"


# --- since when, and what is new


def test_what_was_wrong_before_is_wrong_since_then() -> None:
    assert (row(DRIFTED, B, "net.mtu").since, row(DRIFTED, B, "net.mtu").news) == (BEFORE, "still")
    assert (row(DRIFTED, B, "containers.docker").since, row(DRIFTED, B, "containers.docker").news) == (NOW, "new")
    assert [(each.host, each.id, each.since) for each in DRIFTED.fixed] == [(B, "driver.hold", BEFORE)]


def test_without_an_earlier_report_nothing_is_called_new() -> None:
    assert {each.news for host in OLD.hosts for each in host.rows} == {None}


def test_what_was_wrong_with_a_host_outlives_its_being_unreachable() -> None:
    later = made({A: healthy(A), B: [*healthy(B)[:2], mtu(1500)]}, HALF, when=NOW + timedelta(days=1))
    assert [each.id for each in HALF.hosts[1].before] == ["driver.hold", "net.mtu"]
    assert row(later, B, "net.mtu").since == BEFORE
    assert {(each.host, each.id) for each in later.fixed} == {(A, "net.mtu"), (B, "driver.hold")}


def test_a_host_that_is_new_has_no_news() -> None:
    assert row(made({"spark-c": [mtu(1500)]}, OLD), "spark-c", "net.mtu").news is None


# --- acceptances


@pytest.mark.parametrize(
    ("fields", "code", "expired"),
    [
        ({}, 0, 0),
        ({"until": NOW.date()}, 0, 0),
        ({"until": NOW.date() - timedelta(days=1)}, 2, 1),
        ({"host": B}, 0, 0),
        ({"host": A}, 2, 0),
        ({"id": "driver.hold"}, 2, 0),
    ],
    ids=["stands", "its last day", "over", "of this host", "of another host", "of another check"],
)
def test_what_is_accepted_does_not_count(fields: dict[str, Any], code: int, expired: int) -> None:
    known = Acceptance(**{"id": "net.mtu", "until": date(2027, 1, 1), "why": "a switch", **fields})
    report = made({A: healthy(A), B: [mtu(1500)]}, accepted=[known])
    assert (report.exit, len(report.expired), report.counts.accepted) == (code, expired, int(code == 0))


def test_an_unknown_check_can_be_accepted() -> None:
    known = Acceptance(id="driver.upgrade", until=date(2027, 1, 1), why="offline")
    assert made({A: [upgrade()]}, accepted=[known]).exit == 0


@pytest.mark.parametrize("found", [mtu(), mtu(1500)], ids=["it holds again", "it was accepted anew"])
def test_what_is_over_is_told_only_while_it_matters(found: Check) -> None:
    over = Acceptance(id="net.mtu", until=date(2026, 1, 1), why="a switch")
    assert made({A: [found]}, accepted=[over, over.model_copy(update={"until": date(2027, 1, 1)})]).expired == []


# --- alike, and the majority


def test_two_hosts_that_differ_are_both_shown() -> None:
    report = made({A: [kernel("6.12")], B: [kernel("6.14")]})
    assert [row(report, name, "identity.kernel").status for name in (A, B)] == ["drift", "drift"]
    assert not row(report, A, "identity.kernel").odd


def test_one_of_many_that_differs_is_marked() -> None:
    report = fleet()
    odd = {host.name for host in report.hosts for each in host.rows if each.id == "identity.kernel" and each.odd}
    assert odd == {"spark-05"}
    assert row(report, "spark-07", "net.mtu").odd


# --- what mends it


def test_what_one_command_mends_stands_together_and_the_deploy_is_last() -> None:
    assert [(each.cure, [finding.id for finding in each.findings]) for each in mends(DRIFTED)] == [
        ("pyinfra pair.py --limit spark-b -y exec -- systemctl start docker", ["containers.docker"]),
        (DEPLOY, ["net.mtu"]),
    ]
    assert [finding.id for finding in accepted(DRIFTED)] == ["identity.kernel"]
    assert {finding.id for finding in holding(CLEAN)} == {check.id for check in healthy(A)}


def test_a_command_for_one_host_becomes_one_for_all_that_need_it() -> None:
    (start,) = (mend for mend in mends(fleet()) if "docker" in mend.cure)
    hosts = [f"spark-{number:02}" for number in range(0, 64, 9)]
    limits = " ".join(f"--limit {name}" for name in hosts)
    assert start.cure == f"pyinfra pair.py {limits} -y exec -- systemctl start docker"
    assert [(way.hosts, way.row.found) for way in start.findings[0].ways] == [(tuple(hosts), "no daemon")]


def test_one_run_of_the_deploy_is_told_all_that_it_needs() -> None:
    """A run that lacked one of the words would be refused, and mend nothing."""
    checks = [
        mtu(1500),
        Check("containers.daemon-json", "x", "y", "drift", deploy(data={"restart_docker": True})),
        Check("net.others", "x", "y", "extra", deploy(data={"adopt": {"cx7": "set-aside"}})),
    ]
    other = Check("net.others", "x", "y", "extra", deploy(data={"adopt": {"it's": "set-aside"}}))
    (mend,) = mends(made({A: checks, B: [other]}))
    assert len(mend.findings) == 3
    assert mend.cure == (
        f"{DEPLOY} --data restart_docker=True "
        """--data 'adopt={"cx7": "set-aside", "it'"'"'s": "set-aside"}'"""
    )


def test_ways_that_differ_stand_apart_and_the_oldest_says_since_when() -> None:
    first = made({A: [mtu(1500)], B: [mtu()]}, when=BEFORE)
    (mend,) = mends(made({A: [mtu(1500)], B: [mtu(1500)], "spark-c": [mtu(1280)]}, first))
    still, new, other = mend.findings[0].ways
    assert (still.hosts, new.hosts, other.hosts) == ((A,), (B,), ("spark-c",))
    assert (still.row.since, new.row.since) == (BEFORE, NOW)


def test_hosts_that_are_alike_stand_together_since_the_first_of_them() -> None:
    first = made({A: [mtu(1500)], B: [mtu()]}, when=BEFORE)
    second = made({A: [mtu(1500)], B: [mtu(1500)]}, first, when=BEFORE + timedelta(days=1))
    (mend,) = mends(made({A: [mtu(1500)], B: [mtu(1500)]}, second))
    assert [(way.hosts, way.row.since) for way in mend.findings[0].ways] == [((A, B), BEFORE)]


# --- pyinfra's own plan


REFUSED = [Refusal("docker must restart", "stop them")]


@pytest.mark.parametrize(
    ("checks", "peer", "planned", "expected"),
    [
        ([mtu()], (), [], []),
        ([mtu()], (), ["Network | links"], [("deploy.plan", "drift")]),
        ([mtu(1500)], (), ["Network | links"], []),
        ([mtu()], [mtu(1500)], ["Network | links"], []),
        ([mtu()], [upgrade()], ["Network | links"], []),
        ([mtu()], (), ["Network | links", "RDMA | GID"], [("deploy.plan", "drift")]),
        ([mtu()], [mtu()], REFUSED, [("deploy.refused", "drift")]),
        ([mtu()], [mtu()], [*REFUSED, *REFUSED], [("deploy.refused", "drift")]),
        ([mtu()], None, REFUSED, [("deploy.plan", "skipped")]),
    ],
    ids=[
        "nothing to do",
        "a change nobody checks",
        "explained",
        "its peer's",
        "not known",
        "two changes",
        "refused",
        "refused twice",
        "no peer",
    ],
)
def test_no_change_of_the_deploy_goes_unsaid(checks: Any, peer: Any, planned: Any, expected: Any) -> None:
    assert [(each.id, each.status) for each in unexplained(checks, peer, planned, DEPLOY, "serve")] == expected


# --- what is kept


def test_a_host_that_was_replaced_is_left_out_as_if_it_had_not_been_looked_at() -> None:
    whole = made({A: [mtu(1500)], B: [mtu(1500), hold(held=False)]}, made({A: [hold(held=False)], B: [mtu(1500)]}))
    assert (whole.host(B) is not None, whole.counts.drift, whole.counts.fixed) == (True, 3, 1)
    left = without(whole, B)
    assert (left.host(B), left.hosts, left.counts.hosts) == (None, whole.hosts[:1], 1)
    assert (left.counts.drift, left.counts.fixed, left.exit) == (1, 1, 2)
    assert without(left, "spark-x").dumps() == left.dumps()
    alone = without(left, A)
    assert (alone.hosts, alone.fixed, alone.exit) == ([], [], 0)
    after = made({A: [mtu(1500)], B: [mtu(1500)]}, left)
    assert [host.rows[0].news for host in after.hosts] == ["still", None], "the new one begins anew"


def test_a_report_reads_back_as_it_was_also_one_of_a_later_sparkrig() -> None:
    document = json.loads(DRIFTED.dumps())
    assert Report.model_validate(document) == DRIFTED
    assert document["schema"] == json.loads(DRIFTED.compact())["schema"] == "sparkrig.drift/1"
    assert Report.model_validate_json(DRIFTED.compact()) == DRIFTED and '"cure":""' not in DRIFTED.compact()
    document["hosts"][0]["altitude"] = 3
    assert Report.model_validate(document) == DRIFTED


def test_what_a_host_printed_is_one_plain_line() -> None:
    """A profile may be named as its owner likes; an escape would move somebody's cursor."""
    bad = Check("net.others", "none", "\x1b[2Jcx7\nevil\x07", "extra", "rm \x1b[31m")
    told = made({A: [bad], B: Refusal("no route\x1b[0m", "ping")})
    assert (row(told, A, "net.others").found, told.hosts[1].unread) == (" [2Jcx7 evil ", "no route [0m")
