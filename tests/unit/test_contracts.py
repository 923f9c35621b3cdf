"""What the import linter is told covers every module."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_each_module_of_sparkrig_is_pure_or_said_not_to_be() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    pure = next(each for each in contracts if each["name"].startswith("the pure core"))
    known = {*pure["source_modules"], *pure["forbidden_modules"]}
    told = [name for name in modules() if not {name, name.rpartition(".")[0]} & known]
    assert told == []


def modules() -> Iterator[str]:
    """Each module of sparkrig; of a folder in it, too, which a contract may name as a whole."""
    for file in sorted((ROOT / "sparkrig").glob("**/*.py")):
        if file.name != "__init__.py":
            yield ".".join(file.relative_to(ROOT).with_suffix("").parts)
