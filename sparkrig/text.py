"""Pieces of a sentence that are put the same way everywhere."""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import IPv6Address

_SHORT = 3  # letters
# what Unicode calls default ignorable: it takes no room on a screen, and str.isprintable lets it pass
_UNSEEN = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff]")
# What CI obeys in a line that is printed: `::name::`, whatever blanks are before it, and `##[name` anywhere.
_OBEYED = re.compile(r"(?m)^[^\S\n]*:(?=:[A-Za-z][^\n]*::)|#(?=#\w*\[)")


def listed(names: Iterable[str]) -> str:
    """`a`, `a and b`, `a, b and c`; nothing for none."""
    *most, last = [*names] or [""]
    return f"{', '.join(most)} and {last}" if most else last


def bare_name(host: str) -> str:
    """A host's name in the inventory without the connector of pyinfra's that it may begin with (`@ssh/`)."""
    return host.rpartition("/")[2] if host.startswith("@") else host


def file_name(host: str) -> str:
    """The same as part of the name of one file, whatever is in it."""
    from urllib.parse import quote

    return quote(bare_name(host), safe="")


def step(operation: str) -> str:
    """`Driver: hold`, of pyinfra's name of an operation in a deploy (`Driver | hold`)."""
    return operation.replace(" | ", ": ", 1)


def some(names: Iterable[str], most: int) -> str:
    """The first of many names, and how many more. most: of them that are named."""
    every = [*names]
    more = [f"{len(every) - most} more"] if len(every) > most else []
    return listed([*every[:most], *more])


def rails(numbers: Iterable[int]) -> str:
    """`rail 0`, `rails 0 and 1`."""
    names = [str(number) for number in numbers]
    return f"rail{'s' if len(names) > 1 else ''} {listed(names)}"


def eight_groups(address: IPv6Address) -> str:
    """An IPv6 address as the kernel prints a GID: `0000:0000:0000:0000:0000:ffff:c0a8:640b`.

    IPv6Address.exploded was the same until Python 3.13, which ends that one with `ffff:192.168.100.11`.
    """
    return address.packed.hex(":", 2)


def nearest(word: str, known: Iterable[str], alike: float = 0.6) -> str:
    """The known word that a misspelt one may mean; empty for none. alike: from 0, which any word is, to 1.

    Of words as short as `foo` two letters in common make no slip: that of `oom` begins with another one.
    """
    import difflib  # for a sentence that few runs need

    near = next(iter(difflib.get_close_matches(word, [*known], 1, alike)), "")
    return "" if alike and len(word) <= _SHORT and near[:1] != word[:1] else near


def size(count: int | None) -> str:
    """`61.0 GB`, of a disk, an image or a download, as docker and apt count: 1 kB is 1000 bytes."""
    if count is None:
        return "unknown size"
    for unit, name in ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if count >= unit:
            return f"{count / unit:.1f} {name}"
    return f"{count} B"


def reason(error: OSError) -> str:
    """Why a file could not be read or written, to follow a colon."""
    return (error.strerror or str(error)).lower()


def plain(text: str) -> str:
    """One line of what can be seen, for a text from outside: each other character becomes a blank.

    Those are control characters (C0, DEL, C1), line and paragraph separators, marks that change the direction or
    take no room, halves of surrogate pairs, and what Unicode gives no meaning.
    """
    if not text.isprintable():
        text = "".join(character if character.isprintable() else " " for character in text)
    return _UNSEEN.sub(" ", text)


def lines(text: str) -> str:
    """The same for a text of several lines, which end in LF; tabs become blanks up to the next column.

    What CI would take for a command (`::error::`, `##vso[`) is shown with a blank in it.
    """
    seen = "\n".join(plain(line) for line in text.expandtabs().split("\n"))
    return _OBEYED.sub(r"\g<0> ", seen) if "::" in seen or "##" in seen else seen
