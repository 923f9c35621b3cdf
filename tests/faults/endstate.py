"""What a pair is once a deploy has ended, in a form that can be compared."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Mapping
from pathlib import Path

from tests.lab.guests import Pair

DUMP = Path(__file__).with_name("dump.py").read_text(encoding="utf-8")

State = Mapping[str, list[str]]


def of(pair: Pair) -> State:
    """The state of each host by its name, a fact a line."""
    return {
        guest.node: guest.output(f"sudo python3 -c {shlex.quote(DUMP)}", timeout=180).splitlines()
        for guest in pair
    }


def differences(wanted: State, found: State) -> list[str]:
    """The lines that one state has and the other has not, `-` wanted and `+` found, with the host's name."""
    return [
        f"{node} {line}"
        for node in wanted
        for line in difflib.unified_diff(wanted[node], found[node], lineterm="", n=0)
        if not line.startswith(("---", "+++", "@@"))
    ]
