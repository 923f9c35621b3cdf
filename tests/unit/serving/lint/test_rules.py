"""Each rule on launching vLLM: launches that break it, the same ones mended; tables are in YAML beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from sparkrig.serving import launch_text
from sparkrig.serving.flags import version
from sparkrig.serving.io import catalogue_files, lint_rules, vllm_flags
from sparkrig.serving.lint import judgement
from sparkrig.serving.lint.case import Case
from sparkrig.serving.lint.judgement import Finding
from tests.tables import data, each_row
from tests.unit.launch_texts import filled

KNOWN, TABLES, RULES = catalogue_files.catalogue(), vllm_flags.knowledge(), lint_rules.rules()
HERE = Path(__file__).parent
BROKEN: dict[str, list[dict[str, str]]] = data(HERE / "rules.yaml")
CASES: dict[str, Any] = data(HERE / "cases.yaml")


def cased(text: str, sparks: int | None = None, vllm: str = "") -> Case:
    (one,) = launch_text.read(filled(text))
    return Case(one, KNOWN.find, sparks, version(vllm), TABLES)


def judged(text: str, sparks: int | None = None, vllm: str = "") -> list[Finding]:
    return judgement.judge(cased(text, sparks, vllm), RULES)


def test_each_rule() -> None:
    def holds(rule: str, broken: str, kept: str) -> None:
        told = [each for each in judged(broken) if each.rule == rule]
        assert told, broken
        assert all(each.found and each.better for each in told)
        assert rule not in {each.rule for each in judged(kept)}, kept

    each_row([(rule, case["broken"], case["kept"]) for rule, cases in BROKEN.items() for case in cases], holds)


def test_every_computed_rule_is_tested_and_has_its_code() -> None:
    computed = {rule.id for rule in RULES if not rule.when}
    assert computed == {*judgement.CHECKS}
    assert computed - {*BROKEN} == {"kv-cache-short"}  # in cases.yaml
    assert len({rule.id for rule in RULES}) == len(RULES)


def test_what_is_told_of_each_launch() -> None:
    def holds(row: dict[str, Any]) -> None:
        told = judged(row["launch"], row.get("sparks"), row.get("vllm", ""))
        if "only" in row:
            assert sorted({each.rule for each in told}) == row["only"]
        for rule, severity in row.get("severity", {}).items():
            assert [each.severity for each in told if each.rule == rule] == severity.split(), rule
        if "fails" in row:
            assert [each.rule for each in told if each.fails] == row["fails"]
        assert {"only", "severity", "fails", "found", "better"} & {*row}
        assert row.get("found", "") in ["", *(each.found for each in told)]
        assert row.get("better", "") in ["", *(each.better for each in told)]

    each_row(CASES["judged"], holds)


def test_a_recipe_of_vllm_project_takes_a_variant_and_the_sparks_that_hold_it() -> None:
    made: dict[str, Any] = {
        "model": {"model_id": "org/Big-120B", "base_args": ["--gpu-memory-utilization", "0.8"]},
        "variants": {
            "default": {"vram_minimum_gb": 298},
            "fp8": {"model_id": "org/Big-120B-FP8", "vram_minimum_gb": 149},
            "nvfp4": {"model_id": "org/Big-120B-NVFP4", "vram_minimum_gb": 75},
        },
    }
    assert cased(yaml.safe_dump(made)).launch.model == "org/Big-120B-NVFP4"
    del made["variants"]["nvfp4"]
    two = cased(yaml.safe_dump(made))
    assert (two.launch.model, two.world) == ("org/Big-120B-FP8", 2)
    assert not any(each.fails for each in judged(yaml.safe_dump(made)))


def test_what_follows_from_a_launch() -> None:
    def holds(row: dict[str, Any]) -> None:
        case = cased(row["launch"], vllm=row.get("vllm", ""))
        facts = {name: value for name, value in row.items() if name not in ("launch", "vllm")}
        assert facts
        for name, value in facts.items():
            assert getattr(case, name) == (tuple(value) if isinstance(value, list) else value), name

    each_row(CASES["facts"], holds)


def test_a_checkpoint_is_known_by_its_id_and_where_it_lies() -> None:
    def holds(text: str, expected: str) -> None:
        found = cased(text).checkpoint
        assert (found.id if found else "") == expected

    rows = [*CASES["checkpoints"].items()]
    for id in (each.id for model in KNOWN.models.values() for each in model.checkpoints):
        owner, _, name = id.partition("/")
        cached = f"~/.cache/huggingface/hub/models--{owner}--{name}/snapshots/1"
        rows += [
            (f"vllm serve {id}", id),
            (f"docker run -v /srv/models/{id}:/m img vllm serve /m", id),
            (f"vllm serve /models/{name}-{owner}/", id),
            (f"docker run -v {cached}:/m img vllm serve /m", id),
        ]
    each_row(rows, holds)


def test_versions_are_read() -> None:
    assert version("0.19.2rc1.dev154+g1c2c1eb8b") == (0, 19, 2)
    assert version("v1.0") == (1, 0, 0)
    assert version("nightly") is None
