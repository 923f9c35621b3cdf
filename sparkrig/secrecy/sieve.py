"""Finds a pattern in a long text only where a word stands that each of its matches has.

A log is searched for some 200 patterns, and most of its lines have the words of few of them. The words are read
from the pattern itself, so that what is found is what a search of the whole text finds.
"""

from __future__ import annotations

import re
import re._constants as sre  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
from collections.abc import Iterable, Iterator
from functools import lru_cache
from heapq import merge
from itertools import product
from typing import Any, NamedTuple

_MOST = 100  # words of a pattern
_FEW = 4  # characters of a class that make words
_DENSE, _OFTEN_IN_LINE = 5, 40  # where words stand at each such character, all of the text is searched
# for re.IGNORECASE, and for str.lower, which makes two characters of one of them
_ALIKE = tuple(zip("\u017f\u0131\u0130\u212a\u03a3\u03c2", "siik\u03c3\u03c3", strict=True))


class Cue(NamedTuple):
    """What each match of a pattern has: one of some words, in lower case.

    first: words of which one stands at `offset` from the match's start; needed: anywhere in it or where it looks;
    none where the pattern does not tell. in_line: whether neither a match nor what it looks at leaves its line.
    """

    first: tuple[bytes, ...]
    offset: int
    needed: tuple[bytes, ...]
    in_line: bool


