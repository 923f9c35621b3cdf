"""The order of versions of Debian packages, as dpkg has it (deb-version(7), dpkg's lib/dpkg/version.c)."""

from __future__ import annotations

import re
from functools import lru_cache

_EPOCH = re.compile(r"([0-9]+):(.*)", re.DOTALL)
_PART = re.compile(r"([^0-9]*)([0-9]*)")
_NOTHING = ((0,), 0)

Key = tuple[int, tuple[tuple[tuple[int, ...], int], ...], tuple[tuple[tuple[int, ...], int], ...]]


@lru_cache(maxsize=4096)
def key(version: str) -> Key:
    """What sorts versions as dpkg does: by epoch, then by upstream version, then by revision.

    Raises ValueError for a number of more digits than Python reads. A `~` sorts before everything, the end of the
    version included; letters sort before other characters; a part that is absent is 0.
    """
    found = _EPOCH.fullmatch(version)
    epoch, rest = (int(found[1]), found[2]) if found else (0, version)
    upstream, dash, revision = rest.rpartition("-")
    return (epoch, _parts(upstream), _parts(revision)) if dash else (epoch, _parts(rest), _parts(""))


def older(one: str, other: str) -> bool:
    """Whether a version comes before another one."""
    return key(one) < key(other)


def upstream(version: str) -> str:
    """The version without epoch and revision: `580.159.03` of `580.159.03-0ubuntu0.24.04.1`."""
    found = _EPOCH.fullmatch(version)
    rest = found[2] if found else version
    return rest.rpartition("-")[0] or rest


def _parts(text: str) -> tuple[tuple[tuple[int, ...], int], ...]:
    parts = [
        ((*map(_order, letters), 0), int(digits or "0"))
        for letters, digits in _PART.findall(text)
        if letters or digits
    ]
    while parts and parts[-1] == _NOTHING:
        parts.pop()
    return (*parts, _NOTHING)  # what comes behind is compared with the end: `1~` is before `1`


def _order(character: str) -> int:
    if character == "~":
        return -1
    return ord(character) + (0 if character.isalpha() else 256)
