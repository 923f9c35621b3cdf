"""pyinfra, run as its users run it: `pyinfra INVENTORY ...` from the repository root."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


class RunError(Exception):
    """pyinfra did not do what was asked; the message is what it said, shortened to its last lines."""


def command(*words: str) -> list[str]:
    """The argument list of a pyinfra run in this very environment."""
    return [str(Path(sys.executable).with_name("pyinfra")), *words]


def environment() -> dict[str, str]:
    # pyinfra's own spinner can deadlock (its issue 1526), and is noise in a pipe
    return {**os.environ, "PYINFRA_PROGRESS": "off"}


def facts(inventory: Path, fact: str) -> dict[str, Any]:
    """One fact of every host of an inventory, by host name, as JSON values.

    Raises RunError where pyinfra could not read it.
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
    try:
        found: dict[str, dict[str, Any]] = json.loads(done.stdout)
    except ValueError:
        raise RunError(_last_words(done.stderr)) from None
    return found[fact]


def _last_words(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("-->")]
    return " ".join(lines[-2:]) or text.strip() or "pyinfra said nothing"
