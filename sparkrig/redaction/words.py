"""Many known words, found in a text in one walk: one pattern of ten thousand words takes minutes to make."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from heapq import merge

from sparkrig.secrecy.sieve import folded

Span = tuple[int, int]
_HEAD = 4  # characters of a word that are looked for
_FEW = 50  # heads that are looked for one by one


class Words:
    """Finds each of some words, whatever their case is, the longest first."""

    def __init__(self, words: Iterable[str]) -> None:
        self._words = frozenset(map(folded, words)) - {""}
        self._size = min([_HEAD, *map(len, self._words)])
        sizes: dict[str, set[int]] = {}
        for word in self._words:
            sizes.setdefault(word[: self._size], set()).add(len(word))
        self._sizes = {head: sorted(each, reverse=True) for head, each in sizes.items()}

    def spans(self, text: str, fits: Callable[[str, int, int], bool]) -> Iterator[Span]:
        """Where words begin and end, in order; none overlaps another. fits: whether one may stand at a place."""
        low = folded(text)
        least = 0
        for start in self._places(low):
            if start < least:
                continue
            for size in self._sizes[low[start : start + self._size]]:
                end = start + size
                if end <= len(low) and low[start:end] in self._words and fits(text, start, end):
                    yield start, end
                    least = end
                    break

    def _places(self, low: str) -> Iterator[int]:
        """Where a word may begin."""
        if len(self._sizes) <= _FEW:
            return merge(*(_places_of(head, low) for head in self._sizes))
        size, heads = self._size, self._sizes
        return (place for place in range(len(low) - size + 1) if low[place : place + size] in heads)


def _places_of(head: str, low: str) -> Iterator[int]:
    place = low.find(head)
    while place >= 0:
        yield place
        place = low.find(head, place + 1)


def anywhere(*_: object) -> bool:
    return True


def alone(text: str, start: int, end: int) -> bool:
    """Whether no letter or digit is around it, but a line break as JSON writes it."""
    left = not text[start - 1 : start].isalnum() or text[max(0, start - 2) : start].lower() in _BREAKS
    return left and not text[end : end + 1].isalnum()


_BREAKS = ("\\n", "\\t", "\\r")
