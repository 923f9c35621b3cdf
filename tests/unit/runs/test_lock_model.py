"""What is read of a lock: who holds it, whether that run is there, and what is refused for it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from sparkrig.runs import lock
from sparkrig.runs.lock import Answer, Lock, Owner
from tests.tables import each_row

RUN, OTHER = "20261121T041500Z-cd34", "20261121T041000Z-ab12"
BY = {"run": RUN, "who": "ann@desk", "why": "pyinfra x.py deploys/cluster.py", "version": "0.9", "undoes": ""}
OURS = Owner(
    RUN, "ann@desk", "pyinfra x.py deploys/cluster.py", "0.9", "", "10.0.2.2", 1763698500, "b-1", ("a", "b")
)
LAST_SECOND = 253402300799  # of the year 9999


def kept(**changes: Any) -> str:
    by = {**BY, "hosts": ["a", "b"], **changes.pop("by", {})}
    return json.dumps({"from": "10.0.2.2", "since": 1763698500, "boot": "b-1", "by": by, **changes})


def test_an_owner_is_read_as_the_host_keeps_it() -> None:
    assert lock.owner(kept()) == OURS
    assert lock.owner(kept(by={"undoes": OTHER})).undoes == OTHER
    assert lock.owner(kept(since=0)) == replace(OURS, since=0)
    assert json.loads(lock.given(RUN, "ann", "x", "0.9", OTHER, ("a", "b"))) == {
        **{"run": RUN, "who": "ann", "why": "x", "version": "0.9", "undoes": OTHER, "hosts": ["a", "b"]}
    }
    assert lock.owner(kept(since=LAST_SECOND)).since == LAST_SECOND
    assert lock.owner(kept(by={"hosts": "a b"})).hosts == lock.owner(kept(by={"hosts": ["a", 1]})).hosts == ()
    many = lock.owner(kept(by={"hosts": [f"h{number}" + "x" * 300 for number in range(99)]})).hosts
    assert len(many) == 64 and {len(name) for name in many} == {253}


def test_an_owner_that_is_garbled_is_nobody_and_since_no_time() -> None:
    nobody = Owner("", "an unknown user", "an unknown reason", "", "", "", 0, "", ())

    def none(text: str) -> None:
        assert lock.owner(text) == nobody

    each_row(
        {
            "empty": ("",),
            "cut": (kept()[:-3],),
            "no object": ("[]",),
            "without its run": (json.dumps({"by": {}}),),
            "a run that is none": (kept(by={"run": "$(x)"}),),
            "an undone run that is none": (kept(by={"undoes": "../x"}),),
            "before 1970": (kept(since=-1),),
            "the year 10000": (kept(since=LAST_SECOND + 1),),
            "no number": (kept(since="soon"),),
        },
        none,
    )


def test_each_answer_to_a_lock_is_read() -> None:
    for found in ("free", "stale", "ours", "held", "unknown"):
        answer = lock.parse(f"lock {found} {kept()}\n")
        assert answer == Answer(found, OURS)
        assert answer.refused == (found in ("held", "unknown"))
    said = lock.parse(f"step 1763698501 begun Network | profiles\nlock held {kept()}\nlock free {kept()}\n")
    assert said == Answer("held", OURS, "Network | profiles")
    assert lock.parse(f"step 12 ended 1 Driver | hold\nzebra x\nlock free {kept()}\n").step == "Driver | hold"
    assert lock.parse(f"steps 12 begun x\nlock free {kept()}\n").step == ""


def test_what_is_no_answer_is_said_with_its_end() -> None:
    def none(text: str) -> None:
        with pytest.raises(ValueError, match="did not say what became of its lock") as raised:
            lock.parse(text)
        assert repr(text[-200:]) in str(raised.value)

    noise = "".join(f"row {number:04}\n" for number in range(90))
    each_row(
        ["", "lock perhaps {}", f"zebra held {kept()}", f"a free {kept()}", f"unlock held {kept()}", noise], none
    )


def test_a_refusal_names_the_holder_its_step_and_what_is_in_doubt() -> None:
    held = Answer("held", OURS, "Network | profiles").refusal("spark-b")
    who = "ann@desk (from 10.0.2.2) since 2025-11-21 04:15:00 UTC for: pyinfra x.py deploys/cluster.py"
    assert held.what == f"spark-b is locked by {who}, now at Network | profiles"
    assert held.cure == "wait for that run; if it is known to be dead: sparkrig unlock pair.py"
    doubt = Answer("unknown", OURS).refusal("spark-b")
    assert doubt.what == f"spark-b is locked by {who}; whether its session is still there cannot be told"
    for found in ("free", "stale", "ours", "zebra"):
        assert Answer(found, OURS).refusal("b").what == f"b is locked by {who}"


def test_a_lock_says_whether_its_run_is_there() -> None:
    ends = {
        True: "; its session is still there",
        False: "; that run is dead, and the next one takes the lock over",
        None: "; whether its session is still there cannot be told",
    }
    for alive, end in ends.items():
        assert Lock(OURS, alive).sentence == lock.sentence(OURS) + end
    unknown = "an unknown holder (the owner.json{} in /run/sparkrig/lock is empty or garbled)"
    assert lock.sentence(Owner()) == unknown.format("")
    assert lock.sentence(Owner(), RUN) == unknown.format(f" of run {RUN}")
    assert lock.sentence(Owner(RUN, "ann@desk", "x")) == "ann@desk since ? for: x"
    assert lock.sentence(Owner(RUN, "ann@desk", "x", since=1)) == "ann@desk since 1970-01-01 00:00:01 UTC for: x"


def test_a_holder_outlives_its_connection_by_two_seconds() -> None:
    """docs/safety.md says so, and the program that holds has the same number (test_programs)."""
    assert lock.TICK_S == 2
