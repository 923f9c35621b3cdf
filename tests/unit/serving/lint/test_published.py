"""All rules together, held to launches that are published for GB10: what works passes, what fails is named.

What a text adds to its facts (shell, YAML) is the reader's part: tests/unit/serving/test_launch.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.unit.serving.lint.published import FRESH, KEPT_BACK, LAUNCHES, judged

# of launches that work, how many may end with exit code 2; of bad ones, how many have to be named
MOST_FALSE, FEWEST_NAMED = 1 / 20, 9 / 10


def test_launches_that_work_are_not_failed() -> None:
    working = {name: facts for name, facts in LAUNCHES.items() if facts["expected"] == "works"}
    false = {
        name: failing for name, facts in working.items() if (failing := [f.rule for f in judged(facts) if f.fails])
    }
    assert len(working) > 35
    assert len(false) <= len(working) * MOST_FALSE, "\n".join(f"{name}: {each}" for name, each in false.items())


def test_bad_launches_are_named_by_the_right_rule() -> None:
    bad = {name: facts for name, facts in LAUNCHES.items() if "rule" in facts}
    told = {name: {each.rule for each in judged(facts)} for name, facts in bad.items()}
    missed = [
        f"{name}: {bad[name]['rule']} is not in {sorted(told[name])}"
        for name in bad
        if bad[name]["rule"] not in told[name]
    ]
    assert len(bad) > 20
    assert len(missed) <= len(bad) * (1 - FEWEST_NAMED), "\n".join(missed)


def told(facts: Mapping[str, Any]) -> str:
    ways = [
        "fails" if f.fails else "contested" if f.contested else "note"
        for f in judged(facts)
        if f.rule == facts.get("rule")
    ]
    return ways[0] if ways else "missed"


def test_fresh_launches_are_named_as_the_file_has_it() -> None:
    assert {name: told(facts) for name, facts in FRESH.items()} == {name: f["named"] for name, f in FRESH.items()}
    kept = [facts for facts in FRESH.values() if facts["set"] == "b"]
    assert all(facts["named"] == facts["first"] for facts in kept)  # no row was written of these


def test_launches_kept_back_are_named_as_the_file_has_it() -> None:
    assert {name: told(facts) for name, facts in KEPT_BACK.items()} == {
        name: f["named"] for name, f in KEPT_BACK.items()
    }
    assert sum(facts["named"] != "missed" for facts in KEPT_BACK.values()) >= len(KEPT_BACK) * 7 / 11


def test_each_bad_launch_has_its_rule_or_no_settled_cause() -> None:
    unsettled = [name for name, facts in LAUNCHES.items() if facts["expected"] == "bad" and "rule" not in facts]
    assert sorted(unsettled) == [
        "bad-gemma4-26b-nvfp4-027.sh",
        "bad-mia-prompt-tokens-details-2x.yaml",  # contested: its owner took the change back
        "bad-minimax-m27-nvfp4-hang-2x.sh",
    ]
