"""Mutants are whole and of code that runs, each survivor has its reason, and a score is of what really ran."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from tests.faults.table import page
from tests.mutations import mutate, score
from tests.mutations.__main__ import LIST
from tests.mutations.mutate import Explained, Kept, explanations, main, unexplained, unused
from tests.mutations.operators import Mutant, mutants
from tests.mutations.score import MODULES, NAMED, Score
from tests.tables import data

ROOT = Path(__file__).resolve().parents[2]
SOURCE = """\
from __future__ import annotations

def limit(found: int | None, sure: bool = True) -> int | None:
    if found is None:
        raise ValueError("é" if sure else "")
    try:
        return found + 1
    except a.Error:
        return 7
"""


def test_each_named_mutation_breaks_a_text_that_is_there_and_names_a_test_that_is() -> None:
    """Such as a change of the product or a move of the tests leaves behind: nothing is run where one is stale."""
    for row in data(LIST):
        assert (ROOT / row["file"]).read_text(encoding="utf-8").count(row["old"]) == 1, row["name"]
        file, _, name = row["test"].partition("::")
        assert f"def {name.partition('[')[0]}" in (ROOT / file).read_text(encoding="utf-8"), row["test"]


def test_each_kind_of_place_is_broken() -> None:
    kinds = {
        "f(x)": "pass",
        "if x: raise E(y)": "if x: pass",
        "x += y": "pass",
        "yield x": "pass",
        "return x or y": "return None",
        "[x for x in y if x > z]": "[x for x in y if True]",
        "try: x\nexcept a.E: pass": "except ():",
        "try: x\nexcept (A, B) as e: pass": "except () as e: pass",
        "for x in y: pass": "for x in []: pass",
        "while x: break": "while x: continue",
        "x = y is not None": "x = y is None",
        "x = not y": "x =  y",
        "assert x": "assert not x",
        "x = y // z": "x = y * z",
        "@cached\ndef f(): ...": "",
    }
    for source, broken in kinds.items():
        assert any(each.new.startswith(broken) for each in mutants("a.py", f"{source}\n")), source
    assert mutants("a.py", "def f(*a, b: x = y, **c): x = y = None\n") == []


def test_every_place_of_a_module_is_broken_once_and_annotations_are_left() -> None:
    found = mutants("a.py", SOURCE)
    assert [(each.line, each.at, each.new) for each in found] == [
        (3, "limit", "def limit(found: int | None, sure: bool = False) -> int | None:"),
        (4, "limit", "if found is not None:"),
        (4, "limit", "if not found is None:"),
        (5, "limit", "pass"),
        (5, "limit", 'raise ValueError("é" if not sure else "")'),
        (7, "limit", "return None"),
        (7, "limit", "return found + 0"),
        (7, "limit", "return found + 2"),
        (7, "limit", "return found - 1"),
        (8, "limit", "except ():"),
        (9, "limit", "return 6"),
        (9, "limit", "return 8"),
        (9, "limit", "return None"),
    ]
    for each in found:
        compile(each.text, each.file, "exec")
        assert sum(a != b for a, b in zip(each.text.splitlines(), SOURCE.splitlines(), strict=True)) == 1


def test_annotations_that_are_evaluated_are_broken_too() -> None:
    assert [each.new for each in mutants("a.py", "x: Literal[1]\n")] == ["x: Literal[0]", "x: Literal[2]"]


def test_a_reason_is_for_one_change_of_one_definition() -> None:
    one, other = (mutants("a.py", f"def {name}(x):\n    return x\n")[0] for name in ("f", "g"))
    reason = Explained("a.py", "f", "return x", "return None", "nothing asks")
    assert unexplained([one, other], [reason]) == [other]
    assert unused([one, other], [reason]) == []
    assert unused([other], [reason]) == [reason]


def test_each_reason_is_of_a_line_that_there_is() -> None:
    for each in explanations():
        rows = [row.strip() for row in (ROOT / each.file).read_text().splitlines()]
        assert set(each.old.splitlines()) <= set(rows), each
        assert each.file in MODULES and each.why


def test_what_was_tried_is_not_tried_again_unless_a_test_changed(tmp_path: Path) -> None:
    dead, alive, new = mutants("a.py", SOURCE)[:3]
    kept = Kept(tmp_path / "kept", "tests", anew=True)
    kept.keep(dead, True)
    kept.keep(alive, False)

    def known(tests: str, anew: bool) -> list[bool | None]:
        return [Kept(tmp_path / "kept", tests, anew).killed(each) for each in (dead, alive, new)]

    assert known("tests", anew=True) == [True, False, None]
    assert known("other tests", anew=True) == [None, None, None]
    assert known("other tests", anew=False) == [True, None, None]
    kept.forget([dead, new])
    assert kept.killed(dead) is None and known("tests", anew=True) == [None, False, None]


def test_a_run_whose_tests_fail_in_the_end_keeps_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """pytest itself had gone in the middle of one, and all that came after it counted as killed."""
    wholes = iter((None, mutate.Stop("no pytest")))

    class Bench:
        def __init__(self, *_: object) -> None:
            """As the one that this stands in for."""

        def whole(self) -> None:
            if why := next(wholes):
                raise why

        def canary(self, _: str) -> None:
            """Fails, as it should."""

        def run(self, chosen: list[Mutant]) -> Iterator[tuple[Mutant, bool]]:
            return ((each, True) for each in chosen)

    text = (ROOT / "sparkrig/refusal.py").read_text()
    copy: Any = SimpleNamespace(text=lambda name: (ROOT / name).read_text())
    monkeypatch.setattr(mutate, "Bench", Bench)
    monkeypatch.setattr(mutate, "KEPT", tmp_path)
    monkeypatch.setitem(MODULES, "sparkrig/refusal.py", ("tests/unit/test_mutate.py",))
    with pytest.raises(mutate.Stop):
        mutate._module([copy], "sparkrig/refusal.py", True)
    assert mutants("sparkrig/refusal.py", text) and (tmp_path / "sparkrig-refusal.py.jsonl").read_text() == ""


def test_the_modules_and_their_tests_are_there() -> None:
    for module, tests in MODULES.items():
        assert (ROOT / module).is_file() and tests
        assert [test for test in tests if not (ROOT / test).is_file()] == []


def test_scores_are_kept_by_module_and_shown(tmp_path: Path) -> None:
    file = tmp_path / "mutants.json"
    gid = Score("sparkrig/network/gid.py", 82, 68, 4, 10, "2026-11-22", "abc1234")
    named = Score(NAMED, 3, 2, 1, 0, "2026-11-22", "abc1234")
    score.save([gid, named, Score("sparkrig/gone.py", 1, 1, 0, 0, "2026-11-22", "abc1234")], file)
    later = Score("sparkrig/network/gid.py", 82, 78, 4, 0, "2026-11-23", "def5678")
    score.save([later], file)
    assert score.load(file) == [later, named]
    text = page([], score.load(file)).splitlines()
    assert "- Of 85 mutants 80 are killed, 5 are explained; the oldest run: 2026-11-22." in text
    assert "- Open: none." in text
    (missing,) = (each for each in text if each.startswith("- Not run yet: "))
    assert "`sparkrig/runs/undo.py`" in missing and "gid.py" not in missing and NAMED not in missing
    assert "- Open: `sparkrig/network/gid.py` 10." in page([], [gid])


# --- a whole run, over a project of one module


MODULE = """\
def last(rows: list[int]) -> int:
    while len(rows) > 1:
        rows = rows[1:]
    return rows[0]
