"""What a launch of vLLM breaks, on a terminal: errors and warnings with both sides, notes in short."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.text import Text

from sparkrig.render.findings import ASCII_SIGNS, SIGNS, STYLES, Shade
from sparkrig.serving import engines
from sparkrig.serving.lint.case import Case
from sparkrig.serving.lint.claims import Claim
from sparkrig.serving.lint.judgement import Finding
from sparkrig.serving.lint.rule import TOPICS, Rule, Severity
from sparkrig.text import listed

_SHADES: dict[Severity, Shade] = {"error": "fault", "warning": "degraded", "note": "quiet"}
_LABEL = 9


@dataclass(frozen=True)
class Drawing:
    """How it is drawn. width: in columns, None for no wrapping; everything: the reasons of notes, too."""

    width: int | None
    ascii_only: bool = False
    everything: bool = False

    def launch(self, case: Case, found: Sequence[Finding]) -> Iterator[Text]:
        """One launch: what it is, and what it breaks."""
        yield Text.assemble((case.launch.source, "bold cyan"), (_heading(case), "dim"))
        for each in found:
            if each.severity == "note" and not self.everything:
                yield from self._short(each)
            else:
                yield from self._whole(each)

    def verdict(self, found: Sequence[Finding]) -> Text:
        """How many of what there are, in one line."""
        counts = {kind: sum(each.severity == kind for each in found) for kind in _SHADES}
        said = listed(f"{count} {kind}{'s' * (count > 1)}" for kind, count in counts.items() if count)
        worst: Shade = "fault" if counts["error"] else "degraded" if counts["warning"] else "healthy"
        hint = "  (-v: the reasons of notes, too)" if counts["note"] and not self.everything else ""
        return Text.assemble(self._sign(worst), " ", (said or "nothing speaks against it", "bold"), (hint, "dim"))

    def rules(self, rules: Sequence[Rule]) -> Iterator[Text]:
        """All rules, by topic."""
        wide = max(len(rule.id) for rule in rules)
        for topic in TOPICS:
            yield Text(topic, "bold")
            for rule in rules:
                if rule.topic == topic:
                    head = f"{rule.id:{wide}}  "
                    first, *rest = self._wrap(rule.meaning, 4 + len(head))
                    yield Text.assemble("  ", self._sign(_SHADES[rule.severity]), f" {head}", (first, "dim"))
                    yield from (Text(" " * (4 + len(head)) + line, "dim") for line in rest)

    def _sign(self, shade: Shade) -> tuple[str, str]:
        return (ASCII_SIGNS if self.ascii_only else SIGNS)[shade], STYLES[shade]

    def _short(self, finding: Finding) -> Iterator[Text]:
        yield from self._headed(finding)
        yield from self._labelled("try", finding.better)

    def _whole(self, finding: Finding) -> Iterator[Text]:
        rule = finding.rule
        yield from self._headed(finding)
        yield from self._claims("because", rule.reasons)
        yield from self._claims("but", rule.against)
        yield from self._labelled("holds", rule.holds)
        yield from self._labelled("try", finding.better)

    def _headed(self, finding: Finding) -> Iterator[Text]:
        shade = _SHADES[finding.severity]
        first, *rest = self._wrap(f"{finding.rule.id}: {finding.found}", 2)
        name, colon, tail = first.partition(": ")
        yield Text.assemble(self._sign(shade), " ", (name + colon.rstrip(), "bold"), " " * bool(colon), tail)
        yield from (Text(f"  {line}") for line in rest)

    def _claims(self, label: str, claims: Sequence[Claim]) -> Iterator[Text]:
        for number, claim in enumerate(claims):
            yield from self._labelled("" if number else label, f"{claim.says} [{claim.source}, {claim.date}]")

    def _labelled(self, label: str, text: str) -> Iterator[Text]:
        for number, line in enumerate(self._wrap(text, 4 + _LABEL)):
            yield Text.assemble((f"    {'' if number else label:{_LABEL}}", "dim"), line)

    def _wrap(self, text: str, indent: int) -> list[str]:
        if self.width is None:
            return [text]
        room = max(self.width - indent, 20)
        return textwrap.wrap(text, room, break_on_hyphens=False, break_long_words=False) or [""]


def _heading(case: Case) -> str:
    """The model, its format and how many GPUs it is spread over."""
    if case.launch.ray:
        return ": a node of Ray"
    about = [case.called, case.format] if case.launch.model else ["no model"]
    if case.launch.engine != engines.VLLM:
        about.append(engines.name(case.launch.engine))
    elif case.gpus and case.gpus > 1:
        about.append(f"{case.gpus} GPUs")
    return f": {', '.join(each for each in about if each)}"
