"""A resource registers by its name, once: what a room looks for under that name is there, and nothing else is."""

from __future__ import annotations

import ast
from dataclasses import fields
from pathlib import Path

from sparkrig.checks import resources
from sparkrig.facts.noun import Noun
from sparkrig.facts.spark import NOUNS
from sparkrig.look.state import ONE_FILE, RESOURCES, State, parts
from sparkrig.runs import managed_files

ROOT = Path(__file__).resolve().parents[3]


def test_each_resource_has_its_checks_and_what_they_mean() -> None:
    assert {*parts("sparkrig.checks"), *ONE_FILE} == {*RESOURCES}
    for name, module in parts("sparkrig.checks").items():
        assert module.KINDS and callable(module.checks) and name not in ONE_FILE, name


def test_what_is_judged_or_written_is_asked_in_a_room_that_is_registered() -> None:
    """A `judge` or `due` in a module that no resource is called by would never be asked."""
    deaf = {
        f"{file.stem}.{node.name}"
        for file in (ROOT / "sparkrig" / "checks").glob("*.py")
        for node in ast.parse(file.read_text()).body
        if isinstance(node, ast.FunctionDef) and node.name in ("judge", "due") and file.stem not in RESOURCES
    }
    assert deaf == {f"resources.{resources.due.__name__}"}


def test_each_fact_that_a_deploy_looks_at_is_a_field_of_what_it_saw() -> None:
    seen = parts("sparkrig.facts")
    assert set(NOUNS) == {*seen, "files"} <= {field.name for field in fields(State)}
    for name, module in seen.items():
        assert issubclass(getattr(module, name.capitalize()), Noun), name
    registered = {field.name for field in fields(State)} & set(RESOURCES)
    assert registered == set(seen)  # a field that no fact fills would stay unread


def test_each_deploy_of_a_resource_is_a_part_of_the_whole() -> None:
    written = {file.stem: file.read_text() for file in (ROOT / "deploys").glob("*.py")}
    applied = {stem for stem, text in written.items() if "\ndef apply(" in text or "\napply = " in text}
    assert applied == set(parts("sparkrig.deploys")) <= set(RESOURCES)


def test_a_file_is_managed_once() -> None:
    paths = [file.path for file in managed_files.FILES]
    assert len(paths) == len({*paths}) == len(managed_files.OWNED) + len(managed_files.PRIVATE) + 2
