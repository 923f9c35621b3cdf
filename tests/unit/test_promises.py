"""P10: every refusal and every failed check names one thing to try, wherever in the code it stands."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.faults.record import ROOT

FILES = [file for room in ("sparkrig", "operations", "deploys", "facts") for file in (ROOT / room).rglob("*.py")]
# where the cure stands, after what was found
CURE = {"Refusal": 1, "Verdict": 3}


def without_cure(source: str) -> Iterator[str]:
    """Refusals, and verdicts of a fault with its evidence, that name nothing to try.

    A verdict without evidence only ranks; what cannot be told (a sensor that is not there) may have no cure.
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CURE:
            given = {each.arg: each.value for each in node.keywords}
            tells = node.func.id == "Refusal" or _level(node) in ("fault", "degraded")
            told = node.func.id == "Refusal" or len(node.args) > 2 or "evidence" in given
            cure = [*node.args[CURE[node.func.id] :][:1], *([given["cure"]] if "cure" in given else [])]
            unpacked = any(isinstance(each, ast.Starred) for each in node.args)
            if tells and told and not unpacked and not any(map(_says_something, cure)):
                yield ast.unparse(node)


def _level(node: ast.Call) -> object:
    first = [*node.args[:1], *(each.value for each in node.keywords if each.arg == "level")]
    return first[0].value if first and isinstance(first[0], ast.Constant) else None


def _says_something(cure: ast.expr) -> bool:
    return not (isinstance(cure, ast.Constant) and not str(cure.value or "").strip())


@pytest.mark.slow
@pytest.mark.promise(10)
def test_everything_that_fails_names_one_thing_to_try() -> None:
    told = {str(file.relative_to(ROOT)): list(without_cure(file.read_text(encoding="utf-8"))) for file in FILES}
    assert {file: found for file, found in told.items() if found} == {}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('Refusal("no disk", "df -h")', 0),
        ('Refusal("no disk", cure)', 0),
        ('Refusal("no disk")', 1),
        ('Refusal("no disk", "")', 1),
        ('Refusal("no disk", cure=" ")', 1),
        ('Verdict("fault", "cable-out", "no carrier", "seat it")', 0),
        ('Verdict("fault", "cable-out", "no carrier", cure=say(1))', 0),
        ('Verdict("fault", "cable-out", evidence="no carrier")', 1),
        ('Verdict("degraded", "cable-out", "no carrier", "")', 1),
        ('Verdict("fault", "cable-out")', 0),
        ('Verdict("unknown", "no-sensor", "there is none")', 0),
        ('Verdict("healthy", evidence="112 Gb/s")', 0),
        ("Verdict(*row)", 0),
    ],
)
def test_what_names_nothing_is_found(source: str, found: int) -> None:
    assert len(list(without_cure(source))) == found
