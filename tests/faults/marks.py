"""Says which rows and promises each test is marked with: pytest --collect-only -q -p tests.faults.marks"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import dataclass

import pytest

from tests.faults.record import ROOT, numbers

FOLDERS = ("tests/unit", "tests/plan", "tests/lab", "tests/faults")
_MARKS = re.compile(r"\bmark\.(fault|promise)\b")
_WORD = "marks "


@dataclass(frozen=True)
class Marked:
    """A test with rows or promises; speaks: whether it asks for the fixture `seen`."""

    test: str
    faults: tuple[int, ...]
    promises: tuple[int, ...]
    speaks: bool


def pytest_collection_finish(session: pytest.Session) -> None:
    for item in session.items:
        row = (item.nodeid, numbers(item, "fault"), numbers(item, "promise"), "seen" in item.fixturenames)  # type: ignore[attr-defined]
        print(_WORD + json.dumps(row))


def _places() -> list[str]:
    """Where a marked test may be: the files that name a mark, and all that is beside a conftest.py that does."""
    files = [file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py")]
    tests = [file for file in files if file.name.startswith("test_") or file.name == "conftest.py"]
    naming = [file for file in tests if _MARKS.search(file.read_text(encoding="utf-8"))]
    return [str(file.parent if file.name == "conftest.py" else file) for file in naming]


def collected() -> list[Marked]:
    """Every marked test, as pytest collects them in a process of its own; to load all tests takes much longer."""
    words = [
        sys.executable,
        "-m",
        "pytest",
        "--collect-only",
        "-q",
        "-p",
        __name__,
        "-m",
        "fault or promise",
        *_places(),
    ]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    rows = [json.loads(line.removeprefix(_WORD)) for line in done.stdout.splitlines() if line.startswith(_WORD)]
    return [Marked(test, tuple(faults), tuple(promises), speaks) for test, faults, promises, speaks in rows]
