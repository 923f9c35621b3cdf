"""Lines of each room against its budget in budgets.yaml: `python -m tests.budgets`, which `make lint` runs.

A room that has passed its budget fails, and so does a budget with more to spare than SPARE, so that what a change
has taken away stays away. `--set` writes down what is there; whoever raises a budget says why in the commit.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import yaml

from tests.tables import data

ROOT = Path(__file__).resolve().parents[1]
BUDGETS = Path(__file__).with_name("budgets.yaml")
PRODUCT = ("sparkrig", "facts", "operations", "deploys", "templates")
KINDS = (".py", ".sh", ".j2")
LONG_FILE, LONG_FUNCTION = 400, 40
SPARE = 60
# long for a reason, and not counted
WHOLE = {
    "sparkrig/settings.py": "the one table of settings",
    "templates/guard.py": "a program that runs on a host as one file",
    "templates/serving/watch.py": "a program that runs on a host as one file",
    "templates/watch/blackbox.py": "a program that runs on a host as one file",
}


def main() -> None:
    sizes = {name: sum(1 for _ in path.open(encoding="utf-8")) for name, path in files()}
    there = dict(sorted(counted(sizes).items()))
    if "--set" in sys.argv:
        BUDGETS.write_text(yaml.safe_dump(there, sort_keys=False), encoding="utf-8")
    budgets: dict[str, int] = data(BUDGETS)
    wrong = [room for room in {**budgets, **there} if not fits(room, there.get(room, 0), budgets.get(room, 0))]
    for room in wrong or there:
        print(f"{there.get(room, 0):7,} of {budgets.get(room, 0):7,}  {room}")
    if wrong:
        sys.exit("these budgets of lines do not fit. Try: .venv/bin/python -m tests.budgets --set, and say why")


def fits(room: str, size: int, budget: int) -> bool:
    """Lines have some to spare; a count of what is long has none."""
    spare = 0 if " of over " in room else SPARE
    return budget - spare <= size <= budget


def files() -> Iterator[tuple[str, Path]]:
    """Each file that counts, by its name below the root."""
    for top in (*PRODUCT, "lab", "tests"):
        for path in sorted((ROOT / top).rglob("*")):
            if path.suffix in KINDS and path.is_file() and not path.is_symlink():
                yield path.relative_to(ROOT).as_posix(), path


def counted(sizes: dict[str, int]) -> Counter[str]:
    """The lines of each room, of the product and of all; how many files and functions are long."""
    found: Counter[str] = Counter()
    for name, lines in sizes.items():
        top, *rest = name.split("/")
        found[f"{top}/{rest[0]}" if top == "sparkrig" and len(rest) > 1 else top] += lines
        if top in PRODUCT:
            found["all of the product"] += lines
            found[f"files of over {LONG_FILE} lines"] += lines > LONG_FILE and name not in WHOLE
            found[f"functions of over {LONG_FUNCTION} lines"] += len(long_functions(ROOT / name))
    return found


def long_functions(path: Path) -> list[str]:
    tree = ast.parse(path.read_text(encoding="utf-8")) if path.suffix == ".py" else ast.Module([], [])
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return [each.name for each in functions if (each.end_lineno or 0) - each.lineno >= LONG_FUNCTION]


if __name__ == "__main__":
    main()
