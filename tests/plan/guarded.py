"""What a host's guard (templates/guard.py) answers where all goes well."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.plan.conftest import Run


def told(state: str, detail: str = "") -> list[str]:
    return [json.dumps({"state": state, "detail": detail, "left": 80})]


# by a piece of the command; the first that fits answers
START = 'verb "$1" start'
COMMIT = " commit "
REVERT = " revert "
WAIT = " wait "
LINK = "silent $1 $2"
PREPARE = "superseded by run"
GUARDED: dict[str, Any] = {
    PREPARE: [],
    START: told("applied"),
    LINK: ["done"],
    COMMIT: told("committed"),
    REVERT: told("rolled-back"),
    WAIT: told("applied"),
}


def asked(run: Run, host: str) -> list[str]:
    """What was asked of a host's guard, in order."""
    words = {START: "start", LINK: "link", COMMIT: "commit", REVERT: "revert", WAIT: "wait"}
    return [
        next(word for text, word in words.items() if text in command)
        for name, command in run.changes
        if name == host and any(text in command for text in words)
    ]
