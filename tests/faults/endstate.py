"""What a pair is once a deploy has ended, in a form that can be compared."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.lab.guests import Pair

DUMP = Path(__file__).with_name("dump.py").read_text(encoding="utf-8")

State = Mapping[str, list[str]]


def of(pair: Pair) -> State:
    """The state of each host by its name, a fact a line."""
    guests = list(pair)
    with ThreadPoolExecutor(len(guests)) as pool:  # each has a processor of its own
        dumps = pool.map(lambda guest: guest.output(f"sudo python3 -c {shlex.quote(DUMP)}", timeout=180), guests)
        return {guest.node: dump.splitlines() for guest, dump in zip(guests, dumps, strict=True)}


def differences(wanted: State, found: State) -> list[str]:
    """The lines that one state has and the other has not, `-` wanted and `+` found, with the host's name."""
    return [
        f"{node} {line}"
        for node in wanted
        for line in difflib.unified_diff(wanted[node], found[node], lineterm="", n=0)
        if not line.startswith(("---", "+++", "@@"))
    ]
