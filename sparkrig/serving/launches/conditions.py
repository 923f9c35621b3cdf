"""`[ ... ]` and `[[ ... ]]` of a shell, where the texts that stand in them are known; no numbers, no files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase

_LONGEST = 200  # words, and characters of a pattern with what it is to fit


def holds(words: Sequence[str], unset: Callable[[str], bool]) -> bool | None:
    """Whether a test holds, None where that is not known. unset: whether nothing ever gave a variable a value."""
    if len(words) > _LONGEST:
        return None
    for joiner, whole in (("||", any), ("&&", all)):
        if joiner in words:
            place = words.index(joiner)
            found = [holds(words[:place], unset), holds(words[place + 1 :], unset)]
            decisive = joiner == "||"
            return decisive if decisive in found else None if None in found else whole(map(bool, found))
    if words[:1] == ["!"]:
        found_one = holds(words[1:], unset)
        return None if found_one is None else not found_one
    return _one(words, unset)


def _one(words: Sequence[str], unset: Callable[[str], bool]) -> bool | None:
    if len(words) == 2 and words[0] in ("-z", "-n"):
        if words[0] == "-z" and unset(words[1]):
            return True
        return None if "$" in words[1] else (words[1] == "") is (words[0] == "-z")
    if any("$" in each for each in words):
        return None
    if len(words) == 1:
        return words[0] != ""
    if len(words) != 3:
        return None
    left, sign, right = words
    if sign in ("=", "==", "!=") and len(left) + len(right) <= _LONGEST:
        return fnmatchcase(left, right) is (sign != "!=")
    return None
