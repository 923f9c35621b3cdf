"""What the import linter is told covers every module, and what one module gives another does not change."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

from tests.mutations.score import MODULES

ROOT = Path(__file__).resolve().parents[2]


def test_each_room_of_sparkrig_is_pure_or_known_not_to_be() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    pure = next(each for each in contracts if each["name"].startswith("the pure modules"))
    known = {*pure["source_modules"], *pure["forbidden_modules"]}
    assert [name for name in rooms() if name not in known] == []


def test_what_a_guarding_module_hands_out_is_frozen() -> None:
    changing = {
        f"{file}: {node.name}"
        for file in MODULES
        for node in ast.walk(ast.parse((ROOT / file).read_text()))
        if isinstance(node, ast.ClassDef) and any(map(_changes, node.decorator_list))
    }
    assert changing == {"operations/guard.py: Bench"}  # which is filled while a change goes on


def _changes(decorator: ast.expr) -> bool:
    """Whether a class is a dataclass that can be changed."""
    name = ast.unparse(decorator)
    return name.startswith("dataclass") and "frozen=True" not in name


def test_no_test_is_imported() -> None:
    """What two tests need stands in a module that is no test, beside them."""
    found = []
    for file in sorted((ROOT / "tests").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom):
                names = [*(node.module or "").split("."), *(each.name for each in node.names)]
                found += [f"{file.relative_to(ROOT)}: {name}" for name in names if name.startswith("test_")]
    assert found == []


NO_ROOMS = ("__init__.py", "__pycache__", "py.typed", "docs", "models", "templates")


def rooms() -> Iterator[str]:
    """Each package and each single module of sparkrig, without what is no Python of the controller."""
    for path in sorted((ROOT / "sparkrig").iterdir()):
        if path.name not in NO_ROOMS:
            yield f"sparkrig.{path.stem}"
