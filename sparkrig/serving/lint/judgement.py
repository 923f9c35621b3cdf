"""Judgement on a launch of vLLM: which rules it breaks, what was seen, and what to set instead.

What cannot be seen is not judged: a bare command shows nothing of its container, and where an environment is read
in part no variable counts as missing. The function that is passed in looks the model up; for one that it does not
know, the name shows what it can.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sparkrig.serving.engines import VLLM
from sparkrig.serving.flags import shown
from sparkrig.serving.lint import conditions, memory, nodes, words
from sparkrig.serving.lint.case import Case, Check, Hit, Severity
from sparkrig.serving.lint.claims import Claim
from sparkrig.serving.lint.rule import Rule, Topic

_TOPICS = (memory, nodes, words)
# what code computes: each public function of these by its name
CHECKS: Mapping[str, Check] = {
    name.replace("_", "-"): check
    for topic in _TOPICS
    for name, check in vars(topic).items()
    if name[0] != "_" and getattr(check, "__module__", "") == topic.__name__
}
# facts first, what is contested third, then advice
_SEVERITIES = ("error", "warning", "", "note")
_OF_RAY = ("container", "environment")  # what a node of Ray, which serves nothing itself, can be asked


@dataclass(frozen=True)
class Finding:
    """A rule that a launch breaks.

    meaning: what holds where it is kept; found: what was seen, without a full stop; better: what to set; holds: of
    which versions; reasons, against: the sources that ask for it, and those against it; severity: the rule's, or a
    milder one; contested: a warning with both, which does not make exit code 2.
    """

    rule: str
    severity: Severity
    contested: bool
    topic: Topic
    meaning: str
    found: str
    better: str
    holds: str
    reasons: tuple[Claim, ...]
    against: tuple[Claim, ...]

    @property
    def fails(self) -> bool:
        """Whether it makes exit code 2."""
        return self.severity != "note" and not self.contested


@dataclass(frozen=True)
class Launched:
    """One launch.

    source: what it was read from; engine: vllm, or another one, whose flags are not judged; model: as it was
    given; known: its name in the catalogue, None where it is not there; image: empty where it is not seen; vllm:
    its version, None where that is not known; gpus: how many it wants, None where that cannot be read.
    """

    source: str
    engine: str
    model: str
    known: str | None
    image: str
    vllm: str | None
    gpus: int | None
    findings: list[Finding]


@dataclass(frozen=True, kw_only=True)
class Report:
    """What each launch in a text does that it should not."""

    schema: Literal["sparkrig.lint/1"] = "sparkrig.lint/1"
    launches: list[Launched]


def judge(case: Case, rules: Iterable[Rule]) -> list[Finding]:
    """What a launch breaks, the worst first."""
    asked = [rule for rule in rules if rule.concerns(case.version) and _is_asked(rule, case)]
    return sorted((_finding(case, rule, hit) for rule in asked for hit in _hits(rule, case)), key=_weight)


def _hits(rule: Rule, case: Case) -> Iterable[Hit]:
    """A row with conditions is matched, any other one computed."""
    if any(conditions.holds(exception, case) for exception in rule.unless):
        return ()
    return conditions.broken(rule, case) if rule.when else CHECKS[rule.id](case)


def _finding(case: Case, rule: Rule, hit: Hit) -> Finding:
    severity = hit.severity or _severity(case, rule)
    return Finding(
        rule=rule.id,
        severity=severity,
        contested=severity == "warning" and rule.contested,
        topic=rule.topic,
        meaning=rule.meaning,
        found=hit.found,
        better=hit.better or (rule.composed if case.launch.composed else "") or rule.better,
        holds=rule.holds,
        reasons=rule.reasons,
        against=rule.against,
    )


def _severity(case: Case, rule: Rule) -> Severity:
    """The mildest of the rule's own, and those for a fork, which may know more, and for an unknown version."""
    told = (rule.severity, rule.elsewhere if case.fork else None, None if case.version else rule.undated)
    return max(filter(None, told), key=_SEVERITIES.index)


def _weight(finding: Finding) -> int:
    return 2 if finding.contested else _SEVERITIES.index(finding.severity)


def _is_asked(rule: Rule, case: Case) -> bool:
    if case.launch.engine != VLLM or rule.engines != (VLLM,):
        return not rule.engines or case.launch.engine in rule.engines
    return not case.launch.ray or rule.topic in _OF_RAY


def exit_code(findings: Iterable[Finding]) -> int:
    """2 where there is an error, or a warning that no source contests, else 0."""
    return 2 if any(finding.fails for finding in findings) else 0


def report(cases: Sequence[Case], found: Sequence[Sequence[Finding]]) -> Report:
    """The document of launches, each with the rules that it breaks."""
    return Report(launches=[_launched(case, each) for case, each in zip(cases, found, strict=True)])


def _launched(case: Case, found: Sequence[Finding]) -> Launched:
    launch = case.launch
    return Launched(
        source=launch.source,
        engine=launch.engine,
        model=launch.model,
        known=case.model.name if case.model else None,
        image=case.container.image,
        vllm=shown(case.version) or None,
        gpus=case.gpus if launch.engine == VLLM else None,
        findings=[*found],
    )
