"""A launch as it should be: the text as it was given, with what rules with a certain remedy change.

A change is made where its words stand in one command of the text. What is written is read again, and has to differ
from what was read before in that change alone; else the change is not made, and is left to a person.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sparkrig.parsing import bounds
from sparkrig.serving import arguments
from sparkrig.serving.launch import Launch
from sparkrig.serving.lint.case import Change
from sparkrig.serving.lint.judgement import Finding

_WORD = re.compile(r"""(?:'[^']*'|"(?:\\.|[^"\\])*"|\\[^\n]|[^\s'"\\])+""", re.DOTALL)
_FLAG = re.compile(r"-{1,2}[a-zA-Z]")
_COMMENT = re.compile(r"(?m)(^|(?<=\s))#.*$")
_PARTED = re.compile(r"[;|&]|(?<!\\)\n")  # what ends a command of a shell, or an item of YAML
_OFF = "no"  # of a switch


class Lost(ValueError):
    """A word that is to change is not in the text."""


@dataclass(frozen=True)
class Word:
    """One word of a text, and where it stands. plain: without its quotation marks."""

    plain: str
    start: int
    end: int


def changes(found: Iterable[Finding]) -> list[Change]:
    """What is certain to mend what fails; what is contested stays as it is."""
    return [*dict.fromkeys(each for finding in found if finding.fails for each in finding.changes)]


def text(given: str, wanted: Sequence[Change]) -> str:
    """The text with its changes. Raises Lost where one of their words is not in it, or in two commands of it."""
    for change in wanted:
        given = _variable(given, change) if change.variable else _flag(given, change)
    return given


def reaches(before: Launch, after: Launch, change: Change) -> bool:
    """Whether a launch that was read anew differs from the one before in that change, and in nothing else."""
    flags: dict[str, Any] = dict(before.flags)
    variables: dict[str, Any] = dict(before.environment)
    if change.variable:
        variables = _with(variables, change)
    else:
        flags = _with_flag(flags, change)
    return after == replace(before, flags=flags, environment=variables)


def _with(named: dict[str, Any], change: Change) -> dict[str, Any]:
    kept = {name: value for name, value in named.items() if name != change.name}
    if change.renamed:
        return kept | {change.renamed: named[change.name]}
    return kept if change.to is None else kept | {change.name: change.to}


def _with_flag(flags: dict[str, Any], change: Change) -> dict[str, Any]:
    head, _, field = change.name.partition(".")
    if field:
        inner = flags.get(head)
        return flags | {head: {**(inner if isinstance(inner, Mapping) else {}), field: _number(change.to or "")}}
    made = _with(flags, change)
    if change.to in ("", _OFF):
        made[change.name] = change.to != _OFF
    return made


def _number(text: str) -> Any:
    return int(text) if text.isdigit() else text


# --- words of a text


def _words(given: str) -> list[Word]:
    masked = _COMMENT.sub(lambda found: " " * len(found[0]), given)
    return [Word(_plain(found[0]), found.start(), found.end()) for found in _WORD.finditer(masked)]


def _plain(word: str) -> str:
    try:
        return "".join(shlex.split(word))
    except ValueError:
        return word


def _named(word: str) -> str:
    """The flag that a word is, by its one name; empty where it is none."""
    return next(iter(arguments.read([word]).flags), "") if _FLAG.match(word) else ""


def _takes(word: str) -> bool:
    """Whether the flag's value is the next word."""
    read = arguments.read(["model", word, "next"])
    return "=" not in word and "next" not in read.extra


def _spans(given: str, name: str) -> list[tuple[Word, Word | None]]:
    """Each place of a flag, with its value where that is a word of its own."""
    words = [each for each in _words(given) if each.plain != "-"]  # which begins an item of YAML
    after = [*words[1:], None]
    return [
        (word, value if value and _takes(word.plain) and not _named(value.plain) else None)
        for word, value in zip(words, after, strict=True)
        if _named(word.plain) == name
    ]


def _flag(given: str, change: Change) -> str:
    head, _, field = change.name.partition(".")
    found = _spans(given, head)
    if field:
        return _field(given, found, change, field)
    if not found:
        return _inserted(given, change)
    if _PARTED.search(given[found[0][0].start : found[-1][0].end]):
        raise Lost(f"--{head} is in more than one command of the text")
    for word, value in reversed(found):
        given = _changed(given, word, value, change)
    return given


