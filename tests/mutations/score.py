"""What the mutations showed last: tests/faults/mutants.json, a row a module, of which docs/faults.md is made."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

FILE = Path(__file__).resolve().parents[1] / "faults" / "mutants.json"
NAMED = "by name"  # the mutations of mutations.yaml, in the place of a module

# Of every module: its values do not change.
FROZEN = "tests/unit/test_contracts.py::test_what_a_guarding_module_hands_out_is_frozen"
_UNDO = (
    "tests/unit/runs/test_undo_plan.py",
    "tests/unit/runs/test_undo.py",
    "tests/unit/runs/test_undo_model.py",
)
# What `make mutate` mutates, and the tests that must see it.
MODULES = {
    "templates/guard.py": ("tests/unit/templates/test_guard_parts.py", "tests/unit/templates/test_guard_model.py"),
    "operations/guard.py": ("tests/unit/operations/test_guard.py",),
    "sparkrig/network/guard.py": ("tests/unit/network/test_guard.py",),
    "sparkrig/runs/lock.py": ("tests/unit/runs/test_lock_model.py",),
    **{
        f"sparkrig/runs/{name}.py": ("tests/unit/runs/test_journal_model.py",)
        for name in ("journal", "journal_look")
    },
    **{f"sparkrig/runs/{name}.py": _UNDO for name in ("undo", "undo_target", "undo_merge", "undo_outcome")},
    "sparkrig/host/branches.py": ("tests/unit/host/test_driver.py", "tests/unit/host/test_branches.py"),
    "sparkrig/host/driver.py": ("tests/unit/host/test_driver.py", "tests/unit/host/test_branches.py"),
    "sparkrig/network/gid.py": ("tests/unit/network/test_gid.py",),
    "sparkrig/resources/trust.py": ("tests/unit/resources/test_trust.py",),
}


@dataclass(frozen=True)
class Score:
    """The last whole run over one module.

    killed: mutants that a test found; explained: those that no test finds, with a reason in survivors.yaml (or
    under `survives` in mutations.yaml); open: those without one; date: UTC day; commit: of the working tree, with
    a plus where it had changes.
    """

    module: str
    mutants: int
    killed: int
    explained: int
    open: int
    date: str
    commit: str


def load(file: Path = FILE) -> list[Score]:
    """The scores by module; nothing where the file is not there yet."""
    return [Score(**row) for row in json.loads(file.read_text(encoding="utf-8"))] if file.exists() else []


def save(new: Iterable[Score], file: Path = FILE) -> None:
    """Put new scores in the place of earlier ones, a line a module; what is mutated no more goes."""
    rows = {row.module: row for row in (*load(file), *new)}
    lines = [json.dumps(asdict(rows[name]), ensure_ascii=False) for name in (*MODULES, NAMED) if name in rows]
    file.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")
