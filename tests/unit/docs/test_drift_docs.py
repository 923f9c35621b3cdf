"""docs/drift.md names every check, and what it tells people to copy can be used as it is."""

from __future__ import annotations

import configparser
import re
import shlex

import pytest
import yaml

from docs.make import DOCTORS, DRIFT, with_checks
from sparkrig.checks.reference import KINDS
from sparkrig.cli.main import sparkrig
from sparkrig.drift.drift import Acceptance
from sparkrig.drift.render import drift_prom
from tests.tables import each_row
from tests.unit import states
from tests.unit.drift_reports import DRIFTED

TEXT = DRIFT.read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
COMMANDS = [
    line.partition("sparkrig drift")[1:]
    for language, block in BLOCKS
    for line in block.splitlines()
    if "sparkrig drift" in line and language in ("", "ini", "cron")
]


def test_the_table_of_checks_is_current() -> None:
    assert with_checks(TEXT) == TEXT, "make docs"


def test_every_check_that_drift_shows_is_named() -> None:
    def holds(change: states.Change) -> None:
        shown = [kind for kind in KINDS if not kind.name.startswith(DOCTORS)]
        for check in states.found(change):
            assert any(kind.fits(check.id) for kind in shown), check.id

    each_row({name: change for name, (change, _) in states.MOVED.items()}, holds)


def test_what_the_doctor_asks_alone_is_not_among_them() -> None:
    for check in states.found():
        assert not check.id.startswith(DOCTORS) and not check.id.endswith(".path-mtu")


@pytest.mark.parametrize("words", COMMANDS, ids=range(len(COMMANDS)))
def test_a_command_of_the_page_can_be_typed(words: tuple[str, str]) -> None:
    typed = ["drift", *shlex.split(re.split(r" [|>] ?", words[1])[0])]
    with sparkrig.make_context("sparkrig", typed) as context:
        _, command, rest = sparkrig.resolve_command(context, typed)
        assert command
        assert command.make_context("drift", rest, parent=context).params["inventory_file"]


def test_the_units_are_read_by_systemd_s_rules() -> None:
    service, timer = (_unit(block) for language, block in BLOCKS if language == "ini")
    assert service["Service"]["Type"] == "oneshot"
    assert service["Service"]["SuccessExitStatus"] == "2 3"
    assert set(timer.sections()) == {"Unit", "Timer", "Install"}


def _unit(text: str) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(strict=True, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(text)
    return parser


def test_the_metrics_are_those_that_are_written() -> None:
    written = set(re.findall(r"^# TYPE (\S+) gauge$", drift_prom.metrics(DRIFTED), re.MULTILINE))
    assert written and set(re.findall(r"`(sparkrig_\w+)", TEXT)) == written


def test_the_acceptance_is_one() -> None:
    (entry,) = (yaml.safe_load(block) for language, block in BLOCKS if language == "yaml" and "- id:" in block)
    assert Acceptance.model_validate(entry[0]).why == "update planned"
