"""Every pattern of the product takes about twice the time for twice the text, whatever the text is.

So none can be held by a line of a log, a file that is linted, or a text that is explained. Growth is asserted and
no seconds; what is quick at 1,024 characters is not measured further.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from time import process_time
from typing import Any, get_args

import pytest

from sparkrig import shapes, signatures
from sparkrig.resources import kind
from sparkrig.serving import engines, parsers, recipe, startup
from sparkrig.serving.lint import case
from tests import patterns

FEW = (8, 12, 16, 20, 24, 28, 32)  # what doubles with each would never end at once
SMALL = 1_024
QUICK_S, NOTICED_S, ENDLESS_S, MOST = 0.000_25, 0.001, 0.05, 8.0

# Calls whose pattern is a variable: what has its patterns.
TABLES: dict[str, Any] = {
    "sparkrig/bandwidth/nccl.py re.findall(pattern, text)": [],
    "sparkrig/resources/kind.py re.fullmatch(pattern, id)": [*kind._STANDS_FOR.values()],
    "sparkrig/parsing/grammar.py re.fullmatch(self.pattern, text, re.ASCII)": [],  # each Grammar is found
    "sparkrig/redaction/credentials.py re.compile(either)": [],  # escaped words, as the next one
    "sparkrig/redaction/ids.py re.compile('|'.join(made))": [],
    "sparkrig/serving/engines.py re.compile('|'.join(row['images']), re.IGNORECASE)": [
        each.images.pattern for each in engines.OTHERS.values()
    ],
    "sparkrig/serving/lint/case.py re.search(word, self.name.replace('_', '-'))": [
        each for _, each in case._FORMATS
    ],
    "sparkrig/serving/parsers.py re.match(each.name, last)": [each.name for each in parsers.FAMILIES],
    "sparkrig/serving/recipe.py re.search(sign, command, re.MULTILINE)": [*recipe._COMMANDS],
    "sparkrig/serving/startup.py re.search(sign, line.text)": [
        *startup._ENDS.values(),
        startup._JOINED,
        startup._FIGURES,
    ],
    "sparkrig/serving/startup.py re.search(_end_of(name), line)": [*startup._ENDS.values()],
    "sparkrig/explain/explanation.py re.compile(f'\\\\A(?:x)', self.body.flags)": [],  # each Reader is found
    "sparkrig/explain/leftover.py re.compile(row.pattern, re.MULTILINE)": [],  # those of signatures
    "sparkrig/settings.py re.fullmatch(pattern, value)": [get_args(shapes.VariableName), get_args(shapes.Source)],
    "sparkrig/signatures.py re.search(self.pattern, text)": [
        each.pattern for tool in signatures.tools() for each in signatures.table(tool)
    ],
    "templates/serving/watch.py re.findall(row, text, re.MULTILINE)": [],
}


def runner(use: patterns.Use) -> Callable[[str], object]:
    if use.how in ("match", "search", "fullmatch"):
        one: Callable[[str], object] = getattr(use.words, use.how)
        return one
    return lambda text: deque(use.words.finditer(text), maxlen=0)


def seconds(run: Callable[[str], object], text: str) -> float:
    began = process_time()
    run(text)
    return process_time() - began


def grows(run: Callable[[str], object], before: str, part: str) -> float:
    """By how much the time grows when the text is four times as long; 0 where it is too short to tell."""
    for count in (*FEW, 64, SMALL // 4 // len(part)):
        if seconds(run, f"{before}{part * count}\x01") > ENDLESS_S:
            return float("inf")
    growth = 0.0
    for size in (SMALL, 4 * SMALL):  # a repetition with a bound grows so until it
        short, long = (f"{before}{part * (each // len(part) + 1)}\x01" for each in (size, 4 * size))
        first = seconds(run, short)
        if first < QUICK_S or first > ENDLESS_S:
            return 0.0 if first < QUICK_S else float("inf")
        first = min(first, seconds(run, short), seconds(run, short))
        then = min(seconds(run, long), seconds(run, long))
        growth = then / first
        if then < NOTICED_S or growth < MOST:
            return 0.0
    return growth


@pytest.mark.slow  # some 800 patterns with 38,000 texts take half a minute
def test_no_pattern_takes_more_than_its_text_has() -> None:
    found, untold = patterns.uses(TABLES)
    assert untold == [], "a call whose pattern is a variable: name the table of it in TABLES"
    assert len(found) > 500
    slow = [
        f"{use.place} ({use.how}): {growth:.0f} times for 4 times {before!r} {part!r}: {use.words.pattern}"
        for use in found
        for before, part in patterns.hostile(use.words)
        if (growth := grows(runner(use), before, part)) > MOST
    ]
    assert slow == [], "\n".join(slow)
