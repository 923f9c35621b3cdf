"""The fault matrix is whole, its page is current, and what was seen is kept and shown as it was."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from sparkrig.checks.reference import KINDS, kind
from tests.faults import record
from tests.faults.cures import CURES
from tests.faults.marks import Marked, collected
from tests.faults.matrix import FAULTS, PROMISES
from tests.faults.record import ROOT, Row, exists, load, merge, save
from tests.faults.table import NOT_YET, PAGE, page
from tests.plan.steps import STEPS

ROW = Row(
    test="tests/unit/test_faults.py::test_the_page_is_current",
    faults=(16,),
    promises=(3,),
    cell=None,
    held=True,
    seen="p0 reaches p1",
    tier="T3",
    date="2026-11-21",
    commit="abc1234",
    seconds=45,
)
CELL = replace(ROW, cell=(STEPS[0], "kill"), test=f"{ROW.test}[kill]", faults=(4, 5, 6), promises=(4,))


@pytest.fixture(scope="module")
def marked() -> list[Marked]:
    return collected()


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "make docs"


def test_every_kind_of_check_has_its_cure_tried_or_says_why_not() -> None:
    lacking = "tests/faults/cures.yaml: a row for each kind of check, a state that breaks it or why there is none"
    assert {kind.name for kind in KINDS} == set(CURES), lacking
    tried = {name: rows for name, rows in CURES.items() if not isinstance(rows, str)}
    assert all(kind(each.id).name == name for name, rows in tried.items() for each in rows)


def test_the_matrix_has_its_56_rows() -> None:
    assert [fault.number for fault in FAULTS] == list(range(1, 58))


@pytest.mark.slow  # pytest collects in a process of its own
def test_every_row_has_a_test_and_every_test_its_row(marked: list[Marked]) -> None:
    shown = {number for each in marked for number in each.faults}
    assert sorted({fault.number for fault in FAULTS} - shown) == [], "rows that no test shows"
    assert sorted(shown - {fault.number for fault in FAULTS}) == []


@pytest.mark.slow  # pytest collects in a process of its own
def test_every_promise_has_a_test_and_every_test_its_promise(marked: list[Marked]) -> None:
    guarded = {number for each in marked for number in each.promises}
    assert sorted(set(PROMISES) - guarded) == [], "promises that no test guards"
    assert sorted(guarded - set(PROMISES)) == []


@pytest.mark.slow  # pytest collects in a process of its own
def test_every_test_of_a_row_says_what_was_seen(marked: list[Marked]) -> None:
    silent = [each.test for each in marked if each.faults and not each.speaks]
    assert silent == [], "the fixture `seen` of tests/faults/record.py"


def test_what_was_seen_is_of_tests_that_exist() -> None:
    assert [row.test for row in load() if not exists(row.test)] == [], "make faults, or take the lines away"


def test_a_new_run_replaces_its_own_row_alone() -> None:
    later = replace(ROW, seen="p0 reaches p0", date="2026-11-22")
    gone = replace(ROW, test="tests/unit/test_faults.py::test_that_was_renamed")
    assert merge([ROW, CELL, gone], [later]) == [later, CELL]


def test_rows_survive_the_file(tmp_path: Path) -> None:
    file = tmp_path / "seen.json"
    save([ROW, CELL], file)
    assert load(file) == [ROW, CELL]
    assert len(file.read_text().splitlines()) == 4
    assert load(tmp_path / "none.json") == []


def line(text: str, start: str) -> str:
    return next(each for each in text.splitlines() if each.startswith(start))


def test_whether_a_row_held_is_shown_with_its_date() -> None:
    text = page([ROW, CELL])
    assert line(text, "| 16 |").endswith("| 2026-11-21 |")
    assert line(text, "| 17 |").endswith(f"| {NOT_YET} |")
    assert line(text, "| 5 |").endswith("| 2026-11-21; 1 of 1 cells |")
    assert "| held, 2026-11-21 |" in line(text, "| Driver \\| pin")
    assert line(text, "| P3 |").endswith("| 2026-11-21 |")
    assert line(text, "| P4 |").endswith("| 2026-11-21; 1 of 1 cells |")
    assert f"Of {len(STEPS) * 3} cells of the property loop 1 are held, {len(STEPS) * 3 - 1} were not run." in text


def test_a_failure_is_not_hidden_by_a_success_beside_it() -> None:
    text = page([ROW, replace(ROW, test=f"{ROW.test}[b]", held=False, seen="nothing was said")])
    assert line(text, "| 16 |").endswith("| **not held**, 2026-11-21 |")
    assert "not held: 16" in text


TESTS = """
import pytest

@pytest.mark.fault(16, 15)
@pytest.mark.promise(3)
def test_good(seen, record_property):
    record_property("cell", ("a step", "kill"))
    seen("p0 reaches p1.")
    seen("it is\\n drawn")

@pytest.mark.fault(17)
def test_bad_one(seen):
    assert 1 == 2

def test_unmarked():
    pass
"""


@pytest.mark.slow  # pytest collects in a process of its own
def test_a_run_keeps_what_its_marked_tests_saw(tmp_path: Path) -> None:
    """The recorder as pytest runs it, twice: the second run leaves what it does not run."""
    file = tmp_path / "tests" / "unit" / "test_it.py"
    file.parent.mkdir(parents=True)
    file.write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n fault: x\n promise: x\n")
    kept = tmp_path / "seen.json"
    words = [sys.executable, "-m", "pytest", "-q", "-c", str(tmp_path / "pytest.ini"), "-p", "tests.faults.record"]
    env = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # the recorder needs none of them
    runs = [
        subprocess.run(
            [*words, *more, str(file)], cwd=ROOT, env=env, capture_output=True, text=True, check=False
        ).returncode
        for more in ((), (f"{record.OPTION}={kept}",), (f"{record.OPTION}={kept}", "-k", "good"))
    ]
    assert runs == [1, 1, 0]
    bad, good = load(kept)
    assert (bad.test, bad.held, bad.faults) == ("tests/unit/test_it.py::test_bad_one", False, (17,))
    assert bad.seen == "the test failed: assert 1 == 2"
    assert (good.held, good.faults, good.promises, good.tier) == (True, (15, 16), (3,), "T0")
    assert (good.seen, good.cell) == ("p0 reaches p1; it is drawn", ("a step", "kill"))
