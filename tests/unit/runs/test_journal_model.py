"""What is read of a journal, and what follows from it: pure, without a host and without its programs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from sparkrig.runs import journal, journal_look, recovery
from sparkrig.runs.journal import Journal, Left, Run, Step
from sparkrig.runs.lock import Lock, Owner
from sparkrig.runs.managed_files import WRITTEN
from tests.tables import each_row

ONE, TWO, THREE = (f"2026112{day}T041500Z-cd3{day}" for day in (1, 2, 3))
SHA, OTHER = "a" * 64, "b" * 64
FILE = f"644 root:root {SHA}"


def owned(run: str, **by: Any) -> str:
    """An owner as a host keeps it."""
    known = {"run": run, "who": "ann@desk", "why": "x", "version": "0.9", "undoes": "", "hosts": ["a", "b"], **by}
    return json.dumps({"from": "", "since": 1000, "boot": "b-1", "by": known})


def owner(run: str, **by: Any) -> Owner:
    return Owner(run, "ann@desk", "x", "0.9", since=1000, boot="b-1", hosts=("a", "b"), **by)


def read(*rows: str) -> Journal:
    return journal_look.parse(["now 5000", *rows])


def one(*rows: str) -> Run:
    """The only run of a journal with these rows."""
    (run,) = read(f"run {ONE} {owned(ONE)}", *rows).runs
    return run


# --- parse


def test_an_empty_journal_has_the_hosts_clock() -> None:
    assert read() == Journal(5000)
    with pytest.raises(ValueError, match="does not say what time it is there"):
        journal_look.parse([])


def test_rows_belong_to_the_run_above_them() -> None:
    known = one(
        "step 10 begun Driver | hold",
        "step 12 ended 0 Driver | hold",
        "before file /etc/x absent",
        f"after file /etc/x {FILE}",
        "after end 20 ",
        "guard  committed ",
        "number 7",
        f"wrote file /etc/x {FILE}",
        f"network {SHA} absent /etc/nm/a b.nmconnection",
        "left file /etc/y\tit was changed since",
        "lacks before/state",
    )
    assert known == Run(
        ONE,
        owner(ONE),
        steps=(Step("Driver | hold", 10, 12, 0),),
        before={"file /etc/x": "absent"},
        after={"file /etc/x": FILE},
        ended=20,
        guard="committed",
        lacks=("before/state",),
        number=7,
        wrote={"file /etc/x": (FILE,)},
        left=(Left("file /etc/y", "it was changed since"),),
        network={"profile /etc/nm/a b.nmconnection": (SHA, "absent")},
    )


def test_of_two_runs_each_has_its_own_rows() -> None:
    rows = (f"run {ONE} {owned(ONE)}", "before file /a x", "after file /a y", f"run {TWO} {owned(TWO)}")
    two, first = read(*rows, "before file /b z").runs
    assert first.before == {"file /a": "x"} and two.before == {"file /b": "z"}
    assert first.after == {"file /a": "y"} and two.after is None


def test_what_stands_now_and_the_lock_are_read() -> None:
    found = read(
        "profile absent /etc/nm/a b", "current file /etc/x y z", f"lock alive {owned(TWO)}", f"held 7.1 {TWO}"
    )
    assert found.current == {"profile /etc/nm/a b": "absent", "file /etc/x": "y z"}
    assert found.lock == Lock(owner(TWO), True, TWO, "7.1")
    mixed = read(f"lock alive {owned(TWO)}", f"run {ONE} {owned(ONE)}", "before file /c d", "current file /a b")
    assert mixed.lock == Lock(owner(TWO), True) and mixed.current == {"file /a": "b"}
    assert mixed.runs[0].before == {"file /c": "d"}
    for word, alive in (("dead", False), ("unknown", None), ("zebra", None)):
        assert read(f"lock {word} {owned(TWO)}").lock == Lock(owner(TWO), alive)


def test_a_row_that_is_none_is_refused() -> None:
    def none(*rows: str) -> None:
        with pytest.raises(ValueError):
            read(*rows)

    each_row(
        {
            "of no run": ("step 1 begun x",),
            "of no kind, before a run": ("zebra x",),
            "of no kind, in a run": (f"run {ONE} {owned(ONE)}", "zebra x"),
            "a holder without a lock": ("held 7.1 x",),
            "a name that is none": (f"run ../x {owned(ONE)}",),
            "a number that is none": (f"run {ONE} {owned(ONE)}", "number x"),
        },
        none,
    )
    with pytest.raises(ValueError, match="cannot read the row 'zebra' of the journal"):
        one("zebra x")
    with pytest.raises(ValueError, match="cannot read the row 'zebra' of the journal"):
        read("zebra x")


def test_what_a_power_cut_tore_is_lacking_or_left_out() -> None:
    assert one("after end ").lacks == ("after",) and one("after end x").after is None
    assert one("after end 20").after == {}
    assert one("lacks a", "after end x", "lacks b").lacks == ("a", "after", "b")
    assert one("network x y /z").network == {}
    assert one(f"network {SHA} {OTHER} /z", "network x y /z", f"network absent {OTHER} /y").network == {
        "profile /z": (SHA, OTHER),
        "profile /y": ("absent", OTHER),
    }
    assert one("left a\tb", "left c").left == (Left("a", "b"), Left("c", ""))
    assert one("number 3").wrote == {} and one().wrote is None
    assert one("wrote hold x held", "number 3").wrote == {"hold x": ("held",)}


def test_what_a_run_wrote_is_kept_value_by_value() -> None:
    rows = (f"wrote file /x {FILE}", f"wrote file /x {FILE}", "wrote file /x absent", f"wrote file /x {FILE}")
    assert one(*rows).wrote == {"file /x": (FILE, "absent", FILE)}
    assert one("wrote file /x 644 root:root abc", "wrote file /y").wrote == {}
    assert one("wrote hold a held", f"wrote file /l link root:root {SHA}").wrote == {
        "hold a": ("held",),
        "file /l": (f"link root:root {SHA}",),
    }
    assert one("wrote file /x 64400 root:root " + SHA, f"wrote file /x absent {SHA}").wrote == {}


STEPS: Mapping[str, tuple[tuple[str, ...], tuple[Step, ...]]] = {
    "begun": (("1 begun A b",), (Step("A b", 1),)),
    "ended": (("1 begun A", "2 ended 3 A"), (Step("A", 1, 2, 3),)),
    "two": (("1 begun A", "2 ended 0 A", "3 begun B"), (Step("A", 1, 2, 0), Step("B", 3))),
    "two commands of one": (("1 begun A", "2 ended 0 A", "3 begun A"), (Step("A", 1),)),
    "and both ended": (("1 begun A", "2 ended 0 A", "3 begun A", "4 ended 5 A"), (Step("A", 1, 4, 5),)),
    "three": (
        ("1 begun B", "2 ended 0 B", "3 begun A", "4 ended 0 A", "5 begun A", "6 ended 7 A"),
        (Step("B", 1, 2, 0), Step("A", 3, 6, 7)),
    ),
    "back to the first": (
        ("1 begun A", "2 ended 0 A", "3 begun B", "4 ended 0 B", "5 begun A"),
        (Step("A", 1, 2, 0), Step("B", 3, 4, 0), Step("A", 5)),
    ),
    "an end of an earlier one": (
        ("1 begun B", "2 ended 0 A", "2 begun C", "3 ended 0 B"),
        (Step("B", 1), Step("C", 2)),
    ),
    "an end that comes before in a list of words": (("1 begun A", "2 about 0 A"), (Step("A", 1),)),
    "an end of another": (("1 begun A", "2 ended 0 B"), (Step("A", 1),)),
    "an end of none": (("2 ended 0 A",), ()),
    "a torn clock": (("x begun A", "1 begun A", "y ended 0 A"), (Step("A", 1),)),
    "a torn status": (("1 begun A", "2 ended x A"), (Step("A", 1),)),
    "another word": (("1 began A", "1 zebra A"), ()),
    "an end that is no word of ours": (("1 begun A", "2 zebra 0 A"), (Step("A", 1),)),
}


def test_commands_become_steps() -> None:
    def holds(rows: tuple[str, ...], steps: tuple[Step, ...]) -> None:
        assert one(*(f"step {row}" for row in rows)).steps == steps

    each_row(STEPS, holds)


# --- a run


def test_it_is_kept_below_one_folder_and_looks_at_each_file_of_ours_and_at_what_was_set_aside() -> None:
    assert journal.ROOT == "/var/lib/sparkrig"
    aside = [path for path in journal.PATHS if path.endswith(".before-sparkrig")]
    assert "/etc/nccl.conf.before-sparkrig" in aside and not any(path.count("sparkrig") > 1 for path in aside)
    assert {*journal.PATHS} - {*aside} == {*WRITTEN}


def test_runs_are_newest_first_by_their_numbers_and_without_by_clock_and_name() -> None:
    numbered = [Run(ONE, owner(ONE), number=2), Run(TWO, replace(owner(TWO), since=1), number=1)]
    assert [run.order for run in numbered] == [(2, 0, ONE), (1, 0, TWO)]
    older = [Run(ONE, replace(owner(ONE), since=9)), Run(TWO, owner(TWO))]
    assert [run.order for run in older] == [(0, 9, ONE), (0, 1000, TWO)]
    rows = [
        f"run {TWO} {owned(TWO)}",
        "number 1",
        f"run {ONE} {owned(ONE)}",
        "number 2",
        f"run {THREE} {owned(THREE)}",
    ]
    assert [run.id for run in read(*rows).runs] == [ONE, TWO, THREE]


def test_a_run_says_whether_it_is_torn_garbled_armed_or_moved_the_network() -> None:
    begun, ended = Step("A", 1), Step("A", 1, 2, 0)
    torn = {(begun,): True, (ended,): False, (): False, (begun, ended): False, (ended, begun): True}
    for steps, expected in torn.items():
        assert Run(ONE, owner(ONE), steps).torn is expected
    assert not Run(ONE, owner(ONE), (begun,), after={}).torn
    assert Run(ONE, Owner()).garbled and not Run(ONE, owner(ONE)).garbled
    for guard, armed, moved in (
        ("armed x", True, False),
        ("applied", True, False),
        ("committed x", False, True),
        ("rolled-back x", False, False),
        ("", False, False),
        ("zebra", False, False),
        ("x armed", False, False),
        ("x committed", False, False),
        ("bommitted", False, False),
    ):
        run = Run(ONE, owner(ONE), guard=guard)
        assert (run.armed, run.moved_network) == (armed, moved), guard


def test_a_journal_finds_its_runs_and_leaves_out_what_is_garbled() -> None:
    good, bad = Run(ONE, owner(ONE)), Run(TWO, Owner())
    known = Journal(1, runs=(bad, good))
    assert known.readable == (good,) and known.find(ONE) is good and known.find(TWO) is bad
    assert known.find(THREE) is None
    assert known.left_out() == [
        f"run {TWO} is left out: /var/lib/sparkrig/runs/{TWO}/run.json is gone or cannot be understood"
    ]


# --- what a run changed


def test_a_run_changed_what_it_wrote_and_packages() -> None:
    run = Run(
        ONE,
        owner(ONE),
        before={"file /a": "1", "package p": "1", "hold h": "held"},
        after={"file /a": "2", "package p": "2", "profile /n": "9", "file /new": "3"},
        wrote={"file /a": ("5", "2"), "file /b": ("absent",), "file /same": ("x", "absent")},
        network={"profile /n": ("8", "9"), "profile /m": ("7", "7")},
    )
    known = Journal(1, runs=(run,))
    assert journal.changed(run, known) == {"file /a": ("1", "2"), "package p": ("1", "2")}
    moved = replace(run, guard="committed")
    assert list(journal.changed(moved, Journal(1, runs=(moved,)))) == ["file /a", "package p", "profile /n"]
    older = replace(run, wrote=None)
    assert journal.changed(older, Journal(1, runs=(older,))) == {
        "file /a": ("1", "2"),
        "file /new": ("absent", "3"),
        "hold h": ("held", "absent"),
        "package p": ("1", "2"),
    }


def test_what_was_left_is_of_the_next_run_or_of_now() -> None:
    first = Run(ONE, owner(ONE), before={"file /a": "1"})
    second = Run(TWO, owner(TWO), before={"file /a": "2"})
    third = Run(THREE, owner(THREE), before={"file /a": "3"})
    known = Journal(1, runs=(third, second, first), current={"file /a": "4"})
    assert [journal.differing(run, known) for run in known.runs] == [
        {"file /a": ("3", "4")},
        {"file /a": ("2", "3")},
        {"file /a": ("1", "2")},
    ]
    whole = replace(first, before={"file /a": "1", "file /same": "x"}, after={"file /a": "9", "file /same": "x"})
    assert journal.differing(whole, replace(known, runs=(third, whole))) == {"file /a": ("1", "9")}


def test_what_stood_there_is_of_the_network_first() -> None:
    run = Run(ONE, owner(ONE), before={"file /a": "1", "profile /n": "2"}, network={"profile /n": ("8", "9")})
    assert [journal.stood(run, item) for item in ("file /a", "profile /n", "file /b")] == ["1", "8", "absent"]
    assert journal.stood(replace(run, network=None), "profile /n") == "2"


# --- how it ended

BEGUN, WELL, BAD = Step("A", 1), Step("A", 1, 2, 0), Step("A", 1, 2, 3)


def test_how_a_run_ended() -> None:
    base = Run(ONE, owner(ONE))
    held = Lock(owner(ONE), True, "")
    rows: Mapping[str, tuple[Run, Lock | None, str]] = {
        "done": (replace(base, ended=0), held, "done"),
        "running, by the owner": (base, held, "running"),
        "running, by the lock": (base, Lock(Owner(), True, ONE), "running"),
        "its lock is dead": (base, replace(held, alive=False), "interrupted"),
        "its lock is unknown": (base, replace(held, alive=None), "interrupted"),
        "the lock of another": (base, Lock(owner(TWO), True, TWO), "interrupted"),
        "rolled back": (replace(base, guard="rolled-back x", steps=(BAD,)), None, "rolled back"),
        "a trial rolled back": (replace(base, trial="its answer is garbage", steps=(BAD,)), None, "rolled back"),
        "failed": (replace(base, steps=(WELL, BAD)), None, "failed"),
        "broke off after a step": (replace(base, steps=(BAD, WELL)), None, "interrupted"),
        "broke off within one": (replace(base, steps=(BEGUN,)), None, "interrupted"),
        "had not begun": (base, None, "interrupted"),
    }

    def holds(run: Run, lock: Lock | None, expected: str) -> None:
        assert journal.outcome(run, Journal(1, lock, (run,))) == expected

    each_row(rows, holds)


def test_how_a_run_ended_in_words() -> None:
    base = Run(ONE, owner(ONE))
    held = Lock(owner(ONE), True, "")

    def told(run: Run, lock: Lock | None, expected: str) -> None:
        assert journal.ending(run, Journal(1, lock, (run,))) == expected

    each_row(
        [
            (replace(base, steps=(WELL, WELL), ended=0), None, "done, 2 steps"),
            (replace(base, steps=(WELL, BAD)), None, "failed at step 2 (A)"),
            (replace(base, steps=(WELL, BEGUN)), held, "running, at step 2 (A)"),
            (replace(base, steps=(WELL,)), None, "interrupted after step 1 (A)"),
            (base, None, "interrupted before its first step"),
            (replace(base, guard="rolled-back b: no carrier"), None, "rolled back: b: no carrier"),
            (replace(base, trial="garbage"), None, "rolled back: garbage"),
        ],
        told,
    )


def test_a_run_is_undone_by_one_that_stands() -> None:
    first = Run(ONE, owner(ONE), ended=1)
    undo = Run(TWO, owner(TWO, undoes=ONE), ended=2, left=(Left("a", "b"),))
    redo = Run(THREE, owner(THREE, undoes=TWO), ended=3)
    assert journal.undone(Journal(1, runs=(undo, first))) == {ONE: undo}
    assert journal.outcome(first, Journal(1, runs=(undo, first))) == "undone"
    assert journal.undone(Journal(1, runs=(redo, undo, first))) == {TWO: redo}
    assert journal.undone(Journal(1, runs=(replace(undo, ended=None), first))) == {}
    again = Run(THREE, owner(THREE, undoes=ONE), ended=3)
    assert journal.undone(Journal(1, runs=(again, undo, first))) == {ONE: again}
    known = Journal(1, runs=(undo, first))
    assert journal.left(first, known) == journal.left(undo, known) == undo.left
    assert journal.left(replace(first, left=(Left("x", "y"),)), Journal(1, runs=(first,))) == (Left("x", "y"),)


def test_where_a_run_broke_off() -> None:
    base = Run(ONE, owner(ONE))
    assert journal.where(base) == "before its first step"
    assert journal.where(replace(base, steps=(WELL, BEGUN))) == "at step 2 (A)"
    assert journal.where(replace(base, steps=(WELL,))) == "after step 1 (A)"
    assert journal.where(replace(base, steps=(WELL, WELL, BAD))) == "at step 3 (A)"


# --- what to do about it


def test_a_run_that_did_not_end_is_run_again_and_one_rolled_back_is_looked_into() -> None:
    base = Run(ONE, owner(ONE))
    again = "this does what is missing: pyinfra pair.py deploys/cluster.py"
    assert recovery.advice(base, Journal(1, runs=(base,))) == again
    for ended in (replace(base, ended=1), replace(base, steps=(BAD,))):
        assert recovery.advice(ended, Journal(1, runs=(ended,))) == again
    assert recovery.advice(base, Journal(1, Lock(owner(ONE), True), (base,))) == again
    taken_back = Journal(1, runs=(Run(TWO, owner(TWO, undoes=ONE), ended=2), base))
    assert recovery.advice(base, taken_back) == again
    for guard, verb in (("rolled-back no answer on rail 0", "topology"), ("rolled-back x", "doctor")):
        back = replace(base, guard=guard)
        said = recovery.advice(back, Journal(1, runs=(back,)))
        assert said == (
            "the network is as it was before; mend first what this shows: "
            f"sparkrig {verb} pair.py; and then: pyinfra pair.py deploys/cluster.py"
        )
    serve = replace(base, owner=replace(base.owner, why="pyinfra x.py deploys/serve.py --data y"))
    assert recovery.again(serve) == "pyinfra pair.py deploys/serve.py"
    tried = replace(serve, trial="garbage", steps=(BAD,))
    assert recovery.advice(tried, Journal(1, runs=(tried,))) == (
        "the server is as it was before; mend first what its log shows: sudo journalctl -u sparkrig-serve --since "
        "-1h; and then: pyinfra pair.py deploys/serve.py"
    )
    named = replace(tried, owner=replace(base.owner, why="pyinfra x.py deploys/serve.py --data serve_name=embed"))
    assert recovery.again(named) == "pyinfra pair.py deploys/serve.py --data serve_name=embed"
    assert "journalctl -u sparkrig-serve-embed --since" in recovery.advice(named, Journal(1, runs=(named,)))
    odd = replace(tried, owner=replace(base.owner, why="pyinfra x.py deploys/serve.py --data serve_name=$(id)"))
    assert recovery.again(odd) == "pyinfra pair.py deploys/serve.py"
    undo = replace(base, owner=owner(ONE, undoes=TWO))
    assert recovery.again(undo) == f"sparkrig undo pair.py {TWO}"


def test_a_rollback_of_one_half_is_one_of_both() -> None:
    back = Run(ONE, owner(ONE), guard="rolled-back no answer on rail 0")
    still = Run(ONE, owner(ONE), steps=(BEGUN,))
    found = journal.shared(
        {"a": Journal(1, runs=(back,)), "b": Journal(2, runs=(still,)), "c": Journal(3, runs=(still,))}
    )
    assert found["a"].runs == (back,)
    assert found["b"].runs[0].guard == "rolled-back with a: no answer on rail 0"
    assert found["c"].runs == (still,), "of another pair, with a run of the same id"
    for kept in (replace(still, ended=1), replace(still, guard="armed")):
        assert journal.shared({"a": Journal(1, runs=(back,)), "b": Journal(2, runs=(kept,))})["b"].runs == (kept,)
    tried = journal.shared({"a": Journal(1, runs=(replace(still, trial="x"),)), "b": Journal(2, runs=(still,))})
    assert (tried["b"].runs[0].trial, tried["b"].runs[0].guard) == ("with a: x", ""), "the network did not change"
    failed = replace(still, steps=(BAD,))
    assert journal.shared({"a": Journal(1, runs=(back,)), "b": Journal(2, runs=(failed,))})["b"].runs[0].guard
    held = Lock(owner(ONE), True)
    assert journal.shared({"a": Journal(1, held, (still,)), "b": Journal(2, runs=(still,))})["b"].runs == (still,)
    other = replace(still, id=TWO)
    assert journal.shared({"a": Journal(1, runs=(back,)), "b": Journal(2, runs=(other,))})["b"].runs == (other,)


def test_the_last_run_that_counts_is_unsettled_until_a_later_one_is_done() -> None:
    done, broken = Run(ONE, owner(ONE), ended=1), Run(TWO, owner(TWO))
    runs = Run(THREE, owner(THREE))
    held = Lock(owner(THREE), True)
    assert journal.unsettled(Journal(1, runs=(broken, done))) is broken
    assert journal.unsettled(Journal(1, runs=(done, broken))) is None
    assert journal.unsettled(Journal(1, held, (runs, broken, done))) is broken
    assert journal.unsettled(Journal(1, runs=(Run(THREE, Owner()), done))) is None
    undo = Run(THREE, owner(THREE, undoes=TWO), ended=3)
    assert journal.unsettled(Journal(1, runs=(undo, broken))) is None
    assert journal.unsettled(Journal(1)) is None
