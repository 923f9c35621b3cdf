"""What a launch of vLLM breaks, on a terminal: facts with their sources, what is contested and advice in short."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date

from rich.text import Text

from sparkrig.render.findings import ASCII_SIGNS, SIGNS, STYLES, Shade
from sparkrig.serving import engines
from sparkrig.serving.flags import Knowledge, shown
from sparkrig.serving.lint.case import Case, Severity
from sparkrig.serving.lint.claims import Claim
from sparkrig.serving.lint.judgement import Finding
from sparkrig.serving.lint.rule import TOPICS, Rule
from sparkrig.text import listed

_SHADES: dict[Severity, Shade] = {"error": "fault", "warning": "degraded", "note": "quiet"}
_LABEL = 9


@dataclass(frozen=True)
class Drawing:
    """How it is drawn. width: in columns, None for no wrapping; everything: both sides, and reasons of notes."""

    width: int | None
    ascii_only: bool = False
    everything: bool = False

    def launch(self, case: Case, found: Sequence[Finding]) -> Iterator[Text]:
        """One launch: what it is, what it breaks, and in the end what to change."""
        yield Text.assemble((case.launch.source, "bold cyan"), (_heading(case), "dim"))
        for each in found:
            if self.everything or each.fails:
                yield from self._whole(each)
            else:
                yield from self._headed(each)
        yield from self._try(found)

    def _try(self, found: Sequence[Finding]) -> Iterator[Text]:
        """What to change: of notes too, and of what is contested only where all is shown."""
        asked = [each for each in found if self.everything or not each.contested]
        wide = max((len(each.rule) for each in asked), default=0)
        for number, each in enumerate(asked):
            first, *rest = self._wrap(each.better, 4 + _LABEL + wide + 2)
            label = f"    {'' if number else 'try':{_LABEL}}"
            yield Text.assemble((label, "dim"), f"{each.rule:{wide}}  ", first)
            yield from (Text(" " * (4 + _LABEL + wide + 2) + line) for line in rest)

    def verdict(self, found: Sequence[Finding]) -> Text:
        """How many of what there are, in one line."""
        counts = dict.fromkeys(("error", "warning", "contested warning", "note"), 0)
        for each in found:
            counts["contested warning" if each.contested else each.severity] += 1
        said = listed(f"{count} {kind}{'s' * (count > 1)}" for kind, count in counts.items() if count)
        worst: Shade = "fault" if counts["error"] else "degraded" if counts["warning"] else "healthy"
        hidden = (counts["contested warning"] or counts["note"]) and not self.everything
        hint = "  (-v: who says so, and who says otherwise)" if hidden else ""
        return Text.assemble(self._sign(worst), " ", (said or "no rule is broken", "bold"), (hint, "dim"))

    def rules(self, rules: Sequence[Rule], tables: Knowledge) -> Iterator[Text]:
        """How old the knowledge is, and all rules, by topic."""
        first, *more = map(shown, tables.releases)
        newest = max(rule.newest for rule in rules)
        told = f"{len(rules)} rules, the newest source of {newest}; flags of vLLM {first} to {more[-1]}, read on"
        told = f"{told} {tables.read}"
        yield from (Text(line, "dim") for line in self._wrap(told, 0))
        wide = max(len(rule.id) for rule in rules)
        for topic in TOPICS:
            yield Text(topic, "bold")
            for rule in rules:
                if rule.topic == topic:
                    head = f"{rule.id:{wide}}  "
                    first, *rest = self._wrap(_told(rule), 4 + len(head))
                    yield Text.assemble("  ", self._sign(_SHADES[rule.severity]), f" {head}", (first, "dim"))
                    yield from (Text(" " * (4 + len(head)) + line, "dim") for line in rest)

    def _sign(self, shade: Shade) -> tuple[str, str]:
        return (ASCII_SIGNS if self.ascii_only else SIGNS)[shade], STYLES[shade]

    def _whole(self, finding: Finding) -> Iterator[Text]:
        yield from self._headed(finding)
        yield from self._claims("because", finding.reasons)
        yield from self._claims("but", finding.against)
        yield from self._labelled("holds", finding.holds)

    def _headed(self, finding: Finding) -> Iterator[Text]:
        shade = "quiet" if finding.contested else _SHADES[finding.severity]
        told = f"{finding.rule}{' (contested)' * finding.contested}: {finding.found}"
        first, *rest = self._wrap(told, 2)
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


def _told(rule: Rule) -> str:
    """What holds, and how sure it is."""
    marks = ["contested"] * rule.contested + [f"no source since {rule.newest}"] * rule.old(date.today())
    return rule.meaning + (f" ({listed(marks)})" if marks else "")


def _heading(case: Case) -> str:
    """The model, its format and how many GPUs it is spread over."""
    if case.launch.ray:
        return ": a node of Ray"
    other = case.launch.engine != engines.VLLM
    about = [case.called, case.format] if case.launch.model else [] if other else ["no model"]
    if other:
        about.append(engines.name(case.launch.engine))
    elif case.gpus and case.gpus > 1:
        about.append(f"{case.gpus} GPUs")
    about += [f"vLLM {shown(case.version)}"] if case.version else []
    return f": {', '.join(each for each in about if each)}"
