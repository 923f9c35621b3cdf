"""What a host's guard (templates/guard.py) answers where all goes well."""

import json
from typing import Any


def told(state: str, detail: str = "") -> list[str]:
    return [json.dumps({"state": state, "detail": detail, "left": 80})]


# by a piece of the command; the first that fits answers
START = 'verb "$1/guard" start'
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
