"""What the neighbour probe of a host heard: which MAC addresses reach which fabric netdev, below IP."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sparkrig.value import Value

_MAC = re.compile(r"(?:[0-9a-f]{2}:){5}[0-9a-f]{2}", re.IGNORECASE)
_FIELDS = {"sent": 2, "down": 1, "heard": 3, "long": 2, "heard-long": 3}


@dataclass(frozen=True)
class Heard:
    """`count` frames of the probe came in on `netdev` from `mac` (lower case)."""

    netdev: str
    mac: str
    count: int


@dataclass(frozen=True)
class Neighbours(Value):
    """One run of the probe on one host.

    sent: frames by netdev that is administratively up; down: fabric netdevs that are not; trouble: why the
    probe could not run, empty where it ran; long: the size of the large frames that were sent too, by netdev, of
    those whose MTU is above that of plain Ethernet; heard_long: of those, as heard. A Spark without a cable has no
    fabric netdev, and that is normal.
    """

    sent: Mapping[str, int] = field(default_factory=dict)
    down: tuple[str, ...] = ()
    heard: tuple[Heard, ...] = ()
    trouble: str = ""
    long: Mapping[str, int] = field(default_factory=dict)
    heard_long: tuple[Heard, ...] = ()


def parse(lines: Iterable[str]) -> Neighbours:
    """Read the rows of templates/probe_neighbours.py; what others print between them is passed over.

    Raises ValueError for a row that makes no sense, and for a probe that broke off.
    """
    sent: dict[str, int] = {}
    down: list[str] = []
    heard: list[Heard] = []
    long: dict[str, int] = {}
    heard_long: list[Heard] = []
    for line in lines:
        word, *fields = line.split() or [""]
        if word == "trouble":
            return Neighbours(trouble=" ".join(fields) or "no reason was given")
        if word == "end" and not fields:
            return Neighbours(sent, tuple(down), tuple(heard), long=long, heard_long=tuple(heard_long))
        if word in _FIELDS and len(fields) != _FIELDS[word]:
            raise ValueError(f"cannot read the neighbour row {line!r}")
        if word == "sent":
            sent[fields[0]] = _count(line, fields[1])
        elif word == "down":
            down.append(fields[0])
        elif word == "long":
            long[fields[0]] = _count(line, fields[1])
        elif word in ("heard", "heard-long"):
            rows = heard if word == "heard" else heard_long
            rows.append(Heard(fields[0], _mac(line, fields[1]), _count(line, fields[2])))
    raise ValueError("the neighbour probe broke off before its end")


def _count(line: str, text: str) -> int:
    if not text.isdecimal():
        raise ValueError(f"{text!r} is no number of frames in the neighbour row {line!r}")
    return int(text)


def _mac(line: str, text: str) -> str:
    if not _MAC.fullmatch(text):
        raise ValueError(f"{text!r} is no MAC address in the neighbour row {line!r}")
    return text.lower()
