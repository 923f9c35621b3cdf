"""A resource registers once: what is derived from it is there, and nothing else is."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from sparkrig.deploys.step import steps
from sparkrig.facts import resources
from sparkrig.facts.spark import NOUNS
from sparkrig.fleet import Fleet
from sparkrig.resources.check import Subject
from sparkrig.resources.resource import Resource
from sparkrig.resources.state import RESOURCES, State
from sparkrig.resources.time import TIME, Time
from sparkrig.runs import managed_files

ROOT = Path(__file__).resolve().parents[3]


def test_each_resource_has_its_checks_and_what_they_mean() -> None:
    for resource in RESOURCES:
        assert resource.kinds and type(resource).checks is not Resource.checks, resource.name
    assert len({each.name for each in RESOURCES}) == len(RESOURCES)


def test_the_page_of_the_deploy_names_each_resource_that_is_its_own_step() -> None:
    page = " ".join((ROOT / "docs" / "deploy.md").read_text(encoding="utf-8").split())
    assert [each.title for each in RESOURCES if each.title and f"**{each.title}**" not in page] == []


def test_each_file_of_the_room_is_registered() -> None:
    rooms = {file.stem for file in (ROOT / "sparkrig" / "resources").glob("*.py")}
    assert rooms - {each.name for each in RESOURCES} == {
        "__init__",
        "check",
        "file_diff",
        "kind",
        "resource",
        "state",
    }


def test_what_a_look_reads_of_a_resource_is_the_field_of_its_name() -> None:
    names = {field.name for field in fields(State)}
    assert names & {each.name for each in RESOURCES} <= {*NOUNS} - {"files"}  # else a field would stay unread


def test_what_nothing_but_a_resource_asks_for_needs_no_field() -> None:
    seen = State.of(time=Time(), toy="read")
    assert (seen.read("time"), seen.read("toy"), seen.to_json()["toy"]) == (Time(), "read", "read")
    assert (seen.over(State()).read("toy"), State().over(seen).read("toy")) == ("read", "read")
    with pytest.raises(LookupError):
        _ = TIME.seen(Subject("spark-a", Fleet.parse({"spark-a": {}}), State())).running


def test_pyinfra_is_given_the_fact_of_each_resource_by_its_name() -> None:
    """pyinfra INVENTORY fact sparkrig.facts.resources.Time, which a refusal prints for whoever wants to look."""
    for each in RESOURCES:
        if each.script:
            fact = getattr(resources, each.name.capitalize())
            assert (fact.script, fact.__module__) == (each.script, resources.__name__)
    assert not hasattr(resources, "Nothing") and not hasattr(resources, "time")


def test_each_deploy_of_a_resource_is_a_part_of_the_whole() -> None:
    written = {file.stem: file.read_text() for file in (ROOT / "deploys").glob("*.py")}
    applied = {stem for stem, text in written.items() if "\ndef apply(" in text or "\napply = " in text}
    applied.remove("own")  # the owner's own steps, which are none of sparkrig's
    assert applied | {each.name for each in RESOURCES if each.step} == {*steps()}


def test_each_resource_of_files_is_deployed() -> None:
    """Without a step, or a file of deploys/, its files are due for ever, and a deploy ends well."""
    own = {file.stem for file in (ROOT / "deploys").glob("*.py")} | {"serving"}  # deploys/serve.py
    lacking = [each.name for each in RESOURCES if each.files and not each.step and each.name not in own]
    assert not lacking, "`title` and `step` in its class, or deploys/NAME.py"


def test_a_file_is_managed_once() -> None:
    paths = [file.path for file in managed_files.FILES]
    others = [file.path for file in managed_files.FILES if file.kind == "shared"]
    assert len(paths) == len({*paths}) == len(managed_files.OWNED) + len(managed_files.PRIVATE) + len(others)
