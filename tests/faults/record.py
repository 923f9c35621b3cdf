"""Keeps what the tests of the fault matrix saw: pytest --record-faults writes tests/faults/seen.json.

A test says which rows it shows with `@pytest.mark.fault(16, 22)`, which promises it guards with
`@pytest.mark.promise(3)`, and what it saw with the fixture `seen`. The file is merged: what did not run keeps
its date, and what is no test any more goes.
"""

from __future__ import annotations

import ast
import json
import subprocess
import time
from collections.abc import Callable, Generator, Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILE = Path(__file__).with_name("seen.json")
OPTION = "--record-faults"
TIERS = {"unit": "T0", "plan": "T1", "lab": "T3", "faults": "T3"}

Seen = Callable[[str], None]


@dataclass(frozen=True)
class Row:
    """The last run of one test.

    cell: step and kind, where the test is one cell of the property loop; seen: one sentence without a full
    stop; date: UTC day; commit: of the working tree, with a plus where it had changes; seconds: how long.
    """

    test: str
    faults: tuple[int, ...]
    promises: tuple[int, ...]
    cell: tuple[str, str] | None
    held: bool
    seen: str
    tier: str
    date: str
    commit: str
    seconds: int


def load(file: Path = FILE) -> list[Row]:
    """What was seen, by test; nothing where the file is not there yet."""
    rows = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
    return [
        Row(
            **{
                **row,
                "faults": tuple(row["faults"]),
                "promises": tuple(row["promises"]),
                "cell": tuple(row["cell"]) if row["cell"] else None,
            }
        )
        for row in rows
    ]


def merge(old: Iterable[Row], new: Iterable[Row], root: Path = ROOT) -> list[Row]:
    """Old rows with the new ones in their places, by test, those of tests that are gone left out."""
    rows = {row.test: row for row in (*old, *new)}
    return [rows[test] for test in sorted(rows) if exists(test, root)]


def save(rows: Iterable[Row], file: Path = FILE) -> None:
    """Write the file, a line a row, so that a change of one row is a change of one line in git."""
    lines = [json.dumps(asdict(row), ensure_ascii=False) for row in rows]
    file.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


def exists(test: str, root: Path = ROOT) -> bool:
    """Whether the function of a test's id still stands in its file; parameters are not looked at."""
    path, _, name = test.partition("::")
    return name.partition("[")[0] in _functions(root / path)


@cache
def _functions(file: Path) -> frozenset[str]:
    tree = ast.parse(file.read_text(encoding="utf-8")) if file.is_file() else ast.Module([], [])
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def pytest_addoption(parser: pytest.Parser) -> None:
    meaning = f"keep what the fault tests saw (in {FILE.relative_to(ROOT)} where no file is given)"
    parser.addoption(OPTION, nargs="?", const=FILE, type=Path, metavar="FILE", help=meaning)


@pytest.fixture
def seen(request: pytest.FixtureRequest) -> Seen:
    """Say in one sentence, without a full stop, what was seen; several are joined."""

    def say(sentence: str) -> None:
        request.node.user_properties.append(("seen", " ".join(sentence.split()).rstrip(".")))

    return say


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    ran = call.when == "call" or (call.when == "setup" and not report.passed)
    told = item.get_closest_marker("fault") or item.get_closest_marker("promise")
    file = item.config.getoption(OPTION)
    if ran and told and file:
        save(merge(load(file), [_row(item, report)], item.config.rootpath), file)
    return report


def _row(item: pytest.Item, report: pytest.TestReport) -> Row:
    told: dict[str, list[Any]] = {}
    for name, value in item.user_properties:
        told.setdefault(name, []).append(value)
    words = [*told.get("seen", []), *([] if report.passed else [f"the test failed: {_why(report)}"])]
    cell = told.get("cell", [None])[0]
    return Row(
        test=item.nodeid,
        faults=numbers(item, "fault"),
        promises=numbers(item, "promise"),
        cell=tuple(cell) if cell else None,
        held=report.passed,
        seen="; ".join(words) or item.name.partition("[")[0].removeprefix("test_").replace("_", " "),
        tier="T2" if "solo" in getattr(item, "fixturenames", ()) else TIERS[item.nodeid.split("/")[1]],
        date=datetime.now(UTC).strftime("%Y-%m-%d"),
        commit=commit(),
        seconds=round(time.time() - report.start),
    )


def numbers(item: pytest.Item, marker: str) -> tuple[int, ...]:
    """The numbers that all markers of that name give a test, each once."""
    return tuple(sorted({number for mark in item.iter_markers(marker) for number in mark.args}))


def _why(report: pytest.TestReport) -> str:
    lines = [line.removeprefix("E").strip() for line in report.longreprtext.splitlines() if line.startswith("E ")]
    return (lines or [report.outcome])[0][:300]


@cache
def commit() -> str:
    """The commit of the working tree, with a plus where the product has changes."""

    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
        return done.stdout.strip()

    product = ("sparkrig", "facts", "operations", "deploys", "templates")
    changed = git("status", "--porcelain", "--untracked-files=no", "--", *product)
    return (git("rev-parse", "--short=7", "HEAD") or "unknown") + ("+" if changed else "")
