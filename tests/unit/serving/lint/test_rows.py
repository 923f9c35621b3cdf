"""Rows of models/lint/: each that rules.yaml has no launch of is broken by one that is made of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from sparkrig.refusal import Refusal
from sparkrig.serving.container import Container
from sparkrig.serving.flags import Knowledge, Version
from sparkrig.serving.io import catalogue_files, lint_rules, vllm_flags
from sparkrig.serving.launch import Launch
from sparkrig.serving.lint import conditions, judgement
from sparkrig.serving.lint.case import Case
from sparkrig.serving.lint.rule import Condition, Range, Rule
from tests.tables import data, each_row

TABLES = vllm_flags.knowledge()
TESTED = {*data(Path(__file__).parent / "rules.yaml")}
ROWS = {rule.id: rule for rule in lint_rules.rules() if rule.when and rule.id not in TESTED}
# what makes a launch so, by the name of its model
NAMED = {
    "latent": "kimi-k2",
    "hybrid": "qwen3-next",
    "pooling": "embedding",
    "mixture": "30b-a3b",
    "wide-heads": "qwen3.8",
}
FORMATS = {"int4-gptq": "gptq"}


def value(asked: Any, word: int = 0) -> Any:
    """What a flag or a variable is given; None for nothing."""
    if isinstance(asked, Range):
        return bounded(asked)
    if isinstance(asked, tuple):
        return asked[word % len(asked)].replace("*", "")
    return {"given": "1", "absent": None}.get(asked, asked) if isinstance(asked, str) else asked


def bounded(asked: Range) -> str:
    for bound, step in ((asked.least, 0), (asked.most, 0), (asked.above, 0.01), (asked.below, -0.01)):
        if bound is not None:
            return f"{bound + step:.15g}"
    return "unlike"


def made(parts: list[Condition], version: Version | None, word: int = 0) -> Case:
    """A launch that is as all of these are, the later before the earlier; word: which of the words of a list."""
    flags: dict[str, Any] = {}
    variables: dict[str, str] = {}
    traits: set[str] = {trait for part in parts for trait in part.traits}
    for part in parts:
        for name, asked in part.flags.items():
            flag, _, field = name.partition("|")[0].partition(".")
            given = value(asked, word)
            if field and given is not None:
                flags.setdefault(flag, {})[field] = given
            elif not field:
                flags.pop(flag, None)
                flags |= {} if given is None else {flag: given}
        if part.drafting:
            kept = flags.get("speculative-config")
            flags["speculative-config"] = (kept if isinstance(kept, dict) else {}) | {
                "method": value(part.drafting, word)
            }
        if part.gpus:
            flags.setdefault("tensor-parallel-size", f"{part.gpus}")
        given = {name.partition("|")[0]: value(asked, word) for name, asked in part.variables.items()}
        variables |= {name: value for name, value in given.items() if value}
    flags |= {"tensor-parallel-size": "2", "nnodes": "2"} if "paired" in traits else {}
    image = pictured(parts, traits, version, word)
    return Case(
        Launch(
            source="made",
            model=called(parts, traits, word),
            flags=flags,
            environment=variables,
            container=Container(image) if image else None,
            whole=True,
            installs_vllm="patched" in traits,
        ),
        lambda _: None,
        vllm=version,
        tables=TABLES,
    )


def called(parts: list[Condition], traits: set[str], word: int) -> str:
    models = [value(part.model, word) for part in parts if part.model]
    formats = [value(part.format or part.stored, word) for part in parts if part.format or part.stored]
    words = [*models[-1:], *(name for trait, name in NAMED.items() if trait in traits)]
    return "org/" + "-".join([*words, *(FORMATS.get(each, each) for each in formats[-1:])] or ["plain"])


def pictured(parts: list[Condition], traits: set[str], version: Version | None, word: int) -> str:
    ours = bool(traits & {"official", "stock"})
    base = f"vllm/vllm-openai:v{'.'.join(map(str, version or (0, 33, 0)))}" if ours else "me/"
    images = [value(part.image, word) for part in parts if part.image]
    months = [part.nvidia.least or part.nvidia.most for part in parts if part.nvidia]
    if months:
        return f"nvcr.io/nvidia/vllm:{months[-1]:.2f}-py3"
    return base + "".join(images[-1:]) if images or ours or "fork" in traits else ""


def within(rule: Rule) -> Version | None:
    """A version of which the rule is asked; None where it is asked of any."""
    if rule.end:
        return (rule.end[0], rule.end[1] - 1, 0)
    return rule.first or None


def variants(rule: Rule) -> Iterator[tuple[Condition, int]]:
    for each in rule.when:
        lists = [each.model, each.format, each.stored, each.image, each.drafting, *each.flags.values()]
        most = max((len(words) for words in lists if isinstance(words, tuple)), default=1)
        yield from ((each, word) for word in range(max(most, 1)))


def asked_of(rule: Rule, case: Case) -> bool:
    return any(each.rule == rule.id for each in judgement.judge(case, [rule]))


def test_each_row_is_broken_by_what_it_describes_and_by_each_of_its_words() -> None:
    def holds(rule: Rule) -> None:
        for when, word in variants(rule):
            case = made([when], within(rule), word)
            (found,) = judgement.judge(case, [rule])
            assert found.found and found.better, case.launch

    each_row(ROWS, holds)


def test_no_row_is_broken_outside_its_versions() -> None:
    def holds(rule: Rule) -> None:
        for when in rule.when:
            before = (rule.first[0], rule.first[1] - 1, 99) if rule.first else None
            for version in (before, rule.end or None):
                assert version is None or not asked_of(rule, made([when], version)), version
            undated = judgement.judge(made([when], None), [rule])
            if rule.end and "official" not in when.traits and "stock" not in when.traits:
                assert {each.severity for each in undated} == {rule.undated} - {None}

    each_row(ROWS, holds)


def test_a_row_of_so_many_gpus_is_not_broken_with_one_more() -> None:
    def holds(when: Condition, gpus: int) -> None:
        more = Condition(flags={"tensor-parallel-size": (f"{gpus + 1}",)})
        assert not conditions.holds(when, made([when, more], None))

    each_row([(when, when.gpus) for rule in ROWS.values() for when in rule.when if when.gpus], holds)


def test_no_row_is_broken_where_an_exception_of_it_holds() -> None:
    def holds(rule: Rule) -> None:
        for when in rule.when:
            for unless in rule.unless:
                case = made([when, unless], within(rule))
                assert conditions.holds(unless, case), (unless, case.launch)
                assert not asked_of(rule, case), unless

    each_row({id: rule for id, rule in ROWS.items() if rule.unless}, holds)


def test_a_row_is_not_broken_by_a_plain_launch() -> None:
    plain = made([], None)
    spoken = {"context-unset", "kv-cache-fp8"}  # of what each launch should say
    assert {each.rule for each in judgement.judge(plain, ROWS.values())} == spoken


def test_a_fork_is_judged_as_mildly_as_the_row_has_it() -> None:
    def holds(rule: Rule) -> None:
        case = made([rule.when[0], Condition(traits=("fork",))], within(rule))
        assert {each.severity for each in judgement.judge(case, [rule])} == {rule.elsewhere}

    each_row({id: rule for id, rule in ROWS.items() if rule.elsewhere}, holds)


def test_no_rule_has_ended_before_0_17() -> None:
    assert [rule.id for rule in lint_rules.rules() if rule.end and rule.end < (0, 17)] == []


# --- the files

ROW: Mapping[str, Any] = {
    "severity": "warning",
    "meaning": "the model is another one",
    "when": {"model": ["mine"]},
    "better": "another model",
    "reasons": [{"source": "our own run", "date": "2026-11-28", "says": "it ends"}],
}


def own(folder: Path, rows: Mapping[str, Any], topic: str = "kernels") -> tuple[Rule, ...]:
    file = folder / "lint" / f"{topic}.yaml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(yaml.safe_dump(dict(rows)))
    return lint_rules.rules(folder)


def test_a_row_of_one_s_own_is_added_takes_the_place_of_ours_or_drops_it(tmp_path: Path) -> None:
    rules = own(tmp_path, {"mine": ROW, "deep-gemm": ROW, "flag-unknown": {"severity": "off"}})
    told = {rule.id: rule for rule in rules}
    assert told["mine"].topic == "kernels"
    assert told["deep-gemm"].meaning == ROW["meaning"]
    assert {*told} == {rule.id for rule in lint_rules.rules()} - {"flag-unknown"} | {"mine"}
    assert judgement.judge(made([Condition(model=("mine",))], None), [told["mine"]])


def test_a_row_that_cannot_stand_is_refused_by_its_file_its_name_and_the_field(tmp_path: Path) -> None:
    def holds(row: Any, field: str) -> None:
        with pytest.raises(Refusal) as refused:
            own(tmp_path, {"mine": row})
        assert refused.value.what.startswith(f"{tmp_path / 'lint' / 'kernels.yaml'}: mine"), refused.value.what
        assert field in refused.value.what, refused.value.what

    for case in data(Path(__file__).parent / "refused.yaml"):
        row = {**ROW, **case["row"]}
        holds({name: value for name, value in row.items() if value is not None}, case["said"])
    holds({"severity": "off"}, "there is no such rule to drop")
    holds("all", "mine")


def test_flags_and_images_of_one_s_own_are_known_without_a_release(tmp_path: Path) -> None:
    def told(name: str, file: str, text: str, folder: str = "vllm") -> Knowledge:
        own = tmp_path / name / folder
        own.mkdir(parents=True)
        (own / file).write_text(text)
        return vllm_flags.knowledge(own.parent)

    images = told("images", "images.yaml", "nvidia: {'27.01': 0.35.0, '26.10': 0.31.9}\n").images
    assert (images["27.01"], images["26.10"], images["26.09"]) == ((0, 35, 0), (0, 31, 9), (0, 29, 0))
    newer = told("flags", "flags.yaml", "{read: 2027-01-01, versions: {}, flags: {}, variables: {}}\n")
    assert (newer.read.year, newer.images["26.09"]) == (2027, (0, 29, 0))
    moe = told("families", "families.yaml", "mine: {model: ['mine-*'], is: [mixture], format: fp8}\n", "lint")
    case = Case(Launch("made", "me/Mine-12"), lambda _: None, tables=moe)
    assert (case.mixture, case.told_format, case.has("latent")) == (True, "fp8", False)
    with pytest.raises(Refusal, match=r"lint/families.yaml: mine.format"):
        told("worse", "families.yaml", "mine: {model: [a], format: 8}\n", "lint")
    with pytest.raises(Refusal, match=r"vllm/images.yaml: nvidia.27.01"):
        told("bad", "images.yaml", "nvidia: {'27.01': new}\n")


def test_a_file_that_is_no_topic_is_refused_with_the_topics(tmp_path: Path) -> None:
    with pytest.raises(Refusal, match=r"mine.yaml: its name is no topic of lint, memory, "):
        own(tmp_path, {"mine": ROW}, "mine")
    assert catalogue_files.FOLDER not in tmp_path.parents
