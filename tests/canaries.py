"""Canaries of each kind that no archive of `sparkrig support` may show: made up, in every spelling that was seen.

KNOWN is what a host says of itself. The texts and words are in canaries.yaml beside this file.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import yaml

from sparkrig.redaction import KINDS
from sparkrig.redaction.book import Known

MAC = "a0:88:c2:44:11:22"
MACHINE_ID, PRODUCT = "5f0e9c3a7b1d4e2f8a6c0b9d8e7f6a5b", "1b4e28ba-2fa1-11d2-883f-b9a761bde3fb"
PROFILE = "7e57ab1e-0000-4bad-8ace-ba5eba11fade"
SERIAL, CABLE, DISK = "1981924007312", "MT2513VS04417", "S6Z2NF0W912345"
HOST_KEY = "AAAAC3NzaC1lZDI1NTE5AAAAIEXtcanaryKEYhostkeyhostkeyhostkeyhostkeyhos"
KNOWN = Known(
    machines=(("@fake/zebra", "spark-7f3c", "zebra.hoard.example"), ("quagga",)),
    domains=("hoard.example",),
    users=("mallory",),
    people=("Mallory Quince",),
    macs=(MAC,),
    guids=("a088:c203:0044:1122",),
    ids=(MACHINE_ID, PRODUCT),
    serials=(SERIAL, DISK, CABLE),
    ssids=("Quill Attic 5G", "Café Quill"),
    keys=(HOST_KEY,),
)

_TABLE = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
# By kind: a text with canaries in it, as tools, journals and files have them, and the words that must not be left.
TEXTS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    kind: ("\n".join(row["lines"]), tuple(row["words"])) for kind, row in _TABLE.items()
}
# What is found by its form alone, in one line behind whatever a journal puts in front: by kind, lines and words.
FORMS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    kind: (tuple(bare["lines"]), tuple(bare["words"]))
    for kind, row in _TABLE.items()
    for bare in [row.get("bare", row)]
}

assert set(TEXTS) == set(FORMS) == {kind.name for kind in KINDS}


def shown(text: str, kind: str) -> list[str]:
    """The canaries of a kind that a text still shows, also in words of base64, or with other marks between."""
    return left(text, TEXTS[kind][1])


def left(text: str, canaries: Iterable[str]) -> list[str]:
    """Those of the words that a text still shows in that sense."""
    words = [
        text,
        *(decoded for word in re.findall(r"[A-Za-z0-9+/]{12,}={0,2}", text) if (decoded := _text(word))),
    ]
    lower, bare = [each.lower() for each in words], [_squashed(each) for each in words]
    return [
        each
        for each in canaries
        if any(each.lower() in word for word in lower)
        or (len(_squashed(each)) > 7 and any(_squashed(each) in word for word in bare))
    ]


def _squashed(text: str) -> str:
    return re.sub(r"[^0-9a-z]", "", text.lower())


def _text(word: str) -> str:
    try:
        return base64.b64decode(word + "=" * (-len(word) % 4)).decode()
    except ValueError:
        return ""


def planted(kinds: Iterable[str] = TEXTS) -> str:
    """The texts of those kinds, one after the other."""
    return "\n".join(TEXTS[kind][0] for kind in kinds) + "\n"
