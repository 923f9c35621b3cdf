"""Secrets and identifiers that no text may show: made up (canaries.yaml), in every spelling that was seen.

KNOWN is what the host says of itself; of all others only their form tells, or a line beside them.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping
from typing import Any

from sparkrig.redaction.book import Known
from sparkrig.redaction.redactor import KINDS
from tests.tables import data

_DATA: Mapping[str, Any] = data(__file__)
_HOST: Mapping[str, list[Any]] = _DATA["host"]
_KINDS: Mapping[str, Mapping[str, Any]] = _DATA["kinds"]
assert set(_KINDS) == {kind.name for kind in KINDS}

PROFILE = "7e57ab1e-0000-4bad-8ace-ba5eba11fade"  # the UUID of one of NetworkManager's
KNOWN = Known(
    machines=tuple(map(tuple, _HOST["machines"])),
    **{name: tuple(values) for name, values in _HOST.items() if name != "machines"},
)


def _lines(kind: str, part: str) -> list[str]:
    text: str = _KINDS[kind].get(part, "")
    return text.replace("␛", "\x1b").splitlines()


def planted() -> str:
    """All lines of all kinds."""
    return "\n".join([*alone(), *(line for kind in _KINDS for line in _lines(kind, "known"))]) + "\n"


def alone() -> list[str]:
    """The lines whose form tells of the canary, wherever each of them stands."""
    return [line for kind in _KINDS for line in _lines(kind, "alone")]


def shown(text: str, of: str = "") -> dict[str, list[str]]:
    """By kind, the canaries that a text still shows; of: a text, of whose canaries it is asked alone."""
    of_kind = {kind: left(of, row["words"]) if of else row["words"] for kind, row in _KINDS.items()}
    return {kind: still for kind, words in of_kind.items() if (still := left(text, words))}


def left(text: str, words: Iterable[str]) -> list[str]:
    """Those of the words that a text shows: in any case, in words of base64, or with other marks between."""
    encoded = re.findall(r"[A-Za-z0-9+/]{12,}={0,2}", text)
    texts = [text.lower(), *(_decoded(word).lower() for word in encoded)]
    bare = [_squashed(each) for each in texts]
    return [
        word
        for word in words
        if any(word.lower() in each for each in texts)
        or (len(_squashed(word)) > 7 and any(_squashed(word) in each for each in bare))
    ]


def _squashed(text: str) -> str:
    return re.sub(r"[^0-9a-z]", "", text.lower())


def _decoded(word: str) -> str:
    try:
        return base64.b64decode(word + "=" * (-len(word) % 4)).decode()
    except ValueError:
        return ""