"""
TEST = """\
from sparkrig.small import last

def test_last():
    assert last([1, 2, 3]) == 3
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "project"
    files = {
        "sparkrig/__init__.py": "",
        "tests/unit/__init__.py": "",
        "sparkrig/small.py": MODULE,
        "tests/unit/test_small.py": TEST,
        "tests/unit/test_contracts.py": "def test_what_a_guarding_module_hands_out_is_frozen(): pass\n",
        "pyproject.toml": "[tool.pytest.ini_options]\nmarkers = ['slow: x']\n",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    monkeypatch.setattr(mutate, "ROOT", root)
    monkeypatch.setattr(mutate, "KEPT", tmp_path / "kept")
    monkeypatch.setattr(mutate, "SURVIVORS", tmp_path / "survivors.yaml")
    for holder in (mutate, score):
        monkeypatch.setattr(holder, "MODULES", {"sparkrig/small.py": ("tests/unit/test_small.py",)})
    monkeypatch.setattr(mutate, "LEAST_LIMIT_S", 8)
    monkeypatch.setattr(mutate, "LIMIT_FACTOR", 4)
    monkeypatch.setattr(mutate, "RECORD", tmp_path / "mutants.json")
    (tmp_path / "survivors.yaml").write_text("[]\n")
    return root


def recorded(project: Path) -> tuple[int, int, int, int]:
    (row,) = score.load(project.parent / "mutants.json")
    return row.mutants, row.killed, row.explained, row.open


@pytest.mark.slow  # a process of pytest for each mutant
def test_a_whole_run(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """An endless loop is killed, a survivor needs its reason, and nothing of the checkout is changed."""
    assert main(["--workers", "2"]) == 1
    said = capfd.readouterr().out
    assert "sparkrig/small.py:2  last\n- while len(rows) > 1:\n+ while len(rows) > 0:" not in said
    mutants_, killed, explained, open_ = recorded(project)
    assert (mutants_, explained) == (killed + open_, 0)
    assert "- return rows[0]\n+ return rows[-1]" in said
    survivors = [each for each in mutants("sparkrig/small.py", MODULE) if f"+ {each.new}" in said]
    assert len(survivors) == open_
    rows = [{"file": x.file, "at": x.at, "old": x.old, "new": [x.new], "why": "so"} for x in survivors]
    (project.parent / "survivors.yaml").write_text(yaml.safe_dump(rows))
    began = time.monotonic()
    assert main([]) == 0
    assert f"{mutants_} of them known from before" in capfd.readouterr().out
    assert time.monotonic() - began < 60
    assert recorded(project) == (mutants_, killed, open_, 0)
    (project.parent / "survivors.yaml").write_text(
        yaml.safe_dump([*rows, {**rows[0], "new": ["no such line"], "why": "so"}])
    )
    assert main([]) == 1
    assert "no survivor (any more), in" in capfd.readouterr().out
    assert (project / "sparkrig/small.py").read_text() == MODULE


@pytest.mark.slow  # a process of pytest for each mutant
def test_tests_that_run_another_module_prove_nothing(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (project / "tests/unit/test_small.py").write_text("def test_nothing(): pass\n")
    assert main(["--workers", "1"]) == 1
    assert "do not run sparkrig/small.py of the copy" in capfd.readouterr().out
    assert not (project.parent / "mutants.json").exists()


@pytest.mark.slow  # a process of pytest for each mutant
def test_tests_that_fail_anyway_prove_nothing(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (project / "tests/unit/test_small.py").write_text("def test_it(): assert False\n")
    assert main(["--workers", "1"]) == 1
    assert "pytest ends with 1 where nothing is mutated" in capfd.readouterr().out
    assert not (project.parent / "mutants.json").exists()


@pytest.mark.slow  # it needs a mount namespace where root runs it
def test_a_mutant_writes_to_the_temporary_folder_alone(tmp_path: Path) -> None:
    outside = Path("/var/sparkrig-mutate-test")
    try:
        for file, code in (outside, 1), (tmp_path / "inside", 0):
            assert subprocess.run([*mutate._jail(), "touch", str(file)], check=False).returncode == code
            assert file.exists() is (code == 0)
    finally:
        outside.unlink(missing_ok=True)
