"""Many known words, found in a text in one walk: one pattern of ten thousand words takes minutes to make."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from heapq import merge

Span = tuple[int, int]
_HEAD = 4  # characters of a word that are looked for
_FEW = 50  # heads that are looked for one by one
# for re.IGNORECASE, and for str.lower, which makes two characters of one of them
_ALIKE = tuple(zip("\u017f\u0131\u0130\u212a\u03a3\u03c2", "siik\u03c3\u03c3", strict=True))


class Words:
    """Finds each of some words, whatever their case is, the longest first."""

    def __init__(self, forms: Iterable[tuple[str, str]]) -> None:
        """forms: each word, and what is meant by it."""
        self._words = {folded(word): value for word, value in forms if word}
        self._size = min([_HEAD, *map(len, self._words)])
        self._sizes: dict[str, int] = {}  # a bit for each length of a word with that head
        for word in self._words:
            head = word[: self._size]
            self._sizes[head] = self._sizes.get(head, 0) | 1 << len(word)

    def meant(self, written: str) -> str:
        """What is meant by a word that was found."""
        return self._words[folded(written)]

    def spans(self, text: str, fits: Callable[[str, int, int], bool]) -> Iterator[Span]:
        """Where words begin and end, in order; none overlaps another. fits: whether one may stand at a place."""
        low = folded(text)
        least = 0
        for start in self._places(low):
            if start < least:
                continue
            sizes = self._sizes[low[start : start + self._size]]
            while sizes:
                size = sizes.bit_length() - 1
                sizes ^= 1 << size
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


def folded(text: str) -> str:
    """The text in lower case, as long as it was."""
    if not text.isascii():
        for one, other in _ALIKE:
            text = text.replace(one, other)
    return text.lower()


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
