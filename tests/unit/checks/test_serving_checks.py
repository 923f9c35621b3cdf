"""The checks of a server: each thing that moved is found under its own id and no other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from sparkrig.checks import serving as checks
from sparkrig.checks.check import Check
from sparkrig.facts.spark import Spark as SparkFact
from sparkrig.fleet import Fleet
from sparkrig.look.state import State
from sparkrig.operations.subject import subject
from sparkrig.serving import served
from tests.plan.conftest import FABRIC
from tests.plan.serving import BOTH, HELD, IMAGE, OTHER, SOLO, Spark, in_another_store, serving
from tests.tables import each_row

A, B = "spark-a", "spark-b"
PAIR = {name: {"pair": "sparks", "fabric": FABRIC[f"@fake/{name}"]} for name in (A, B)}


def state(spark: Spark, letter: str = "a") -> State:
    return SparkFact().process(spark.printed(letter).splitlines())


def found(a: Spark, b: Spark, name: str = A, **data: Any) -> list[Check]:
    fleet = Fleet.parse({each: {**values, **data} for each, values in PAIR.items()})
    return [*checks.checks(subject(name, fleet, {A: state(a), B: state(b, "b")}, "pair.py"))]


def wrong(*args: Any, **data: Any) -> dict[str, str]:
    return {check.id: check.found for check in found(*args, **data) if check.status != "ok"}


def both(letter: str, **changes: Any) -> Spark:
    return serving(BOTH, letter, 2, **changes)


def ray(letter: str, **changes: Any) -> Spark:
    return both(letter, ray=True, **changes)


def test_nothing_is_asked_of_a_host_that_serves_nothing() -> None:
    assert found(Spark(), Spark()) == []


def test_a_model_that_is_declared_and_not_served_is_missing() -> None:
    (check,) = found(Spark(), Spark(), model="gpt-oss-120b")
    assert (check.id, check.want, check.status) == ("serve.model", "gpt-oss-120b", "missing")
    assert check.cure == "pyinfra pair.py deploys/serve.py"


def test_a_pair_that_serves_holds_in_everything() -> None:
    assert wrong(both("a"), both("b")) == {} == wrong(both("a"), both("b"), B)
    assert len(found(both("a"), both("b"))) == 9
    assert wrong(ray("a"), ray("b")) == {} and len(found(ray("a"), ray("b"))) == 10
    secrets = {"RAY_AUTH_TOKEN": "env:RAY_AUTH_TOKEN"}
    assert len(found(ray("a", token=""), ray("b"), secrets=secrets)) == 9, "one of their own"
    assert wrong(serving(SOLO, "a"), serving(SOLO, "b")) == {} == wrong(serving(SOLO), serving(SOLO, "b"), B)


def test_a_pair_with_one_image_in_two_stores_holds_in_everything() -> None:
    a, b = both("a", contents={IMAGE: HELD}), in_another_store(both("b"), BOTH, 1, 2)
    assert wrong(a, b) == {} == wrong(a, b, B)
    assert wrong(replace(a, contents={IMAGE: "d4" * 32}), b) == {"serve.alike": "sha256:a1a1a1a1a1a1"}
    assert wrong(replace(a, contents={}), b) == {"serve.alike": "sha256:a1a1a1a1a1a1"}, "it may be another"


def edited(spark: Spark) -> Spark:
    files = [
        replace(each, content=each.content + "#") if each.path == served.SERVICE else each for each in spark.files
    ]
    return replace(spark, files=files)


def gone(spark: Spark) -> Spark:
    return replace(spark, files=[each for each in spark.files if each.path != served.SOCKET])


STUCK = "2026-11-24T12:03:00Z stuck restarted the engine stood still for 300 s"
GONE = "2026-11-24T12:30:00Z stuck stopped the engine stood still for 300 s"
LOW = "2026-11-24T13:00:00Z memory restarted 19 of 1000"
STOOD = "the server was restarted at 2026-11-24T12:03:00Z: the engine stood still for 300 s"
STOPPED = {"ActiveState": "inactive", "UnitFileState": "enabled"}
NOT_ENABLED = {"ActiveState": "active", "UnitFileState": "disabled"}


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (both("a", unit=STOPPED, image=""), both("b"), {"serve.unit": "inactive, enabled"}),
        (both("a", unit=NOT_ENABLED), both("b"), {"serve.unit": "active, not enabled"}),
        (edited(both("a")), both("b"), {"serve.files": "another sparkrig-serve.service"}),
        (gone(both("a")), both("b"), {"serve.files": "another sparkrig-serve-port.socket"}),
        (both("a", images={}), both("b"), {"serve.image": "absent"}),
        (both("a"), both("b", image=OTHER), {"serve.alike": "sha256:a1a1a1a1a1a1"}),
        (
            both("a", image=OTHER),
            both("b"),
            {"serve.image": "sha256:b2b2b2b2b2b2", "serve.alike": "sha256:b2b2b2b2b2b2"},
        ),
        (both("a", weights={BOTH: ("damaged", 5)}), both("b"), {"serve.weights": "damaged"}),
        (both("a", weights={}), both("b"), {"serve.weights": "absent"}),
        (both("a", health=503), both("b"), {"serve.answer": "/health gives 503"}),
        (both("a", health=0), both("b"), {"serve.answer": "/health gives nothing yet"}),
        (both("a", port="inactive"), both("b"), {"serve.answer": "answers, port 8000 is closed"}),
        (ray("a", token=""), ray("b"), {"serve.token": "none"}),
        (ray("a"), ray("b", token=""), {"serve.token": "its peer has none"}),
        (ray("a", token=""), ray("b", token=""), {"serve.token": "none"}),
        (ray("a", token="77"), ray("b"), {"serve.token": "another"}),
        (both("a", events=(STUCK,)), both("b"), {"serve.stuck": STOOD}),
        (
            both("a", unit=STOPPED, image="", events=(STUCK, GONE)),
            both("b"),
            {
                "serve.unit": "inactive, enabled",
                "serve.stuck": "the server was stopped at 2026-11-24T12:30:00Z: the engine stood still for 300 s",
            },
        ),
        (
            both("a", events=(STUCK, LOW)),
            both("b", events=(LOW,)),
            {"serve.stuck": STOOD, "serve.memory": "the server was restarted at 2026-11-24T13:00:00Z: 19 of 1000"},
        ),
        (both("a", trial=True), both("b"), {"serve.trial": "a trial broke off"}),
    ],
    ids=lambda value: ", ".join(value) if isinstance(value, dict) else "",
)
def test_what_moved_is_found_by_its_own_name(a: Spark, b: Spark, expected: dict[str, str]) -> None:
    assert wrong(a, b) == expected


def test_what_to_do_about_an_engine_that_stood_still() -> None:
    (cure,) = [each.cure for each in found(both("a", events=(STUCK,)), both("b")) if each.id == "serve.stuck"]
    assert cure.startswith("pyinfra pair.py deploys/serve.py; if it comes again, try another --attention-backend")


COMMIT, LATER = "b5c939de8f75" + 28 * "4", "dc61ed29c478" + 28 * "4"


def test_the_commit_of_the_weights_is_the_declared_one_else_that_of_the_peer() -> None:
    """A copy of before commits were noted is of none that is known, which is nothing against it."""

    def holds(mine: str, theirs: str, declared: str | None, expected: dict[str, str]) -> None:
        a, b = both("a", commit=mine), both("b", commit=theirs)
        assert wrong(a, b, serve_revision=declared) == expected

    each_row(
        [
            (COMMIT, COMMIT, None, {}),
            (COMMIT, "", None, {}),
            ("", COMMIT, None, {}),
            (COMMIT, LATER, None, {"serve.revision": "b5c939de8f75"}),
            (COMMIT, LATER, COMMIT, {}),
            (COMMIT, COMMIT, LATER, {"serve.revision": "b5c939de8f75"}),
            ("", "", LATER, {"serve.revision": "not known"}),
        ],
        holds,
    )


@pytest.mark.parametrize(
    ("model", "ids"),
    [
        ("qwen3-235b-a22b", set()),
        (BOTH, set()),
        ("Qwen3-235B-A22B-GPTQ-Int4", set()),
        ("gpt-oss-120b", {"serve.model"}),
    ],
)
def test_the_inventory_may_name_another_model(model: str, ids: set[str]) -> None:
    assert set(wrong(both("a"), both("b"), model=model)) == ids


def test_one_half_that_could_not_be_read_is_not_compared() -> None:
    fleet = Fleet.parse(PAIR)
    made = [*checks.checks(subject(A, fleet, {A: state(both("a"))}, "pair.py"))]
    assert "serve.alike" not in {check.id for check in made}
