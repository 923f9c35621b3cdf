"""Whether a name says that its value is a secret: of a variable, an option, a header, a field."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import pairwise

from sparkrig.redaction.rows import table

_NAMES = {name: tuple(words.split()) for name, words in table("names").items()}
_WORDS_FOR_ONE, _LAST, _OF_KEYS = _NAMES["anywhere"], _NAMES["last"], _NAMES["of keys"]
_ANYWHERE, _PHRASES = (*_WORDS_FOR_ONE, "TOKEN"), (*_WORDS_FOR_ONE, *_NAMES["phrases"])
_HEADS = (*_OF_KEYS, *_NAMES["heads"])
_SWITCH, _COUNTED, _ABOUT = (frozenset(_NAMES[name]) for name in ("switch", "counted", "about"))
_ONLY_BEHIND = {mark: frozenset(words.split()) for mark, words in table("only behind").items()}
_OTHERS = {mark: frozenset(words.split()) for mark, words in table("others").items()}
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_JOINED = re.compile(rf"(?:{'|'.join(sorted(_HEADS, key=len, reverse=True))}){{1,3}}")
_LONGEST = 128
_SURE = {*_WORDS_FOR_ONE, "PIN", "OTP", "TOTP"}  # a number behind these is a secret, too


@lru_cache(maxsize=4096)
def names_a_secret(name: str) -> bool:
    """Whether a name marks its value as a secret, whatever its case is and what stands between its words."""
    if not name.isascii():
        name = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    last = name[-_LONGEST:].rstrip(".-").rpartition(".")[2]
    return any(_is_secret(_words(form)) for form in {last, _CAMEL.sub("_", last)})


@lru_cache(maxsize=4096)
def is_phrase(name: str) -> bool:
    """Whether a secret of that name may be of several words: a password, and no key."""
    words = _words(_CAMEL.sub("_", name[-_LONGEST:]))
    return any(word.removesuffix("S").endswith(_PHRASES) or word.endswith("PASS") for word in words)


@lru_cache(maxsize=4096)
def is_sure(name: str) -> bool:
    """Whether even a number behind a secret's name is a secret: a password, and no token."""
    words = _words(_CAMEL.sub("_", name[-_LONGEST:]))
    return any(_stem(word)[1] in _SURE for word in words) or any(
        word.removesuffix("S").endswith("KEY") and before.endswith(_OF_KEYS) for before, word in pairwise(words)
    )


@lru_cache(maxsize=4096)
def is_place(name: str) -> bool:
    """Whether it is the name of where something lies, or what it is like."""
    return not _ABOUT.isdisjoint(_words(_CAMEL.sub("_", name[-_LONGEST:]))[-1:])


@lru_cache(maxsize=4096)
def is_list(name: str) -> bool:
    """Whether several secrets may follow a name; `--api-key` of vLLM takes them, too."""
    bare = re.sub("[^A-Z]", "", name.upper())
    return bare.endswith(("KEYS", "TOKENS", "SECRETS", "PASSWORDS", "CREDENTIALS", "APIKEY"))


def _words(name: str) -> list[str]:
    parts = (each.strip("0123456789") for each in re.split("[^A-Z0-9]+", name.upper()))
    return [part for part in parts if part]


def _is_secret(words: list[str]) -> bool:
    if not words or words[-1] in _ABOUT:
        return False
    return any(_counts(words, place) for place in range(len(words)))


def _counts(words: list[str], place: int) -> bool:
    """Whether the word at that place marks the name."""
    head, stem = _stem(words[place])
    if not stem:
        return False
    before = head or (words[place - 1] if place else "")
    if stem in _ONLY_BEHIND and before not in _ONLY_BEHIND[stem]:
        return False
    if before in _SWITCH or any(
        before.endswith(each) for each in _OTHERS.get(stem, ()) if len(each) > 2 or each == before
    ):
        return False
    if stem == "TOKEN":
        counted = {"MAX", "MIN", "NUM"}.intersection(words[:place])
        return not counted and _COUNTED.isdisjoint(words[place + 1 : place + 2])
    return place == len(words) - 1 or stem in _ANYWHERE or (stem == "KEY" and before.endswith(_OF_KEYS))


def _stem(word: str) -> tuple[str, str]:
    """What is joined before the mark of a word, and the mark: (DB, PASSWORD); empty where it has none."""
    for one in (word, word.removesuffix("S")):
        for stem in _ANYWHERE:
            if one.endswith(stem):
                return one.removesuffix(stem), stem
        for stem in _LAST:
            head = one.removesuffix(stem)
            heads = _ONLY_BEHIND.get(stem)
            if one.endswith(stem) and (not head or (head in heads if heads else _JOINED.fullmatch(head))):
                return head, stem
    return "", ""
