"""What a fake host answers to the looks of an archive."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import Any

from tests.attacks import canaries

# a word of the look at identifiers, and what it tells
_WORDS = {
    "domain": canaries.KNOWN.domains,
    "user": canaries.KNOWN.users,
    "person": canaries.KNOWN.people,
    "id": canaries.KNOWN.ids,
    "mac": canaries.KNOWN.macs,
    "guid": canaries.KNOWN.guids,
    "serial": canaries.KNOWN.serials,
    "ssid": canaries.KNOWN.ssids,
    "key": canaries.KNOWN.keys,
}
IDENTIFIERS = [
    "machine zebra",
    "machine spark-7f3c",
    *(f"{word} {value}" for word, values in _WORDS.items() for value in values),
    "unread serial by lspci: not installed",
]


STATUS = [
    "now 1700000000",
    'run 20261120T101112Z-ab12 {"run":"20261120T101112Z-ab12","who":"mallory@laptop-of-m"}',
]


Changes = Mapping[str, Any]


def parts(**texts: str | bytes) -> list[str]:
    """What the evidence prints: a part for each text, by name."""
    rows = ((name, text.encode() if isinstance(text, str) else text) for name, text in texts.items())
    return [f"part {name.replace('__', '/')} {base64.b64encode(text).decode()} 0" for name, text in rows]


def asked(identifiers: Iterable[str] = IDENTIFIERS, **texts: str | bytes) -> Changes:
    """What a fake host answers to what is asked for the archive alone."""
    return {
        "part identifiers ": parts(identifiers="\n".join([*identifiers, "end", ""])),
        "part system ": parts(**{"system": canaries.planted(), **texts}),
        "printf 'now %s": STATUS,
    }
