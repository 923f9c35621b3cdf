"""What a host prints that has gone wrong: recorded looks that are mutated, or have the worst in their texts."""

from __future__ import annotations

import base64
import json
import random
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from pyinfra.api.exceptions import FactProcessError

from tests.attacks.texts import VALUES, WORST

_CUTS = re.compile("[:=,/]")
_JSON = re.compile(r"(?<= )[\[{]")
_FIRST = 6
_FLIPS = '"{}[]:,.=-/ 0\\%\x1b'


def mutated(rows: list[str], dice: random.Random) -> list[str]:
    """The rows with one to three things wrong: rows that go, come twice, are swapped, or have bytes that do."""
    made = list(rows)
    for _ in range(dice.choice((1, 1, 2, 3))):
        if not made:
            return made
        at = dice.randrange(len(made))
        row = made[at]
        match dice.randrange(9):
            case 0:
                del made[at : at + dice.choice((1, 1, 5, 50))]
            case 1:
                made[at:at] = made[at : at + dice.choice((1, 1, 20))]
            case 2:
                other = dice.randrange(len(made))
                made[at], made[other] = made[other], row
            case 3:
                made[at] = row[: dice.randrange(len(row) + 1)]
            case 4:
                made[at] = _spliced(row, dice)
            case 5:
                made[at] = f"{row.partition(' ')[0]} {dice.choice(VALUES)}"
            case 6:
                made[at] = _worded(row, dice)
            case 7:
                made[at] = _recoded(row, dice)
            case 8:
                made = made[:at]
    return made


def _spliced(row: str, dice: random.Random) -> str:
    at = dice.randrange(len(row) + 1)
    return row[:at] + dice.choice(_FLIPS) + row[at + dice.choice((0, 1)) :]


def _worded(row: str, dice: random.Random) -> str:
    """With one word, or value of JSON, that is another."""
    sign = dice.choice((" ", ":", ",", "="))
    words = row.split(sign)
    words[dice.randrange(len(words))] = dice.choice(VALUES)
    return sign.join(words)


def _recoded(row: str, dice: random.Random) -> str:
    """With other content in its base64, where it has some."""
    front, _, last = row.rpartition(" ")
    try:
        text = base64.b64decode(last, validate=True).decode()
    except ValueError:
        return _spliced(row, dice)
    changed = "\n".join(mutated(text.split("\n"), dice)) if len(text) > 2 else dice.choice(VALUES)
    return f"{front} {base64.b64encode(changed.encode('utf-8', 'surrogateescape')).decode()}"


def spots(row: str) -> Iterator[str]:
    """The row once for each of its texts, which begins or ends with the worst: words, strings in JSON, base64."""
    front, tail = row, ""
    for at in (found.start() for found in _JSON.finditer(row)):
        with suppress(ValueError):
            yield from (row[:at] + json.dumps(each) for each in _strings(json.loads(row[at:])))
            front, tail = row[: at - 1], f" {row[at:]}"
            break
    words = front.split(" ")
    with suppress(ValueError):
        content = base64.b64decode(words[-1], validate=True).decode() if len(words[-1]) > 8 else ""
        for each in _lines(content):
            yield " ".join([*words[:-1], base64.b64encode(each.encode()).decode()])
        if content:
            tail = f" {words.pop()}"
    for at, word in enumerate(words):
        if at or "=" in word:
            cut = (f"{word[: each.start()]}{WORST}{word[each.start() :]}" for each in _CUTS.finditer(word))
            for made in sorted({f"{word}{WORST}", *cut}):
                yield " ".join([*words[:at], made, *words[at + 1 :]]) + tail


def _lines(content: str) -> Iterator[str]:
    """A text with its end, or one of its first lines, that is the worst."""
    rows = content.split("\n") if content else []
    for at in range(min(_FIRST, len(rows))):
        yield "\n".join([*rows[:at], rows[at] + WORST, *rows[at + 1 :]])
    if rows:
        yield content + WORST


def _strings(document: Any) -> Iterator[Any]:
    """The document once for each kind of string in it, which is the worst then."""
    seen: set[tuple[Any, ...]] = set()
    for path, text in _leaves(document):
        kind = tuple(step for step in path if isinstance(step, str))
        if kind in seen:
            continue
        seen.add(kind)
        made = json.loads(json.dumps(document))
        at = made
        for step in path[:-1]:
            at = at[step]
        at[path[-1]] = f"{text}{WORST}"
        yield made


def _leaves(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], str]]:
    if isinstance(document, str) and path:
        yield path, document
    elif isinstance(document, (dict, list)):
        for key, value in document.items() if isinstance(document, dict) else enumerate(document):
            yield from _leaves(value, (*path, key))


def poisoned(noun: Any, rows: list[str]) -> Iterator[tuple[int, str]]:
    """Each text of a noun's rows, as the worst that the noun still takes: which row, and what it is then.

    Of rows of one kind, and of one property, only the first is spoilt.
    """
    known: set[tuple[str, ...]] = set()
    for at, row in enumerate(rows):
        words = row.split(" ")
        kind = (words[0].partition("=")[0], *(word.partition(":")[0] for word in words[1:2] if ":" in word))
        if kind in known:
            continue
        known.add(kind)
        for made in spots(row):
            if survives(noun, [*rows[:at], made, *rows[at + 1 :]]) is not None:
                yield at, made


def worst(noun: Any, rows: list[str]) -> list[str]:
    """The rows with as many of their texts spoilt at once as the noun takes."""
    made = list(rows)
    for at, row in poisoned(noun, rows):
        if survives(noun, [*made[:at], row, *made[at + 1 :]]) is not None:
            made[at] = row
    return made


def looks(text: str, seed: int, count: int) -> Iterator[list[str]]:
    """So many mutations of what a look printed."""
    dice = random.Random(seed)
    for _ in range(count):
        yield mutated(text.split("\n"), dice)


def survives(fact: Any, lines: list[str]) -> Any:
    """What it made of them, or None where it was refused in a sentence."""
    try:
        return fact.process(lines)
    except FactProcessError as error:
        assert str(error).isprintable() and len(str(error)) < 400
        return None
