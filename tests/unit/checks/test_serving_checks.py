"""The checks of a server: each thing that moved is found under its own id and no other."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from sparkrig.facts.spark import Spark as SparkFact
from sparkrig.files import File
from sparkrig.fleet import Fleet
from sparkrig.operations.subject import subject
from sparkrig.resources.check import Check
from sparkrig.resources.serving import SERVING
from sparkrig.resources.state import State
from sparkrig.serving import served
from sparkrig.serving.wish import Sizing
from tests.plan.conftest import FABRIC
from tests.plan.serving import BOTH, HELD, IMAGE, OTHER, SOLO, Spark, files, in_another_store, serving
from tests.plan.serving_clusters import Serving
from tests.tables import each_row, table

A, B = "spark-a", "spark-b"
PAIR = {name: {"pair": "sparks", "fabric": FABRIC[f"@fake/{name}"]} for name in (A, B)}


def state(spark: Spark, letter: str = "a") -> State:
    return SparkFact().process(spark.printed(letter).splitlines())


def found(a: Spark, b: Spark, name: str = A, **data: Any) -> list[Check]:
    fleet = Fleet.parse({each: {**values, **data} for each, values in PAIR.items()})
    return [*SERVING.checks(subject(name, fleet, {A: state(a), B: state(b, "b")}))]


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
    assert len(found(both("a"), both("b"))) == 12
    assert wrong(ray("a"), ray("b")) == {} and len(found(ray("a"), ray("b"))) == 13
    secrets = {"RAY_AUTH_TOKEN": "env:RAY_AUTH_TOKEN"}
    assert len(found(ray("a", token=""), ray("b"), secrets=secrets)) == 12, "one of their own"
    assert wrong(serving(SOLO, "a"), serving(SOLO, "b")) == {} == wrong(serving(SOLO), serving(SOLO, "b"), B)


def test_a_pair_with_one_image_in_two_stores_holds_in_everything() -> None:
    a, b = both("a", contents={IMAGE: HELD}), in_another_store(both("b"), BOTH, 1, 2)
    assert wrong(a, b) == {} == wrong(a, b, B)
    assert wrong(replace(a, contents={IMAGE: "d4" * 32}), b) == {"serve.alike": "sha256:a1a1a1a1a1a1"}
    assert wrong(replace(a, contents={}), b) == {"serve.alike": "sha256:a1a1a1a1a1a1"}, "it may be another"


STUCK = "2026-11-24T12:03:00Z stuck restarted the engine stood still for 300 s"
SMALLER = files(BOTH, 0, 2, sized=Sizing(0.7, 32768))
WHOLE = files(BOTH, 0, 2)


def rewritten(made: list[File], path: str, pattern: str, text: str) -> list[File]:
    """The files with another text in one of them."""
    return [
        replace(each, content=re.sub(pattern, text, each.content, flags=re.S)) if each.path == path else each
        for each in made
    ]


FILES = {
    "edited": rewritten(WHOLE, served.SERVICE, r"\Z", "#"),
    "gone": [each for each in WHOLE if each.path != served.SOCKET],
    "smaller": SMALLER,
}


def changed(letter: str, ray: bool, changes: dict[str, Any] | None) -> Spark:
    """One half, with what a row of the table changes of it."""
    given = dict(changes or {})
    if "unit" in given:
        given["unit"] = dict(zip(("ActiveState", "UnitFileState"), given["unit"], strict=True))
    if "files" in given:
        given["files"] = FILES[given["files"]]
    if given.get("image") == "other":
        given["image"] = OTHER
    return both(letter, ray=ray, **given)


def test_what_moved_is_found_by_its_own_name() -> None:
    def holds(
        expected: dict[str, str],
        a: dict[str, Any] | None = None,
        b: dict[str, Any] | None = None,
        ray: bool = False,
    ) -> None:
        assert wrong(changed("a", ray, a), changed("b", ray, b)) == expected

    each_row(table(__file__, "what moved is found by its own name"), holds)


def test_what_to_do_about_an_engine_that_stood_still() -> None:
    (cure,) = [each.cure for each in found(both("a", events=(STUCK,)), both("b")) if each.id == "serve.stuck"]
    assert cure.startswith("pyinfra pair.py deploys/serve.py; if it comes again, try another --attention-backend")


def test_what_to_do_about_a_server_that_is_held() -> None:
    held = "2026-11-24T13:00:00Z boots held 2 boots ended while it loaded"
    (cure,) = [each.cure for each in found(both("a", events=(held,)), both("b")) if each.id == "serve.boots"]
    assert cure.startswith("sudo systemctl start sparkrig-serve; ")


def test_the_weights_of_a_draft_are_looked_after() -> None:
    kept = replace(WHOLE[-1], content=WHOLE[-1].content.replace('"draft": ""', '"draft": "a/draft"'))
    drafted = both("a", files=[*WHOLE[:-1], kept])
    assert wrong(drafted, both("b")) == {"serve.weights": "absent"}
    there = replace(drafted, weights={**drafted.weights, "a/draft": ("whole", 5)})
    assert wrong(there, both("b")) == {}


def test_a_key_that_came_after_the_deploy_and_an_address_that_went_are_found() -> None:
    secrets = {"VLLM_API_KEY": "env:KEY"}
    said = "127.0.0.1:8000; asks for no key"
    assert wrong(both("a"), both("b"), secrets=secrets) == {"serve.access": said}
    kept = replace(WHOLE[-1], content=WHOLE[-1].content.replace('"management": ""', '"management": "10.9.9.9"'))
    gone = both("a", files=[*WHOLE[:-1], kept])
    assert wrong(gone, both("b")) == {"serve.access": f"{said}, and 10.9.9.9 is no address of this host"}


COMMIT, LATER = "b5c939de8f75" + 28 * "4", "dc61ed29c478" + 28 * "4"


def test_the_commit_of_the_weights_is_the_declared_one_else_that_of_the_peer() -> None:
    """A copy of before commits were noted is of none that is known, which is nothing against it."""

    def holds(mine: str, theirs: str, declared: str | None, expected: dict[str, str]) -> None:
        a, b = both("a", commit=mine), both("b", commit=theirs)
        assert wrong(a, b, serve_revision=declared) == expected

    each_row(table(__file__, "the commit of the weights is the declared one else that of the peer"), holds)


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
    made = [*SERVING.checks(subject(A, fleet, {A: state(both("a"))}))]
    assert "serve.alike" not in {check.id for check in made}


# --- more than two


def of_cluster(name: str, serving: Serving, *sparks: Spark) -> dict[str, tuple[str, str]]:
    """What is wrong on that host of a cluster: want and found."""
    printed = (host.seen.splitlines() for host in serving.hosts(*sparks))
    states = {name: SparkFact().process(lines) for name, lines in zip(serving.names, printed, strict=True)}
    found = SERVING.checks(subject(name, serving.cluster.fleet, states))
    return {each.id: (each.want, each.found) for each in found if each.status != "ok"}


STAGES, SPARE = Serving(3, "ring", BOTH, {"serve_nodes": 3}), Serving(3, "ring", BOTH)


def test_a_cluster_as_it_was_deployed_has_nothing_wrong() -> None:
    for each in (STAGES, SPARE):
        assert [of_cluster(name, each, *each.up()) for name in each.names] == [{}, {}, {}]


def test_a_node_that_differs_is_named_by_the_others_and_by_itself() -> None:
    a, b, c = STAGES.up()
    odd = replace(c, commit="c" * 40, image=OTHER, images={**c.images, "other:1": OTHER})
    a, b = (replace(each, commit="a" * 40) for each in (a, b))
    assert of_cluster(A, STAGES, a, b, odd) == {
        "serve.alike": ("the image of spark-c (sha256:b2b2b2b2b2b2)", "sha256:a1a1a1a1a1a1"),
        "serve.revision": ("the commit of spark-c (cccccccccccc)", "aaaaaaaaaaaa"),
    }
    assert of_cluster("spark-c", STAGES, a, b, odd)["serve.revision"] == (
        "the commit of spark-a (aaaaaaaaaaaa)",
        "cccccccccccc",
    )


def test_the_spare_is_compared_with_nothing() -> None:
    a, b, c = SPARE.up()
    a, b, c = replace(a, commit="a" * 40), replace(b, commit="a" * 40), replace(c, commit="c" * 40, images={})
    assert [of_cluster(name, SPARE, a, b, c) for name in SPARE.names] == [{}, {}, {}]