class Sieve:
    """A text that is searched for many patterns."""

    def __init__(self, text: str) -> None:
        self.text = text
        # a byte for each character, so that a place is the same in both
        self._bytes = _plain(text)

    def with_lines(self, sign: re.Pattern[str]) -> Sieve:
        """The lines alone that have a sign."""
        return Sieve("\n".join(filter(sign.search, self.text.split("\n"))))

    def everywhere(self, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
        """As `finditer`, and with the matches that begin within others."""
        first = cue(pattern).first
        if self._is_rare(first):
            yield from filter(None, (pattern.match(self.text, each) for each in self._places(first)))
            return
        place = 0
        while found := pattern.search(self.text, place):
            yield found
            place = found.start() + 1

    def finditer(self, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
        """As `pattern.finditer` of the text, where the pattern matches no empty text."""
        of = cue(pattern)
        if of.needed and not any(word in self._bytes for word in of.needed):
            return iter(())
        if self._is_rare(of.first):
            return self._at_words(pattern, of)
        if of.in_line and self._is_rare(of.needed, _OFTEN_IN_LINE):
            return self._in_lines(pattern, of)
        return pattern.finditer(self.text)

    def _is_rare(self, words: tuple[bytes, ...], dense: int = _DENSE) -> bool:
        return bool(words) and sum(map(self._bytes.count, words)) * dense < len(self.text)

    def _at_words(self, pattern: re.Pattern[str], of: Cue) -> Iterator[re.Match[str]]:
        end = 0
        for place in self._places(of.first):
            if place >= end + of.offset and (found := pattern.match(self.text, place - of.offset)):
                end = found.end()
                yield found

    def _in_lines(self, pattern: re.Pattern[str], of: Cue) -> Iterator[re.Match[str]]:
        end = 0
        for place in self._places(of.needed):
            if place >= end:
                start = self._bytes.rfind(b"\n", 0, place) + 1
                end = self._bytes.find(b"\n", place) + 1 or len(self.text)
                yield from pattern.finditer(self.text, start, end)

    def _places(self, words: Iterable[bytes]) -> Iterator[int]:
        return merge(*map(self._places_of, words))

    def _places_of(self, word: bytes) -> Iterator[int]:
        place = self._bytes.find(word)
        while place >= 0:
            yield place
            place = self._bytes.find(word, place + 1)


def folded(text: str) -> str:
    """The text in lower case, as long as it was."""
    return _alike(text).lower()


def _plain(text: str) -> bytes:
    """The text in lower case, with a ? for each character beyond ASCII."""
    return _alike(text).encode("ascii", "replace").lower()


def _alike(text: str) -> str:
    if not text.isascii():
        for one, other in _ALIKE:
            text = text.replace(one, other)
    return text


# --- what a pattern tells of its matches

_Words = frozenset[str]
_EMPTY: _Words = frozenset(("",))
_NONE: _Words = frozenset()
_REPEATS = (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT)


@lru_cache(maxsize=1024)
def cue(pattern: re.Pattern[str]) -> Cue:
    """What each match of that pattern has."""
    tree = list(parser.parse(pattern.pattern, pattern.flags))
    before = _before(tree)
    first = _joined(before, _first(tree)) or _EMPTY
    return Cue(
        _encoded(first if "" not in first else _NONE),
        -len(next(iter(before))),
        _encoded(_needed(tree)),
        _in_line(tree, pattern.flags),
    )


def _encoded(words: _Words) -> tuple[bytes, ...]:
    """Without those that begin with another one, which is found there too."""
    return tuple(
        sorted(each.encode() for each in words if not any(each[:end] in words for end in range(1, len(each))))
    )


def _before(tree: list[Any]) -> _Words:
    """What stands before each match, of one length."""
    if tree and tree[0][0] is sre.ASSERT and tree[0][1][0] < 0:
        words = _exact(tree[0][1][1])
        if words and len({*map(len, words)}) == 1:
            return words
    return _EMPTY


def _joined(one: _Words | None, other: _Words | None) -> _Words | None:
    """Each word of the one with each of the other; None where these are too many, or unknown."""
    if one is None or other is None or len(one) * len(other) > _MOST:
        return None
    return frozenset(map("".join, product(one, other)))


def _exact(tree: Iterable[Any]) -> _Words | None:
    """All that a sequence matches; None where that is more than some words."""
    words: _Words | None = _EMPTY
    for code, told in tree:
        words = _joined(words, _words(code, told))
    return words


def _words(code: Any, told: Any) -> _Words | None:
    """All that an item matches; None where that is more than some words."""
    if code is sre.LITERAL:
        return _folded([told])
    if code is sre.IN:
        return _folded(_members(told))
    if code in (sre.AT, sre.ASSERT, sre.ASSERT_NOT):
        return _EMPTY
    if code is sre.BRANCH:
        every = [_exact(each) for each in told[1]]
        return None if None in every else frozenset().union(*filter(None, every))
    if code in _REPEATS and told[1] == 1:
        words = _exact(told[2])
        return words and (words | _EMPTY if told[0] == 0 else words)
    inner = _within(code, told)
    return None if inner is None else _exact(inner)


def _folded(codes: list[int]) -> _Words | None:
    return frozenset(_plain(chr(each)).decode() for each in codes) if 0 < len(codes) <= _FEW else None


def _members(told: list[Any]) -> list[int]:
    """The characters of a class, one of those beyond ASCII; none where it has other things than characters."""
    codes: list[int] = []
    for code, value in told:
        if code is sre.LITERAL:
            codes.append(value)
        elif code is sre.RANGE and value[1] < 128:
            codes += range(value[0], value[1] + 1)
        elif code is sre.RANGE and value[0] > 0xFFFF:
            codes.append(value[0])
        else:
            return []
    return codes


def _within(code: Any, told: Any) -> Iterable[Any] | None:
    """What a group holds."""
    if code is sre.SUBPATTERN:
        return told[3]  # type: ignore[no-any-return]
    return told if code is sre.ATOMIC_GROUP else None


def _first(tree: Iterable[Any]) -> _Words:
    """What a sequence begins with: one of those words."""
    words = _EMPTY
    for code, told in tree:
        longer = _joined(words, _words(code, told))
        if longer is None:
            return _joined(words, _first_of(code, told)) or words
        words = longer
    return words


def _first_of(code: Any, told: Any) -> _Words:
    if code is sre.BRANCH:
        return frozenset().union(*map(_first, told[1]))
    if code in _REPEATS:
        return _first(told[2]) if told[0] else _EMPTY
    inner = _within(code, told)
    return _EMPTY if inner is None else _first(inner)


def _needed(tree: Iterable[Any]) -> _Words:
    """Words of which a match has one, the longest; none where they are not known."""
    told_words: list[_Words] = []
    run = _EMPTY
    for code, told in tree:
        longer = _joined(run, _words(code, told))
        if longer is None:
            told_words.append(_joined(run, _first_of(code, told)) or run)
        run = _EMPTY if longer is None else longer
        told_words += [run, _needed_of(code, told)]
    return max((each for each in told_words if "" not in each), key=_worth, default=_NONE)


def _needed_of(code: Any, told: Any) -> _Words:
    if code is sre.BRANCH:
        every = list(map(_needed, told[1]))
        return frozenset().union(*every) if all(every) else _NONE
    if code is sre.ASSERT or (code in _REPEATS and told[0]):
        return _needed(told[-1])
    inner = _within(code, told)
    return _NONE if inner is None else _needed(inner)


def _worth(words: _Words) -> tuple[int, int]:
    return min(map(len, words), default=0), -len(words)


_PAST_LINES = (sre.CATEGORY_SPACE, sre.CATEGORY_NOT_WORD, sre.CATEGORY_NOT_DIGIT)


def _in_line(tree: Iterable[Any], flags: int) -> bool:
    """Whether a sequence neither matches a line break nor looks past one."""
    return all(_item_in_line(code, told, flags) for code, told in tree)


def _item_in_line(code: Any, told: Any, flags: int) -> bool:
    if code in (sre.ASSERT, sre.ASSERT_NOT):
        return _is_short(told[1]) or _in_line(told[1], flags)
    if code is sre.BRANCH:
        return all(_in_line(each, flags) for each in told[1])
    if code in _REPEATS:
        return _in_line(told[2], flags)
    if code is sre.SUBPATTERN:
        return _in_line(told[3], (flags | told[1]) & ~told[2])
    if code is sre.ATOMIC_GROUP:
        return _in_line(told, flags)
    if code is sre.AT:
        return told is not sre.AT_END_STRING and (told is not sre.AT_END or bool(flags & re.MULTILINE))
    if code is sre.ANY:
        return not flags & re.DOTALL
    return code is sre.GROUPREF or not _matches_break(code, told)


def _is_short(tree: Any) -> bool:
    """Whether it looks at one character, which may be the line break itself."""
    return bool(tree.getwidth()[1] <= 1) and all(code is not sre.AT for code, _ in tree)


def _matches_break(code: Any, told: Any) -> bool:
    if code is sre.LITERAL:
        return bool(told == 10)
    if code is sre.NOT_LITERAL:
        return bool(told != 10)
    if code is not sre.IN:
        return True
    negated = told[0][0] is sre.NEGATE
    return negated != any(_is_break(each, value) for each, value in told)


def _is_break(code: Any, value: Any) -> bool:
    if code is sre.RANGE:
        return bool(value[0] <= 10 <= value[1])
    return value in _PAST_LINES if code is sre.CATEGORY else (code is sre.LITERAL and value == 10)
