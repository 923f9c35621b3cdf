"""Which flags and variables of vLLM a rule of lint reads, and which it names in its advice.

A row of models/lint/ names them. Code declares nothing for this: it is followed through the functions, the
constants and the properties of a case that it uses, and of the words there those count that vLLM has, or once had,
as a flag or variable.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import CodeType, FunctionType
from typing import Any

from sparkrig.serving import arguments
from sparkrig.serving.flags import Knowledge
from sparkrig.serving.io import lint_rules
from sparkrig.serving.launch import Launch
from sparkrig.serving.lint.case import Case
from sparkrig.serving.lint.judgement import CHECKS
from sparkrig.serving.lint.rule import Rule

PARSER = "models/vllm/arguments.yaml"
_OURS = "sparkrig.serving"
_FLAG = re.compile(r"(?<![\w-])--([a-z][a-z0-9-]+(?:\.[a-z_]+)?)")
_VARIABLE = re.compile(r"\bVLLM_[A-Z0-9_]+\b")


def named(known: Knowledge) -> dict[str, set[str]]:
    """For each flag (`--NAME`) and variable that vLLM has or had: the rules that name it, and our parser."""
    flags = {*known.histories}
    found: dict[str, set[str]] = {}
    for name in arguments._KNOWN:
        found.setdefault(f"--{name}", set()).add(PARSER)
    for rule in lint_rules.rules():
        for word in _names(rule, flags):
            found.setdefault(word, set()).add(rule.id)
    return found


def _names(rule: Rule, flags: set[str]) -> Iterator[str]:
    read = {*(_asked(rule) if rule.when else _Reading().words(CHECKS[rule.id]))}
    texts = [*read, *_texts(rule)]
    yield from (f"--{each}" for each in read if each in flags)
    for text in texts:
        yield from (f"--{each}" for each in _FLAG.findall(text) if each in flags)
        yield from _VARIABLE.findall(text)


def _asked(rule: Rule) -> Iterator[str]:
    for each in (*rule.when, *rule.unless):
        for name in (name for names in (*each.flags, *each.variables) for name in names.split("|")):
            yield from (name, name.partition(".")[0])


def _texts(rule: Rule) -> Iterator[str]:
    yield from (rule.meaning, rule.better, rule.composed, rule.holds)
    yield from (each.says for each in (*rule.reasons, *rule.against))


@dataclass
class _Reading:
    """Follows a function into what it uses of ours."""

    def __post_init__(self) -> None:
        self.seen: set[CodeType] = set()

    def words(self, of: Any) -> Iterator[str]:
        """All strings of a function, and of what it uses."""
        function = _function(of)
        if function is None or not function.__module__.startswith(_OURS) or function.__code__ in self.seen:
            return
        self.seen.add(function.__code__)
        for code in _codes(function.__code__):
            yield from _strings(code.co_consts)
            for name in code.co_names:
                yield from self._name(name, function.__globals__)

    def _name(self, name: str, known: Mapping[str, Any]) -> Iterator[str]:
        used = [known[name]] if name in known else [vars(owner).get(name) for owner in (Case, Launch)]
        for each in used:
            yield from _strings([each])
            yield from self.words(each)


def _function(of: Any) -> FunctionType | None:
    if isinstance(of, property):
        return _function(of.fget)
    if isinstance(of, cached_property):
        return _function(of.func)
    return of if isinstance(of, FunctionType) else None


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _codes(each)


def _strings(found: Any) -> Iterator[str]:
    """All strings of a constant, however deep."""
    for each in found:
        if isinstance(each, str):
            yield each
        elif isinstance(each, Mapping):
            yield from _strings([*each, *each.values()])
        elif isinstance(each, list | tuple | set | frozenset):
            yield from _strings(each)
