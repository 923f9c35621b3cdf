"""The time that a reader takes against the size of its text: growth is asserted, so that no slow machine fails.

What grows faster than its text can be held by a line of a log, a file that is linted, or a text that is explained.
"""

from __future__ import annotations

import re
import re._constants as sre  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import process_time
from typing import Any

Run = Callable[[str], object]
_FEW = (8, 12, 16, 20, 24, 28, 32, 64)  # what doubles with each would never end at once
_SMALL = 1_024  # characters; what is quick at so many is not measured further
_QUICK_S, _NOTICED_S, _ENDLESS_S = 0.000_25, 0.001, 0.05
MOST = 8.0  # times as long for four times the text: what is linear takes four


def seconds(run: Run, text: str) -> float:
    """Of this process, whatever others run beside it."""
    began = process_time()
    run(text)
    return process_time() - began


@contextmanager
def soon(limit_s: float) -> Iterator[None]:
    """What is within takes no more; for one text, whose reader must not go through it again and again."""
    began = process_time()
    yield
    assert process_time() - began < limit_s, "it took longer than a slow machine may"


def grows(run: Run, before: str, part: str) -> float:
    """By how much the time grows when a text is four times as long; 0 where it is too short to tell.

    before: how each text begins; part: what is repeated behind it.
    """
    for count in (*_FEW, _SMALL // 4 // len(part)):
        if seconds(run, f"{before}{part * count}\x01") > _ENDLESS_S:
            return float("inf")
    growth = 0.0
    for size in (_SMALL, 4 * _SMALL):  # a repetition with a bound grows so until it
        short, long = (f"{before}{part * (length // len(part) + 1)}\x01" for length in (size, 4 * size))
        first = seconds(run, short)
        if first < _QUICK_S or first > _ENDLESS_S:
            return 0.0 if first < _QUICK_S else float("inf")
        first = min(first, seconds(run, short), seconds(run, short))
        then = min(seconds(run, long), seconds(run, long))
        growth = then / first
        if then < _NOTICED_S or growth < MOST:
            return 0.0
    return growth


# --- texts that are hostile to a pattern, made of what it repeats

_SOME = "a0 \n\t-.:_/=\"'#(\\,A\x7f\u00e9"
# what was slow once, whatever the pattern
_PARTS = (*'a0 \n\t"\\', " \n", "# a\n \n", "#\n", "a\n", "| \n", "1 ", "{{a ", "{%")
_CATEGORIES = {
    sre.CATEGORY_DIGIT: r"\d",
    sre.CATEGORY_NOT_DIGIT: r"\D",
    sre.CATEGORY_SPACE: r"\s",
    sre.CATEGORY_NOT_SPACE: r"\S",
    sre.CATEGORY_WORD: r"\w",
    sre.CATEGORY_NOT_WORD: r"\W",
}
_REPEATS = (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT)
_MANY = 16  # a repetition that has no more is no danger


def hostile(words: re.Pattern[str]) -> list[tuple[str, str]]:
    """Beginnings, and what is to be repeated behind each."""
    tree = parser.parse(words.pattern, words.flags)
    texts: dict[tuple[str, str], None] = {}
    for before, body in (each for pick in range(3) for each in _repeated(tree, "", pick)):
        for part in dict.fromkeys(_sample(body, pick) for pick in range(4)):
            texts |= dict.fromkeys(
                [(before, part), ("", part), ("", f"{before}{part}"), ("", f"{before}{part}\n")]
            )
            texts |= dict.fromkeys([("", f"{part}\n"), ("", before)])
    if texts:
        texts |= dict.fromkeys(("", part) for part in _PARTS)
    return [each for each in texts if each[1]]


def _repeated(tree: Any, before: str, pick: int) -> Iterator[tuple[str, Any]]:
    """Each repetition without a small bound, and a text that matches what stands before it."""
    for kind, what in tree:
        if kind in _REPEATS and what[1] > _MANY:
            yield before, what[2]
        for part in _within(kind, what):
            yield from _repeated(part, before, pick)
        before += _sample([(kind, what)], pick)


def _within(kind: Any, what: Any) -> list[Any]:
    if kind is sre.BRANCH:
        return list(what[1])
    if kind in (*_REPEATS, sre.SUBPATTERN):
        return [what[-1]]
    if kind in (sre.ASSERT, sre.ASSERT_NOT):
        return [what[1]]
    return [what] if kind is sre.ATOMIC_GROUP else []


def _sample(tree: Any, pick: int) -> str:
    """A text that matches, mostly. pick: which of several choices is taken."""
    text = ""
    for kind, what in tree:
        if kind is sre.LITERAL:
            text += chr(what)
        elif kind is sre.NOT_LITERAL:
            text += _one([(sre.NEGATE, None), (sre.LITERAL, what)], pick)
        elif kind is sre.ANY:
            text += 'a0 "'[pick % 4]
        elif kind is sre.IN:
            text += _one(what, pick)
        elif kind is sre.BRANCH:
            text += _sample(what[1][pick % len(what[1])], pick)
        elif kind in _REPEATS:
            text += _sample(what[2], pick) * max(what[0], min(1, what[1]))
        elif kind is sre.SUBPATTERN or kind is sre.ATOMIC_GROUP:
            text += _sample(_within(kind, what)[0], pick)
    return text


def _one(items: Any, pick: int) -> str:
    """A character of a class."""
    own = [what if kind is sre.LITERAL else what[0] for kind, what in items if kind in (sre.LITERAL, sre.RANGE)]
    fit = [each for each in [*_SOME, *map(chr, own)] if _has(items, each)]
    return fit[pick % len(fit)] if fit else ""


def _has(items: Any, each: str) -> bool:
    held = any(
        what == ord(each)
        if kind is sre.LITERAL
        else what[0] <= ord(each) <= what[1]
        if kind is sre.RANGE
        else kind is sre.CATEGORY and re.match(_CATEGORIES[what], each) is not None
        for kind, what in items
    )
    return held != (items[0][0] is sre.NEGATE)
