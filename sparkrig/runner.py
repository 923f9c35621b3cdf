"""pyinfra, run as its users run it: `pyinfra INVENTORY ...` from the repository root."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

# `    [spark-a] Could not connect (...)`
_SAID = re.compile(r"^ *\[(?P<host>[^\]]+)\] +(?P<words>.*\S) *$", re.MULTILINE)
_FAILED = "Error: could not"  # load, or process, the fact; then pyinfra's value is the fact's default
_NO_REASON = ("Connected", "Loaded fact", _FAILED)


class RunError(Exception):
    """pyinfra did not do what was asked; the message is what it said, shortened to its last words."""


@dataclass(frozen=True)
class Unread:
    """A host of which nothing could be read, and what pyinfra said of it."""

    reason: str


def command(*words: str) -> list[str]:
    """The argument list of a pyinfra run in this very environment."""
    return [str(Path(sys.executable).with_name("pyinfra")), *words]


def environment() -> dict[str, str]:
    # pyinfra's own spinner can deadlock (its issue 1526), and is noise in a pipe
    return {**os.environ, "PYINFRA_PROGRESS": "off"}


def facts(inventory: Path, fact: str) -> dict[str, Any]:
    """One fact of every host of an inventory, by host name: a JSON value, or Unread where there is none.

    Raises RunError where pyinfra did not get as far as to ask.
    """
    done = subprocess.run(
        # one host that cannot be reached hides nothing of the others
        command("--json", "--fail-percent", "100", str(inventory.resolve()), "fact", fact),
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    found: dict[str, Any] = {}
    # where no host is left pyinfra prints no JSON, or an empty object
    if "No hosts remaining!" not in done.stderr or done.stdout.strip():
        try:
            found = json.loads(done.stdout).get(fact, {})
        except ValueError:
            raise RunError(_last_words(done.stderr)) from None
    said: dict[str, list[str]] = {}
    for row in _SAID.finditer(done.stderr):
        said.setdefault(row["host"], []).append(row["words"])
    for host, words in said.items():
        if found.get(host) is None or any(each.startswith(_FAILED) for each in words):
            reason = [each for each in words if not each.startswith(_NO_REASON)]
            found[host] = Unread(" ".join(reason[-2:]) or "it answered nothing")
    return found


def _last_words(text: str) -> str:
    said = re.findall(r"^--> pyinfra error: (.+)", text, re.MULTILINE)
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("-->")]
    return " ".join(said[-1:] or lines[-2:]) or text.strip() or "pyinfra said nothing"
