"""Whether a launch is as a condition of a rule has it, and what of it was seen."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from sparkrig.serving import arguments
from sparkrig.serving.lint.case import Case, Hit
from sparkrig.serving.lint.families import named
from sparkrig.serving.lint.rule import Asked, Condition, Range, Rule
from sparkrig.text import listed


def broken(rule: Rule, case: Case) -> Iterator[Hit]:
    """One hit where a launch is as one of the rule's conditions has it."""
    if met := next((condition for condition in rule.when if holds(condition, case)), None):
        yield Hit(rule.found or _seen(met, case), severity=met.severity)


def holds(asked: Condition, case: Case) -> bool:
    return (
        all(map(case.has, asked.traits))
        and not any(map(case.has, asked.lacks))
        and (not asked.model or named(asked.model, case.name))
        and _one(asked.format, case.computed_format)
        and _one(asked.stored, case.told_format)
        and _one(asked.drafting, case.drafting)
        and (not asked.image or any(word in case.image for word in asked.image))
        and asked.gpus in (None, case.world)
        and (asked.weights is None or _within(asked.weights, case.each_gib))
        and (asked.nvidia is None or _is(asked.nvidia, _month(case)))
        and (asked.mounts == () or _is(asked.mounts, _mounts(case)))
        and all(_named(names, asked.flags, case) for names in asked.flags)
        and all(_named(names, asked.variables, case, _variable) for names in asked.variables)
        and all(_is(value, _given(case, name)) for name, value in asked.container.items())
    )


def _one(words: Sequence[str], found: str) -> bool:
    return not words or any(fnmatchcase(found, word) for word in words)


def _month(case: Case) -> str | None:
    return "{:02}.{:02}".format(*case.ngc) if case.ngc else None


def _mounts(case: Case) -> tuple[str, ...]:
    return tuple(f"{mount.source}:{mount.target}" for mount in case.launch.mounts)


def _flag(case: Case, flag: str) -> Any:
    """What is given, None for nothing."""
    name, _, field = flag.partition(".")
    return case.launch.table(name).get(field) if field else case.launch.flags.get(name)


def _given(case: Case, name: str) -> Any:
    """What docker gives the container, None for its own default."""
    name, _, field = name.partition(".")
    value = getattr(case.container, name)
    return value.get(field) if field else None if value == "" else value


def _flag_is(case: Case, name: str, asked: Asked) -> bool:
    return _is(asked, _flag(case, name))


def _variable(case: Case, name: str, asked: Asked) -> bool:
    if asked == "absent":  # where the environment is read in part no variable counts as missing
        return bool(case.missing(name))
    environment = case.launch.environment
    return name in environment and _is(asked, environment[name] or "")


def _named(
    names: str, asked: Mapping[str, Asked], case: Case, is_it: Callable[[Case, str, Asked], bool] = _flag_is
) -> str:
    """The first of several names whose value is as it is asked, empty for none."""
    return next((name for name in names.split("|") if is_it(case, name, asked[names])), "")


def _is(asked: Asked, found: Any) -> bool:
    if asked in ("absent", "given"):
        return (found is None) is (asked == "absent")
    if isinstance(found, tuple):
        words = asked.other if isinstance(asked, Range) else asked if isinstance(asked, tuple) else ()
        return any(_like(each, words) for each in found) is not isinstance(asked, Range)
    if isinstance(asked, bool) or found is None:
        return found is asked
    if isinstance(asked, Range):
        return bool(str(found)) and not _like(found, asked.other) and _within(asked, _number(str(found)))
    return _like(found, asked)


def _like(found: Any, words: Iterable[str]) -> bool:
    """Whether it is one of the words; dashes and underscores are alike, but for the dash of `[0-9]`."""
    text = str(found).lower().replace("-", "_")
    return any(fnmatchcase(text, word if "[" in word else word.lower().replace("-", "_")) for word in words)


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
    flags = [_named(names, met.flags, case) for names in met.flags]
    parts = [_told(f"--{flag}", _flag(case, flag)) for flag in flags]
    environment = case.launch.environment
    variables = [_named(names, met.variables, case, _variable) for names in met.variables]
    parts += [f"{name}={environment[name]}" if name in environment else f"{name} is not set" for name in variables]
    parts += [_told(name, _given(case, name)) for name in met.container]
    if not isinstance(met.mounts, Range):
        parts += [f"-v {mount}" for mount in _mounts(case) if _like(mount, met.mounts)]
    parts += [f"{case.drafting} drafts"] * bool(met.drafting)
    parts += [case.container.image] * bool(met.image or met.nvidia)
    parts += [f"{case.each_gib:.0f} GiB of weights on each Spark"] * bool(met.weights)
    formatted = (met.format and case.computed_format) or (met.stored and case.told_format)
    model = f"{case.called} is {formatted}" if formatted else case.called
    return ", and ".join([listed(parts)] * bool(parts) + [model] * bool(met.model or formatted or not parts))


def _told(name: str, value: Any) -> str:
    if value in (None, ()):
        return f"no {name}"
    if isinstance(value, bool):
        return name if value else f"no {name}" if name[0] != "-" else name.replace("--", "--no-", 1)
    return f"{name} {value}" if isinstance(value, str | int | float) else name
