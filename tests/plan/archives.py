"""What a fake host answers to the looks of an archive."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import Any

from tests import canaries

IDENTIFIERS = [
    "machine zebra",
    "machine spark-7f3c",
    "domain hoard.example",
    "user mallory",
    "person Mallory Quince",
    f"id {canaries.MACHINE_ID}",
    f"id {canaries.PRODUCT}",
    f"mac {canaries.MAC}",
    "guid a088:c203:0044:1122",
    f"serial {canaries.SERIAL}",
    f"serial {canaries.CABLE}",
    f"serial {canaries.DISK}",
    "ssid Quill Attic 5G",
    "ssid Café Quill",
    f"key {canaries.HOST_KEY}",
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