def _changed(given: str, word: Word, value: Word | None, change: Change) -> str:
    end = (value or word).end
    if change.renamed:
        joined = re.search("=.*", given[word.start : word.end], re.DOTALL)
        return f"{given[: word.start]}--{change.renamed}{joined[0] if joined else ''}{given[word.end :]}"
    if change.to is None:
        return _without(given, word.start, end)
    if change.to in ("", _OFF):
        return given[: word.start] + _switch(change) + given[end:]
    if value:
        return given[: value.start] + _quoted(given, value, change.to) + given[value.end :]
    return f"{given[: word.start]}--{change.name}={shlex.quote(change.to)}{given[word.end :]}"


def _switch(change: Change) -> str:
    return f"--{'no-' * (change.to == _OFF)}{change.name}"


def _quoted(given: str, value: Word, to: str) -> str:
    """As the value before it was quoted."""
    mark = given[value.start]
    return f"{mark}{to}{mark}" if mark in "'\"" else shlex.quote(to)


def _without(given: str, start: int, end: int) -> str:
    """Without these words, and without the lines that they had for themselves."""
    first, last = given.rfind("\n", 0, start) + 1, given.find("\n", end)
    last = len(given) if last < 0 else last
    alone = re.fullmatch(r"[ \t]*(?:- *)?", given[first:start]) and re.fullmatch(
        r"[ \t]*+\\?[ \t]*", given[end:last]
    )
    if alone and first:
        ends = given[end:last].strip() == "" and given[:first].rstrip().endswith("\\")
        before = given[:first].rstrip()[:-1].rstrip() + "\n" if ends else given[:first]
        return before + given[last + 1 :]
    return (
        given[:start].rstrip(" \t") + given[end:]
        if given[:start].strip()
        else given[:start] + given[end:].lstrip(" ")
    )


def _field(given: str, found: Sequence[tuple[Word, Word | None]], change: Change, field: str) -> str:
    """A field of a JSON object, which stands as one word or as flags of its own."""
    own = [(word, value) for word, value in found if value and word.plain.endswith(f".{field}")]
    if own:
        word, value = own[-1]
        return _changed(given, word, value, change)
    whole = [value for _, value in found if value and value.plain.startswith("{")]
    if not whole:
        return _inserted(given, change)
    for value in reversed(whole):
        try:
            made = bounds.loads(value.plain)
        except ValueError:
            raise Lost(f"the value of --{change.name.partition('.')[0]} is no JSON") from None
        made[field] = _number(change.to or "")
        given = given[: value.start] + shlex.quote(json.dumps(made, separators=(",", ":"))) + given[value.end :]
    return given


def _inserted(given: str, change: Change) -> str:
    """Before the first flag of vLLM. Raises Lost where that is not plain."""
    if change.to is None or change.renamed:
        raise Lost(f"--{change.name} is not in the text")
    words = _words(given)
    served = next((place for place, each in enumerate(words) if each.plain == "serve"), None)
    first = next((each for each in words[served or 0 :] if _FLAG.match(each.plain)), None)
    if (
        served is None
        or first is None
        or re.match(r"\s*- *$", given[given.rfind("\n", 0, first.start) + 1 : first.start])
    ):
        raise Lost("no flag of vLLM is in the text as a shell has it")
    new = _switch(change) if change.to in ("", _OFF) else f"--{change.name} {shlex.quote(change.to)}"
    return f"{given[: first.start]}{new} {given[first.start :]}"


def _variable(given: str, change: Change) -> str:
    words = _words(given)
    places = [place for place, each in enumerate(words) if each.plain.startswith(f"{change.name}=")]
    if not places:
        return _yaml_variable(given, change)
    if len(places) > 1:
        raise Lost(f"{change.name} is in the text more than once")
    word, before = words[places[0]], words[places[0] - 1] if places[0] else None
    opened = before if before and before.plain in ("-e", "--env", "export") else None
    if change.to is None:
        return _without(given, (opened or word).start, word.end)
    return f"{given[: word.start]}{change.name}={change.to}{given[word.end :]}"


def _yaml_variable(given: str, change: Change) -> str:
    line = re.compile(rf"(?m)^([ \t]*{re.escape(change.name)}:[ \t]*+).*\n")
    if len(line.findall(given)) > 1:
        raise Lost(f"{change.name} is in the text more than once")
    if line.search(given):
        return line.sub("" if change.to is None else rf'\g<1>"{change.to}"' + "\n", given)
    run = re.search(r"\b(?:docker|podman|nerdctl)\s+run\b", given)
    if change.to is None or not run:
        raise Lost(f"{change.name} is not in the text")
    return f"{given[: run.end()]} -e {change.name}={change.to}{given[run.end() :]}"
