"""Judgement on a launch of vLLM: which rules it breaks, what was seen, and what to set instead.

What cannot be seen is not judged: a bare command shows nothing of its container, and where an environment is read
in part no variable counts as missing. The function that is passed in looks the model up; for one that it does not
know, the name shows what it can.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sparkrig.serving.engines import VLLM
from sparkrig.serving.lint import (
    container,
    environment,
    input,  # noqa: A004 - the topic, which shadows no call here
    kernels,
    memory,
    nodes,
    quantization,
    serving,
    weights,
)
from sparkrig.serving.lint.case import Case
from sparkrig.serving.lint.rule import Judge, Rule, Severity

JUDGES: Mapping[Rule, Judge] = {
    rule: judge
    for topic in (memory, quantization, kernels, weights, nodes, container, environment, serving, input)
    for rule, judge in topic.RULES.judges.items()
}
RULES: tuple[Rule, ...] = tuple(JUDGES)
BY_ID: Mapping[str, Rule] = {rule.id: rule for rule in RULES}
_OF_RAY = ("container", "environment")  # what a node of Ray, which serves nothing itself, can be asked
_OF_EVERY_ENGINE = frozenset({"other-engine", "image-architecture", "no-gpu"})


@dataclass(frozen=True)
class Finding:
    """A rule that a launch breaks. found: what was seen, without a full stop; better: what to set."""

    rule: Rule
    found: str
    better: str

    @property
    def severity(self) -> Severity:
        return self.rule.severity


def judge(case: Case) -> list[Finding]:
    """What a launch breaks, the worst first."""
    asked = [rule for rule in RULES if rule.concerns(case.version) and _is_asked(rule, case)]
    found = [
        Finding(rule, hit.found, hit.better or (rule.composed if case.launch.composed else "") or rule.better)
        for rule in asked
        for hit in JUDGES[rule](case)
    ]
    weight = ("error", "warning", "note")
    return sorted(found, key=lambda each: weight.index(each.severity))


def _is_asked(rule: Rule, case: Case) -> bool:
    if case.launch.engine != VLLM:
        return rule.id in _OF_EVERY_ENGINE
    return not case.launch.ray or rule.topic in _OF_RAY


def exit_code(found: Iterable[Finding]) -> int:
    """0 where there are notes at most, else 2."""
    return 2 if any(each.severity != "note" for each in found) else 0
