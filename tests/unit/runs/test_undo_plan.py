"""What an undo plans and what it comes to, judgement by judgement; without a host and without its programs."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from sparkrig.host.targets import Barred
from sparkrig.network import environment, guard
from sparkrig.refusal import Refusal
from sparkrig.resources import containers, trust
from sparkrig.runs import (
    journal,
    journal_look,
    lock,
    managed_files,
    recovery,
    undo,
    undo_merge,
    undo_outcome,
    undo_target,
)
from sparkrig.runs.journal import Journal, Left, Run, Step
from sparkrig.runs.lock import Owner
from sparkrig.runs.render import journal as picture
from sparkrig.runs.undo import Change, Plan
from sparkrig.serving import served
from tests.tables import each_row
from tests.unit.undos import DAEMON, HOLD, KEPT_DAEMON, NCCL, PIN, TOOLKIT, host, run

PROFILE, OTHER = "profile /etc/nm/fabric 0.nmconnection", "profile /etc/nm/other.nmconnection"
MEASURED = "file /var/lib/sparkrig/bandwidth.json"
SHA = "0123456789abcdef" * 4
NAME = containers.DAEMON_JSON


def planned(*changes: Change, **more: Any) -> Plan:
    return Plan("R1", changes, **more)


def merge_of(item: str, text: str) -> Change:
    return Change(item, "merge", text=text, sum="5")


# --- a change, and a plan


def test_each_change_is_a_row_of_its_kind() -> None:
    encoded = base64.b64encode(b"a b\n").decode()
    rows: Mapping[str, tuple[Change, str]] = {
        "merge": (merge_of(NCCL, "a b\n"), f"merge /etc/nccl.conf 5 {encoded}\n"),
        "put": (Change(NCCL, "put back", now="644 root:root 1"), "put /etc/nccl.conf 644|root:root|1\n"),
        "remove": (Change(NCCL, "remove", now="644 x"), "remove /etc/nccl.conf 644|x\n"),
        "restart": (Change(DAEMON, "restart"), f"restart {NAME}\n"),
        "what was measured": (Change(MEASURED, "remove", now="644 x"), f"remove {MEASURED[5:]}\n"),
        "what sorts behind it": (Change("file /var/x", "remove", now="644 x"), "remove /var/x 644|x\n"),
    }

    def holds(change: Change, row: str) -> None:
        assert change.row == row

    each_row(rows, holds)
    assert (Change(PROFILE, "stays").kind, Change(PROFILE, "stays").name) == ("profile", PROFILE[8:])


def test_a_plan_says_what_it_will_do() -> None:
    key = f"file {trust.CLIENT}"
    for plan, said in (
        (planned(Change(DAEMON, "put back")), {"docker", "checked"}),
        (planned(Change(DAEMON, "remove")), {"docker"}),
        (planned(Change(DAEMON, "restart")), {"docker"}),
        (planned(Change(DAEMON, "foreign")), set[str]()),
        (planned(Change(PIN, "put back"), Change("file /zzz", "remove")), set[str]()),
        (planned(Change(DAEMON, "unfit")), set[str]()),
        (planned(merge_of(DAEMON, "{}")), {"docker", "checked"}),
        (planned(merge_of(NCCL, "x")), set[str]()),
        (planned(Change(key, "remove")), {"beside"}),
        (planned(Change(key, "restart")), set[str]()),
        (planned(Change(key, "put back")), set[str]()),
        (planned(Change(f"file {served.PATHS[0]}", "remove")), {"serving"}),
        (planned(Change(f"file {served.PATHS[0]}", "foreign")), set[str]()),
    ):
        assert {name for name in ("docker", "checked", "beside", "serving") if getattr(plan, name)} == said, plan
    assert not planned(Change(NCCL, "already")) and not planned()
    assert planned(Change(NCCL, "remove")) and planned(network=True)
    assert planned(Change(key, "remove")).beside == [trust.LOGIN]
    assert planned(merge_of(DAEMON, "{}")).merged_docker == base64.b64encode(b"{}").decode()
    for other in (
        Change(DAEMON, "put back", text="x"),
        Change(DAEMON, "foreign", text="x"),
        merge_of(PIN, "x"),
        merge_of("file /zzz", "x"),
    ):
        assert planned(other).merged_docker == ""
    assert planned().kept_docker == KEPT_DAEMON


def test_a_plans_files_are_dockers_or_the_others() -> None:
    plan = planned(
        Change(NCCL, "remove"),
        Change(DAEMON, "put back", now="644 d"),
        Change(HOLD, "release"),
        Change(PROFILE, "put back"),
        Change("alias x", "remove"),
        Change(PIN, "remove", now="644 p"),
        Change("file /etc/other", "foreign"),
    )
    assert plan.files(docker=False) == f"remove /etc/nccl.conf\nremove {PIN[5:]} 644|p\n"
    assert plan.files(docker=True) == f"put {NAME} 644|d\n"
    with pytest.raises(TypeError):
        plan.files(True)  # type: ignore[call-arg]


def test_a_plan_names_its_files_and_its_holds() -> None:
    plan = planned(
        Change(NCCL, "remove"),
        Change(PIN, "put back"),
        Change(DAEMON, "restart"),
        Change(PROFILE, "put back", now="77"),
        Change("profile /etc/nm/plain", "remove", now="78"),
        Change("hold a", "release"),
        Change("hold b", "hold"),
        Change("hold c", "stays"),
        Change("zzz /q", "remove"),
    )
    assert plan.targets == ["/etc/nccl.conf", PIN[5:], "/etc/nm/plain", "/q", journal.DPKG_STATUS]
    assert plan.holds() == ["a", "--", "b"]
    assert planned(Change("hold a", "release")).holds() == ["a", "--"]
    assert planned(Change("hold b", "hold")).holds() == ["--", "b"]
    assert planned(Change(NCCL, "remove")).holds() == [] and planned(Change(NCCL, "remove")).targets == [NCCL[5:]]
    assert plan.mine is None
    assert replace(plan, noted=True).mine == {PROFILE[8:]: "77", "/etc/nm/plain": "78"}


# --- what it came to


def test_what_changed_meanwhile_and_what_docker_refused_is_left_alone() -> None:
    others = Change("hold /etc/nccl.conf", "release"), Change("alias /etc/nccl.conf", "remove")
    plan = planned(Change(NCCL, "remove"), Change(DAEMON, "put back"), *others)
    said = f"unfit {'x' * 999}\nchanged /etc/nccl.conf\nzebra /etc/nccl.conf\nabout /etc/nccl.conf\n"
    nccl, daemon, *rest = undo_outcome.left(plan, said).changes
    assert (nccl.act, nccl.why) == ("foreign", "it was changed while this run was taken back")
    assert daemon.act == "unfit" and daemon.why == "x" * 400 and rest == [*others]
    failed = undo_outcome.left(plan, "failed it is masked").changes[1]
    assert (failed.act, failed.why) == ("failed", "it is masked")
    assert undo_outcome.left(plan, "about /etc/nccl.conf\nzebra x").changes == plan.changes


def test_what_is_not_put_back_is_said_with_its_reason() -> None:
    plan = planned(
        Change(NCCL, "foreign"),
        Change(PIN, "foreign", why="a link"),
        Change(DAEMON, "unfit", why="no JSON"),
        Change("file /f", "failed"),
        Change("file /d", "differs", why="x is there"),
        Change(TOOLKIT, "stays"),
        Change(HOLD, "already"),
        amiss="the MTU",
    )
    assert undo_outcome.left_behind(plan) == (
        Left(NCCL, "changed since by another one"),
        Left(PIN, "changed since by another one: a link"),
        Left(DAEMON, "docker cannot start with what stood there before: no JSON"),
        Left("file /f", "docker did not start with what stood there before"),
        Left("file /d", "it is not as it stood there before: x is there"),
        Left("network", "the MTU"),
    )
    assert undo_outcome.left_behind(planned(Change(TOOLKIT, "stays"))) == ()


def test_what_stays_is_said_and_docker_with_what_to_look_at() -> None:
    plan = planned(
        Change(NCCL, "foreign"),
        Change(HOLD, "foreign"),
        Change(DAEMON, "unfit", why="no JSON"),
        Change(PIN, "already"),
        amiss="the MTU",
    )
    docker, *said = undo_outcome.left_alone("b", plan)
    assert docker == (
        f"{NAME} of b is left alone, for docker cannot start with what stood there before (no JSON). "
        f"Try: ssh b sudo dockerd --validate --config-file {KEPT_DAEMON}"
    )
    assert said == [
        "/etc/nccl.conf of b is not put back (changed since by another one)",
        "the hold of nvidia-driver-580-open of b is not put back (changed since by another one)",
        "the network of b is not put back (the MTU)",
    ]
    failed = undo_outcome.left_alone("b", planned(Change(DAEMON, "failed", why="masked")))
    assert failed == [
        f"{NAME} of b is back as it was, for docker did not start with what stood there before (masked). "
        "Try: ssh b sudo journalctl -u docker -n 30"
    ]
    assert undo_outcome.left_alone("b", planned(Change(NCCL, "remove"))) == []
    assert undo.step("x") == "Undo | x"


def test_what_the_guard_left_alone_or_amiss_is_taken_over() -> None:
    same = f"aaa {PROFILE[8:]}", f"zzz {PROFILE[8:]}"
    plan = planned(
        Change(PROFILE, "put back"), Change(OTHER, "remove"), *(Change(each, "remove") for each in same)
    )
    detail = f"{PROFILE[8:]}{guard.STAYS}; ; /etc/nm/new{guard.STAYS}; the MTU is 1500; no route"
    done = undo_outcome.network_done(plan, detail)
    assert done.changes == (
        replace(plan.changes[0], act="foreign"),
        *plan.changes[1:],
        Change("profile /etc/nm/new", "foreign"),
    )
    assert done.amiss == "the MTU is 1500; no route"
    assert undo_outcome.network_done(plan, "") == plan


def test_what_is_not_as_it_should_be_differs() -> None:
    changes = (
        Change("file /back", "put back", before="644 a"),
        Change("file /gone", "remove"),
        Change("hold a", "hold"),
        Change("hold b", "release"),
        Change("file /merged", "merge"),
        Change("file /theirs", "foreign", before="x"),
        Change(MEASURED, "remove"),
        Change(PROFILE, "put back", before="1"),
        Change("zzz x", "put back", before="1"),
        Change("file /again", "restart"),
        Change(TOOLKIT, "stays"),
    )
    own = replace(run(2, {}, {}), wrote={"file /merged": ("644 m0", "644 m")})
    well = {"file /back": "644 a", "hold a": "held", "file /merged": "644 m", "zzz x": "1"}
    well |= {"file /again": "644 x", TOOLKIT: "1.17"}
    plan = planned(*changes)
    assert undo_outcome.verified(plan, host(own, now=well), "R2") == plan
    wrong = {**well, MEASURED: "644 x", PROFILE: "2", "file /theirs": "y"}
    assert undo_outcome.verified(plan, host(own, now=wrong), "R2") == plan
    bad = {"file /back": f"600 {SHA}", "file /gone": "644 g", "hold b": "held", "file /merged": "644 m0"}
    differ = undo_outcome.verified(plan, host(own, now=bad), "R2").changes
    whys = {each.item: each.why for each in differ if each.act == "differs"}
    assert whys == {
        "file /back": "600 01234567... is there, 644 a is expected",
        "file /gone": "644 g is there, absent is expected",
        "hold a": "absent is there, held is expected",
        "hold b": "held is there, absent is expected",
        "file /merged": "644 m0 is there, 644 m is expected",
        "zzz x": "absent is there, 1 is expected",
    }
    unkept = undo_outcome.verified(planned(changes[4]), host(now={"file /merged": "x"}), "R2").changes[0]
    assert unkept.why == "x is there, what was merged is expected"


# --- which run, and on which hosts


def test_which_run_is_taken_back() -> None:
    first, second = run(1, {}, {NCCL: "644 a"}), run(2, {NCCL: "644 a"}, {NCCL: "644 b"})
    known = {"a": host(first, second, now={NCCL: "644 b"})}
    assert undo_target.target(known, None) == "R2" and undo_target.target(known, "R1") == "R1"
    with pytest.raises(Refusal, match="no run R9 is kept on a or b"):
        undo_target.target({**known, "b": host(now={})}, "R9")
    back = run(3, {NCCL: "644 b"}, {NCCL: "644 a"}, undoes="R2")
    gone = {"a": host(first, second, back, now={NCCL: "644 a"})}
    assert undo_target.target(gone, None) == "R1"
    with pytest.raises(Refusal, match="R2 is undone already"):
        undo_target.target(gone, "R2")
    partly = replace(back, left=(Left(NCCL, "x"),))
    assert undo_target.target({"a": host(first, second, partly, now={})}, "R2") == "R2"
    assert undo_target.target({"a": host(now={})}, None) is None


def test_the_newest_of_two_hosts_is_by_order_and_else_by_clock() -> None:
    item = {NCCL: "644 a"}
    one, two = run(1, {}, item), run(2, {}, item)
    assert undo_target.target({"a": host(one, now=item), "b": host(two, now=item)}, None) == "R2"
    # the host that keeps both has R2 before R1, whatever their clocks say
    both = Journal(9000, runs=(replace(one, number=2), replace(two, number=1)), current=item)
    assert undo_target.target({"a": both, "b": host(two, now=item)}, None) == "R1"


def test_a_run_stands_where_it_left_something_to_take_back() -> None:
    kept = run(1, {}, {NCCL: "644 a"})
    assert undo_target.stands(kept, host(kept, now={NCCL: "644 a"}))
    packages = run(1, {}, {TOOLKIT: "1"})
    assert not undo_target.stands(packages, host(packages, now={TOOLKIT: "1"}))
    moved = replace(packages, guard="committed")
    assert undo_target.stands(moved, host(moved, now={}))
    nothing = run(1, {NCCL: "644 a"}, {NCCL: "644 a"})
    assert not undo_target.stands(nothing, host(nothing, now={NCCL: "644 a"}))
    undoing = run(1, {}, {NCCL: "644 a"}, undoes="R0")
    assert not undo_target.stands(undoing, host(undoing, now={}))


def test_of_a_pair_neither_half_is_taken_back_alone() -> None:
    kept = host(run(1, {}, {NCCL: "644 a"}, hosts=("a", "b")), now={NCCL: "644 a"})
    old = host(run(1, {}, {NCCL: "644 a"}, hosts=()), now={})

    def spared(mine: Journal, others: Mapping[str, Journal | None], expected: str) -> None:
        if not expected:
            undo_target.spared("R1", {"a": mine}, others, "try")
            return
        with pytest.raises(Refusal) as raised:
            undo_target.spared("R1", {"a": mine}, others, "try")
        assert raised.value.what == f"run R1 was made on {expected} too, and a pair goes back as a pair"
        assert raised.value.cure == "try"

    each_row(
        [
            (kept, {"b": kept}, "b"),
            (kept, {"b": None}, "b"),
            (kept, {"c": None}, ""),
            (old, {"b": old}, "b"),
            (old, {"b": host(now={})}, ""),
        ],
        spared,
    )


def test_a_host_that_keeps_nothing_of_a_run_is_named_with_what_it_has() -> None:
    mine = host(run(1, {}, {NCCL: "644 a"}, hosts=("a", "b")), now={})
    old = host(run(1, {}, {NCCL: "644 a"}, hosts=()), now={})
    empty, one, two = host(now={}), host(run(5, {}, {}), now={}), host(run(5, {}, {}), run(6, {}, {}), now={})

    def whole(mine: Journal, others: Mapping[str, Journal | None], expected: str) -> None:
        if not expected:
            undo_target.whole("R1", {"a": mine}, others, "try")
            return
        with pytest.raises(Refusal) as raised:
            undo_target.whole("R1", {"a": mine}, others, "try")
        assert expected in raised.value.what and raised.value.cure == "try", raised.value.what

    renamed = host(run(1, {}, {NCCL: "644 a"}, hosts=("x", "y")), now={})
    gone = "run R1 was made on 2 hosts, and what stood before on b is not known "
    each_row(
        [
            (mine, {"b": mine}, ""),
            (host(run(1, {}, {NCCL: "644 a"}, hosts=("a",)), now={}), {"b": empty}, ""),
            (renamed, {"b": renamed}, ""),
            (mine, {"b": empty}, f"{gone}(the journal of b, /var/lib/sparkrig, is gone or empty)"),
            (mine, {"b": None}, f"{gone}(b cannot be read)"),
            (mine, {"b": one}, f"{gone}(the journal of b has 1 other run, and not this one)"),
            (mine, {"b": two}, f"{gone}(the journal of b has 2 other runs, and not this one)"),
            (mine, {}, f"{gone}(b is not among the hosts of this pair)"),
            (old, {}, ""),
            (old, {"b": old}, ""),
            (
                old,
                {"b": None},
                "the older version that made it did not note whether it was made on b too (b cannot",
            ),
        ],
        whole,
    )
    with pytest.raises(Refusal, match="stood before on b is not known"):
        undo_target.whole("R1", {"a": renamed}, {"b": empty}, "try")
    with pytest.raises(Refusal, match="stood before on x and y is not known"):
        undo_target.whole("R1", {"a": renamed}, {}, "try")


def test_a_journal_that_lost_a_part_is_refused_with_what_it_lacks() -> None:
    first, second, third = (run(at, {}, {NCCL: "644 a"}) for at in (1, 2, 3))
    well = host(first, second, now={})
    undo_target.readable("R1", {"z": host(now={}), "a": well})

    def refused(found: Journal, *parts: str) -> None:
        with pytest.raises(Refusal) as raised:
            undo_target.readable("R1", {"z": host(now={}), "a": found})
        assert all(f"{part}" in raised.value.what for part in parts)
        assert raised.value.what.startswith(f"the journal of a is damaged: {parts[0]}")
        run_id = parts[0].partition("/")[0]
        assert raised.value.cure == f"ssh a sudo ls -lR /var/lib/sparkrig/runs/{run_id}"

    lost = ("before/state",)
    refused(
        host(replace(first, lacks=("before/files/x", "paths")), second, now={}), "R1/before/files/x", "R1/paths"
    )
    refused(host(first, replace(second, lacks=lost), now={}), "R2/before/state")
    refused(
        host(replace(first, lacks=("a",)), replace(second, lacks=lost), third, now={}), "R1/a", "R2/before/state"
    )
    garbled = Run("R2", Owner())
    refused(host(first, garbled, now={}), "R2/run.json")
    undo_target.readable("R1", {"a": host(replace(first, number=2), replace(garbled, number=1), now={})})
    undo_target.readable("R2", {"a": host(replace(first, lacks=lost), second, now={})})
    undo_target.readable("R1", {"a": host(first, replace(second, lacks=("after",)), now={})})


def test_a_garbled_run_counts_where_it_may_have_come_later() -> None:
    def may(garbled: Run, of: Run) -> bool:
        return undo_target._may_be_later(garbled, of)

    base = Run("R5", Owner())
    numbered = replace(run(1, {}, {}), number=5)
    assert may(replace(base, number=6), numbered) and may(replace(base, number=5), numbered)
    assert not may(replace(base, number=4), numbered) and not may(base, numbered)
    assert may(replace(base, lacks=("number",)), numbered)
    assert may(Run("R2", Owner()), run(1, {}, {})) and not may(Run("R0", Owner()), run(1, {}, {}))
    assert may(Run("R1", Owner()), run(1, {}, {}))


# --- the plan


def acts(found: Journal, which: str = "R1", *, everything: bool = False) -> dict[str, str]:
    return {each.item: each.act for each in undo.plan(found, which, everything=everything).changes}


def test_a_run_that_is_unknown_or_undone_is_nothing_to_do() -> None:
    kept = host(run(1, {}, {NCCL: "644 a"}), now={NCCL: "644 a"})
    assert undo.plan(kept, "R9", everything=True) == Plan("R9")
    back = run(2, {NCCL: "644 a"}, {}, undoes="R1")
    assert undo.plan(host(run(1, {}, {NCCL: "644 a"}), back, now={}), "R1", everything=False) == Plan("R1")
    with pytest.raises(TypeError):
        undo.plan(kept, "R1", True)  # type: ignore[call-arg]


def test_a_torn_run_is_taken_back_by_what_differs() -> None:
    torn = replace(run(1, {}, None), steps=(Step("one", 1),), wrote={NCCL: ("644 a",)})
    now = {NCCL: "644 a", PIN: "644 p"}
    assert acts(host(torn, now=now)) == {NCCL: "remove", PIN: "foreign"}
    ended = replace(torn, steps=(Step("one", 1, 2, 0),))
    assert acts(host(ended, now=now)) == {NCCL: "remove"}


def test_each_later_run_is_named_at_what_it_changed_too() -> None:
    first, second, third = (
        run(1, {}, {NCCL: "1"}),
        run(2, {NCCL: "1"}, {NCCL: "2"}),
        run(3, {NCCL: "2"}, {NCCL: "2", PIN: "p"}),
    )
    changes = undo.plan(host(first, second, third, now={NCCL: "2", PIN: "p"}), "R1", everything=False).changes
    assert [(each.item, each.act, each.later, each.wrote) for each in changes] == [(NCCL, "remove", ("R2",), ())]
    foreign = undo.plan(host(first, second, third, now={NCCL: "x"}), "R1", everything=False).changes[0]
    assert (foreign.act, foreign.wrote, foreign.stood) == ("foreign", ("R2", "R1"), ("R2",))
    linked = run(2, {NCCL: "link 1"}, {NCCL: "2"})
    stood = undo.plan(host(first, linked, now={NCCL: "x"}), "R1", everything=False).changes[0].stood
    already = undo.plan(host(first, now={}), "R1", everything=False).changes[0]
    assert stood == ("R2",) and (already.act, already.wrote) == ("already", ())
    forced = undo.plan(host(first, second, third, now={NCCL: "x"}), "R1", everything=True).changes[0]
    assert (forced.act, forced.now, forced.before, forced.wrote) == ("remove", "x", "absent", ())


def test_the_network_goes_back_where_it_moved_and_did_not_go_back_yet() -> None:
    moved = replace(run(1, {}, {}, guard="committed"), network={PROFILE: ("absent", "9")})
    base = undo.plan(host(moved, now={PROFILE: "9"}), "R1", everything=False)
    assert base.network and base.noted and [each.item for each in base.changes] == [PROFILE]
    assert not undo.plan(host(replace(moved, guard=""), now={}), "R1", everything=False).network
    assert not undo.plan(host(replace(moved, network=None), now={}), "R1", everything=False).noted
    broken = run(2, {}, None, undoes="R1", guard="committed")
    assert not undo.plan(host(moved, broken, now={}), "R1", everything=False).network
    for other in (
        replace(broken, after={}, left=(Left("x", "y"),), ended=9),
        replace(broken, guard="rolled-back"),
        replace(broken, owner=replace(broken.owner, undoes="R7")),
        replace(broken, owner=replace(broken.owner, undoes="R0")),
    ):
        assert undo.plan(host(moved, other, now={PROFILE: "9"}), "R1", everything=False).network, other


def test_docker_is_restarted_where_an_undo_broke_off_before_it_did() -> None:
    item = {DAEMON: "644 d", NCCL: "644 a", "file /zzz": "1", "file /aaa": "1"}
    first = run(1, {}, item)
    part = undo.step(undo.DOCKER_PART)

    def owes(*runs: Run) -> bool:
        changes = undo.plan(host(first, *runs, now={"file /zzz": "1"}), "R1", everything=False).changes
        found = {each.item: each.act for each in changes}
        assert found[NCCL] == found["file /aaa"] == "already" and found["file /zzz"] == "remove"
        return found[DAEMON] == "restart"

    broke = replace(run(2, item, None, undoes="R1"), steps=(Step(part, 1, 2, 1),))
    assert owes(broke)
    assert owes(replace(broke, steps=(Step(part, 1),)))
    assert not owes(replace(broke, steps=(Step(part, 1, 2, 0),)))
    assert not owes(replace(broke, steps=(Step("Undo | other", 1, 2, 1),)))
    assert not owes(replace(broke, steps=(Step("Undo | a", 1, 2, 1),)))
    assert not owes(replace(broke, owner=replace(broke.owner, undoes="R0")))
    assert not owes(replace(broke, steps=()))
    assert owes(replace(broke, id="R2", steps=broke.steps), replace(broke, id="R3", steps=()))
    assert not owes(replace(broke, owner=replace(broke.owner, undoes="R7")))
    changes = undo.plan(host(first, broke, now=item), "R1", everything=False).changes
    assert {each.item: each.act for each in changes}[DAEMON] == "remove", "it still stands there"
    two = (Step(part, 1, 2, 1), Step(part, 3, 4, 0))
    assert not owes(replace(broke, steps=two))


def test_what_a_run_that_broke_off_put_there_may_be_any_of_it() -> None:
    whole = replace(run(1, {}, {NCCL: "3"}), wrote={NCCL: ("1", "2", "3")})
    assert undo._values(whole, NCCL, "9") == ("3",) and undo._values(whole, PIN, "9") == ("9",)
    torn = replace(whole, after=None)
    assert undo._values(torn, NCCL, "9") == ("1", "2", "3")
    assert undo._values(replace(whole, wrote=None), NCCL, "9") == ("9",)
    assert acts(host(torn, now={NCCL: "2"})) == {NCCL: "remove"}
    assert acts(host(torn, now={NCCL: "7"})) == {NCCL: "foreign"}
    assert acts(host(whole, now={NCCL: "2"})) == {NCCL: "foreign"}


def test_what_is_done_to_each_kind_of_item() -> None:
    before, after = (
        {NCCL: "1", "hold b": "held"},
        {NCCL: "2", PIN: "p", "hold a": "held", TOOLKIT: "1", MEASURED: "m"},
    )
    first = run(1, before, after)
    assert acts(host(first, now={**after, MEASURED: "another"})) == {
        NCCL: "put back",
        PIN: "remove",
        "hold a": "release",
        "hold b": "hold",
        TOOLKIT: "stays",
        MEASURED: "remove",
    }
    assert acts(host(first, now={**before}))[NCCL] == "already"


def test_older_values_lead_back_one_after_the_other() -> None:
    first, second = run(1, {NCCL: "0"}, {NCCL: "1"}), run(2, {NCCL: "1"}, {NCCL: "2"})
    assert acts(host(first, second, now={NCCL: "2"})) == {NCCL: "put back"}
    edited = run(2, {NCCL: "edited"}, {NCCL: "2"})
    assert acts(host(first, edited, now={NCCL: "2"})) == {NCCL: "foreign"}
    round_trip = run(2, {NCCL: "0"}, {NCCL: "2"})
    assert acts(host(first, round_trip, now={NCCL: "2"})) == {NCCL: "put back"}
    assert acts(host(run(1, {}, {NCCL: "1"}), run(2, {}, {NCCL: "2"}), now={NCCL: "2"})) == {NCCL: "remove"}
    torn = replace(run(2, {NCCL: "1"}, None), wrote={NCCL: ("8",)})
    assert acts(host(first, torn, now={NCCL: "1"})) == {NCCL: "put back"}
    assert acts(host(first, torn, now={NCCL: "8"})) == {NCCL: "put back"}
    assert acts(host(first, torn, now={NCCL: "9"})) == {NCCL: "foreign"}


# --- merging


def foreign(item: str = NCCL, **more: Any) -> Change:
    return Change(item, "foreign", **{"wrote": ("R1",), **more})


def kept(run_id: str, path: str = "/etc/nccl.conf") -> str:
    return f"/var/lib/sparkrig/runs/{run_id}/before/files{path}"


def put(run_id: str, path: str = "/etc/nccl.conf") -> str:
    return f"/var/lib/sparkrig/runs/{run_id}/wrote/files{path}"


def test_the_texts_that_a_merge_needs_are_read_and_no_secret() -> None:
    plan = planned(foreign(wrote=("R2", "R1")), Change(PIN, "remove"), foreign("hold /etc/nccl.conf"))
    path = "/etc/nccl.conf"
    assert undo_merge.texts_of(plan) == [path, kept("R1"), kept("R2"), put("R2"), kept("R1"), put("R1")]
    others = planned(
        foreign("file /etc/sparkrig/secrets.env"),
        foreign("file /etc/passwd"),
        Change(NCCL, "already", wrote=("R1",)),
        foreign("alias /etc/nccl.conf"),
    )
    assert undo_merge.texts_of(others) == []
    rows = [f"file /a {base64.b64encode(b'x y').decode()}", "file /b /w==", "file /c"]
    assert undo_merge.parse_texts(rows) == {"/a": "x y", "/c": ""}
    with pytest.raises(ValueError, match="cannot read the row 'zebra' of a file"):
        undo_merge.parse_texts(["zebra x"])
    with pytest.raises(ValueError, match="'aaaaaaaaaaaaaaaaaaaa' of a file"):
        undo_merge.parse_texts(["a" * 50])
    with pytest.raises(ValueError):
        undo_merge.parse_texts(["file /a !"])


def test_a_file_that_another_one_changed_is_merged_where_that_is_clean() -> None:
    ours, theirs = "a\nours\n", "a\nours\ntheirs\n"
    texts = {"/etc/nccl.conf": theirs, kept("R1"): "a\n", put("R1"): ours}

    def after(change: Change, texts: Mapping[str, str]) -> Change:
        return undo_merge.merged(planned(change), texts).changes[0]

    merged = after(foreign(stood=("R1",)), texts)
    assert (merged.act, merged.sum) == ("merge", hashlib.sha256(theirs.encode()).hexdigest())
    assert (
        "ours" not in merged.text and "theirs" in merged.text and merged.diff and "-ours" in "\n".join(merged.diff)
    )
    assert after(foreign(), {**texts, "/etc/nccl.conf": "a\n", kept("R1"): "a\n"}).act in ("already", "foreign")
    unmoved = Change(NCCL, "remove")
    assert after(unmoved, texts) is unmoved

    def left(change: Change, changes: Mapping[str, str | None], why: str, shown: bool) -> None:
        known = {path: text for path, text in {**texts, **changes}.items() if text is not None}
        found = after(change, known)
        assert (found.act, found.why) == ("foreign", why) and bool(found.diff) is shown, found

    gone: Mapping[str, str | None] = {"/etc/nccl.conf": None}
    each_row(
        {
            "gone": (foreign(now="absent"), gone, "it is gone", True),
            "a link": (foreign(now="link root:root 1"), gone, "it is a link now", True),
            "a folder": (foreign(now="directory"), gone, "it is directory now", True),
            "no text": (foreign(now="644 root:root 1"), gone, "it is no text, or too long now", True),
            "no text, by a short mode": (foreign(now="0 a:b 1"), gone, "it is no text, or too long now", True),
            "not kept, and it is known what stood there": (
                foreign(stood=("R1",)),
                {put("R1"): None},
                "what R1 wrote is not kept",
                True,
            ),
            "nothing noted": (
                foreign(wrote=()),
                {},
                "the run broke off, and did not note that it wrote this",
                True,
            ),
            "what was written is not kept": (foreign(), {put("R1"): None}, "what R1 wrote is not kept", True),
            "what stood there is no text": (
                foreign(stood=("R1",)),
                {kept("R1"): None},
                "what stood there before R1 is a link, no text, or too long",
                False,
            ),
        },
        left,
    )
    two = foreign(wrote=("R2", "R1"), stood=("R1",))
    more = {**texts, put("R2"): theirs}
    assert after(two, more).why == "it was not there before what came after R1"
    absent = foreign(wrote=("R1",))
    assert after(absent, {"/etc/nccl.conf": ours, put("R1"): ours}).act == "remove"


def test_each_file_is_merged_in_its_form() -> None:
    assert managed_files.FORMS[NAME] == "json" and managed_files.FORMS[trust.CLIENT] == "text"
    assert managed_files.FORMS[environment.WITH_GIDS[0]] == "variables"


# --- before anything is changed


def test_what_would_fail_on_the_way_is_refused_before() -> None:
    restarts, not_ = planned(Change(DAEMON, "put back")), planned(Change(NCCL, "remove"))
    undo.judge({"a": restarts, "b": not_}, {"a": 0, "b": 3}, {}, restart_docker=False)
    undo.judge({"a": restarts}, {"a": 2}, {"a": []}, restart_docker=True)
    with pytest.raises(Refusal, match="b: docker must restart, and 2 container") as raised:
        undo.judge({"a": not_, "b": restarts}, {"a": 9, "b": 2}, {}, restart_docker=False)
    assert raised.value.cure == "stop them, or the same with --restart-docker"
    bars = {"a": [Barred("immutable", "/etc/x", "/etc/x")], "b": [Barred("mount", "/etc/y", "/etc/y")]}
    with pytest.raises(Refusal) as barred:
        undo.judge({"a": not_, "b": not_}, {}, bars, restart_docker=True)
    assert barred.value.what.startswith("a: /etc/x is immutable") and "; b: /etc/y is a mount" in barred.value.what
    assert barred.value.cure == "ssh a sudo chattr -i /etc/x; ssh b sudo umount /etc/y"


# --- one judgement each


def test_only_runs_that_stand_are_named_as_later() -> None:
    first, second = run(1, {}, {NCCL: "1"}), run(2, {NCCL: "1"}, {NCCL: "2"})
    back, last = run(3, {NCCL: "2"}, {NCCL: "1"}, undoes="R2"), run(4, {NCCL: "1"}, {NCCL: "4"})
    (change,) = undo.plan(host(first, second, back, last, now={NCCL: "4"}), "R1", everything=False).changes
    assert (change.act, change.later) == ("remove", ("R4",))


def test_an_older_run_is_no_writer_of_what_came_after() -> None:
    older, first = run(1, {}, {NCCL: "0"}), run(2, {NCCL: "0"}, {NCCL: "1"})
    (change,) = undo.plan(host(older, first, now={NCCL: "x"}), "R2", everything=False).changes
    assert (change.act, change.wrote) == ("foreign", ("R2",))


def test_what_is_foreign_is_so_wherever_it_stands_in_a_list() -> None:
    items = {"file /var/zzz": "1", "file /aaa": "1"}
    assert acts(host(run(1, {}, items), now=dict.fromkeys(items, "x"))) == dict.fromkeys(items, "foreign")
    linked = run(1, {NCCL: "link x"}, {NCCL: "644 a"})
    assert acts(host(linked, now={NCCL: "644 a"})) == {NCCL: "put back"}


def test_what_leads_back_has_to_lead_to_what_stood_there() -> None:
    first, second = run(1, {NCCL: "5"}, {NCCL: "9"}), run(2, {NCCL: "1"}, {NCCL: "2"})
    found = host(first, second, now={NCCL: "2"})
    assert acts(found) == {NCCL: "foreign"}
    assert undo._led_back(NCCL, "5", "2", undo._writers(found, first, NCCL)) is False
    assert undo._led_back(NCCL, "5", "2", []) is False


def test_whether_a_restart_is_owed_is_yes_or_no() -> None:
    first = run(1, {}, {DAEMON: "644 d"})
    broke = replace(run(2, {}, None, undoes="R1"), steps=())
    assert undo._owes_restart(host(first, broke, now={}), "R1") is False
    assert undo._owes_restart(host(broke, now={}), "R1") is False
    assert undo._owes_restart(host(now={}), "R1") is False


def test_leave_is_given_by_name() -> None:
    with pytest.raises(TypeError):
        undo.judge({}, {}, {}, False)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        undo._act(NCCL, "1", "2", [], False)  # type: ignore[call-arg]


def test_a_checkpoint_that_an_earlier_sparkrig_removed_stays_gone() -> None:
    """Up to schema 2, `sparkrig storage --remove` took checkpoints and images away as a run of its own."""
    id, image = "20261122T120000Z-1", f"sha256:{'b2' * 32}"
    by = lock.given(id, "ann@laptop", "sparkrig storage pair.py --remove x", "1.0")
    owner = f'{{"by": {by}, "from": "10.0.2.2", "since": 1795348800, "boot": "b"}}'
    rows = ("before weights org/a 9 bytes", "wrote weights org/a absent", f"before image {image} 5 bytes")
    gone = journal_look.parse(
        [
            *("now 1795348900", f"run {id} {owner}", "number 1", *rows),
            *(f"wrote image {image} absent", "after end 1795348810"),
        ]
    )
    (run,) = gone.runs
    assert not undo_target.stands(run, gone) and undo_target.target({"spark-a": gone}, None) is None
    plan = undo.plan(gone, run.id, everything=True)
    assert not plan and {each.act for each in plan.changes} == {"stays"}
    shown = picture.rows(plan)
    assert ("stays gone", "checkpoint org/a, which is kept nowhere; a deploy fetches it again") in shown
    assert picture.changed(run, gone) == f"image {image} (removed) and checkpoint org/a (removed)"
    assert recovery.again(run) == "sparkrig storage pair.py"
