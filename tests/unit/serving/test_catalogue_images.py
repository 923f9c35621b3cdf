"""The catalogue's images: each model starts by its name with one that can be pulled, or says why not."""

from __future__ import annotations

import re

from sparkrig.refusal import Refusal
from sparkrig.serving.flags import version
from sparkrig.serving.io import vllm_flags
from sparkrig.serving.io.catalogue_files import catalogue
from sparkrig.serving.model import Launch, Model
from tests.tables import each_row
from tests.unit.servings import asked

MODELS = catalogue().models
LAUNCHES = {
    f"{model.name}, {launch.title}": (model, launch) for model in MODELS.values() for launch in model.launches
}
# registry, with a dot in it, or docker's own; namespaces; name; tag
IMAGE = re.compile(
    r"(?:[a-z0-9-]+(?:\.[a-z0-9-]+)+/)?(?:[a-z0-9]+(?:[._-][a-z0-9]+)*/)+[a-z0-9._-]+:[\w][\w.-]{0,127}"
)
RELEASE = re.compile(r":v(\d+\.\d+\.\d+)(?:-|$)")
NGC = {
    "26.02-py3": "0.15.1+befbc472",
    "26.03-py3": "0.17.1",
    "26.04-py3": "0.19.0",
    "26.06-py3": "0.22.1",
    "26.08-py3": "0.27.1",
    "26.09-py3": "0.29.0",
}


def test_a_model_starts_by_its_name_or_says_why_not() -> None:
    def holds(name: str) -> None:
        model, launch = MODELS[name], MODELS[name].by_name()
        try:
            wish = asked(name, max(2, model.nodes, model.best().nodes))
        except Refusal as refusal:
            assert model.obstacle == refusal.what and "serve_image" in refusal.cure
            return
        assert not model.obstacle and launch and wish.image == launch.pulled
        assert IMAGE.fullmatch(launch.image), launch.image

    each_row([*MODELS], holds)
    assert sum(not model.obstacle for model in MODELS.values()) >= 5


def test_a_launch_has_an_image_that_can_be_pulled_or_an_obstacle() -> None:
    def holds(_: Model, launch: Launch) -> None:
        assert IMAGE.fullmatch(launch.image) or launch.obstacle or not launch.image, launch.image
        assert launch.image or not (launch.vllm or launch.digest or launch.obstacle)
        draft = launch.flags.get("speculative-config")
        outside = isinstance(draft, dict) and "model" in draft
        assert not outside or launch.obstacle, "the weights of the draft are in a repository of their own"

    each_row(LAUNCHES, holds)


def test_the_version_is_the_tag_s() -> None:
    def holds(_: Model, launch: Launch) -> None:
        release = RELEASE.search(launch.image)
        assert release is None or launch.vllm == release[1]
        if launch.image.startswith("nvcr.io/nvidia/vllm:"):
            assert launch.vllm == NGC.get(launch.image.rpartition(":")[2], "")

    each_row(LAUNCHES, holds)


def test_a_launch_sets_no_variable_that_the_vllm_of_its_image_has_stopped_to_read() -> None:
    """An image of unknown version, such as a nightly, is a new one."""
    tables = vllm_flags.knowledge()

    def holds(_: Model, launch: Launch) -> None:
        gone = {name: tables.variable_removed(name) for name in launch.environment}
        mine = version(launch.vllm) if launch.vllm else None
        assert [name for name, since in gone.items() if since and (mine is None or mine[:2] >= since)] == []

    each_row(LAUNCHES, holds)


def test_one_image_has_one_version_and_one_digest() -> None:
    told: dict[str, set[tuple[str, str]]] = {}
    for _, launch in LAUNCHES.values():
        told.setdefault(launch.image, set()).add((launch.vllm, launch.digest))
    assert {image: facts for image, facts in told.items() if image and len(facts) > 1} == {}
