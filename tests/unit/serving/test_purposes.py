"""What models are for, and which of them are proposed for a purpose."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import get_args

from sparkrig.refusal import Refusal
from sparkrig.serving import plan
from sparkrig.serving.io.catalogue_files import catalogue
from sparkrig.serving.model import Model, Purpose
from sparkrig.serving.purposes import PURPOSES, SMALL, Proposal, meant, proposed, rate
from sparkrig.serving.sizing import Room
from sparkrig.serving.wish import Sizing, Wish
from sparkrig.settings import Settings
from tests.tables import each_row

KNOWN = catalogue()


def fit(free_gib: float, barred: Collection[str] = ()) -> Callable[[Model], tuple[Wish, Sizing]]:
    """A lone Spark with that much free. barred: models that it refuses."""

    def asked(model: Model) -> tuple[Wish, Sizing]:
        if model.name in barred:
            raise Refusal("it is barred here", "another one")
        mine = Settings(model=model.name)
        wish = plan.wish(KNOWN.find, mine, 1)
        return wish, plan.size(wish, mine, Room(121.6, free_gib))

    return asked


def named(purpose: str, free_gib: float = 110.0, barred: Collection[str] = ()) -> list[str]:
    return [each.wish.model.name for each in whole(purpose, free_gib, barred)]


def whole(purpose: str, free_gib: float = 110.0, barred: Collection[str] = ()) -> list[Proposal]:
    return proposed(KNOWN.models.values(), purpose, fit(free_gib, barred))


def test_each_purpose_has_a_model_that_one_spark_starts_by_its_name() -> None:
    assert {*PURPOSES} == {*get_args(Purpose), SMALL}

    def holds(purpose: str) -> None:
        found = named(purpose)
        assert 0 < len(found) <= 3
        for name in found:
            model = KNOWN.models[name]
            assert meant(model, purpose) and not model.obstacle and model.standing in ("recommended", "works")

    each_row([*PURPOSES], holds)


def test_recommended_ones_come_first_and_then_the_faster_ones() -> None:
    ranks = [(each.wish.model.standing, -each.rate.value if each.rate else 0) for each in whole("coding")]
    assert ranks == sorted(ranks) and ranks[0][0] == "recommended"
    rates = [each.rate.value for each in whole(SMALL) if each.rate]
    assert rates == sorted(rates, reverse=True) and len(rates) == 3


def test_what_the_host_refuses_or_has_no_room_for_is_not_proposed() -> None:
    first = named("coding")[0]
    assert first not in named("coding", barred=[first])
    for each in whole("chat", free_gib=40.0):
        assert each.sizing.utilization * 121.6 <= 40.0
    assert named("chat", free_gib=8.0) == []


def test_a_launch_that_takes_no_pictures_is_not_proposed_for_pictures() -> None:
    def blind(model: Model) -> tuple[Wish, Sizing]:
        wish, sizing = fit(110.0)(model)
        return replace(wish, flags={**wish.flags, "language-model-only": True}), sizing

    assert proposed(KNOWN.models.values(), "vision", blind) == []
    assert len(proposed(KNOWN.models.values(), "coding", blind)) == 3


def test_a_rate_is_of_the_checkpoint_that_is_asked_for() -> None:
    model = KNOWN.models["qwen3.6-35b-a3b"]
    for checkpoint in model.checkpoints:
        found = rate(model, checkpoint)
        assert found is None or found.checkpoint in ("", checkpoint.id)
    best = rate(model)
    assert best and best.kind == "measured" and best.source in KNOWN.sources
