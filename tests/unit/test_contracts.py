"""What the import linter is told covers every module."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_each_module_of_sparkrig_is_pure_or_said_not_to_be() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    pure = next(each for each in contracts if each["name"].startswith("the pure core"))
    known = {*pure["source_modules"], *pure["forbidden_modules"]}
    names = [file.stem for file in (ROOT / "sparkrig").glob("*.py")]
    names += [file.parent.name for file in (ROOT / "sparkrig").glob("*/__init__.py")]
    assert {f"sparkrig.{name}" for name in names} - {"sparkrig.__init__"} - known == set()
