"""Whether a launch is as a condition of a rule has it, and what of it was seen."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any

from sparkrig.serving import arguments
from sparkrig.serving.lint.case import Case, Hit, Severity
from sparkrig.serving.lint.families import named
from sparkrig.serving.lint.rule import Asked, Condition, Range, Rule
from sparkrig.text import listed


def broken(rule: Rule, case: Case) -> Iterator[Hit]:
    """One hit where a launch is as one of the rule's conditions has it, and as none of its exceptions."""
    if any(holds(each, case) for each in rule.unless):
        return
    if met := next((each for each in rule.when if holds(each, case)), None):
        yield Hit(_seen(met, case), severity=_milder(rule, case))


def _milder(rule: Rule, case: Case) -> Severity | None:
    """Where a fork may know more, or the version is not known."""
    if rule.elsewhere and case.fork:
        return rule.elsewhere
    return rule.undated if case.version is None else None


def holds(asked: Condition, case: Case) -> bool:
    return (
        all(getattr(case, trait.replace("-", "_")) for trait in asked.traits)
        and (not asked.model or named(asked.model, case.name))
        and _one(asked.format, lambda word: word == case.computed_format)
        and _one(asked.image, lambda word: word in case.image)
        and _one(asked.drafting, lambda word: word == case.drafting)
        and _one(asked.attention, lambda word: word == case.attention[1].lower())
        and asked.gpus in (None, case.world)
        and all(_is(value, _flag(case, flag)) for flag, value in asked.flags.items())
        and all(_variable(case, name, value) for name, value in asked.variables.items())
    )


def _one(words: Sequence[str], is_it: Callable[[str], bool]) -> bool:
    return not words or any(map(is_it, words))


def _flag(case: Case, flag: str) -> Any:
    """What is given, None for nothing."""
    name, _, field = flag.partition(".")
    return case.launch.table(name).get(field) if field else case.launch.flags.get(name)


def _variable(case: Case, name: str, asked: Asked) -> bool:
    if asked == "absent":  # where the environment is read in part no variable counts as missing
        return bool(case.missing(name))
    environment = case.launch.environment
    return name in environment and _is(asked, environment[name] or "")


def _is(asked: Asked, found: Any) -> bool:
    if asked in ("absent", "given"):
        return (found is None) is (asked == "absent")
    if isinstance(asked, bool) or found is None:
        return found is asked
    if isinstance(asked, Range):
        return bool(str(found)) and not _like(found, asked.other) and _within(asked, _number(str(found)))
    return _like(found, asked)


def _like(found: Any, words: Iterable[str]) -> bool:
    return any(fnmatchcase(_plain(str(found)), _plain(word)) for word in words)


def _plain(word: str) -> str:
    return word.lower().replace("-", "_")


def _within(asked: Range, number: float | None) -> bool:
    bounds = (
        (asked.least, operator.ge),
        (asked.most, operator.le),
        (asked.above, operator.gt),
        (asked.below, operator.lt),
    )
    return all(number is not None and right(number, bound) for bound, right in bounds if bound is not None)


def _number(text: str) -> float | None:
    """As vLLM reads it: 128K, 0.8."""
    whole = arguments.whole_number(text)
    try:
        return float(text) if whole is None else whole
    except ValueError:
        return None


def _seen(met: Condition, case: Case) -> str:
    """What was asked of a launch as it stands there."""
    parts = [_told(f"--{flag}", _flag(case, flag)) for flag in met.flags]
    environment = case.launch.environment
    parts += [
        f"{name}={environment[name]}" if name in environment else f"{name} is not set" for name in met.variables
    ]
    parts += [case.attention[0]] * bool(met.attention) + [f"{case.drafting} drafts"] * bool(met.drafting)
    parts += [case.container.image] * bool(met.image)
    model = f"{case.called} is {case.computed_format}" if met.format else case.called
    return ", and ".join([listed(parts)] * bool(parts) + [model] * bool(met.model or met.format or not parts))


def _told(flag: str, value: Any) -> str:
    if value is None:
        return f"no {flag}"
    if isinstance(value, bool):
        return flag if value else flag.replace("--", "--no-", 1)
    return f"{flag} {value}" if isinstance(value, str | int | float) else flag
